"""Signatures as Standard Webhooks has them. Source: assumed 8.3-signature."""

import base64
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

from sandbox.domain.field_types import SECRET_PREFIX

if TYPE_CHECKING:
    from standardwebhooks import Webhook

KEY_BYTES: Final = 32
_PARTS: Final = ("id", "timestamp", "signature")


def headers_of(
    prefix: str, message_id: str, sent_at: float, body: bytes, secrets: Iterable[str]
) -> dict[str, str]:
    """The three headers of an attempt at that system time, signed by each of the secrets.

    The time is real, not that of the world's clock: receivers compare it with their own clocks
    (assumed D1).
    """
    timestamp = int(sent_at)
    moment, text = datetime.fromtimestamp(timestamp, UTC), body.decode()
    signatures = [_signer(secret).sign(message_id, moment, text) for secret in secrets]
    return {
        f"{prefix}-id": message_id,
        f"{prefix}-timestamp": str(timestamp),
        f"{prefix}-signature": " ".join(signatures),
    }


def why_not_genuine(
    prefix: str, secret: str, body: bytes, headers: Mapping[str, str]
) -> str | None:
    """Why a receiver that has the secret refuses these headers and bytes; None if it takes them."""
    from standardwebhooks import WebhookVerificationError

    for part in _PARTS:
        if not headers.get(f"{prefix}-{part}"):
            return f"{prefix}-{part} is missing"
    # The library knows the header names of the standard alone.
    named = {f"webhook-{part}": headers[f"{prefix}-{part}"] for part in _PARTS}
    try:
        _signer(secret).verify(body, named)
    except WebhookVerificationError as error:
        return _REASONS.get(str(error), str(error))
    except ValueError:
        return f"{prefix}-signature or the body cannot be read"
    return None


_REASONS: Final = {
    "Invalid Signature Headers": "the timestamp is no number",
    "Message timestamp too old": "the timestamp is more than five minutes old",
    "Message timestamp too new": "the timestamp is more than five minutes ahead",
    "No matching signature found": "no signature is that of this body with this secret",
}
"""What the library says, for people who look at a webhook."""


def is_genuine(prefix: str, secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether a receiver that has the secret takes these headers and bytes as they are."""
    return why_not_genuine(prefix, secret, body, headers) is None


def signature_of(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """The signature of these bytes. Raises ValueError for a secret or a body that cannot be."""
    moment = datetime.fromtimestamp(timestamp, UTC)
    return _signer(secret).sign(message_id, moment, body.decode())


@lru_cache(maxsize=1024)
def _signer(secret: str) -> "Webhook":
    from standardwebhooks import Webhook

    return Webhook(secret)


def write_secret(key: bytes) -> str:
    """The secret as endpoints show it."""
    return SECRET_PREFIX + base64.b64encode(key).decode()

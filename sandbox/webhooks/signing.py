"""Signatures as Standard Webhooks has them. Source: assumed 8.3-signature."""

import base64
import binascii
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from standardwebhooks import Webhook

SECRET_PREFIX: Final = "whsec_"  # noqa: S105 - what every secret begins with
KEY_BYTES: Final = 32
_PARTS: Final = ("id", "timestamp", "signature")
KEY_BYTES_MIN, KEY_BYTES_MAX = 24, 64


def headers_of(
    prefix: str, message_id: str, sent_at: float, body: bytes, secrets: Iterable[str]
) -> dict[str, str]:
    """The three headers of an attempt at that system time, signed by each of the secrets.

    The time is real whatever a world's clock says: receivers compare it with their own clocks
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


def is_genuine(prefix: str, secret: str, body: bytes, headers: Mapping[str, str]) -> bool:
    """Whether a receiver that has the secret takes these headers and bytes as they are."""
    from standardwebhooks import WebhookVerificationError

    # The library knows the header names of the standard alone.
    named = {f"webhook-{part}": headers.get(f"{prefix}-{part}", "") for part in _PARTS}
    try:
        _signer(secret).verify(body, named)
    except (WebhookVerificationError, ValueError):
        return False
    return True


@lru_cache(maxsize=1024)
def _signer(secret: str) -> "Webhook":
    from standardwebhooks import Webhook

    return Webhook(secret)


def write_secret(key: bytes) -> str:
    """The secret as endpoints show it."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


def check_secret(secret: str) -> str:
    """The secret itself. Raises ValueError with a sentence that does not repeat it."""
    try:
        key = base64.b64decode(secret.removeprefix(SECRET_PREFIX), validate=True)
    except (binascii.Error, ValueError):
        key = b""
    if not secret.startswith(SECRET_PREFIX) or not KEY_BYTES_MIN <= len(key) <= KEY_BYTES_MAX:
        raise ValueError(
            f"must be {SECRET_PREFIX} and {KEY_BYTES_MIN} to {KEY_BYTES_MAX} bytes in base64"
        )
    return secret

"""Signatures by Standard Webhooks, and the check that receivers make.

Source: assumed 8.3-signature, 8.3-timestamp.
"""

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hmac import compare_digest
from time import time
from typing import Final, Literal

from msgspec import Struct
from standardwebhooks import Webhook

from sandbox.domain.field_types import SECRET_PREFIX

KEY_BYTES: Final = 32


def headers_of(
    prefix: str, message_id: str, sent_at: float, body: bytes, secrets: Iterable[str]
) -> dict[str, str]:
    """Return the three headers of an attempt, signed with each of the secrets.

    `sent_at` is the real time, not the world's: receivers compare it with their own clocks (assumed
    D1).
    """
    timestamp = int(sent_at)
    moment, text = datetime.fromtimestamp(timestamp, UTC), body.decode()
    signatures = [Webhook(secret).sign(message_id, moment, text) for secret in secrets]
    return {
        f"{prefix}-id": message_id,
        f"{prefix}-timestamp": str(timestamp),
        f"{prefix}-signature": " ".join(signatures),
    }


def why_not_genuine(
    prefix: str, secret: str, body: bytes, headers: Mapping[str, str], *, at_any_time: bool = False
) -> str | None:
    """Return why a receiver with this secret refuses the webhook; None if it accepts it.

    `at_any_time` accepts any timestamp, as a receiver at another date needs it.
    """
    now_s = None if at_any_time else int(time())
    check = verify([secret], prefix, headers, body, now_s=now_s)
    return None if check.step is None else check.says


def write_secret(key: bytes) -> str:
    """Return the secret as endpoints show it."""
    return SECRET_PREFIX + base64.b64encode(key).decode()


# --- verification -----------------------------------------------------------------------------

TOLERANCE_S: Final = 300
"""How far a timestamp may differ from the receiver's clock."""

VerifyStep = Literal["headers", "timestamp", "signature"]
"""The steps of a check, in order."""

TIMESTAMP_MAX: Final = 253_402_300_799
"""The last second of the year 9999."""

_SECONDS: Final = re.compile("[0-9]{1,12}")


class Verification(Struct, frozen=True, gc=False):
    """The result of a check: the step at which it failed, or None, and what was compared."""

    step: VerifyStep | None
    says: str
    expected: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    age_s: int | None = None


def verify(
    secrets: Sequence[str],
    prefix: str,
    headers: Mapping[str, str],
    body: bytes,
    *,
    now_s: int | None,
) -> Verification:
    """Check the three headers and the body against the secrets.

    `now_s` is in Unix seconds; without it the timestamp may have any age.
    """
    given = {name: headers.get(f"{prefix}-{name}", "") for name in ("id", "timestamp", "signature")}
    missing = [name for name, value in given.items() if not value]
    if missing:
        return Verification("headers", f"there is no header of the {' and the '.join(missing)}")
    id, timestamp, signature = given.values()
    sent = tuple(signature.split())
    if not _SECONDS.fullmatch(timestamp) or int(timestamp) > TIMESTAMP_MAX:
        says = "the timestamp is not a number of seconds since 1970"
        return Verification("timestamp", says, sent=sent)
    seconds = int(timestamp)
    age_s = 0 if now_s is None else now_s - seconds
    moment = datetime.fromtimestamp(seconds, UTC)
    try:
        expected = tuple(Webhook(one).sign(id, moment, body.decode()) for one in secrets)
    except UnicodeDecodeError:
        return Verification("signature", "the body is not UTF-8", sent=sent, age_s=age_s)
    if abs(age_s) > TOLERANCE_S:
        way = "old" if age_s > 0 else "ahead"
        says = f"the timestamp is {abs(age_s)} s {way}, and receivers allow {TOLERANCE_S} s"
        return Verification("timestamp", says, expected, sent, age_s)
    if not any(compare_digest(one.encode(), own.encode()) for one in sent for own in expected):
        says = "no signature that was sent is that of these bytes with this secret"
        return Verification("signature", says, expected, sent, age_s)
    return Verification(None, "a receiver with this secret accepts it", expected, sent, age_s)

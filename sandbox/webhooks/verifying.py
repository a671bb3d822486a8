"""Checks a webhook as receivers do, and says at which step it fails.

Source: assumed 8.3-signature, 8.3-timestamp.
"""

from collections.abc import Sequence
from hmac import compare_digest
from typing import Final, Literal

from msgspec import Struct

from sandbox.webhooks.signing import signature_of

TOLERANCE_S: Final = 300
"""So much may a timestamp differ from the receiver's clock."""

VerifyStep = Literal["headers", "timestamp", "signature"]
"""The steps of a check, in their order."""

TIMESTAMP_MAX: Final = 253_402_300_799
"""The last second of the year 9999."""


class Verification(Struct, frozen=True, gc=False):
    """The result of a check: the step at which it failed, or None, and what was compared."""

    step: VerifyStep | None
    says: str
    expected: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    age_s: int | None = None


def verify(
    secrets: Sequence[str],
    *,
    id: str | None,
    timestamp: str | None,
    signature: str | None,
    body: bytes,
    now_s: int,
) -> Verification:
    """Check the three headers and the bytes against the secrets, at that second of 1970."""
    given = {"id": id, "timestamp": timestamp, "signature": signature}
    missing = [name for name, value in given.items() if not value]
    if id is None or timestamp is None or signature is None or missing:
        return Verification("headers", f"there is no header of the {' and the '.join(missing)}")
    sent = tuple(signature.split())
    if not (timestamp.isascii() and timestamp.isdecimal()) or int(timestamp) > TIMESTAMP_MAX:
        says = "the timestamp is not a number of seconds since 1970"
        return Verification("timestamp", says, sent=sent)
    seconds = int(timestamp)
    age_s = now_s - seconds
    try:
        expected = tuple(signature_of(secret, id, seconds, body) for secret in secrets)
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

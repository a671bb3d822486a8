"""The delivery of one message to one endpoint, with every attempt at it.

Source: spec 6.1.9; assumed 8.3, D22.
"""

from datetime import datetime
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

ATTEMPTS_MAX: Final = 200
"""The newest attempts to store of one delivery. The schedule makes eight and a scenario at most a
hundred copies; resending by hand has no limit, and each attempt has up to 4 KiB of an answer."""

DeliveryStatus = Literal["pending", "delivered", "failed", "dropped", "canceled"]
"""`canceled`: its endpoint no longer subscribes. `dropped`: a scenario suppressed it."""

DELIVERY_STATUSES: Final[tuple[DeliveryStatus, ...]] = DeliveryStatus.__args__  # type: ignore[attr-defined]

AttemptTrigger = Literal["scheduled", "manual", "scenario"]


class SentHead(Struct, frozen=True, kw_only=True, gc=False):
    """What an attempt sent, without the body and without a secret.

    `timestamp` and `signature` are the headers, None where a scenario left one out. `age_s` is how
    old the timestamp was then. `size` is in bytes, `sha256` is of the sent bytes. `spoilt` names
    what a scenario changed. Source: assumed D22.
    """

    timestamp: int
    signature: str | None
    age_s: int
    size: int
    sha256: str
    spoilt: tuple[str, ...] = ()


class Sent(Struct, frozen=True, kw_only=True, gc=False):
    """The result of an attempt. `error` None means that the endpoint accepted the message.

    `is_unreachable`: there was no connection. `head` is what was sent, if anything was.
    """

    status_code: int | None
    duration_ms: float
    response: str
    error: str | None
    retry_after_s: float | None = None
    is_timeout: bool = False
    is_unreachable: bool = False
    head: SentHead | None = None


class DeliveryAttempt(Struct, frozen=True, kw_only=True, gc=False):
    """One attempt. `at` is the world's time; `status_code` is None if no answer came.

    `response` is the beginning of the answer's body; `error` gives the reason of a failure. `sent`
    is None if nothing was sent.
    """

    at: datetime
    status_code: int | None
    duration_ms: float
    response: str
    error: str | None
    trigger: AttemptTrigger
    sent: SentHead | None = None


class Delivery(Struct, frozen=True, kw_only=True, gc=False):
    """How a message fares at an endpoint.

    `failures` counts the failed attempts of the present run of the schedule. `attempts` are the
    newest `ATTEMPTS_MAX`. `rule` is the rule of a scenario that changed the delivery.
    """

    message_id: str
    endpoint_id: str
    status: DeliveryStatus = "pending"
    attempts: tuple[DeliveryAttempt, ...] = ()
    next_attempt_at: datetime | None = None
    failures: int = 0
    rule: str | None = None

    @property
    def id(self) -> str:
        """The id of the delivery, which its timer has as its subject."""
        return delivery_id(self.message_id, self.endpoint_id)

    def tried(self, sent: Sent, at: datetime, trigger: AttemptTrigger) -> "Delivery":
        """The delivery after one more attempt."""
        attempt = DeliveryAttempt(
            at=at,
            status_code=sent.status_code,
            duration_ms=sent.duration_ms,
            response=sent.response,
            error=sent.error,
            trigger=trigger,
            sent=sent.head,
        )
        return replace(self, attempts=(*self.attempts, attempt)[-ATTEMPTS_MAX:])


def delivery_id(message_id: str, endpoint_id: str) -> str:
    """The id of the delivery of that message to that endpoint."""
    return f"{message_id}/{endpoint_id}"

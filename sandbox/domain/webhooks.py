"""Webhooks: endpoints with filters and signing secrets, deliveries, and the retry schedule.

Source: spec 6.1.3, 6.1.9, 6.1.11; subscriptions and filters assumed 8.3; rotation assumed D22.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Annotated, Any, Final, Literal

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import AfterValidator, Field, Strict

from sandbox.domain.batches import BATCH_STATUSES
from sandbox.domain.events import EVENTS, Message, field_of
from sandbox.domain.field_types import EndpointDescription, EndpointId, HttpUrl, WebhookSecret
from sandbox.domain.payments.transactions import STATUSES, TRANSACTION_TYPES
from sandbox.domain.text import one_of

RETRIES_S: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
"""Seconds from one failure to the next attempt: eight attempts in all."""

JITTER: Final = 0.2
"""How much of the planned wait is added at most, so that retries spread out."""

THROTTLED_MIN_S: Final = 60
"""The shortest wait after a 429 or a time-out."""

TIMEOUT_S: Final = 15.0
"""The time limit for an endpoint's answer."""

DEAD_AFTER: Final = timedelta(days=5)
"""An endpoint is disabled this long after its first failure, if nothing succeeded since."""

GONE: Final = 410
TOO_MANY_REQUESTS: Final = 429


def wait_after(
    failures: int,
    *,
    jitter: float,
    retry_after_s: float | None = None,
    is_throttled: bool = False,
    scale: float = 1,
) -> timedelta | None:
    """Return the wait after this many failures in a row; None if there are no more attempts.

    `jitter` lies between 0 and 1. A `Retry-After` of the endpoint is respected between the planned
    wait and twice as long. `scale` stretches or compresses all of it.
    """
    if failures > len(RETRIES_S):
        return None
    wait_s = RETRIES_S[failures - 1] * (1 + JITTER * jitter)
    if retry_after_s is not None:
        wait_s = max(wait_s, min(retry_after_s, 2 * wait_s))
    if is_throttled:
        wait_s = max(wait_s, THROTTLED_MIN_S)
    return timedelta(milliseconds=round(wait_s * scale * 1000))


_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_ID_CHARS: Final = 27


class Application(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One application. An account has at most one, so it is stored by its account."""

    account_id: str
    created_at: datetime

    @property
    def id(self) -> str:
        """`app_` and 27 characters, derived from the account's id."""
        return application_id(self.account_id)


def application_id(account_id: str) -> str:
    """Return the id of the account's application.

    It is not a generated id, so the ids of later records stay the same.
    """
    digest = blake2b(account_id.encode(), digest_size=_ID_CHARS, person=b"application").digest()
    return "app_" + "".join(_ALPHABET[byte % len(_ALPHABET)] for byte in digest)


GRACE: Final = timedelta(hours=24)
"""The default time for which an old secret still signs. Source: assumed D22."""

BY_HAND: Final = "disabled by hand"

ENDPOINTS_MAX: Final = 100
"""How many endpoints a world may have. Each message is compared with all of them, then signed and
sent for each subscriber. Platforms allow 20 to 100."""


FilterName = Literal["transaction_type", "status", "processor"]
"""The fields of a body that an endpoint can select."""

FILTER_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "transaction_type": TRANSACTION_TYPES,
    "status": (*STATUSES, *BATCH_STATUSES, "active", "blocked", "revoked", "deleted"),
}
"""The allowed values of filters. Processors may have any name."""

_FIELDS: Final[Mapping[str, Sequence[str]]] = {"processor": ("processor", "processor_name")}
"""The fields of a filter, unless it is named after its field. Source: assumed D43."""


def _check_values(filters: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    for name, values in filters.items():
        known = FILTER_VALUES.get(name)
        if known is not None and not set(values) <= set(known):
            raise ValueError(f"{name}: must be of {', '.join(known)}")
    return filters


EventType = Annotated[str, Strict(), one_of("a known event", EVENTS)]
"""The name of an event. Source: spec 6.3."""

Filters = Annotated[Mapping[FilterName, tuple[str, ...]], AfterValidator(_check_values)]
"""For fields of the body, the values that match. Source: assumed 8.3-filters."""


class OldSecret(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A secret that was replaced, and the world's moment until which it still signs."""

    secret: WebhookSecret
    until: datetime


class Endpoint(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One endpoint.

    Without an `account_id` it subscribes to the whole world, and without `event_types` to all
    events; `filters` map fields of the body to accepted values. `failing_since` is the time of the
    first failure since the last success, or None. `replaced_secret` is the newest one that was
    rotated out, even if it no longer signs: a scenario may sign with it (assumed D22).
    """

    id: EndpointId
    url: HttpUrl
    secret: WebhookSecret
    created_at: datetime
    description: EndpointDescription = ""
    account_id: str | None = None
    event_types: tuple[EventType, ...] = ()
    filters: Filters = field(default_factory=dict)
    old_secrets: tuple[OldSecret, ...] = ()
    replaced_secret: WebhookSecret | None = None
    disabled_reason: str | None = None
    failing_since: datetime | None = None

    @property
    def is_disabled(self) -> bool:
        """Whether nothing is sent there."""
        return self.disabled_reason is not None

    def is_subscribed_to(self, event_type: str, path: tuple[str, ...]) -> bool:
        """Whether it gets the event, by its type and its account or one below.

        `path` is the event's account and all above it. Source: assumed 8.3-audience.
        """
        if self.event_types and event_type not in self.event_types:
            return False
        return self.account_id is None or self.account_id in path

    def matches(self, message: Message) -> bool:
        """Whether the body of the message matches all filters, each by any of its values.

        A body without a filtered field does not match (assumed 8.3-filters).
        """
        return all(
            any(field_of(message, field) in values for field in _FIELDS.get(name, (name,)))
            for name, values in self.filters.items()
        )

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """Return the secrets that sign now: the current one, and old ones for a while."""
        return (self.secret, *(old.secret for old in self.old_secrets if now < old.until))


ATTEMPTS_MAX: Final = 200
"""How many attempts of a delivery to store, the newest ones. The schedule makes eight, and a
scenario at most a hundred copies. Resending by hand has no limit, and each attempt has up to 4 KiB
of an answer."""

DeliveryStatus = Literal["pending", "delivered", "failed", "dropped", "canceled"]
"""`canceled`: its endpoint no longer subscribes. `dropped`: a scenario suppressed it."""

DELIVERY_STATUSES: Final[tuple[DeliveryStatus, ...]] = DeliveryStatus.__args__  # type: ignore[attr-defined]

AttemptTrigger = Literal["scheduled", "manual", "scenario"]


class SentHead(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """What an attempt sent, without the body and without a secret.

    `timestamp` and `signature` are the headers; the signature is None if a scenario left it out.
    `age_s` is how old the timestamp was. `size` is in bytes, and `sha256` is that of the sent
    bytes. `spoilt` names what a scenario changed. Source: assumed D22.
    """

    timestamp: int
    signature: str | None
    age_s: int
    size: int
    sha256: str
    spoilt: tuple[str, ...] = ()


class Sent(Struct, frozen=True, kw_only=True, gc=False):
    """The result of an attempt. `error` None means that the endpoint accepted the message.

    `is_unreachable` if there was no connection. `head` is what was sent, if anything was.
    """

    status_code: int | None
    duration_ms: float
    response: str
    error: str | None
    retry_after_s: float | None = None
    is_timeout: bool = False
    is_unreachable: bool = False
    head: SentHead | None = None


class DeliveryAttempt(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
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


class Delivery(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The delivery of a message to an endpoint.

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
        """The id of the delivery, and the subject of its timer."""
        return delivery_id(self.message_id, self.endpoint_id)

    def add_attempt(self, sent: Sent, at: datetime, trigger: AttemptTrigger) -> "Delivery":
        """Return the delivery after one more attempt."""
        result = {name: getattr(sent, name) for name in _OF_THE_RESULT}
        attempt = DeliveryAttempt(at=at, trigger=trigger, sent=sent.head, **result)
        return replace(self, attempts=(*self.attempts, attempt)[-ATTEMPTS_MAX:])


_OF_THE_RESULT: Final = ("status_code", "duration_ms", "response", "error")


def delivery_id(message_id: str, endpoint_id: str) -> str:
    """Return the id of the delivery of that message to that endpoint."""
    return f"{message_id}/{endpoint_id}"


TIMES_MAX: Final = 1_000
"""How many deliveries one entry may apply to."""


class WebhookFault(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """An entry of the queue: which deliveries, the fault, and for how many more.

    `when` and `then` are those of a webhook rule, without `times`. `fitted` counts the deliveries
    that matched an entry with `nth`. Source: assumed D24.
    """

    id: str
    when: Mapping[str, Any] = field(default_factory=dict)
    then: Mapping[str, Any]
    left: Annotated[int, Field(strict=True, ge=1, le=TIMES_MAX)] = 1
    fitted: Annotated[int, Field(strict=True, ge=0)] = 0

"""The endpoint: its URL, its filters, and its signing secrets.

Source: spec 6.1.3, 6.1.11; subscriptions and filters assumed 8.3; rotation assumed D22.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Annotated, Any, Final, Literal

from msgspec import Struct, field
from pydantic import AfterValidator, Strict

from sandbox.domain.batches import BATCH_STATUSES
from sandbox.domain.events import EVENTS
from sandbox.domain.field_types import (
    EndpointDescription,
    EndpointId,
    HttpUrl,
    WebhookSecret,
)
from sandbox.domain.payments.transactions import STATUSES, TRANSACTION_TYPES
from sandbox.domain.words import did_you_mean

GRACE: Final = timedelta(hours=24)
"""The default time for which an old secret still signs. Source: assumed D22."""

BY_HAND: Final = "disabled by hand"

ENDPOINTS_MAX: Final = 100
"""The most endpoints of one world. Each message is compared with all of them, then signed and sent
for each subscriber. Platforms allow some 20 to 100."""


FilterName = Literal["transaction_type", "status", "processor"]
"""The fields of a body that an endpoint can select."""

FILTER_VALUES: Final[Mapping[str, tuple[str, ...]]] = {
    "transaction_type": TRANSACTION_TYPES,
    "status": (*STATUSES, *BATCH_STATUSES, "active", "blocked", "revoked", "deleted"),
}
"""The allowed values of filters. Processors may have any name."""


def _known_event(event_type: str) -> str:
    if event_type not in EVENTS:
        raise ValueError(f"must be a known event{did_you_mean(event_type, EVENTS)}")
    return event_type


def _known_values(filters: Mapping[str, tuple[str, ...]]) -> Mapping[str, tuple[str, ...]]:
    for name, values in filters.items():
        known = FILTER_VALUES.get(name)
        if known is not None and not set(values) <= set(known):
            raise ValueError(f"{name}: must be of {', '.join(known)}")
    return filters


EventType = Annotated[str, Strict(), AfterValidator(_known_event)]
"""The name of an event. Source: spec 6.3."""

Filters = Annotated[Mapping[FilterName, tuple[str, ...]], AfterValidator(_known_values)]
"""Field of a body to the values of which any will do. Source: assumed 8.3-filters."""


class OldSecret(Struct, frozen=True, kw_only=True, gc=False):
    """A secret that was replaced, and the world's moment until which it still signs."""

    secret: WebhookSecret
    until: datetime


class Endpoint(Struct, frozen=True, kw_only=True, gc=False):
    """One endpoint.

    `account_id` None subscribes to the whole world. No `event_types` means all of them; `filters`
    name a field of the body and its accepted values. `failing_since` is the time of the first
    failure since the last success, or None. `replaced_secret` is the newest one that was rotated
    out, even if it does not sign any more: a scenario may sign with it (assumed D22).
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

    def subscribes_to(self, event_type: str, path: tuple[str, ...]) -> bool:
        """Whether the event is for it: its type, and an account of its own or below.

        `path` is the event's account and all above it. Source: assumed 8.3-audience.
        """
        if self.event_types and event_type not in self.event_types:
            return False
        return self.account_id is None or self.account_id in path

    def matches(self, body: Mapping[str, Any]) -> bool:
        """Whether the filters let the body through: every one, by any of its values.

        A filter on a field that the body lacks lets nothing through (assumed 8.3-filters). The
        processor of a batch is its `processor_name` (assumed D43).
        """
        named = {"processor": body.get("processor_name"), **body}
        return all(named.get(name) in values for name, values in self.filters.items())

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """What signs at this moment of the world: the secret, and old ones for a while."""
        return (self.secret, *(old.secret for old in self.old_secrets if now < old.until))

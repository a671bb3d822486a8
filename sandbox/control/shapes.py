"""Bodies and queries of the control API. Unknown fields are refused."""

from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, RootModel, field_validator, model_validator

from sandbox.domain.batches import TIME_PATTERN, TIMES_MAX, ZONE_CHARS_MAX, DayCode
from sandbox.domain.clock import EARLIEST, LATEST, RATE_MAX, ClockSetting
from sandbox.domain.field_types import (
    DelayMs,
    EndpointDescription,
    EndpointId,
    HttpUrl,
    PositiveAmount,
    WebhookSecret,
    WorldId,
    WorldName,
)
from sandbox.domain.instants import Instant, parse_duration, parse_rfc3339
from sandbox.domain.payments.outcomes import Operation
from sandbox.store.world_state import GeneratedData, MerchantCount, PerMerchantCount

LIST_MAX = 1_000

_SeedNumber = Annotated[int, Field(ge=-(2**63), lt=2**63)]


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class _Query(BaseModel):
    # Query values arrive as text, so numbers must be parsed.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


MOMENT = timedelta(milliseconds=1)
"""Clocks count milliseconds."""

WAIT_S_MAX = 300
"""A connection should not stay open for longer."""


class SessionBody(_Body):
    """The token of the control API, which the server was given or printed at its start."""

    token: Annotated[str, Field(max_length=4_096)]


class ClockBody(_Body):
    """How to set a clock; omitted values stay."""

    now: Instant | None = None
    mode: Literal["running", "frozen"] | None = None
    rate: Annotated[float, Field(gt=0, le=RATE_MAX, allow_inf_nan=False)] | None = None

    @field_validator("now")
    @classmethod
    def _is_storable(cls, now: Instant | None) -> Instant | None:
        if now is not None and not EARLIEST <= now <= LATEST:
            raise ValueError(f"must lie between the years {EARLIEST.year} and {LATEST.year}")
        return now

    def setting(self) -> ClockSetting:
        """The same, as the clock takes it."""
        return ClockSetting(now=self.now, mode=self.mode, rate=self.rate)


class Advance(_Body):
    """How far to move a clock ahead: by a duration, to an instant, or to what falls due next.

    With `before` it stops just before that moment, so that what falls due then does not happen.
    """

    by: str | None = None
    to: Annotated[Literal["next"] | Instant | None, Field(union_mode="left_to_right")] = None
    before: bool = False

    @model_validator(mode="after")
    def _is_one_of_them(self) -> "Advance":
        if (self.by is None) == (self.to is None):
            raise ValueError("by or to is required, and not both")
        if self.by is not None:
            try:
                parse_duration(self.by)
            except ValueError as error:
                raise ValueError(f"by: {error}") from None
        return self

    def end(self, now: Instant, due: Instant | None) -> Instant:
        """The instant to which the clock is moved; `due` is when something falls due next.

        Raises ValueError if there is none.
        """
        try:
            end = self._wanted(now, due)
        except OverflowError:
            end = None
        if end is None or end > LATEST:
            raise ValueError(f"the clock goes no further than the year {LATEST.year}")
        if end < now:
            raise ValueError(
                "to: a clock is never advanced to the past; PUT .../clock sets it back"
            )
        return max(end - MOMENT, now) if self.before else end

    def _wanted(self, now: Instant, due: Instant | None) -> Instant | None:
        if self.by is not None:
            return now + parse_duration(self.by)
        if self.to != "next":
            return self.to
        if due is None:
            raise ValueError("to: nothing falls due in this world")
        return max(due, now)


class InventBody(_Body):
    """How many realistic merchants to generate, and how many terminals and locations for each."""

    merchants: MerchantCount
    terminals_per_merchant: PerMerchantCount = 1
    locations_per_merchant: PerMerchantCount = 1

    @model_validator(mode="after")
    def _is_not_too_much(self) -> "InventBody":
        self.generated_data().check()
        return self

    def generated_data(self) -> GeneratedData:
        """The same, as the store takes it."""
        return GeneratedData(**self.__dict__)


def _or_an_instant(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"type": "string", "format": "date-time"}, *schema["anyOf"]]


class CreateWorld(_Body):
    """How a new world begins. An instant as `clock` freezes it there (assumed D21)."""

    id: WorldId | None = None
    name: WorldName | None = None
    seed: _SeedNumber | None = None
    fixture: str | None = None
    clock: Annotated[ClockBody | None, Field(json_schema_extra=_or_an_instant)] = None
    switches: dict[str, Any] | None = None
    readings: dict[str, str] | None = None
    scenario: Any = None
    invent: InventBody | None = None

    @field_validator("clock", mode="before")
    @classmethod
    def _an_instant_freezes(cls, clock: Any) -> Any:
        if isinstance(clock, str):
            return {"now": parse_rfc3339(clock), "mode": "frozen"}
        return clock


class NextOutcome(_Body):
    """How the next attempt that fits is to end. Source: assumed D24.

    `amount` and `approved_amount` are minor units; `delay_ms` is how long the processor takes.
    """

    outcome: str | None = None
    operation: Annotated[Operation, Field(strict=False)] | None = None
    amount: PositiveAmount | None = None
    delay_ms: DelayMs = 0
    fault: str | None = None
    approved_amount: PositiveAmount | None = None


class TapBody(_Body):
    """The result of a waiting payment: one of the three."""

    card: Annotated[str, Field(max_length=100)] | None = None
    outcome: Annotated[str, Field(max_length=100)] | None = None
    cancel: Literal["user", "merchant"] | None = None


class BatchAnswer(_Body):
    """The processor's result for a batch.

    `reason` is a word of the list of reasons or a sentence; `rejected` are transaction ids, or a
    number of members.
    """

    answer: Literal["accepted", "rejected", "partially_accepted"]
    reason: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    rejected: int | list[str] | None = None


class BatchScheduleBody(_Body):
    """When a terminal's batches close: local times of 24 hours in a time zone, on some days."""

    times: Annotated[
        list[Annotated[str, Field(pattern=TIME_PATTERN)]], Field(min_length=1, max_length=TIMES_MAX)
    ]
    days: Annotated[list[DayCode], Field(min_length=1, max_length=7)] | None = None
    zone: Annotated[str, Field(min_length=1, max_length=ZONE_CHARS_MAX)]


_Words = Annotated[list[str], Field(max_length=100)]


class Filters(_Body):
    """A filter of bodies: each named field must have one of its values."""

    transaction_type: _Words | None = None
    status: _Words | None = None
    processor: _Words | None = None


class ChangeEndpoint(_Body):
    """Changes of an endpoint. An `account_id` of null subscribes to the whole world."""

    url: HttpUrl | None = None
    description: EndpointDescription | None = None
    account_id: str | None = None
    event_types: _Words | None = None
    filters: Filters | None = None
    secret: WebhookSecret | None = None
    disabled: bool | None = None


class CreateEndpoint(ChangeEndpoint):
    """Where webhooks are to go, and which. No event types means all of them."""

    id: EndpointId | None = None
    url: HttpUrl


class Rotate(_Body):
    """A new secret for an endpoint; the old one signs too for so many seconds of the world."""

    secret: WebhookSecret | None = None
    grace_s: Annotated[float, Field(ge=0, le=604_800, allow_inf_nan=False)] | None = None


class Recover(_Body):
    """From which moment of the world on missed messages are sent again."""

    since: Instant


class Sample(_Body):
    """An event to send for real, with changes to its body."""

    event_type: str
    changes: dict[str, Any] = Field(default_factory=dict)


class Resend(_Body):
    """Where a message is sent once more; without an endpoint, wherever it is for."""

    endpoint_id: str | None = None


class WaitQuery(_Query):
    """The message to wait for, and the timeout.

    `delivered` waits until some endpoint has accepted it. `after` is the id of a message: only
    later ones count.
    """

    event_type: str | None = None
    status: str | None = None
    subject: str | None = None
    delivered: bool = False
    after: str | None = None
    timeout_s: Annotated[float, Field(ge=0, le=WAIT_S_MAX, allow_inf_nan=False)] = 5.0


class NoQuery(_Query):
    """No parameters."""


class ControlDocumentQuery(_Query):
    """Which document of the control API: for generators of clients, or `strict` for fuzzing."""

    strict: bool = False


class PlatformDocumentQuery(ControlDocumentQuery):
    """Which document of the platform; a `pure` one leaves out what only the sandbox adds."""

    pure: bool = False


class LedgerQuery(_Query):
    """Which clauses: those with a text in id, title or summary."""

    search: str | None = None


class StreamQuery(_Query):
    """The kinds of events to read, separated by commas, and whether whole or as rows.

    Without `kinds` they are request, message, attempt and clock.
    """

    kinds: str | None = None
    shape: Literal["row", "full"] = "full"


class Listing(_Query):
    """A window on a list, see `window`."""

    limit: Annotated[int, Field(ge=1, le=LIST_MAX)] = LIST_MAX
    offset: Annotated[int, Field(ge=0)] | None = None


class MessagesQuery(Listing):
    """Which messages: of a type, at or after an instant, about a resource, of an account.

    `status` is that of the record, `delivery` that of a delivery, to the `endpoint` if one is
    named. `q` is a part of an id or of the event. `before` is a message: only older ones.
    `shape` is row or full.
    """

    event_type: str | None = None
    since: Instant | None = None
    subject: str | None = None
    account: str | None = None
    status: str | None = None
    endpoint: str | None = None
    delivery: str | None = None
    q: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    before: str | None = None
    shape: Literal["row", "full"] = "full"

    @model_validator(mode="after")
    def _has_one_place(self) -> "MessagesQuery":
        if self.before is not None and self.offset is not None:
            raise ValueError("before or offset may be given, and not both")
        return self

    @property
    def names_all(self) -> bool:
        """Whether every message fits."""
        filters = self.model_dump(exclude={"limit", "offset", "before", "shape"})
        return all(value is None for value in filters.values())


class RequestsQuery(Listing):
    """Which requests: of a row of the route table, with a status, and so on; as rows or whole.

    `q` is a text in its id, address or bodies. `status_class` none: closed without an answer.
    `subject` is the id of a record that the request names or changed. `account` is the account of
    the key: an id, or a name of the cast. `before` is a request: only those listed before it.
    `key_id` is the id of the key, or its name in the cast. `origin` is who sent the request.
    """

    route: str | None = None
    status: int | None = None
    status_class: Literal["2xx", "4xx", "5xx", "none"] | None = None
    q: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    since: Instant | None = None
    until: Instant | None = None
    subject: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    account: str | None = None
    outcome: str | None = None
    key_id: str | None = None
    origin: Literal["client", "console"] | None = None
    before: str | None = None
    shape: Literal["row", "full"] = "full"

    @model_validator(mode="after")
    def _has_one_place(self) -> "RequestsQuery":
        if self.before is not None and self.offset is not None:
            raise ValueError("before or offset may be given, and not both")
        return self


class ScenarioBody(RootModel[dict[str, Any]]):
    """The name of a scenario of the library, or a whole one."""

    model_config = ConfigDict(defer_build=True)


class Switches(RootModel[dict[str, Any]]):
    """Switch name to value."""

    model_config = ConfigDict(defer_build=True)


class Readings(RootModel[dict[str, str | None]]):
    """Reading to value; null returns to the profile's."""

    model_config = ConfigDict(defer_build=True)

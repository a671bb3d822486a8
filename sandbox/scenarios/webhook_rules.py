"""Rules of a scenario for webhooks, and the endpoints that it registers.

Source: assumed D22, D24, 6.3.
"""

from typing import Annotated, Any, Final, Literal

from pydantic import Field, model_validator

from sandbox.domain.events import EVENTS
from sandbox.domain.field_types import DELAY_MS_MAX, EndpointId, HttpUrl, WebhookSecret
from sandbox.domain.webhooks import FILTER_VALUES
from sandbox.scenarios.words import NEVER_EMPTY, Count, Name, OneOf, Part, RuleName, Some

COPIES_MAX: Final = 100
_TransactionType = Annotated[str, OneOf(FILTER_VALUES["transaction_type"], "transaction_type")]
Event = Annotated[str, OneOf(tuple(EVENTS), "event")]
_Status = Annotated[str, OneOf(tuple(dict.fromkeys(FILTER_VALUES["status"])), "status")]


class WebhookWhen(Part):
    """The condition of a rule; fields that are not given match everything.

    `transaction_type` and `status` are those of the body; `endpoint` is an id, a description or a
    URL. `nth` counts the deliveries that match the rest of the rule.
    """

    event: Some[Event] | None = None
    """The type of the event."""
    transaction_type: Some[_TransactionType] | None = None
    """The transaction_type of the body."""
    status: Some[_Status] | None = None
    """The status of the body."""
    account: Some[Name] | None = None
    """The account of the event, by its cast name or id."""
    endpoint: Some[Annotated[str, Field(min_length=1, max_length=2_000)]] | None = None
    """The endpoint, by its id, description or URL."""
    nth: Some[Count] | None = None
    """The number of the delivery among those that match the rest of the rule, from 1."""

    @model_validator(mode="after")
    def _can_ever_fit(self) -> "WebhookWhen":
        if self.transaction_type and self.event:
            strange = [one for one in self.event if EVENTS[one].category != "transaction"]
            if strange:
                raise ValueError(f"transaction_type: {strange[0]} has none")
        return self


class WebhookThen(Part, json_schema_extra=NEVER_EMPTY):
    """The effect on a delivery that matches.

    `duplicate` is how many copies are sent in all; `order` is the place among the webhooks of one
    request; `truncate` is how many bytes are left of the body, half of them with true; `contradict`
    are fields to change in an extra copy with another id; `times` is how often the rule applies
    before it is used up. Faults only apply to the first attempt: retries are correct.
    """

    drop: bool | None = None
    """Whether it is not sent at all."""
    duplicate: Annotated[int, Field(ge=2, le=COPIES_MAX)] | None = None
    """How many copies are sent in all."""
    delay_ms: Annotated[int, Field(ge=1, le=DELAY_MS_MAX)] | None = None
    """The delay, in milliseconds."""
    order: Literal["first", "last"] | None = None
    """Its place among the webhooks of one request."""
    signature: Literal["wrong", "missing", "old_secret"] | None = None
    """The fault of its signature."""
    stale_timestamp: bool | None = None
    """Whether its timestamp is too old to be accepted."""
    truncate: Annotated[int, Field(ge=0)] | bool | None = None
    """How many bytes are left of the body, or half of them with true."""
    before_answer: bool | None = None
    """Whether it is sent before the client has its answer."""
    contradict: Annotated[dict[str, Any], Field(min_length=1)] | None = None
    """Fields to change in an extra copy, which has another id."""
    times: Count | None = None
    """How often the rule applies before it is used up."""

    @model_validator(mode="after")
    def _goes_together(self) -> "WebhookThen":
        given = [
            name
            for name, value in self
            if name != "times" and value is not None and value is not False
        ]
        if not given:
            raise ValueError("says nothing")
        if self.drop and len(given) > 1:
            raise ValueError(f"{given[1]}: a dropped webhook is not sent at all")
        if self.before_answer and self.delay_ms is not None:
            raise ValueError("before_answer: a delayed webhook cannot come before the answer")
        return self


class ScenarioEndpoint(Part):
    """A webhook endpoint that the scenario registers when it starts. Source: assumed 8.3-declared.

    `account` is a cast name or id; without one it receives the events of the whole world.
    """

    name: EndpointId
    """The id of the endpoint."""
    url: HttpUrl
    """The URL that webhooks go to."""
    account: Name | None = None
    """The account whose events it gets, by cast name or id; without one, all."""
    event_types: Annotated[list[Event], Field(fail_fast=True)] = Field(default_factory=list)
    """The events that it gets; without them, all."""
    transaction_type: Some[_TransactionType] | None = None
    """The transaction_type of the bodies that it gets."""
    status: Some[_Status] | None = None
    """The status of the bodies that it gets."""
    processor: Some[Name] | None = None
    """The processor of the payments that it gets."""
    secret: WebhookSecret | None = None
    """Its signing secret; without one, the world generates it."""

    def fields(self, account_id: str | None) -> dict[str, Any]:
        """Return the fields of the endpoint, without its id."""
        filters = self.model_dump(
            include={"transaction_type", "status", "processor"}, exclude_none=True
        )
        return {
            "url": self.url,
            "account_id": account_id,
            "event_types": tuple(dict.fromkeys(self.event_types)),
            "filters": {name: tuple(values) for name, values in filters.items()},
            "secret": self.secret,
        }


class WebhookRule(Part):
    """One rule: a condition and an effect. Without a name it is known by its number."""

    name: RuleName | None = None
    """The name of the rule; without one, it is known by its number."""
    when: WebhookWhen = Field(default_factory=WebhookWhen)
    """Which deliveries the rule is for; without it, all of them."""
    then: WebhookThen
    """The effect on a delivery that matches."""

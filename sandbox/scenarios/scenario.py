"""The models of a scenario file: its rules, and the examples that prove them.

The words are those of the platform. Source: assumed D4, D24.
"""

from collections import Counter
from collections.abc import Sequence
from typing import Annotated, Any, Literal, TypeVar

from pydantic import Field, field_validator, model_validator

from sandbox.domain.events import EVENTS
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.webhooks import ENDPOINTS_MAX
from sandbox.scenarios.rules import Outcome, Rule, ScenarioEndpoint, WebhookRule, check_outcome
from sandbox.scenarios.words import RULES_MAX, WEBHOOK_RULES_MAX, Duration, Name, OneOf, Part

Event = Annotated[str, OneOf(tuple(EVENTS), "event")]
CardToken = Annotated[str, OneOf(tuple(CARDS), "test card")]


class AtTheDesk(Part):
    """The tap of a waiting payment: time passes, then a card is tapped or the payment canceled.

    Without card, outcome and cancel, time passes and nothing else happens.
    """

    after: Duration | None = None
    card: CardToken | None = None
    outcome: Outcome | None = None
    cancel: Literal["user", "merchant"] | None = None

    @model_validator(mode="after")
    def _is_one_thing(self) -> "AtTheDesk":
        given = [one for one in (self.card, self.outcome, self.cancel) if one is not None]
        if len(given) > 1:
            raise ValueError("one of card, outcome and cancel is enough")
        if not given and self.after is None:
            raise ValueError("says nothing: give after, card, outcome or cancel")
        if self.outcome is not None:
            check_outcome(self.outcome)
        return self


class Send(Part):
    """The request of an example: an attempt, closing a batch, a lookup, or advancing the clock.

    An action is on the payment of the example before, or on that of the example named by `on`.
    `find` looks up the payment that has the `event_id`. `tap` is the tap that the
    waiting payment gets.
    """

    operation: Literal[
        "sale",
        "auth",
        "capture",
        "incremental_auth",
        "tip_adjust",
        "refund",
        "reverse",
        "confirm",
        "close_batch",
        "find",
        "advance",
    ]
    on: Name | None = None
    amount: int | None = None
    tip_amount: int | None = None
    card: CardToken | None = None
    terminal: Name = "merchant"
    key: Name = "psp"
    event_id: str | None = None
    confirm: bool = True
    by: Duration | None = None
    tap: AtTheDesk | None = None

    @model_validator(mode="after")
    def _says_what_it_needs(self) -> "Send":
        if self.operation == "find" and self.event_id is None:
            raise ValueError("event_id: is what find looks for")
        if (self.by is None) == (self.operation == "advance"):
            raise ValueError("by: belongs to advance, which needs it")
        if self.tap is not None and self.operation not in ("sale", "auth"):
            raise ValueError(f"tap: a card is tapped for sale and auth, not for {self.operation}")
        return self


class Received(Part):
    """One attempt at a webhook, as a receiver sees it; fields that are not given match anything.

    `is_genuine` tells whether it passes the receiver's check of signature and time; `is_answered`
    whether the client had its answer by then.
    """

    event: Event
    status: str | None = None
    is_genuine: bool = True
    is_answered: bool | None = None


class Expect(Part):
    """The expected result; fields that are not given match anything.

    `http` is the status of the answer, 0 if the connection was closed without one. `status` and
    `status_reason` belong to the answer, or to the payment if there was no answer. `event` must be
    among the events that the request fired; `events` are all of them. `fields` are any other
    fields; of an object, only the named members count. `null` names fields that must be null.
    `received` are all attempts that a healthy receiver gets, in order, until no more are due.
    """

    http: int | None = None
    error: str | None = None
    status: str | None = None
    status_reason: str | None = None
    event: Event | None = None
    events: list[Event] | None = None
    outcome: str | None = None
    rule: str | None = None
    fields: dict[str, Any] = Field(default_factory=dict)
    null: list[str] = Field(default_factory=list)
    headers: dict[str, str] = Field(default_factory=dict)
    received: list[Received] | None = None


class Example(Part):
    """One step of a scenario: a request and its expected result, without one just a step."""

    name: Name | None = None
    send: Send
    expect: Expect = Field(default_factory=Expect)


# --- the file ---------------------------------------------------------------------------------

T = TypeVar("T")

# Only the first error is reported: finding all errors of a thousand rules takes long.
_Listed = Annotated[list[T], Field(max_length=RULES_MAX, fail_fast=True)]


class Scenario(Part):
    """A whole file: rules on attempts, rules on webhooks, and examples that prove them."""

    name: Name
    about: Annotated[str, Field(min_length=1, max_length=1000)] = ""
    rule: _Listed[Rule] = Field(default_factory=list)
    webhook: Annotated[list[WebhookRule], Field(max_length=WEBHOOK_RULES_MAX, fail_fast=True)] = (
        Field(default_factory=list)
    )
    endpoint: Annotated[list[ScenarioEndpoint], Field(max_length=ENDPOINTS_MAX)] = Field(
        default_factory=list
    )
    example: _Listed[Example] = Field(default_factory=list)

    @field_validator("rule")
    @classmethod
    def _has_distinct_rules(cls, rules: list[Rule]) -> list[Rule]:
        _must_differ("rules", [rule.name for rule in rules])
        return rules

    @field_validator("webhook")
    @classmethod
    def _has_distinct_webhook_rules(cls, rules: list[WebhookRule]) -> list[WebhookRule]:
        _must_differ("webhook rules", [rule.name for rule in rules])
        return rules

    @field_validator("endpoint")
    @classmethod
    def _has_distinct_endpoints(cls, endpoints: list[ScenarioEndpoint]) -> list[ScenarioEndpoint]:
        _must_differ("endpoints", [one.name for one in endpoints])
        return endpoints

    @field_validator("example")
    @classmethod
    def _has_distinct_examples(cls, examples: list[Example]) -> list[Example]:
        _must_differ("examples", [example.name for example in examples])
        return examples


def _must_differ(what: str, names: Sequence[str | None]) -> None:
    """Raises ValueError for a name that occurs twice."""
    counts = Counter(filter(None, names))
    twice = next((name for name, count in counts.items() if count > 1), None)
    if twice is not None:
        raise ValueError(f"two {what} are named {twice!r}")

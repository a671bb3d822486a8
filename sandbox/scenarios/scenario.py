"""The models of a scenario file: its rules, and the examples that prove them.

The words are those of the platform. Source: assumed D4, D24.
"""

from collections import Counter
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import AfterValidator, Field, ValidationInfo, field_validator, model_validator

from sandbox.domain.readings import checked
from sandbox.domain.webhooks import ENDPOINTS_MAX
from sandbox.scenarios.rules import CardToken, Outcome, Rule
from sandbox.scenarios.webhook_rules import Event, ScenarioEndpoint, WebhookRule
from sandbox.scenarios.words import NEVER_EMPTY, RULES_MAX, WEBHOOK_RULES_MAX, Duration, Name, Part


class AtTheDesk(Part, json_schema_extra=NEVER_EMPTY):
    """The tap of a waiting payment: time passes, then a card is tapped or the payment canceled.

    Without card, outcome and cancel, only time passes.
    """

    after: Duration | None = None
    """The time before the tap."""
    card: CardToken | None = None
    """The test card that is tapped, by its token."""
    outcome: Outcome | None = None
    """The outcome of the tap, by its key."""
    cancel: Literal["user", "merchant"] | None = None
    """Who cancels the payment."""

    @model_validator(mode="after")
    def _is_one_thing(self) -> "AtTheDesk":
        given = [one for one in (self.card, self.outcome, self.cancel) if one is not None]
        if len(given) > 1:
            raise ValueError("one of card, outcome and cancel is enough")
        if not given and self.after is None:
            raise ValueError("says nothing: give after, card, outcome or cancel")
        return self


class Send(Part):
    """The request of an example: an attempt, closing a batch, a lookup, or advancing the clock.

    An action is on the payment of the example before, or of the example named by `on`. `find` looks
    up the payment with the `event_id`. `tap` is the tap that the waiting payment gets.
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
        "add_to_batch",
        "block_account",
        "unblock_account",
        "find",
        "advance",
    ]
    """The operation, add_to_batch to put the payment into its terminal's open batch, advance to
    let time pass, or find to look up a payment."""
    on: Name | None = None
    """The example whose payment this acts on; the default is the one before."""
    amount: int | None = None
    """The amount of the request, in minor units."""
    tip_amount: int | None = None
    """The tip of the request, in minor units."""
    card: CardToken | None = None
    """The test card, by its token."""
    terminal: Name = "merchant"
    """The terminal, by its cast name."""
    account: Name = "merchant"
    """The account that is blocked or unblocked, by its cast name."""
    key: Name = "psp"
    """The API key of the request, by its cast name."""
    event_id: str | None = None
    """The event_id of the request, or the one that find looks up."""
    confirm: bool = True
    """Whether the cardholder agrees to the surcharge."""
    by: Duration | None = None
    """The time that advance lets pass."""
    tap: AtTheDesk | None = None
    """The tap, or the cancellation, that the waiting payment gets."""

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

    `is_genuine` says whether it passes the receiver's check of signature and time, and
    `is_answered` whether the client had its answer by then.
    """

    event: Event
    """The type of the event."""
    status: str | None = None
    """The status of its body."""
    is_genuine: bool = True
    """Whether it passes the receiver's check of signature and time."""
    is_answered: bool | None = None
    """Whether the client had its answer by then."""


class Expect(Part):
    """The expected result; fields that are not given match anything.

    `http` is the status of the answer, 0 if the connection was closed without one. `status` and
    `status_reason` belong to the answer, or to the payment if there was no answer. `event` must be
    among the events that the request fired; `events` are all of them. `fields` are any other
    fields; of an object, only the named members count. `null` names fields that must be null.
    `received` are all attempts that a healthy receiver gets, in order, until no more are due.
    """

    http: int | None = None
    """The status of the HTTP answer, or 0 if the connection closes without one."""
    error: str | None = None
    """The error code of the answer."""
    status: str | None = None
    """The status of the payment or batch."""
    status_reason: str | None = None
    """The status_reason of the payment."""
    event: Event | None = None
    """An event that is among those fired."""
    events: list[Event] | None = None
    """All events that are fired, in order."""
    outcome: str | None = None
    """The outcome that was chosen, by its key."""
    rule: str | None = None
    """The rule that chose it, by its name or number."""
    fields: dict[str, Any] = Field(default_factory=dict)
    """Any other fields of the answer. Of an object, only the named members count."""
    null: list[str] = Field(default_factory=list)
    """Fields that must be null."""
    headers: dict[str, str] = Field(default_factory=dict)
    """Headers of the answer, by name."""
    received: list[Received] | None = None
    """Every attempt at a webhook that a healthy receiver gets, in order."""


class Example(Part):
    """One step of a scenario: a request, and perhaps its expected result."""

    name: Name | None = None
    """The name of the step, for later steps that refer to it."""
    send: Send
    """The request of the step."""
    expect: Expect = Field(default_factory=Expect)
    """The expected result; fields that are not given can be anything."""


# --- the file ---------------------------------------------------------------------------------

T = TypeVar("T")

_Listed = Annotated[list[T], Field(max_length=RULES_MAX)]

LISTS: Final = ("rule", "webhook", "endpoint", "example")
"""The lists of a scenario, whose entries can have names."""


class Scenario(Part):
    """A whole file: rules on attempts, rules on webhooks, and examples that prove them."""

    name: Name
    """The title by which the scenario is known."""
    about: Annotated[str, Field(min_length=1, max_length=1000)] = ""
    """A description in a sentence or two."""
    readings: Annotated[dict[str, str], AfterValidator(checked)] = Field(default_factory=dict)
    """Readings of the world by their ids, chosen when the scenario starts."""
    rule: _Listed[Rule] = Field(default_factory=list)
    """Rules on attempts in order; the first that matches applies."""
    webhook: Annotated[list[WebhookRule], Field(max_length=WEBHOOK_RULES_MAX)] = Field(
        default_factory=list
    )
    """Rules on webhooks in order; the first that matches applies."""
    endpoint: Annotated[list[ScenarioEndpoint], Field(max_length=ENDPOINTS_MAX)] = Field(
        default_factory=list
    )
    """Webhook endpoints to register when the scenario starts."""
    example: _Listed[Example] = Field(default_factory=list)
    """Steps that prove the rules, each with its expected result."""

    @field_validator(*LISTS)
    @classmethod
    def _has_distinct_names(cls, listed: list[Any], info: ValidationInfo) -> list[Any]:
        counts = Counter(one.name for one in listed if one.name)
        twice = next((name for name, count in counts.items() if count > 1), None)
        if twice is not None:
            what = {"webhook": "webhook rule"}.get(name := info.field_name or "", name)
            raise ValueError(f"two {what}s are named {twice!r}")
        return listed

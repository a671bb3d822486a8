"""Rules of a scenario on attempts and on webhooks: conditions, effects and follow-ups.

Source: assumed D4, D22, D24, 6.3.
"""

from datetime import timedelta
from functools import cached_property
from typing import Annotated, Any, Final, Literal

from pydantic import Field, JsonValue, field_validator, model_validator

from sandbox.domain.batches import BATCH_STATUSES, REASONS
from sandbox.domain.clock import (
    BLOCK_TERMINAL,
    CANCEL,
    LATE_ANSWER,
    REINSTATE_KEY,
    REVOKE_KEY,
    SURCHARGE_EXPIRES,
    UNBLOCK_TERMINAL,
)
from sandbox.domain.events import EVENTS
from sandbox.domain.field_types import EndpointId, HttpUrl, WebhookSecret
from sandbox.domain.instants import parse_duration
from sandbox.domain.payments.amounts import AMOUNT_MAX
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import (
    HELD,
    INITIATING,
    OUTCOMES,
    TIMED_OUT,
    TRANSPORT_FAULTS,
    Operation,
    for_operation,
    why_not_for,
)
from sandbox.domain.payments.transactions import STATUSES, TRANSACTION_TYPES
from sandbox.domain.text import UnknownWord
from sandbox.scenarios.words import (
    Amount,
    AmountRange,
    Count,
    Duration,
    Name,
    OneOf,
    Part,
    RuleName,
    Some,
)

CLOSE_BATCH = "close_batch"
OPERATIONS = (*(one.value for one in Operation), CLOSE_BATCH)
DELAY_MS_MAX = 3_600_000
BRANDS = tuple(dict.fromkeys(card.brand for card in CARDS.values()))
TYPES = tuple(dict.fromkeys(card.type for card in CARDS.values()))

_OF_A_BATCH = ("terminal", "account", "key", "processor", "nth")


class When(Part):
    """The condition of a rule; fields that are not given match everything.

    `nth` counts the attempts that match the rest of the rule, `attempt` those on the payment,
    starting with its initiation.
    """

    operation: Some[Annotated[str, OneOf(OPERATIONS, "operation")]] | None = None
    """The operation."""
    amount: Some[Amount] | None = None
    """The amount that the attempt asks for, in minor units."""
    tip_amount: Some[Amount] | None = None
    """The tip that the attempt asks for, in minor units."""
    currency: Some[Annotated[str, Field(pattern=r"^[A-Z]{3}$")]] | None = None
    """The currency, in three capital letters."""
    card: Some[Annotated[str, OneOf(tuple(CARDS), "test card")]] | None = None
    """The test card, by its token."""
    card_brand: Some[Annotated[str, OneOf(BRANDS, "brand of a test card")]] | None = None
    """The brand of the card."""
    card_type: Some[Annotated[str, OneOf(TYPES, "type of a test card")]] | None = None
    """The type of the card."""
    terminal: Some[Name] | None = None
    """The terminal, by its cast name or id."""
    location: Some[Name] | None = None
    """The location, by its cast name or id."""
    account: Some[Name] | None = None
    """The merchant's account, by its cast name or id."""
    key: Some[Name] | None = None
    """The API key that asks, by its cast name or id."""
    platform: Some[Annotated[str, OneOf(("ios", "android"), "platform")]] | None = None
    """The platform of the reader."""
    processor: Some[Name] | None = None
    """The processor of the terminal."""
    status: Some[Annotated[str, OneOf(STATUSES, "status of a payment")]] | None = None
    """The status that the payment has before the attempt."""
    nth: Some[Count] | None = None
    """The number of the attempt among those that match the rest of the rule, from 1."""
    attempt: Some[Count] | None = None
    """The number of the attempt on the payment; its initiation is the first."""

    @model_validator(mode="after")
    def _can_ever_fit(self) -> "When":
        wanted = set(self.operation or OPERATIONS)
        begins = {one.value for one in INITIATING}
        if self.operation and CLOSE_BATCH in wanted and len(self.operation) > 1:
            raise ValueError(f"operation: {CLOSE_BATCH} cannot be combined")
        if CLOSE_BATCH in wanted and len(wanted) == 1:
            named = sorted(self.model_fields_set - {"operation", *_OF_A_BATCH})
            if named:
                raise ValueError(f"{named[0]}: closing a batch has none")
        if wanted <= begins and self.status is not None:
            raise ValueError("status: what begins a payment finds none")
        if wanted <= begins and self.attempt is not None and 1 not in self.attempt:
            raise ValueError("attempt: what begins a payment is its first attempt")
        if self.operation and not wanted & begins and self.attempt == [1]:
            raise ValueError("attempt: the first attempt at a payment begins it")
        for card in self.card or ():
            row = CARDS[card]
            if self.card_brand and row.brand not in self.card_brand:
                raise ValueError(f"card_brand: {card} is {row.brand}")
            if self.card_type and row.type not in self.card_type:
                raise ValueError(f"card_type: {card} is a {row.type} card")
        return self

    @property
    def is_of_a_batch(self) -> bool:
        """Whether it is closing a batch that the rule is for."""
        return self.operation == [CLOSE_BATCH]


def check_outcome(word: str) -> str:
    """The word, if it names an outcome. Raises ValueError with the nearest one."""
    if word in TRANSPORT_FAULTS:
        raise ValueError(f"{word!r} is a transport fault: say fault = {word!r}")
    if word not in OUTCOMES:
        raise UnknownWord(f"{word[:80]!r} is no outcome", word, OUTCOMES)
    return word


# --- follow-ups -------------------------------------------------------------------------------

ANY_REQUEST: Final = (REVOKE_KEY, REINSTATE_KEY, BLOCK_TERMINAL, UNBLOCK_TERMINAL)
"""Follow-ups that are possible after any operation."""

FOLLOW_UPS: Final[dict[str, frozenset[Operation]]] = {
    SURCHARGE_EXPIRES: frozenset({Operation.SALE}),
    LATE_ANSWER: frozenset(Operation),
    CANCEL: INITIATING,
    **dict.fromkeys(ANY_REQUEST, frozenset(Operation)),
}
"""The follow-ups, and the operations after which each is possible. Source: assumed D24."""

Outcome = Annotated[str, Field(json_schema_extra={"enum": list(OUTCOMES)})]
Follow = Annotated[str, OneOf(tuple(FOLLOW_UPS), "follow-up")]


class FollowUp(Part):
    """A follow-up `after` the attempt, in the world's time, without a request.

    `outcome` is the processor's late answer.
    """

    after: Duration
    """The time after the attempt, on the world's clock."""
    do: Follow
    """The follow-up."""
    outcome: Outcome | None = None
    """The processor's late answer."""

    @property
    def wait(self) -> timedelta:
        """How long after the attempt."""
        return parse_duration(self.after)

    @field_validator("outcome")
    @classmethod
    def _is_an_answer(cls, word: str | None) -> str | None:
        if word is not None:
            check_outcome(word)
            if OUTCOMES[word].response_code in (None, "E"):
                raise ValueError(f"{word} is no answer of a processor")
        return word

    @model_validator(mode="after")
    def _goes_together(self) -> "FollowUp":
        if (self.outcome is not None) != (self.do == LATE_ANSWER):
            raise ValueError('outcome: belongs to do = "late_answer", which needs it')
        return self


# --- effects ----------------------------------------------------------------------------------

_A_REASON: Final[JsonValue] = [{"enum": list(REASONS)}, {"pattern": " "}]
"""In the JSON Schema: the key of a reason, or text of several words."""


class Then(Part):
    """The effect on an attempt that matches.

    The rule applies `times` times. `after` is the time that a batch waits for its result, or a
    payment for its tap.
    """

    outcome: Outcome | None = None
    """The outcome of the attempt, by its key."""
    approved_amount: Annotated[int, Field(ge=1, le=AMOUNT_MAX)] | None = None
    """How much a partial approval approves, in minor units."""
    delay_ms: Annotated[int, Field(ge=0, le=DELAY_MS_MAX)] = 0
    """The delay of the answer, in milliseconds of real time."""
    tap: Literal["wait"] | None = None
    """Lets the payment wait until its card is tapped."""
    fault: Annotated[str, OneOf(tuple(TRANSPORT_FAULTS), "transport fault")] | None = None
    """The transport fault between client and platform."""
    batch: Literal["accepted", "rejected", "partially_accepted"] | None = None
    """The result of a batch that is closed."""
    reason: (
        Annotated[
            str,
            Field(min_length=1, max_length=200, json_schema_extra={"anyOf": _A_REASON}),
        ]
        | None
    ) = None
    """Why a batch is rejected: the key of a reason, or a text of your own."""
    rejected: Count | Annotated[list[str], Field(min_length=1)] | None = None
    """How many payments of the batch are rejected, or which, by their ids."""
    after: Duration | None = None
    """How long a batch waits for its result, or a payment for its tap."""
    times: Count | None = None
    """How often the rule applies before it is used up."""
    follow: Annotated[list[FollowUp], Field(min_length=1, max_length=20)] | None = None
    """Follow-ups, which happen later without a request."""

    @field_validator("outcome")
    @classmethod
    def _is_an_outcome(cls, word: str | None) -> str | None:
        return None if word is None else check_outcome(word)

    @field_validator("reason")
    @classmethod
    def _is_a_reason(cls, word: str | None) -> str | None:
        if word is not None and " " not in word and word not in REASONS:
            unknown = UnknownWord(f"{word!r} is no reason", word, REASONS)
            if unknown.nearest is None:
                raise ValueError(
                    f"{word!r} is no reason; there are {', '.join(REASONS)}, and a text of "
                    "several words is passed on as it is"
                )
            raise unknown
        return word

    @model_validator(mode="after")
    def _goes_together(self) -> "Then":
        given = {
            name for name in self.model_fields_set - {"times"} if getattr(self, name) is not None
        }
        if not given:
            raise ValueError("says nothing")
        if self.approved_amount is not None and self.outcome != "partial_approval":
            raise ValueError("approved_amount: belongs to the outcome partial_approval alone")
        if self.reason is not None and self.batch != "rejected":
            raise ValueError('reason: belongs to batch = "rejected" alone')
        if (self.rejected is not None) != (self.batch == "partially_accepted"):
            raise ValueError('rejected: belongs to batch = "partially_accepted", which needs it')
        if self.after is not None and self.batch is None and self.tap is None:
            raise ValueError("after: belongs to the result of a batch, or to a tap, alone")
        if self.batch is not None and given & {"outcome", "fault", "delay_ms", "tap"}:
            raise ValueError("batch: a batch has neither outcome nor fault nor tap")
        self._must_be_able_to_follow()
        return self

    def _must_be_able_to_follow(self) -> None:
        """Raises ValueError for follow-ups and taps that can never happen."""
        nothing_done = self.fault is not None and TRANSPORT_FAULTS[self.fault].when == "before"
        if nothing_done and self.tap is not None:
            raise ValueError(f"tap: with {self.fault} nothing is begun that could wait")
        for one in self.follow or ():
            if nothing_done:
                raise ValueError(f"follow: with {self.fault} nothing is done that it could follow")
            if self.batch is not None and one.do not in ANY_REQUEST:
                raise ValueError(f"follow: {one.do} is for payments, not for a batch")
            if one.do == LATE_ANSWER:
                self._must_lack_an_answer(one)

    def _must_lack_an_answer(self, late: FollowUp) -> None:
        if self.outcome not in ("pending_forever", *TIMED_OUT):
            wanted = ", ".join(("pending_forever", *TIMED_OUT))
            raise ValueError(f"follow: late_answer needs an outcome without one: {wanted}")
        assert late.outcome
        if self.outcome == HELD.key and not OUTCOMES[late.outcome].is_approval:
            raise ValueError(f"follow: after {self.outcome} no {late.outcome} comes: it approved")
        if not self.operations:
            raise ValueError(f"follow: {late.outcome} answers nothing that ends as {self.outcome}")

    @cached_property
    def operations(self) -> frozenset[Operation]:
        """The operations for which the whole effect is possible."""
        if self.batch is not None:
            return frozenset()
        fitting = set(INITIATING if self.tap is not None else Operation)
        if self.outcome is not None:
            fitting = {one for one in fitting if for_operation(self.outcome, one) is not None}
        for one in self.follow or ():
            fitting &= FOLLOW_UPS[one.do]
            if one.outcome is not None:
                fitting = {op for op in fitting if for_operation(one.outcome, op) is not None}
        return frozenset(fitting)


class Rule(Part):
    """One rule: a condition and an effect. Without a name its number names it.

    That is why a name is no number.
    """

    name: RuleName | None = None
    """The name of the rule in answers and the journal; without one, its number."""
    when: When = Field(default_factory=When)
    """Which attempts the rule is for; without it, all of them."""
    then: Then
    """The effect on an attempt that matches."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Rule":
        if (self.then.batch is not None) != self.when.is_of_a_batch:
            raise ValueError(
                f'then.batch: belongs to when.operation = "{CLOSE_BATCH}", which needs it'
            )
        self._must_be_a_part()
        if self.when.operation and not self.when.is_of_a_batch:
            for one in map(Operation, self.when.operation):
                self._must_be_possible(one)
        return self

    def _must_be_a_part(self) -> None:
        """Raises ValueError for a partial approval of at least all that any attempt asks for."""
        approved = self.then.approved_amount
        most = [one.max if isinstance(one, AmountRange) else one for one in self.when.amount or ()]
        if approved is None or not most or None in most:
            return
        whole = max(one for one in most if one is not None)
        if approved >= whole:
            raise ValueError(
                f"then.approved_amount: a part of {whole} is less than that, not {approved}"
            )

    def _must_be_possible(self, operation: Operation) -> None:
        """Raises ValueError, saying which part is for other operations."""
        then = self.then
        if then.outcome is not None and (why := why_not_for(then.outcome, operation)):
            raise ValueError(f"then.outcome: {why}")
        if then.tap is not None and operation not in INITIATING:
            raise ValueError(f"then.tap: a card is tapped for auth and sale, not for {operation}")
        for one in then.follow or ():
            if operation not in FOLLOW_UPS[one.do]:
                fitting = ", ".join(sorted(FOLLOW_UPS[one.do]))
                raise ValueError(f"then.follow: {one.do} is for {fitting}, not for {operation}")
            if one.outcome is not None and (why := why_not_for(one.outcome, operation)):
                raise ValueError(f"then.follow.outcome: {why}")


# --- webhooks ---------------------------------------------------------------------------------

COPIES_MAX: Final = 100
STATUSES_IN_BODIES: Final = tuple(
    dict.fromkeys((*STATUSES, *BATCH_STATUSES, "active", "blocked", "revoked", "deleted"))
)


class WebhookWhen(Part):
    """The condition of a rule; fields that are not given match everything.

    `transaction_type` and `status` are those of the body; `endpoint` is an id, a description or a
    URL. `nth` counts the deliveries that fit everything else of the rule.
    """

    event: Some[Annotated[str, OneOf(tuple(EVENTS), "event")]] | None = None
    """The type of the event."""
    transaction_type: Some[Annotated[str, OneOf(TRANSACTION_TYPES, "transaction_type")]] | None = (
        None
    )
    """The transaction_type of the body."""
    status: Some[Annotated[str, OneOf(STATUSES_IN_BODIES, "status")]] | None = None
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


class WebhookThen(Part):
    """The effect on a delivery that matches.

    `duplicate` is how many copies are sent in all; `order` the place among the webhooks of one
    request; `truncate` how many bytes are left of the body, half of them with true; `contradict`
    are fields to change in an extra copy under an id of its own; `times` how often the rule
    applies before it is used up. Faults apply to the first attempt only: a retry is correct.
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
    """Fields to change in an extra copy, which has an id of its own."""
    times: Count | None = None
    """How often the rule applies before it is used up."""

    @model_validator(mode="after")
    def _goes_together(self) -> "WebhookThen":
        given = [name for name in WebhookThen.model_fields if self._says(name)]
        if not given:
            raise ValueError("says nothing")
        if self.drop and len(given) > 1:
            raise ValueError(f"{given[1]}: a dropped webhook is not sent at all")
        if self.before_answer and self.delay_ms is not None:
            raise ValueError("before_answer: a delayed webhook cannot come before the answer")
        return self

    def _says(self, name: str) -> bool:
        given = getattr(self, name)
        return name != "times" and given is not None and given is not False


class ScenarioEndpoint(Part):
    """A webhook endpoint that the scenario registers when it starts. Source: assumed 8.3-declared.

    `account` is a cast name or id; without one it hears the whole world.
    """

    name: EndpointId
    """The id of the endpoint."""
    url: HttpUrl
    """The URL that webhooks go to."""
    account: Name | None = None
    """The account whose events it gets, by cast name or id; without one, all."""
    event_types: Annotated[
        list[Annotated[str, OneOf(tuple(EVENTS), "event")]], Field(fail_fast=True)
    ] = Field(default_factory=list)
    """The events that it gets; without them, all."""
    transaction_type: Some[Annotated[str, OneOf(TRANSACTION_TYPES, "transaction_type")]] | None = (
        None
    )
    """The transaction_type of the bodies that it gets."""
    status: Some[Annotated[str, OneOf(STATUSES_IN_BODIES, "status")]] | None = None
    """The status of the bodies that it gets."""
    processor: Some[Name] | None = None
    """The processor of the payments that it gets."""
    secret: WebhookSecret | None = None
    """Its signing secret; without one, the world makes it."""

    def fields(self, account_id: str | None) -> dict[str, Any]:
        """The fields of the endpoint, without its id."""
        filters = {
            name: tuple(values)
            for name in ("transaction_type", "status", "processor")
            if (values := getattr(self, name)) is not None
        }
        return {
            "url": self.url,
            "account_id": account_id,
            "event_types": tuple(dict.fromkeys(self.event_types)),
            "filters": filters,
            "secret": self.secret,
        }


class WebhookRule(Part):
    """One rule: a condition and an effect. Without a name its number names it."""

    name: RuleName | None = None
    """The name of the rule; without one its number names it."""
    when: WebhookWhen = Field(default_factory=WebhookWhen)
    """Which deliveries the rule is for; without it, all of them."""
    then: WebhookThen
    """The effect on a delivery that matches."""

"""Rules of a scenario for requests and attempts: conditions, effects and follow-ups.

Source: assumed D4, D22, D24, 6.3.
"""

from datetime import UTC, datetime, timedelta
from functools import cached_property
from math import inf
from typing import Annotated, Final, Literal, NamedTuple

from pydantic import AfterValidator, Field, JsonValue, model_validator

from sandbox.domain import clock
from sandbox.domain.batches import REASONS
from sandbox.domain.currencies import CURRENCIES
from sandbox.domain.field_types import DelayMs, PositiveAmount
from sandbox.domain.instants import parse_duration, parse_rfc3339
from sandbox.domain.operations import API_WORDS, METHODS, ApiOperation, PathText, find_operations
from sandbox.domain.payments import outcomes
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import INITIATING, OUTCOMES, Operation
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.text import UnknownWord
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.scenarios import words
from sandbox.scenarios.words import NEVER_EMPTY, Count, Duration, Moment, Name, OneOf, Part, Some

CLOSE_BATCH = "close_batch"
BRANDS = tuple(dict.fromkeys(card.brand for card in CARDS.values()))
CardToken = Annotated[str, OneOf(tuple(CARDS), "test card")]
TYPES = tuple(dict.fromkeys(card.type for card in CARDS.values()))

_OF_A_BATCH: Final = {"terminal", "account", "key", "processor", "nth", "from_", "until"}
_OF_A_REQUEST: Final = _OF_A_BATCH - {"processor"} | {"operation", "method", "path"}
"""The words for any request. The others are for payments and actions on them."""


class When(Part):
    """The condition of a rule; fields that are not given match everything.

    `nth` counts the attempts that match the rest of the rule, `attempt` those on the payment,
    starting with its initiation.
    """

    operation: Some[Annotated[str, OneOf(API_WORDS, "operation")]] | None = None
    """What is done to a payment, closing a batch, or the name of any operation of the platform."""
    method: Some[Annotated[str, OneOf(METHODS, "method")]] | None = None
    """The method of the request."""
    path: Some[PathText] | None = None
    """The path of the request, with * for any text."""
    from_: Annotated[Moment | None, Field(alias="from")] = None
    """When the rule begins to apply: a time of the world, or how long after the scenario began."""
    until: Moment | None = None
    """When the rule stops applying: a time of the world, or how long after the scenario began."""
    amount: Some[words.Amount] | None = None
    """The amount that the attempt asks for, in minor units."""
    tip_amount: Some[words.Amount] | None = None
    """The tip that the attempt asks for, in minor units."""
    currency: Some[Annotated[str, OneOf(CURRENCIES, "currency")]] | None = None
    """The currency, in three capital letters."""
    card: Some[CardToken] | None = None
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
    """The merchant's account, or the one that a request is about, by its cast name or id."""
    key: Some[Name] | None = None
    """The API key of the request, by its cast name or id."""
    platform: Some[Annotated[str, OneOf(("ios", "android"), "platform")]] | None = None
    """The platform of the reader, which an authorization or a sale names."""
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
        of_payments = sorted(self.model_fields_set - _OF_A_REQUEST)
        if self.is_of_a_batch:
            named = [word for word in of_payments if word not in _OF_A_BATCH]
            if named:
                raise ValueError(f"{named[0]}: closing a batch has none")
        elif of_payments and not self.attempts:
            raise ValueError(f"{of_payments[0]}: {self.operations[0].name} has none")
        for card in self.card or ():
            row = CARDS[card]
            if self.card_brand and row.brand not in self.card_brand:
                raise ValueError(f"card_brand: {card} is {row.brand}")
            if self.card_type and row.type not in self.card_type:
                raise ValueError(f"card_type: {card} is a {row.type} card")
        return self

    @model_validator(mode="after")
    def _suits_its_attempts(self) -> "When":
        if self.attempts and self.attempts <= INITIATING:
            if self.status is not None:
                raise ValueError("status: a payment that begins has none yet")
            if self.attempt is not None and 1 not in self.attempt:
                raise ValueError("attempt: an attempt that begins a payment is number 1")
        if self.attempts and not self.attempts & INITIATING:
            if self.attempt == [1]:
                raise ValueError("attempt: only the attempt that begins a payment is number 1")
            if self.platform is not None:
                raise ValueError("platform: only the attempt that begins a payment has one")
        return self

    @model_validator(mode="after")
    def _begins_before_it_ends(self) -> "When":
        if self.from_ and self.until and _is_date(self.from_) != _is_date(self.until):
            raise ValueError("until: give both times, or both durations")
        window = self.window(_AT_ANY_TIME)
        if window.end <= window.begin:
            raise ValueError("until: the time ends before it begins")
        return self

    @cached_property
    def operations(self) -> list[ApiOperation]:
        """The operations of the platform that match. Raises UnknownWord if none does."""
        return find_operations(self.operation, self.method, self.path)

    @cached_property
    def attempts(self) -> frozenset[Operation]:
        """The matching attempts at payments; none for rules about other requests."""
        asked = self.operation
        found = {
            word
            for one in self.operations
            for word in one.words
            if asked is None or one.name in asked or word in asked
        }
        return frozenset(map(Operation, found - {CLOSE_BATCH}))

    @property
    def is_of_a_batch(self) -> bool:
        """Whether the rule is for closing a batch."""
        return self.operation == [CLOSE_BATCH]

    def window(self, since: datetime) -> "Window":
        """Return the time in which the rule applies in a scenario that began then."""
        begin = clock.EARLIEST if self.from_ is None else _moment_of(self.from_, since)
        end = clock.LATEST if self.until is None else _moment_of(self.until, since)
        return Window(begin, end)


class Window(NamedTuple):
    """The time in which a rule applies."""

    begin: datetime
    end: datetime

    def matches(self, now: datetime) -> bool:
        """Whether `now` is in this time."""
        return self.begin <= now < self.end


_AT_ANY_TIME: Final = datetime(2000, 1, 1, tzinfo=UTC)
"""A start of the scenario, to compare durations with."""


def _is_date(moment: str) -> bool:
    return "-" in moment


def _moment_of(moment: str, since: datetime) -> datetime:
    if _is_date(moment):
        return parse_rfc3339(moment)
    try:
        return since + parse_duration(moment)
    except OverflowError:
        return clock.LATEST


def _refuse_fault(word: str) -> str:
    if word in TRANSPORT_FAULTS:
        raise ValueError(f"{word!r} is a transport fault: say fault = {word!r}")
    return word


Outcome = Annotated[str, AfterValidator(_refuse_fault), OneOf(OUTCOMES, "outcome")]
"""The key of an outcome."""


# --- follow-ups -------------------------------------------------------------------------------

ANY_REQUEST: Final = (*clock.ABOUT_KEY, *clock.ABOUT_TERMINAL)
"""Follow-ups that are possible after any operation."""

FOLLOW_UPS: Final[dict[str, frozenset[Operation]]] = {
    clock.SURCHARGE_EXPIRES: frozenset({Operation.SALE}),
    clock.LATE_ANSWER: frozenset(Operation),
    clock.CANCEL: INITIATING,
    **dict.fromkeys(ANY_REQUEST, frozenset(Operation)),
}
"""The follow-ups, and the operations after which each is possible. Source: assumed D24."""


class FollowUp(Part):
    """A follow-up `after` the attempt, in the world's time, without a request.

    `outcome` is the processor's late answer.
    """

    after: Duration
    """The time after the attempt, on the world's clock."""
    do: Annotated[str, OneOf(tuple(FOLLOW_UPS), "follow-up")]
    """The follow-up."""
    outcome: Outcome | None = None
    """The processor's late answer."""

    @property
    def wait(self) -> timedelta:
        """The time after the attempt."""
        return parse_duration(self.after)

    @model_validator(mode="after")
    def _goes_together(self) -> "FollowUp":
        if self.outcome is not None and not OUTCOMES[self.outcome].can_come_late:
            raise ValueError(f"outcome: {self.outcome} is not an answer of a processor")
        if (self.outcome is not None) != (self.do == clock.LATE_ANSWER):
            raise ValueError('outcome: belongs to do = "late_answer", which needs it')
        return self


# --- effects ----------------------------------------------------------------------------------

_A_REASON: Final[JsonValue] = [{"enum": list(REASONS)}, {"pattern": " "}]


def _check_reason(word: str) -> str:
    if " " in word or word in REASONS:
        return word
    unknown = UnknownWord(f"{word!r} is not a known reason", word, REASONS)
    if unknown.nearest is not None:
        raise unknown
    raise ValueError(
        f"{unknown}; there are {', '.join(REASONS)}, and a text of several words is passed on as "
        "it is"
    )


Reason = Annotated[
    str,
    Field(min_length=1, max_length=200, json_schema_extra={"anyOf": _A_REASON}),
    AfterValidator(_check_reason),
]
"""The key of a reason, or a text of several words."""


class Then(Part, json_schema_extra=NEVER_EMPTY):
    """The effect on an attempt that matches.

    The rule applies `times` times, and with a `probability` by chance. `after` is the time that a
    batch waits for its result, or a payment for its tap.
    """

    outcome: Outcome | None = None
    """The outcome of the attempt, by its key."""
    approved_amount: PositiveAmount | None = None
    """How much a partial approval approves, in minor units."""
    delay_ms: DelayMs | words.Latency = 0
    """The delay of the answer, in milliseconds of real time: a number, a range, or percentiles."""
    tap: Literal["wait"] | None = None
    """Lets the payment wait until its card is tapped."""
    fault: Annotated[str, OneOf(tuple(TRANSPORT_FAULTS), "transport fault")] | None = None
    """The transport fault between client and platform."""
    batch: Literal["accepted", "rejected", "partially_accepted", "no_result"] | None = None
    """The result of a batch that is closed; with no_result it waits until you answer."""
    reason: Reason | None = None
    """Why a batch is rejected: the key of a reason, or a text of your own."""
    rejected: Count | Annotated[list[str], Field(min_length=1)] | None = None
    """How many payments of the batch are rejected, or which, by their ids."""
    after: Duration | None = None
    """How long a batch waits for its result, or a payment for its tap."""
    times: Count | None = None
    """How often the rule applies before it is used up."""
    probability: Annotated[float, Field(gt=0, le=1, strict=False)] | None = None
    """The probability that the rule applies, from 0 to 1; the seed of the world decides."""
    follow: Annotated[list[FollowUp], Field(min_length=1, max_length=20)] | None = None
    """Follow-ups, which happen later without a request."""

    @model_validator(mode="after")
    def _goes_together(self) -> "Then":
        given = self._given
        if not given:
            raise ValueError("says nothing")
        if self.approved_amount is not None and self.outcome != "partial_approval":
            raise ValueError("approved_amount: belongs to the outcome partial_approval only")
        if self.reason is not None and self.batch != "rejected":
            raise ValueError('reason: belongs to batch = "rejected" only')
        if (self.rejected is not None) != (self.batch == "partially_accepted"):
            raise ValueError('rejected: belongs to batch = "partially_accepted", which needs it')
        if self.after is not None and self.batch == "no_result":
            raise ValueError("after: with no_result a batch waits until you answer")
        if self.after is not None and self.batch is None and self.tap is None:
            raise ValueError("after: belongs to the result of a batch or to a tap only")
        if self.batch is not None and given & {"outcome", "fault", "delay_ms", "tap"}:
            why = "a batch has neither outcome nor tap"
            raise ValueError(f"batch: {why}; a fault or a delay_ms of its close needs its own rule")
        self._must_be_able_to_follow()
        return self

    def _must_be_able_to_follow(self) -> None:
        """Raise ValueError for follow-ups and taps that can never happen."""
        nothing_done = self.fault is not None and TRANSPORT_FAULTS[self.fault].when == "before"
        if nothing_done and self.tap is not None:
            raise ValueError(f"tap: with {self.fault} nothing is begun that could wait")
        for one in self.follow or ():
            if nothing_done:
                raise ValueError(f"follow: with {self.fault} nothing is done that it could follow")
            if self.batch is not None and one.do not in ANY_REQUEST:
                raise ValueError(f"follow: {one.do} is for payments, not for a batch")
            if one.do == clock.LATE_ANSWER:
                self._must_lack_an_answer(one)

    def _must_lack_an_answer(self, late: FollowUp) -> None:
        unanswered = ("pending_forever", *outcomes.TIMED_OUT)
        if self.outcome not in unanswered:
            wanted = ", ".join(unanswered)
            raise ValueError(f"follow: late_answer needs an outcome without one: {wanted}")
        assert late.outcome
        if self.outcome == outcomes.HELD.key and not OUTCOMES[late.outcome].is_approval:
            raise ValueError(f"follow: after {self.outcome} no {late.outcome} comes: it approved")
        if not self.operations:
            raise ValueError(f"follow: {late.outcome} answers nothing that ends as {self.outcome}")

    @property
    def _given(self) -> set[str]:
        names = self.model_fields_set - {"times", "probability"}
        return {name for name in names if getattr(self, name) is not None}

    @cached_property
    def is_of_requests(self) -> bool:
        """Whether it can happen to any request, even one that asks no processor."""
        return self._given <= {"fault", "delay_ms"}

    def why_not(self, operation: Operation) -> str | None:
        """Return which part is for other operations; None if the whole effect is possible."""
        if self.outcome is not None and (why := outcomes.why_not_for(self.outcome, operation)):
            return f"outcome: {why}"
        if self.tap is not None and operation not in INITIATING:
            return f"tap: a card is tapped for auth and sale, not for {operation}"
        for one in self.follow or ():
            if operation not in FOLLOW_UPS[one.do]:
                fitting = ", ".join(sorted(FOLLOW_UPS[one.do]))
                return f"follow: {one.do} is for {fitting}, not for {operation}"
            if one.outcome is not None and (why := outcomes.why_not_for(one.outcome, operation)):
                return f"follow.outcome: {why}"
        return None

    @cached_property
    def operations(self) -> frozenset[Operation]:
        """The operations for which the whole effect is possible."""
        fitting = () if self.batch is not None else Operation
        return frozenset(one for one in fitting if self.why_not(one) is None)


class Rule(Part):
    """One rule: a condition and an effect. Without a name it is known by its number.

    A name is therefore never a number.
    """

    name: words.RuleName | None = None
    """The name of the rule in answers and the journal; without one, its number."""
    when: When = Field(default_factory=When)
    """Which attempts the rule is for; without it, all of them."""
    then: Then
    """The effect on an attempt that matches."""

    @model_validator(mode="after")
    def _fits_together(self) -> "Rule":
        when, then = self.when, self.then
        if then.batch is not None and (when.method or when.path):
            raise ValueError("when: a batch closes without a request too; name only the operation")
        if then.is_of_requests:
            return self
        if CLOSE_BATCH in (when.operation or ()) and not when.is_of_a_batch:
            raise ValueError(f"when.operation: {CLOSE_BATCH} cannot be combined")
        if (then.batch is not None) != when.is_of_a_batch:
            raise ValueError(
                f'then.batch: belongs to when.operation = "{CLOSE_BATCH}", which needs it'
            )
        if then.batch is not None:
            return self
        self._must_be_a_part()
        if not when.attempts:
            (name, *_) = sorted(then.model_fields_set - {"fault", "delay_ms"})
            raise ValueError(
                f"then.{name}: {when.operations[0].name} asks no processor; it can have a fault "
                "and a delay_ms"
            )
        asked = sorted(when.attempts.intersection(when.operation or ()))
        if not when.attempts & then.operations:
            asked.append(min(when.attempts))
        for one in asked:
            if (why := then.why_not(one)) is not None:
                raise ValueError(f"then.{why}")
        return self

    def _must_be_a_part(self) -> None:
        """Raise ValueError if a partial approval would cover every matching amount."""
        approved = self.then.approved_amount
        most = [one if isinstance(one, int) else one.max for one in self.when.amount or ()]
        whole = max((inf if one is None else one for one in most), default=inf)
        if approved is not None and approved >= whole:
            raise ValueError(
                f"then.approved_amount: a part of {whole} is less than that, not {approved}"
            )

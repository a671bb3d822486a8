"""The shape of a scenario file: what rules can ask of an attempt, and what they can say about it.

The words are those of the platform; every one is checked when the file is read. Source: assumed
D4, D24, 6.3.
"""

from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from sandbox.domain.batches import REASONS
from sandbox.domain.durations import parse_duration
from sandbox.domain.payments.amounts import AMOUNT_MAX
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import INITIATING, OUTCOMES, Operation, for_operation
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.payments.transport import TRANSPORT_FAULTS
from sandbox.domain.words import UnknownWord

T = TypeVar("T")

CLOSE_BATCH = "close_batch"
OPERATIONS = (*(one.value for one in Operation), CLOSE_BATCH)
DELAY_MS_MAX = 3_600_000
BRANDS = tuple(dict.fromkeys(card.brand for card in CARDS.values()))
TYPES = tuple(dict.fromkeys(card.type for card in CARDS.values()))


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


Some = Annotated[list[T], BeforeValidator(_listed), Field(min_length=1)]
"""One value, or a list of which any will do."""

Name = Annotated[str, Field(min_length=1, max_length=100)]
Cents = Annotated[int, Field(ge=0, le=AMOUNT_MAX)]


class _Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class AmountRange(_Part):
    """Amounts from `min` to `max`, or whose last digits are `ends_with`. Minor units."""

    min: Cents | None = None
    max: Cents | None = None
    ends_with: Annotated[str, Field(pattern=r"^[0-9]{1,9}$")] | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> "AmountRange":
        if self.min is None and self.max is None and self.ends_with is None:
            raise ValueError("says nothing: give min, max or ends_with")
        if self.min is not None and self.max is not None and self.min > self.max:
            raise ValueError("no amount is both: min is more than max")
        return self

    def takes(self, amount: int) -> bool:
        """Whether the amount is one of them."""
        return (
            (self.min is None or amount >= self.min)
            and (self.max is None or amount <= self.max)
            and (self.ends_with is None or str(amount).endswith(self.ends_with))
        )


Amount = Annotated[int, Field(ge=0, le=AMOUNT_MAX)] | AmountRange


def _known(value: list[str], known: tuple[str, ...], what: str) -> list[str]:
    for word in value:
        if word not in known:
            raise UnknownWord(f"{word[:80]!r} is no {what}", word, known)
    return value


class When(_Part):
    """What an attempt has to be for a rule to apply; what is not named does not matter.

    `nth` counts the attempts that fit everything else of the rule, `attempt` those on the payment,
    its initiation being the first.
    """

    operation: Some[str] | None = None
    amount: Some[Amount] | None = None
    tip_amount: Some[Amount] | None = None
    currency: Some[Annotated[str, Field(pattern=r"^[A-Z]{3}$")]] | None = None
    card: Some[str] | None = None
    card_brand: Some[str] | None = None
    card_type: Some[str] | None = None
    terminal: Some[Name] | None = None
    location: Some[Name] | None = None
    account: Some[Name] | None = None
    key: Some[Name] | None = None
    platform: Some[str] | None = None
    processor: Some[Name] | None = None
    status: Some[str] | None = None
    nth: Some[Annotated[int, Field(ge=1)]] | None = None
    attempt: Some[Annotated[int, Field(ge=1)]] | None = None

    @field_validator("operation", "card", "card_brand", "card_type", "platform", "status")
    @classmethod
    def _has_known_words(cls, value: list[str] | None, info: Any) -> list[str] | None:
        known, what = _WORDS[info.field_name]
        return None if value is None else _known(value, known, what)

    @model_validator(mode="after")
    def _can_ever_fit(self) -> "When":
        wanted = set(self.operation or OPERATIONS)
        begins = {one.value for one in INITIATING}
        if self.operation and CLOSE_BATCH in wanted and len(self.operation) > 1:
            raise ValueError(f"operation: {CLOSE_BATCH} stands alone")
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


_WORDS = {
    "operation": (OPERATIONS, "operation"),
    "card": (tuple(CARDS), "test card"),
    "card_brand": (BRANDS, "brand of a test card"),
    "card_type": (TYPES, "type of a test card"),
    "platform": (("ios", "android"), "platform"),
    "status": (STATUSES, "status of a payment"),
}
_OF_A_BATCH = ("terminal", "account", "key", "processor", "nth")


def check_outcome(word: str) -> str:
    """The word, if it names an outcome. Raises ValueError with the nearest one."""
    if word in TRANSPORT_FAULTS:
        raise ValueError(f"{word!r} is a transport fault: say fault = {word!r}")
    if word not in OUTCOMES:
        raise UnknownWord(f"{word[:80]!r} is no outcome", word, OUTCOMES)
    return word


class Then(_Part):
    """What happens to an attempt that fits.

    `times` is how often the rule applies before it is used up. `after` is how long a batch waits
    for its result.
    """

    outcome: str | None = None
    approved_amount: Annotated[int, Field(ge=1, le=AMOUNT_MAX)] | None = None
    delay_ms: Annotated[int, Field(ge=0, le=DELAY_MS_MAX)] = 0
    fault: str | None = None
    batch: Literal["accepted", "rejected", "partially_accepted"] | None = None
    reason: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    rejected: Annotated[int, Field(ge=1)] | Annotated[list[str], Field(min_length=1)] | None = None
    after: str | None = None
    times: Annotated[int, Field(ge=1)] | None = None

    @field_validator("outcome")
    @classmethod
    def _is_an_outcome(cls, word: str | None) -> str | None:
        return None if word is None else check_outcome(word)

    @field_validator("fault")
    @classmethod
    def _is_a_fault(cls, word: str | None) -> str | None:
        if word is not None and word not in TRANSPORT_FAULTS:
            raise UnknownWord(f"{word[:80]!r} is no transport fault", word, TRANSPORT_FAULTS)
        return word

    @field_validator("reason")
    @classmethod
    def _is_a_reason(cls, word: str | None) -> str | None:
        if word is not None and " " not in word and word not in REASONS:
            raise UnknownWord(f"{word!r} is no reason", word, REASONS)
        return word

    @field_validator("after")
    @classmethod
    def _is_a_duration(cls, text: str | None) -> str | None:
        if text is not None:
            parse_duration(text)
        return text

    @model_validator(mode="after")
    def _goes_together(self) -> "Then":
        said = {
            name for name in self.model_fields_set - {"times"} if getattr(self, name) is not None
        }
        if not said:
            raise ValueError("says nothing")
        if self.approved_amount is not None and self.outcome != "partial_approval":
            raise ValueError("approved_amount: belongs to the outcome partial_approval alone")
        if self.reason is not None and self.batch != "rejected":
            raise ValueError('reason: belongs to batch = "rejected" alone')
        if (self.rejected is not None) != (self.batch == "partially_accepted"):
            raise ValueError('rejected: belongs to batch = "partially_accepted", which needs it')
        if self.after is not None and self.batch is None:
            raise ValueError("after: belongs to the result of a batch alone")
        if self.batch is not None and said & {"outcome", "fault", "delay_ms"}:
            raise ValueError("batch: a batch has neither outcome nor fault")
        return self


class Rule(_Part):
    """One rule: what happens to which attempts. Without a name it is known by its number.

    That is why a name is no number.
    """

    name: Annotated[Name, Field(pattern=r"[^0-9]")] | None = None
    when: When = Field(default_factory=When)
    then: Then

    @model_validator(mode="after")
    def _fits_together(self) -> "Rule":
        operations = self.when.operation
        is_for_batches = self.then.batch is not None
        if is_for_batches != (operations == [CLOSE_BATCH]):
            raise ValueError(
                f'then.batch: belongs to when.operation = "{CLOSE_BATCH}", which needs it'
            )
        if self.then.outcome and operations:
            for one in operations:
                if for_operation(self.then.outcome, Operation(one)) is None:
                    fitting = ", ".join(sorted(OUTCOMES[self.then.outcome].scope))
                    raise ValueError(
                        f"then.outcome: {self.then.outcome} is for {fitting}, not for {one}"
                    )
        return self


class Send(_Part):
    """What an example does: an attempt, closing a batch, looking up, or letting time pass.

    An action is on the payment of the example before, or on that of the example named by `on`.
    `find` looks up the payment that has the `event_id`.
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
    card: str | None = None
    terminal: Name = "merchant"
    key: Name = "psp"
    event_id: str | None = None
    confirm: bool = True
    by: str | None = None

    @model_validator(mode="after")
    def _says_what_to_find(self) -> "Send":
        if self.operation == "find" and self.event_id is None:
            raise ValueError("event_id: is what find looks for")
        return self


class Expect(_Part):
    """What must come of it; what is not named does not matter.

    `http` is the status of the answer, 0 where the connection was closed without one; `status` and
    `status_reason` are of the answer, or of the payment where there was none; `event` must be
    among those that the request fired, `events` are all of them; `fields` are any others, and
    of an object only what is named; `null` names those that must be null.
    """

    http: int | None = None
    error: str | None = None
    status: str | None = None
    status_reason: str | None = None
    event: str | None = None
    events: list[str] | None = None
    outcome: str | None = None
    rule: str | None = None
    fields: dict[str, Any] = Field(default_factory=dict)
    null: list[str] = Field(default_factory=list)


class Example(_Part):
    """One step of the story that the file tells, and what it must come to."""

    name: Name | None = None
    send: Send
    expect: Expect


class Scenario(_Part):
    """A whole file."""

    name: Name
    about: Annotated[str, Field(min_length=1, max_length=1000)] = ""
    rule: list[Rule] = Field(default_factory=list)
    example: list[Example] = Field(default_factory=list)

    @field_validator("rule")
    @classmethod
    def _has_distinct_names(cls, rules: list[Rule]) -> list[Rule]:
        names = [rule.name for rule in rules if rule.name]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise ValueError(f"two rules are named {twice!r}")
        return rules

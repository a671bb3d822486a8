"""Choosing the outcome of an attempt, with the reason and the near misses.

The sources are tried in the order of assumed D4, and the first that has an outcome for the
operation wins. An outcome for another operation is noted as a near miss.
"""

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain import transport_faults
from sandbox.domain.instants import parse_duration
from sandbox.domain.payments import outcomes, transitions
from sandbox.domain.payments.cards import Card
from sandbox.domain.payments.outcomes import APPROVED, Operation, for_operation
from sandbox.domain.text import UnknownWord
from sandbox.domain.transport_faults import TRANSPORT_FAULTS, TransportFault
from sandbox.scenarios.matcher import Running, Words
from sandbox.scenarios.queue import Queue
from sandbox.scenarios.rules import FollowUp, Then


class AttemptFacts(Struct, frozen=True, gc=False):
    """The facts of an attempt before its outcome.

    `amount` is the amount of this operation, if it has one. `header` is the outcome that the client
    forces, and `terminal_outcome` the fixed outcome of a test terminal. `armed` is an operation of
    this payment that an earlier amount makes fail once. `more` returns further facts, and is only
    called if a scenario runs.
    """

    operation: Operation
    amount: int | None
    card: Card
    terminal_id: str
    header: str | None = None
    terminal_outcome: str | None = None
    armed: tuple[Operation, str, int] | None = None
    should_heed_amounts: bool = True
    scenario: Running | None = None
    more: Callable[[], Words] = dict

    def words(self) -> Words:
        """Return all facts that rules of a scenario can match."""
        more = self.more()
        return {
            **more,
            "operation": (self.operation.value, *more.get("operation", ())[-1:]),
            "attempts": self.operation,
            "amount": self.amount,
            "card": self.card.token,
            "card_brand": self.card.brand,
            "card_type": self.card.type,
            "terminal": self.terminal_id,
        }


class ChosenOutcome(Struct, frozen=True, gc=False):
    """The outcome of an attempt, and its source.

    A request that is not an attempt has only a transport fault as `fault`, perhaps `until` some
    moment. `arms` and `settlement` are stored with a payment for later; `should_disarm` marks an
    armed outcome as used. Unless it `is_final`, card, terminal and amount have the last word. With
    `tap` the payment waits that long for its card. `follow` lists the follow-ups.
    """

    outcome: outcomes.Outcome
    source: str
    rule: str
    fault: TransportFault | None = None
    delay_ms: int = 0
    approved_amount: int | None = None
    arms: tuple[Operation, str, int] | None = None
    settlement: str | None = None
    should_disarm: bool = False
    tap: timedelta | None = None
    is_final: bool = True
    follow: Sequence[FollowUp] = ()
    is_attempt: bool = True
    until: datetime | None = None

    @property
    def has_outcome(self) -> bool:
        """Whether the processor is asked."""
        return self.is_attempt and (self.fault is None or self.fault.when == "after")

    @property
    def late_ms(self) -> int:
        """How long the answer is delayed after the work is done."""
        if self.fault is transport_faults.SLOW:
            return self.delay_ms or transport_faults.SLOW_MS
        # The processor's own delay has passed already.
        return 0 if self.has_outcome else self.delay_ms

    @property
    def key(self) -> str:
        """The name of the choice: the fault if there is no outcome, else the outcome."""
        if self.fault is not None and not self.has_outcome:
            return self.fault.key
        return self.outcome.key

    @property
    def by(self) -> str:
        """The source for people, with the rule if it has several."""
        return self.source if self.rule == self.source else f"{self.source}: {self.rule}"


BY_DEFAULT: Final = ChosenOutcome(APPROVED, "default", "default")


def check_word(word: str) -> str:
    """Return the word itself, if it names an outcome or a transport fault.

    Raises UnknownWord.
    """
    known = (*outcomes.OUTCOMES, *TRANSPORT_FAULTS)
    if word not in known:
        why = f"{word[:80]!r} is neither an outcome nor a transport fault"
        raise UnknownWord(why, word, known)
    return word


def choose(facts: AttemptFacts, queue: Queue | None, near: list[str]) -> ChosenOutcome:
    """Choose the outcome of this attempt, and note the near misses.

    A queued outcome that is used leaves the queue.
    """
    # Source of the order: assumed D4.
    choice = (
        _choose_named(facts.header, facts, "header", "header", near)
        or (_by_queue(facts, queue, near) if queue is not None and queue.entries else None)
        or (_by_scenario(facts, facts.scenario, near) if facts.scenario is not None else None)
    )
    if choice is None or (choice.has_outcome and not choice.is_final and choice.tap is None):
        own = (
            _by_card(facts, near)
            or _choose_named(facts.terminal_outcome, facts, "terminal", facts.terminal_id, near)
            or _by_amount(facts, near)
        )
        # A fault or a delay without an outcome leaves the choice to the sources after it.
        choice = own if choice is None else _with_effects(own, choice)
    return choice or BY_DEFAULT


def choose_fault(
    request: Words, header: str | None, queue: Queue, scenario: Running | None, near: list[str]
) -> ChosenOutcome | None:
    """Choose the transport fault of a request that asks no processor, or None.

    The sources and their order are those of `choose`.
    """
    if header is not None:
        if header == APPROVED.key:
            return _fault(None, 0, "header", "header")
        # A passthrough asks no processor, and has no other outcome.
        return _fault(header, 0, "header", "header") if header in TRANSPORT_FAULTS else None
    entry = queue.take(request, near)
    if entry is not None:
        return _fault(entry.fault, entry.delay_ms, "queue", "queue")
    if scenario is None:
        return None

    def is_possible(then: Then) -> bool | None:
        has_body = then.fault not in transport_faults.NEED_BODY or bool(request["has_body"])
        return has_body if then.is_of_requests else None

    matched = scenario.matched(request, is_possible, near)
    if matched is None:
        return None
    choice = _fault(matched.then.fault, matched.delay_ms, "scenario", matched.rule)
    return replace(choice, until=matched.until)


def _fault(word: str | None, delay_ms: int, source: str, rule: str) -> ChosenOutcome:
    """Return the fault of a request that is not an attempt. Only a delay is a slow answer."""
    word = word or (transport_faults.SLOW.key if delay_ms else None)
    fault = None if word is None else TRANSPORT_FAULTS[word]
    return ChosenOutcome(APPROVED, source, rule, fault=fault, delay_ms=delay_ms, is_attempt=False)


def choose_at_tap(facts: AttemptFacts, waiting: ChosenOutcome, near: list[str]) -> ChosenOutcome:
    """Choose the outcome once the card is known. Source: assumed D4, D24.

    It comes from the scenario, or else from the card, the terminal or the amount. The other effects
    of the rule stay. Sources that only count before the payment starts do not apply.
    """
    if waiting.is_final:
        return waiting
    choice = choose(facts, None, near)
    if choice.fault is not None and choice.fault.when == "before":
        near.append(f"{choice.rule}: {choice.fault.key} is too late for a tap")
        choice = BY_DEFAULT
    if choice.source == "default":
        # The scenario approved it with any card.
        choice = replace(choice, source=waiting.source, rule=waiting.rule)
    return _with_effects(choice, waiting)


def _with_effects(own: ChosenOutcome | None, rule: ChosenOutcome) -> ChosenOutcome:
    """Add the rule's other effects to the outcome by card, terminal or amount."""
    if own is None:
        return rule
    return replace(
        own,
        delay_ms=rule.delay_ms,
        fault=rule.fault or own.fault,
        follow=rule.follow,
        until=rule.until,
    )


def _choose_named(
    word: str | None, facts: AttemptFacts, source: str, rule: str, near: list[str]
) -> ChosenOutcome | None:
    """Return the named outcome, if it is possible for this operation (assumed 5.1)."""
    if word is None:
        return None
    fault = TRANSPORT_FAULTS.get(word)
    if fault is not None:
        return ChosenOutcome(APPROVED, source, rule, fault=fault, is_final=False)
    outcome = for_operation(word, facts.operation)
    if outcome is None:
        fitting = ", ".join(outcomes.operations_of(word))
        near.append(f"{source} {rule}: {word} is for {fitting}, not for {facts.operation}")
        return None
    return ChosenOutcome(outcome, source, rule)


def _by_queue(facts: AttemptFacts, queue: Queue, near: list[str]) -> ChosenOutcome | None:
    entry = queue.take(facts.words(), near)
    if entry is None:
        return None
    return _choose_effect(entry, facts, "queue", "queue", delay_ms=entry.delay_ms)


def _choose_effect(
    effect: outcomes.Queued | Then, facts: AttemptFacts, source: str, rule: str, **more: Any
) -> ChosenOutcome:
    """Return the outcome and fault of an effect that is possible for this operation."""
    outcome = for_operation(effect.outcome or APPROVED.key, facts.operation)
    assert outcome
    fault = TRANSPORT_FAULTS[effect.fault] if effect.fault else None
    return ChosenOutcome(
        outcome,
        source,
        rule,
        fault=fault,
        approved_amount=effect.approved_amount,
        is_final=effect.outcome is not None,
        **more,
    )


def _by_scenario(facts: AttemptFacts, scenario: Running, near: list[str]) -> ChosenOutcome | None:
    operation = facts.operation
    matched = scenario.matched(facts.words(), lambda then: operation in then.operations, near)
    if matched is None:
        return None
    then, rule, delay_ms, until = matched
    return _choose_effect(
        then,
        facts,
        "scenario",
        rule,
        delay_ms=delay_ms,
        tap=then.tap and (parse_duration(then.after) if then.after else transitions.TAP),
        follow=then.follow or (),
        until=until,
    )


def _by_card(facts: AttemptFacts, near: list[str]) -> ChosenOutcome | None:
    """Choose by the card. A card that is simply approved does not choose (assumed D13)."""
    card = facts.card
    if facts.operation not in outcomes.INITIATING:
        word = card.later.get(facts.operation)
    elif card.limit is not None and facts.amount is not None and facts.amount > card.limit:
        return ChosenOutcome(outcomes.PARTIAL, "card", card.token, approved_amount=card.limit)
    else:
        word = card.outcome
    return _choose_named(word, facts, "card", card.token, near)


def _by_amount(facts: AttemptFacts, near: list[str]) -> ChosenOutcome | None:
    """Return the outcome of an earlier amount, or of this one. Source: assumed 6.2-amount."""
    if facts.armed is not None and facts.armed[0] is facts.operation:
        _, word, amount = facts.armed
        outcome = for_operation(word, facts.operation)
        assert outcome
        return ChosenOutcome(outcome, "amount", f"amount:{amount}", should_disarm=True)
    if facts.amount is None or (row := outcomes.TRIGGERS.get(facts.amount)) is None:
        return None
    if not facts.should_heed_amounts:
        near.append(f"{row.rule}: triggers.enabled is off")
        return None
    if row.kind in ("outcome", "fault"):
        return _choose_named(row.key, facts, "amount", row.rule, near)
    if facts.operation not in outcomes.INITIATING:
        near.append(f"{row.rule}: only an initiation arms a payment")
        return None
    if row.operation is None:
        return ChosenOutcome(APPROVED, "amount", row.rule, settlement=row.key)
    arms = (row.operation, row.key, row.amount)
    return ChosenOutcome(APPROVED, "amount", row.rule, arms=arms)

"""The outcome of an attempt: its choice, noted for the journal, and what it makes of the record."""

from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from sandbox.domain.batches import Batch
from sandbox.domain.clock import AUTHORIZATION_EXPIRES, HOLD_REVERSED, SURCHARGE_EXPIRES, Timer
from sandbox.domain.instants import Instant, from_ms
from sandbox.domain.payments import transitions
from sandbox.domain.payments.action_records import with_own_record
from sandbox.domain.payments.cards import NOT_READ, Card, Tapped
from sandbox.domain.payments.initiation import Start, conclude, transition_for
from sandbox.domain.payments.outcomes import LOST_AS_DECLINED, Operation, Outcome
from sandbox.domain.payments.pricing import above_cap
from sandbox.domain.payments.transactions import Payment, Transaction, change
from sandbox.domain.payments.transitions import Conclusion
from sandbox.domain.readings import LOST_CARDS, RECORD_OF_AN_ACTION, STORED_TRANSACTION_TYPE
from sandbox.platform import settlement
from sandbox.platform.context import OperationContext, RequestContext
from sandbox.platform.payments.points_of_sale import KnownPlace
from sandbox.platform.request_faults import let_happen, request_words
from sandbox.scenarios.matcher import Words
from sandbox.scenarios.outcome_choice import AttemptFacts, ChosenOutcome, choose, choose_at_tap


def decide(
    context: RequestContext,
    operation: Operation,
    *,
    amount: int | None,
    card: Card,
    terminal_id: str,
    more: Callable[[], Words],
    armed: tuple[Operation, str, int] | None = None,
) -> ChosenOutcome:
    """Choose the outcome, and note for the journal why. A fault that comes first is raised.

    `more` gives further facts for scenarios.

    Raises Refusal for an HTTP fault, and Dropped for a connection that is cut, with nothing done
    (assumed 5.3).
    """
    world = context.world
    facts = AttemptFacts(
        operation,
        amount,
        card,
        terminal_id,
        context.forced,
        world.state.terminal_outcomes.get(terminal_id),
        armed,
        world.switches["triggers.enabled"],
        world.scenario,
        more,
    )
    choice = context.choice = _as_read(context, choose(facts, context.world.queue))
    if choice.source != "default":
        context.decided("outcome", choice.key, choice.by, "assumed D4")
    let_happen(context, choice)
    return choice


def _as_read(context: OperationContext, choice: ChosenOutcome) -> ChosenOutcome:
    """Return the choice, with the reason that the world's reading gives lost cards (D35-lost)."""
    if (
        choice.outcome.status_reason == "invalid_card"
        and context.world.readings[LOST_CARDS] == "declined"
    ):
        return replace(
            choice,
            outcome=LOST_AS_DECLINED.get(choice.outcome.key, choice.outcome),
        )
    return choice


def decide_at_tap(
    context: OperationContext,
    waiting: ChosenOutcome,
    operation: Operation,
    amount: int,
    tapped: Tapped,
    terminal_id: str,
) -> ChosenOutcome:
    """Decide the outcome of the attempt by what came of the tap desk.

    That is a tap, a cancellation or an outcome.
    """
    if tapped.outcome is not None:
        choice = _as_read(context, replace(waiting, outcome=tapped.outcome))
        why = "at the tap desk"
    else:
        assert tapped.card
        facts = AttemptFacts(
            operation=operation,
            amount=amount,
            card=tapped.card,
            terminal_id=terminal_id,
            terminal_outcome=context.world.state.terminal_outcomes.get(terminal_id),
            heeds_amounts=context.world.switches["triggers.enabled"],
        )
        choice = _as_read(context, choose_at_tap(facts, waiting))
        why = f"{tapped.card.token} was tapped"
    context.choice = choice
    context.decided("outcome", choice.key, f"{why}; {choice.by}", "assumed D24")
    return choice


def words_of(context: RequestContext, place: KnownPlace | Transaction, **more: Any) -> Words:
    """Return the facts of every attempt that the rules of a scenario can use."""
    return {
        **request_words(context),
        "currency": place.currency,
        "location": place.location_id,
        "account": place.account_id,
        "processor": place.processor,
        **more,
    }


def repeated(context: OperationContext, outcome: Outcome, sent: str | None) -> ChosenOutcome:
    """Return the choice for an attempt whose event_id was used before.

    Source: assumed D35-duplicate.
    """
    choice = context.choice = ChosenOutcome(outcome, "rule", f"{sent} was used before")
    context.decided("outcome", choice.key, choice.rule, "assumed D35-duplicate")
    return choice


def delay_ms(context: OperationContext, choice: ChosenOutcome) -> int:
    """Return the real time that the answer takes: the scripted delay, and the scaled latency."""
    # A slow answer is late on its way back, when all is done.
    is_slow_only = choice.fault is not None and choice.fault.key == "slow"
    scale: float = context.world.switches["latency.scale"]
    return (0 if is_slow_only else choice.delay_ms) + round(choice.outcome.latency_ms * scale)


# --- saving -----------------------------------------------------------------------------------


def save(
    context: OperationContext,
    conclusion: Conclusion,
    before: Payment | None,
    joined: Batch | None = None,
) -> Conclusion:
    """Store the record, count it in its batches, set its timers, and fire its events.

    The conclusion as it was stored: by a reading an action has a record of its own.
    """
    if before is not None and context.world.readings[RECORD_OF_AN_ACTION] == "own":
        conclusion = with_own_record(conclusion, before)
    record = conclusion.record
    if context.world.readings[STORED_TRANSACTION_TYPE] == "first":  # assumed D35-type
        record = change(record, transaction_type=record.operation.value)
    context.unit.put(record)
    _note_cap(context, before, record)
    if before is None or before.status != record.status:
        _set_timers(context, before, record)
    settlement.count(context, before, record, joined)
    for event, shown in conclusion.events:
        context.emit(event, shown)
    row = conclusion.taken
    was = before.status if before else "new"
    context.decided("apply", "ok", f"{row.trigger}: {was} to {record.status}", row.source)
    return conclusion


def save_initiation(context: OperationContext, start: Start) -> Payment:
    """Store what the processor's answer makes of a pending payment; the payment as it is shown."""
    taken = transition_for(start)
    batch = settlement.batch_for_entry(context, start.payment) if taken.batch_entry else None
    conclusion = conclude(start, taken, at=context.now_ms, batch_id=batch.id if batch else None)
    save(context, conclusion, start.payment, batch)
    return conclusion.shown


def _note_cap(context: OperationContext, before: Payment | None, record: Payment) -> None:
    """Note a new surcharge above the cap of the card's brand. Source: assumed 2.8-caps."""
    is_new = (
        before is None
        or before.status == "pending"
        or before.amounts.surcharge != record.amounts.surcharge
    )
    if record.card is NOT_READ:
        return
    brand = record.card.brand
    if is_new and (cap := above_cap(brand, record.amounts)) is not None:
        reason = f"the surcharge of {record.amounts.surcharge} is above {brand}'s cap of {cap:g} %"
        context.decided("rule", "note", reason, "assumed 2.8-caps")


def _set_timers(context: OperationContext, before: Payment | None, record: Payment) -> None:
    """Set and cancel the timers of authorizations and surcharge prompts.

    Both last only so long. Source: assumed F4, F21.
    """
    id = record.id
    if before is not None and before.status == "authorized":
        context.unit.cancel(AUTHORIZATION_EXPIRES, id)
    if before is not None and before.status == "surcharge_pending":
        context.unit.cancel(SURCHARGE_EXPIRES, id)
    if before is not None and before.status == "error":
        context.unit.cancel(HOLD_REVERSED, id)
    if record.status == "error" and record.ledger.held > 0:
        due = context.now + transitions.HOLD_AFTER_TIMEOUT
        context.unit.schedule(Timer(kind=HOLD_REVERSED, subject=id, due=due))
    if record.status == "authorized":
        # Counted from the beginning; an increment does not restart it (assumed 8.1).
        due = from_ms(record.transaction.created_at) + transitions.authorization_lifetime(record)
        context.unit.schedule(Timer(kind=AUTHORIZATION_EXPIRES, subject=id, due=due))
    if record.status == "surcharge_pending":
        due = _prompt_ends(context, from_ms(record.transaction.created_at))
        context.unit.schedule(Timer(kind=SURCHARGE_EXPIRES, subject=id, due=max(due, context.now)))


def _prompt_ends(context: OperationContext, begun: Instant) -> Instant:
    """Until when the prompt is shown; a scenario counts from the prompt (assumed D24, D39)."""
    for one in context.choice.follow if context.choice else ():
        if one.do == SURCHARGE_EXPIRES:
            return context.now + one.wait
    return begun + transitions.SURCHARGE_PROMPT

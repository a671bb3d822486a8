"""What an attempt makes of a payment: its record, batch, timers and events in the unit of work."""

from typing import Final

from sandbox.domain.batches import Batch
from sandbox.domain.clock import AUTHORIZATION_EXPIRES, HOLD_REVERSED, SURCHARGE_EXPIRES, Timer
from sandbox.domain.instants import Instant, from_ms
from sandbox.domain.payments import transitions
from sandbox.domain.payments.action_records import with_own_record
from sandbox.domain.payments.cards import NOT_READ
from sandbox.domain.payments.initiation import Start, conclude, transition_for
from sandbox.domain.payments.pricing import above_cap
from sandbox.domain.payments.transactions import Payment, change
from sandbox.domain.payments.transitions import Conclusion
from sandbox.domain.readings import RECORD_OF_AN_ACTION, STORED_TRANSACTION_TYPE
from sandbox.platform import settlement
from sandbox.platform.context import OperationContext


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
    was, status = before.status if before else "new", record.status
    if was != status:
        _set_timers(context, before, record)
    settlement.count(context, before, record, joined)
    for event, shown in conclusion.events:
        context.emit(event, shown)
    row = conclusion.taken
    context.explain("apply", "ok", f"{row.trigger}: {was} to {status}", row.source)
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
        context.explain("rule", "note", reason, "assumed 2.8-caps")


_TIMERS: Final = {
    "authorized": AUTHORIZATION_EXPIRES,
    "surcharge_pending": SURCHARGE_EXPIRES,
    "error": HOLD_REVERSED,
}
"""The timer that runs while a payment has a status."""


def _set_timers(context: OperationContext, before: Payment | None, record: Payment) -> None:
    """Set and cancel the timers of authorizations and surcharge prompts.

    Both last only so long. Source: assumed F4, F21.
    """
    id, status = record.id, record.status
    if before is not None and (timer := _TIMERS.get(before.status)) is not None:
        context.unit.cancel(timer, id)
    if status == "error" and record.ledger.held > 0:
        due = context.now + transitions.HOLD_AFTER_TIMEOUT
        context.unit.schedule(Timer(kind=HOLD_REVERSED, subject=id, due=due))
    if status == "authorized":
        # Counted from the beginning; an increment does not restart it (assumed 8.1).
        due = from_ms(record.transaction.created_at) + transitions.authorization_lifetime(record)
        context.unit.schedule(Timer(kind=AUTHORIZATION_EXPIRES, subject=id, due=due))
    if status == "surcharge_pending":
        due = _prompt_ends(context, from_ms(record.transaction.created_at))
        context.unit.schedule(Timer(kind=SURCHARGE_EXPIRES, subject=id, due=max(due, context.now)))


def _prompt_ends(context: OperationContext, begun: Instant) -> Instant:
    """Until when the prompt is shown; a scenario counts from the prompt (assumed D24, D39)."""
    for one in context.choice.follow if context.choice else ():
        if one.do == SURCHARGE_EXPIRES:
            return context.now + one.wait
    return begun + transitions.SURCHARGE_PROMPT

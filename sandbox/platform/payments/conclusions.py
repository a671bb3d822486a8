"""The result of an attempt, stored: the record, its batch, timers and events."""

from typing import Final

from sandbox.domain.clock import AUTHORIZATION_EXPIRES, HOLD_REVERSED, SURCHARGE_EXPIRES, Timer
from sandbox.domain.instants import from_ms
from sandbox.domain.payments import transitions
from sandbox.domain.payments.action_plans import ActionRequest
from sandbox.domain.payments.action_records import with_own_record
from sandbox.domain.payments.follow_ups import Case
from sandbox.domain.payments.pricing import above_cap
from sandbox.domain.payments.transactions import Payment, change
from sandbox.domain.payments.transitions import Conclusion
from sandbox.platform import settlement
from sandbox.platform.context import OperationContext


def save(context: OperationContext, conclusion: Conclusion, before: Payment) -> Conclusion:
    """Store the record, count it in its batches, set its timers, and fire its events.

    Returns the conclusion as it was stored: a reading may give an action its own record.
    """
    if context.world.readings["record_of_an_action"] == "own":
        conclusion = with_own_record(conclusion, before)
    record = conclusion.record
    if context.world.readings["stored_transaction_type"] == "first":  # assumed D35-type
        record = change(record, transaction_type=record.operation.value)
    context.unit.put(record)
    _note_cap(context, before, record)
    was, status = before.status, record.status
    if was != status:
        _set_timers(context, was, record)
    settlement.count(context, before, record)
    for event, shown in conclusion.events:
        context.emit(event, shown)
    row = conclusion.taken
    context.explain("apply", "ok", f"{row.trigger}: {was} to {status}", row.source)
    return conclusion


def case_of(context: OperationContext, payment: Payment, action: ActionRequest) -> Case:
    """Return the facts that decide about an action on the payment as it is now."""
    is_closed = settlement.is_closed(context, payment.batch_id)
    return Case(
        payment=payment, action=action, is_batch_closed=is_closed, readings=context.world.readings
    )


def _note_cap(context: OperationContext, before: Payment, record: Payment) -> None:
    """Note a new surcharge above the cap of the card's brand. Source: assumed 2.8-caps."""
    brand, surcharge = record.card.brand, record.transaction.surcharge_amount
    known = 0 if before.status == "pending" else before.transaction.surcharge_amount
    if surcharge != known and (cap := above_cap(brand, record.amounts)) is not None:
        reason = f"the surcharge of {surcharge} is above {brand}'s cap of {cap:g} %"
        context.explain("rule", "note", reason, "assumed 2.8-caps")


_TIMERS: Final = {
    "authorized": AUTHORIZATION_EXPIRES,
    "surcharge_pending": SURCHARGE_EXPIRES,
    "error": HOLD_REVERSED,
}
"""The timer that runs while a payment has a status."""


def _set_timers(context: OperationContext, was: str, record: Payment) -> None:
    """Set and cancel the timers that end authorizations, prompts and orphaned holds.

    Source: assumed F4, F21, F42.
    """
    if was in _TIMERS:
        context.unit.cancel(_TIMERS[was], record.id)
    if (status := record.status) not in _TIMERS:
        return
    if status == "authorized":
        # Counted from the beginning; an increment does not restart it (assumed 8.1). It may have
        # passed when a late answer comes.
        begun = from_ms(record.transaction.created_at)
        due = max(begun + transitions.authorization_lifetime(record), context.now)
    elif status == "surcharge_pending":
        # Counted from the prompt, after the tap (assumed D24, D39).
        follow = context.choice.follow if context.choice else ()
        scripted = (one.wait for one in follow if one.do == SURCHARGE_EXPIRES)
        due = context.now + next(scripted, transitions.SURCHARGE_PROMPT)
    elif record.ledger.held > 0:
        due = context.now + transitions.HOLD_AFTER_TIMEOUT
    else:
        return
    context.unit.schedule(Timer(kind=_TIMERS[status], subject=record.id, due=due))

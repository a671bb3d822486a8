"""Saving the result of an attempt: the record, its batches, its timers, its events."""

from typing import cast

from msgspec.structs import replace

from sandbox.domain.batches import FROZEN, Batch, counting, next_number
from sandbox.domain.clock import AUTHORIZATION_EXPIRES, HOLD_REVERSED, SURCHARGE_EXPIRES, Timer
from sandbox.domain.directory import Terminal, processor_of
from sandbox.domain.instants import Instant, from_ms
from sandbox.domain.payments import transitions
from sandbox.domain.payments.cards import NOT_READ
from sandbox.domain.payments.pricing import above_cap
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.payments.transitions import Conclusion
from sandbox.domain.readings import STORED_TRANSACTION_TYPE
from sandbox.platform.operation_context import OperationContext


def save(
    context: OperationContext,
    conclusion: Conclusion,
    before: Transaction | None,
    joined: Batch | None = None,
) -> None:
    """Store the record, count it in its batches, set its timers, and fire its events."""
    record = conclusion.record
    if context.world.readings[STORED_TRANSACTION_TYPE] == "first":  # assumed D35-type
        record = replace(record, transaction_type=record.origin.operation.value)
    context.unit.put(record)
    _note_cap(context, before, record)
    count(context, before, record, joined)
    if before is None or before.status != record.status:
        _set_timers(context, before, record)
    for event, shown in conclusion.events:
        context.emit(event, shown)
    row = conclusion.taken
    was = before.status if before else "new"
    context.decided("apply", "ok", f"{row.trigger}: {was} to {record.status}", row.source)


def _note_cap(context: OperationContext, before: Transaction | None, record: Transaction) -> None:
    """Note a new surcharge above the cap of the card's brand. Source: assumed 2.8-caps."""
    is_new = (
        before is None
        or before.status == "pending"
        or before.amounts.surcharge != record.amounts.surcharge
    )
    if record.origin.card is NOT_READ:
        return
    brand = record.origin.card.brand
    if is_new and (cap := above_cap(brand, record.amounts)) is not None:
        reason = f"the surcharge of {record.amounts.surcharge} is above {brand}'s cap of {cap:g} %"
        context.decided("rule", "note", reason, "assumed 2.8-caps")


def count(
    context: OperationContext,
    before: Transaction | None,
    after: Transaction,
    joined: Batch | None = None,
) -> None:
    """Bring the sums of the payment's batches up to date. Source: assumed B2 to B4, D10.

    `joined` is the batch of a new entry, if it differs from the payment's own batch.
    """
    batches = {} if joined is None else {joined.id: joined}
    for tx in (before, after) if joined is None or after.batch_id != joined.id else (before,):
        id = tx.batch_id if tx else None
        if (
            id is not None
            and id not in batches
            and (batch := context.unit.get(Batch, id)) is not None
        ):
            batches[id] = batch
    for batch in batches.values():
        if batch.status not in FROZEN:
            counted = counting(batch, before, after)
            if counted is not batch:
                context.unit.put(counted)


def _set_timers(context: OperationContext, before: Transaction | None, record: Transaction) -> None:
    """An authorization and a surcharge prompt last only so long. Source: assumed F4, F21."""
    id = record.transaction_id
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
        # Counted from the beginning; an increment does not begin it anew (assumed 8.1).
        due = from_ms(record.origin.created_at) + transitions.authorization_lifetime(record.origin)
        context.unit.schedule(Timer(kind=AUTHORIZATION_EXPIRES, subject=id, due=due))
    if record.status == "surcharge_pending":
        due = _prompt_ends(context, from_ms(record.origin.created_at))
        context.unit.schedule(Timer(kind=SURCHARGE_EXPIRES, subject=id, due=max(due, context.now)))


def _prompt_ends(context: OperationContext, begun: Instant) -> Instant:
    """Until when the prompt is shown; a scenario counts from the prompt (assumed D24, D39)."""
    for one in context.choice.follow if context.choice else ():
        if one.do == SURCHARGE_EXPIRES:
            return context.now + one.wait
    return begun + transitions.SURCHARGE_PROMPT


# --- batches ----------------------------------------------------------------------------------


def open_batch_of(context: OperationContext, terminal_id: str) -> Batch | None:
    """The terminal's open batch; it has one at most (assumed B1)."""
    return context.unit.newest(Batch, "open_at_terminal", terminal_id)


def batch_for_entry(context: OperationContext, tx: Transaction) -> Batch:
    """The open batch of the payment's terminal; opens one if needed (assumed B2, B3)."""
    terminal_id = tx.origin.site.terminal_id
    batch = open_batch_of(context, terminal_id)
    if batch is not None:
        return batch
    # A deleted terminal has its refunds settled all the same (assumed D10).
    return open_batch(context, cast(Terminal, context.unit.get(Terminal, terminal_id)))


def open_batch(
    context: OperationContext, terminal: Terminal, processor_batch_id: str | None = None
) -> Batch:
    """Open a batch and announce it. Source: spec 6.3-batch.opened; assumed B5, B6."""
    if processor_batch_id is None:
        earlier = context.unit.newest(Batch, "terminal_id", terminal.terminal_id)
        processor_batch_id = next_number(earlier.processor_batch_id if earlier else None)
    batch = Batch(
        id=context.world.draws.uuid(),
        account_id=terminal.account_id,
        terminal_id=terminal.terminal_id,
        processor_name=processor_of(terminal.processor_config_id),
        processor_config_id=terminal.processor_config_id,
        processor_batch_id=processor_batch_id,
        opened_at=context.now,
    )
    context.unit.put(batch)
    context.emit("batch.opened", batch)
    return batch


def is_closed(context: OperationContext, batch_id: str | None) -> bool:
    """Whether the batch was submitted or has its final result. Source: assumed B14."""
    if batch_id is None:
        return False
    batch = context.unit.get(Batch, batch_id)
    return batch is not None and batch.status not in ("open", "rejected")

"""Settlement: the batch that payments join, its submission, its result and its schedule.

Source: details assumed B1 to B16. A schedule is a timer of the terminal, with the schedule as its
detail, so it is saved and restored like any other timer.
"""

from datetime import datetime
from typing import Any, cast

from msgspec import structs
from pydantic_core import from_json

from sandbox.domain import batches
from sandbox.domain.batches import Batch, BatchSchedule, Result
from sandbox.domain.clock import BATCH_CLOSES, BATCH_RESULT, LATEST, Timer
from sandbox.domain.directory import Terminal, processor_of
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.instants import parse_duration
from sandbox.domain.payments.action_records import settled
from sandbox.domain.payments.outcomes import SETTLEMENTS
from sandbox.domain.payments.transactions import Payment, change
from sandbox.domain.payments.transitions import SETTLE, transitions_from
from sandbox.domain.states import NoSuchStep, Step
from sandbox.platform.context import OperationContext
from sandbox.platform.payments.attempts import schedule_follow_ups
from sandbox.scenarios.matcher import MatchedRule
from sandbox.scenarios.rules import CLOSE_BATCH
from sandbox.store.documents import from_document, to_text
from sandbox.store.tables import OLDEST_FIRST

# --- the batch of a payment ---


def open_batch_of(context: OperationContext, terminal_id: str) -> Batch | None:
    """Return the terminal's open batch, of which it has at most one (assumed B1)."""
    return context.unit.newest(Batch, "open_at_terminal", terminal_id)


def batch_for_entry(context: OperationContext, payment: Payment) -> Batch:
    """Return the open batch of the payment's terminal; open one if needed (assumed B2, B3)."""
    tx = payment.transaction
    # Its own batch may have been opened just now, and may not be committed yet.
    batch = context.unit.get(Batch, tx.batch_id) if tx.batch_id is not None else None
    if batch is None or batch.status != "open":
        batch = open_batch_of(context, tx.tid)
    # Refunds of a deleted terminal are settled too (assumed D10).
    return batch or open_batch(context, cast(Terminal, context.unit.get(Terminal, tx.tid)))


def open_batch(
    context: OperationContext, terminal: Terminal, processor_batch_id: str | None = None
) -> Batch:
    """Open a batch and announce it. Source: spec 6.3-batch.opened; assumed B5, B6."""
    if processor_batch_id is None:
        recent = _recent_batches(context, terminal.terminal_id)
        processor_batch_id = batches.next_number(recent, context.now)
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
    batch = context.unit.get(Batch, batch_id) if batch_id else None
    return batch is not None and batch.status in batches.FROZEN


def count(context: OperationContext, before: Payment, after: Payment) -> None:
    """Bring the sums of the payment's batches up to date. Source: assumed B2 to B4, D10."""
    was, now = batches.entries_of(before), batches.entries_of(after)
    for id in was | now:
        old, new = was.get(id, batches.NO_ENTRIES), now.get(id, batches.NO_ENTRIES)
        batch = context.unit.get(Batch, id) if old != new else None
        if batch is not None and batch.status not in batches.FROZEN:
            context.unit.put(batches.counting(batch, old, new))


def members_of(context: OperationContext, batch: Batch) -> list[Payment]:
    """Return the payments whose capture settles in the batch, oldest first."""
    found = transactions_in(context, batch)
    return [payment for payment in found if payment.original_id is None]


def transactions_in(context: OperationContext, batch: Batch) -> list[Payment]:
    """Return the payments of the batch, and its records of actions if a reading makes some."""
    where = {"in_batch": batch.id, "batch_id": batch.id}
    return context.unit.find(Payment, where, order=OLDEST_FIRST)[0]


def move(payment: Payment, batch_id: str | None) -> Payment:
    """Return the payment moved to another batch, or to none (assumed 2.10)."""
    history = tuple(
        structs.replace(attempt, batch_id=batch_id)
        if attempt.status == "captured" and attempt.transaction_type != "refund"
        else attempt
        for attempt in payment.history
    )
    return change(payment, batch_id=batch_id, history=history)


# --- submission and result ---


def submit(context: OperationContext, batch: Batch) -> Batch:
    """Send an open or rejected batch to the processor. Source: assumed B8, B9, B16."""
    step = step_of(batch, "close")
    _schedule_result(context, batch)
    return take(context, step, structs.replace(batch, response=None, closed_at=None))


def take(context: OperationContext, step: Step, batch: Batch) -> Batch:
    """Store the batch after this step of its life, and announce it."""
    batch = structs.replace(batch, status=cast(Any, step.target))
    context.apply(step, batch)
    return batch


def _schedule_result(context: OperationContext, batch: Batch) -> None:
    """Schedule the result of a scenario or the automatic one, unless none is wanted."""
    due, detail = context.now, ""
    matched = _ruling(context, batch)
    if matched is not None:
        then = matched.then
        context.explain("outcome", then.batch or "", f"scenario: {matched.rule}", "assumed D4")
        schedule_follow_ups(context, then.follow or (), batch.terminal_id)
        if then.batch == "no_result":
            return
        due += parse_duration(then.after or "0s")
        detail = then.model_dump_json(include={"batch", "reason", "rejected"})
    elif context.world.switches["batch.settlement"] != "auto":
        return
    context.unit.schedule(Timer(kind=BATCH_RESULT, subject=batch.id, due=due, detail=detail))


def _ruling(context: OperationContext, batch: Batch) -> MatchedRule | None:
    """Return the running scenario's choice for closing this batch; None without a scenario."""
    scenario = context.world.scenario
    if scenario is None:
        return None
    words = {
        "operation": CLOSE_BATCH,
        "time": context.now,
        "terminal": batch.terminal_id,
        "account": batch.account_id,
        # No key closes a batch on schedule.
        "key": context.caller.key.id if context.caller is not None else None,
        "processor": batch.processor_name,
    }
    near: list[str] = []
    matched = scenario.matched(words, lambda then: True if then.batch else None, near)
    # Rules were tried for a fault of the request, too.
    context.near_misses = [*dict.fromkeys((*context.near_misses, *near))]
    return matched


def step_of(batch: Batch, trigger: str) -> Step:
    """Return the step that the trigger takes. Raises Refusal if the status does not allow it."""
    try:
        return batches.BATCH_LIFE.step(batch.status, trigger)
    except NoSuchStep as error:
        raise refusal(batch, str(error), "assumed 3.2") from None


def refusal(batch: Batch, reason: str, source: str) -> Refusal:
    """Return the refusal of a change that the batch's status does not allow."""
    details = f"the batch is {batch.status}"
    return Refusal(VALIDATION_ERROR, details, reason=reason, source=source, step="rule")


def coming_result(
    context: OperationContext, batch: Batch, planned: str, members: list[Payment]
) -> Result | None:
    """Return the result that the processor will give to a submitted batch.

    None if no result comes.
    """
    if planned:
        then, ids = from_json(planned), dict.fromkeys(payment.id for payment in members)
        rejected = then["rejected"] or []
        # A number rejects that many of the first members.
        named = list(ids)[:rejected] if isinstance(rejected, int) else rejected
        refused = tuple(id for id in named if id in ids)
        if then["batch"] == "partially_accepted" and not refused:
            return batches.ACCEPTED  # spec 6.3-batch.partially_accepted; assumed B13
        return Result(answer=then["batch"], reason=then["reason"], rejected=refused)
    result = batches.result_of(members)
    if result == batches.ACCEPTED and _is_number_repeated(context, batch):
        return Result(answer="rejected", reason="duplicate_batch")
    return result


def _is_number_repeated(context: OperationContext, batch: Batch) -> bool:
    """Whether the terminal used the number for a batch that settled a few days ago.

    Source: assumed 3.3-repeated.
    """
    return any(
        other.id != batch.id
        and other.processor_batch_id == batch.processor_batch_id
        and other.closed_at is not None
        and batches.is_number_taken(other, context.now)
        for other in _recent_batches(context, batch.terminal_id)
    )


def _recent_batches(context: OperationContext, terminal_id: str) -> list[Batch]:
    """Return the latest batches of a terminal, the newest first."""
    where = {"terminal_id": terminal_id}
    return context.unit.find(Batch, where, limit=batches.RECENT_MAX)[0]


def answer(
    context: OperationContext, batch: Batch, result: Result, members: list[Payment]
) -> Batch:
    """Apply the processor's result to a submitted batch. Source: assumed B10 to B12, F36, F37.

    Raises NoSuchStep when the batch is not submitted.
    """
    step = batches.BATCH_LIFE.step(batch.status, batches.TRIGGER_OF_ANSWER[result.answer])
    if result.answer == "rejected":
        for payment in members:
            if payment.settlement is not None and SETTLEMENTS[payment.settlement].is_once:
                context.unit.put(structs.replace(payment, settlement=None))
        reason = result.reason or batches.DEFAULT_REASON
        # An unknown reason is passed on unchanged.
        shown = {"rejection_reason": batches.REASONS.get(reason, reason)}
        return take(context, step, structs.replace(batch, response=shown))
    refused = set(result.rejected)
    for payment in members:
        is_refused = payment.id in refused
        context.unit.put(_released(payment, batch.id) if is_refused else _settled(payment))
    counts = {"accepted": batch.transaction_count - len(refused), "rejected": len(refused)}
    response = counts if result != batches.ACCEPTED else None
    return take(context, step, structs.replace(batch, closed_at=context.now, response=response))


def _settled(payment: Payment) -> Payment:
    """Settle a payment in an accepted batch.

    A captured one becomes settled; a fully refunded one stays refunded (assumed F36, F37).
    """
    rows = transitions_from(SETTLE, payment.status)
    return settled(change(payment, status=rows[0].next_status) if rows else payment)


def _released(payment: Payment, batch_id: str) -> Payment:
    """Free a refused record for the terminal's next batch (assumed B12)."""
    return structs.replace(
        move(payment, None), settlement=None, refused_in=(*payment.refused_in, batch_id)
    )


# --- schedules ---


def timer_of(terminal_id: str, schedule: BatchSchedule, after: datetime) -> Timer:
    """Return the timer for the first time after this moment at which the batch closes."""
    due = min(schedule.next_after(after), LATEST)
    detail = to_text(schedule)
    return Timer(kind=BATCH_CLOSES, subject=terminal_id, due=due, detail=detail)


def schedule_of(timer: Timer) -> BatchSchedule:
    """Return the schedule in a timer's detail."""
    schedule: BatchSchedule = from_document(BatchSchedule, from_json(timer.detail))
    return schedule


def close_when_due(context: OperationContext, timer: Timer) -> None:
    """Close the terminal's open batch, if any, and schedule the next time.

    A deleted terminal no longer has a schedule.
    """
    terminal = context.unit.get(Terminal, timer.subject)
    if terminal is None or terminal.deleted_at is not None:
        return
    batch = open_batch_of(context, terminal.terminal_id)
    if batch is not None:
        submit(context, batch)
    if timer.due < LATEST:
        context.unit.schedule(timer_of(terminal.terminal_id, schedule_of(timer), timer.due))

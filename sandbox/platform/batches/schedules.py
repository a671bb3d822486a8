"""Batches that close on schedule, on the world's clock. Source: assumed B16.

A schedule is the terminal's timer, with the schedule as its detail: so it is saved, restored and
due like every other.
"""

from datetime import datetime

from pydantic_core import from_json, to_json

from sandbox.domain.batches import BatchSchedule
from sandbox.domain.clock import BATCH_CLOSES, LATEST, Timer
from sandbox.domain.directory import Terminal
from sandbox.platform.batches import operations
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.payments import persist
from sandbox.store.documents import from_document, to_document


def timer_of(terminal_id: str, schedule: BatchSchedule, after: datetime) -> Timer:
    """The timer of the first closing after this moment."""
    due = min(schedule.next_after(after), LATEST)
    detail = to_json(to_document(schedule)).decode()
    return Timer(kind=BATCH_CLOSES, subject=terminal_id, due=due, detail=detail)


def schedule_of(timer: Timer) -> BatchSchedule:
    """The schedule that a timer carries."""
    schedule: BatchSchedule = from_document(BatchSchedule, from_json(timer.detail))
    return schedule


def close_when_due(context: OperationContext, timer: Timer) -> None:
    """Close the terminal's open batch, if it has one, and wait for the next time.

    A deleted terminal has no schedule any more.
    """
    terminal = context.unit.get(Terminal, timer.subject)
    if terminal is None or terminal.deleted_at is not None:
        return
    batch = persist.open_batch_of(context, terminal.terminal_id)
    if batch is not None:
        operations.submit(context, batch)
    if timer.due < LATEST:
        context.unit.schedule(timer_of(terminal.terminal_id, schedule_of(timer), timer.due))

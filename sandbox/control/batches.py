"""The batches of a world, their records, and their schedules."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from pydantic import Field
from pydantic_core import to_json

from sandbox.control.clock import view_timer
from sandbox.control.context import ControlRequest, conflict, invalid, must_be_known, parse_words
from sandbox.control.models import TOTAL, Body, Query, RecordsQuery, Time, View, attribute, shows
from sandbox.control.routing import WORLD, Written, delete, get, post, put
from sandbox.domain import batches
from sandbox.domain.clock import BATCH_CLOSES, BATCH_RESULT, Timer
from sandbox.domain.currencies import in_letters
from sandbox.domain.directory import Account, Terminal
from sandbox.domain.payments.action_records import payment_of, record_id, records_of
from sandbox.domain.payments.transactions import Attempt, Payment
from sandbox.domain.records import to_bytes
from sandbox.domain.text import expects
from sandbox.platform import settlement
from sandbox.platform.context import OperationContext
from sandbox.platform.payments.points_of_sale import currency_at
from sandbox.store.tables import OLDEST_FIRST
from sandbox.worlds.background import collect, run_in_thread
from sandbox.worlds.world import World


class BatchAnswer(Body, example={"answer": "rejected", "reason": "hash_mismatch"}):
    """The processor's result for a batch.

    `reason` is a known reason or a sentence; `rejected` are transaction ids, or a number of
    members.
    """

    answer: Literal["accepted", "rejected", "partially_accepted"]
    reason: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    rejected: (
        Annotated[int | list[str], expects("must be how many members, or a list of their ids")]
        | None
    ) = None


class BatchScheduleBody(Body, example={"times": ["23:30"], "zone": "America/New_York"}):
    """When a terminal's batches close: times (24 hours) in a time zone, on some days."""

    times: Annotated[list[batches.TimeOfDay], Field(min_length=1, max_length=batches.TIMES_MAX)]
    days: Annotated[list[batches.DayCode], Field(min_length=1, max_length=7)] | None = None
    zone: Annotated[str, Field(min_length=1, max_length=batches.ZONE_CHARS_MAX)]


_RENAMED: Final = ("processor_name", "processor_config_id", "processor_batch_id")
EntryKind = Literal["capture", "refund"]
EntryResult = Literal["accepted", "refused"]

_RESULTS: Final[dict[str, EntryResult]] = {"accepted": "accepted", "rejected": "refused"}
"""The result of the records that are still in an accepted or a rejected batch."""


@shows(batches.Batch, without=("response", "batch_metadata", *_RENAMED))
class BatchRow(View):
    """A batch in a list. Amounts are minor units of `currency`.

    `refused` is the number of records that the processor sent back, or null without a result.
    """

    number: str | None = attribute("processor_batch_id")
    merchant: str | None = attribute("account.name", None)
    terminal: str | None = attribute("terminal.name", None)
    processor: str = attribute("processor_name")
    currency: str
    refused: int | None


class BatchesPage(View):
    """Batches, the newest first. `next` is the `before` of the next page, null on the last."""

    batches: list[BatchRow]
    total: int
    next: int | None


class BatchEntry(View):
    """A record of a batch. `now_in` is the current batch of the payment's capture, or null.

    `result` is null until the processor answers. `event_id` is that of the attempt, and `record_id`
    is the transaction_id of the action's own record, if a reading gives it one.
    """

    transaction_id: str = attribute("id")
    record_id: str | None
    event_id: str = attribute("attempt.event_id")
    kind: EntryKind
    amount: int
    brand: str = attribute("card.brand")
    last4: str = attribute("card.last4")
    at: Time = attribute("attempt.created_at")
    status: str
    result: EntryResult | None
    now_in: str | None = attribute("batch_id")


class EntrySums(View):
    """The sums of the records below, to compare with those of the batch; in minor units."""

    captured_amount: int
    refunded_amount: int
    transaction_count: int
    refused_amount: int


class BatchDetail(View):
    """A batch with its records, the oldest payment first.

    `why` says what the status means for this batch and what comes next. `is_due_at` is the time of
    the processor's answer, or null if none is planned.
    """

    batch: BatchRow
    why: str
    is_due_at: Time | None
    sums: EntrySums
    records: list[BatchEntry]


@get(f"{WORLD}/batches", "batches.search")
def search_batches(request: ControlRequest, query: RecordsQuery) -> BatchesPage:
    """Search the batches of a world, of all its accounts."""
    world = request.world
    where: dict[str, Any] = {
        "scope": request.find_id(Account, query.account),
        "status": parse_words("status", query.status, batches.BATCH_STATUSES),
        "terminal_id": request.find_id(Terminal, query.terminal),
    }
    rows, total, after = request.find_page(batches.Batch, where, query)
    views = [batch_row(world, batch) for batch in rows]
    return BatchesPage(batches=views, total=total, next=after)


class BatchQuery(Query):
    """How the batch is shown."""

    format: Literal["json", "csv"] = "json"


@get(f"{WORLD}/batches/{{id}}", "batches.look")
async def read_batch(request: ControlRequest, query: BatchQuery) -> Written[BatchDetail]:
    """Read a batch with each record's result, and where the record is now.

    The CSV is the settlement, with a row for each record.
    """
    detail = await view_batch(request.world, request.get_record(batches.Batch, "batch"))
    if query.format == "json":
        return Written(await run_in_thread(to_json, detail))
    csv_text = await run_in_thread(settlement_csv, detail)
    return Written(csv_text.encode(), "text/csv; charset=utf-8")


def settlement_csv(detail: BatchDetail) -> str:
    """Return the records of a batch with their results, for a spreadsheet. Source: assumed D56."""
    batch = vars(detail.batch)
    about = batch | {f"batch_{name}": one for name, one in batch.items()}
    text = io.StringIO()
    writer = csv.DictWriter(text, _COLUMNS.split(), extrasaction="ignore")
    writer.writeheader()
    for one in detail.records:
        row = {**about, **vars(one), "transaction_id": one.record_id or one.transaction_id}
        # A spreadsheet would run such a text as a formula.
        unsafe = (name for name, one in row.items() if isinstance(one, str) and one[:1] in _FORMULA)
        writer.writerow(row | {name: f"'{row[name]}" for name in unsafe})
    return text.getvalue()


_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")

_COLUMNS: Final = """
batch_id batch_number batch_status closed_at account_id merchant terminal_id terminal processor
currency transaction_id event_id kind amount brand last4 at result
"""


async def view_batch(world: World, batch: batches.Batch) -> BatchDetail:
    """Show a batch with each record's result, and where the record is now."""
    where = {"in_batch": batch.id}
    found, _ = world.store.begin().find(Payment, where, order=OLDEST_FIRST)
    payments = (payment for payment in found if payment.original_id is None)
    entries = await collect(entry for payment in payments for entry in _entries(batch, payment))
    row, sums, (why, due) = batch_row(world, batch), _sums(entries), _explain(world, batch)
    return BatchDetail(batch=row, why=why, is_due_at=due, sums=sums, records=entries)


def batch_row(world: World, batch: batches.Batch) -> BatchRow:
    """Return a batch as lists show it."""
    terminal = world.store.get(Terminal, batch.terminal_id)
    more = {"account": world.store.get(Account, batch.account_id), "terminal": terminal}
    currency = in_letters(None) if terminal is None else currency_at(world.store.begin(), terminal)
    return BatchRow.of(batch, **more, currency=currency, refused=_sum_refused(batch))


def _sum_refused(batch: batches.Batch) -> int | None:
    if batch.status == "partially_accepted":
        return (batch.response or {}).get("rejected")
    return {"rejected": batch.transaction_count, "accepted": 0}.get(batch.status)


def _entries(batch: batches.Batch, payment: Payment) -> Iterator[BatchEntry]:
    """Yield the capture entry of a payment, and its refund entries. Source: assumed M10."""

    def view(kind: EntryKind, amount: int, attempt: Attempt, result: Any) -> BatchEntry:
        about = {"attempt": attempt, "record_id": record_id(payment, attempt.event_id)}
        return BatchEntry.of(payment, **about, kind=kind, amount=amount, result=result)

    result = _RESULTS.get(batch.status.removeprefix("partially_"))
    # A refused record can only come back into the same batch by an edit.
    is_in = payment.batch_id == batch.id
    if is_in or batch.id in payment.refused_in:
        captured = (one for one in payment.history if one.status in ("captured", "settled"))
        attempt = next(captured, payment.history[0])
        yield view("capture", payment.ledger.kept, attempt, result if is_in else "refused")
    for attempt in payment.history:
        if attempt.transaction_type == "refund" and attempt.batch_id == batch.id:
            yield view("refund", attempt.amount, attempt, result)


def _sums(entries: list[BatchEntry]) -> EntrySums:
    amounts = Counter[str]()
    for one in entries:
        amounts[one.kind] += one.amount
        amounts[one.result or ""] += one.amount
    return EntrySums(
        captured_amount=amounts["capture"],
        refunded_amount=amounts["refund"],
        transaction_count=len(entries),
        refused_amount=amounts["refused"],
    )


def _explain(world: World, batch: batches.Batch) -> tuple[str, datetime | None]:
    """Explain what the status means, and when the processor answers."""
    if batch.status == "submitted":
        if (timer := world.store.timer(BATCH_RESULT, batch.id)) is not None:
            return view_timer(world, timer).says, timer.due
        if world.switches["batch.settlement"] == "manual":
            return "it waits for you to answer, because the switch batch.settlement is manual", None
    reason = (batch.response or {}).get("rejection_reason", "no reason was given")
    return _WHY[batch.status].format(reason=reason, refused=_sum_refused(batch) or 0), None


_WHY: Final[dict[str, str]] = {
    "open": "its terminal's captures and refunds go into it until it is closed",
    "submitted": "the processor gives no result until you answer (assumed 6.2-settlement)",
    "accepted": "the processor settled all of its records",
    "rejected": "the processor sent it back: {reason}; edit it and close it again",
    "partially_accepted": "the processor settled all but {refused} of its records; what it refused "
    "is in no batch until one takes it",
}


# --- batches ----------------------------------------------------------------------------------


@post(f"{WORLD}/batches/{{id}}/answer", "batches.answer", refuses=(409,))
def answer_batch(request: ControlRequest, body: BatchAnswer) -> Written[batches.Batch]:
    """Give a submitted batch its result.

    Source: assumed B9 to B12.
    """
    context = OperationContext.of_world(request.world)
    batch = request.get_record(batches.Batch, "batch")
    if batch.status != "submitted":
        how = (
            "only a submitted batch waits for its result; with the switch "
            "batch.settlement at manual it waits until you answer"
        )
        raise conflict("not_submitted", f"the batch is {batch.status}", details=how)
    members = settlement.members_of(context, batch)
    result = _parse_result(body, members)
    context.unit.cancel(BATCH_RESULT, batch.id)
    answered = settlement.answer(context, batch, result, members)
    context.unit.commit()
    return Written(to_bytes(answered))


def _parse_result(body: BatchAnswer, members: list[Payment]) -> batches.Result:
    if body.reason is not None and body.answer != "rejected":
        raise invalid("reason: is only for the answer rejected")
    if body.rejected is not None and body.answer != "partially_accepted":
        raise invalid("rejected: is only for the answer partially_accepted")
    # A sentence is passed on unchanged; a single word must be a known one.
    if " " not in (body.reason or " "):
        must_be_known("reason", body.reason, batches.REASONS)
    is_partial = body.answer == "partially_accepted"
    rejected = _rejected_members(body.rejected, members) if is_partial else ()
    return batches.Result(answer=body.answer, reason=body.reason, rejected=rejected)


def _rejected_members(wanted: int | list[str] | None, members: list[Payment]) -> tuple[str, ...]:
    """Return the ids of the refused members: the named ones, or the first ones.

    The record of a capture stands for its payment (assumed D35-action).
    """
    if wanted is None:
        raise invalid("rejected: say which members, by their ids, or how many")
    if isinstance(wanted, int):
        if not 1 <= wanted <= len(members):
            raise invalid(f"rejected: the batch has {len(members)} members")
        return tuple(payment.id for payment in members[:wanted])
    standing = {
        one.id: payment.id
        for payment in members
        for one in (payment, *records_of(payment))
        if payment_of(one) == payment.id
    }
    for stranger in (id for id in wanted or [""] if id not in standing):
        raise invalid(f"rejected: {(stranger or 'an empty id')[:80]} is not a member of the batch")
    return tuple(dict.fromkeys(standing[id] for id in wanted))


@shows(batches.BatchSchedule)
class BatchScheduleView(View):
    """When the batches of a terminal close; `next` is the next time."""

    terminal_id: str
    times: list[str]
    next: Time


class BatchSchedules(View):
    """The terminals whose batches close on schedule."""

    schedules: list[BatchScheduleView]
    total: int = TOTAL


@get(f"{WORLD}/batch-schedules", "schedules.list")
def list_schedules(request: ControlRequest) -> BatchSchedules:
    """List the terminals whose batches close on schedule."""
    store = request.world.store
    there = (id for id, one in store.all(Terminal).items() if one.deleted_at is None)
    timers = (store.timer(BATCH_CLOSES, id) for id in there)
    return BatchSchedules(schedules=[_view_schedule(timer) for timer in timers if timer])


@put(f"{WORLD}/batch-schedules/{{id}}", "schedules.set")
def set_schedule(request: ControlRequest, body: BatchScheduleBody) -> BatchScheduleView:
    """Set when the batches of a terminal close."""
    terminal_id, world = _find_terminal(request), request.world
    days = None if body.days is None else tuple(body.days)
    schedule = batches.batch_schedule(tuple(body.times), days, body.zone)
    timer = settlement.timer_of(terminal_id, schedule, world.clock.now())
    with world.store.begin() as unit:
        unit.schedule(timer)
    return _view_schedule(timer)


@delete(f"{WORLD}/batch-schedules/{{id}}", "schedules.delete")
def delete_schedule(request: ControlRequest) -> None:
    """Delete the schedule of a terminal; its batches then only close by hand."""
    with request.world.store.begin() as unit:
        unit.cancel(BATCH_CLOSES, _find_terminal(request))


def _find_terminal(request: ControlRequest) -> str:
    terminal = request.get_record(Terminal, "terminal")
    return request.require(None if terminal.deleted_at else terminal.id, "terminal")


def _view_schedule(timer: Timer) -> BatchScheduleView:
    schedule = settlement.schedule_of(timer)
    return BatchScheduleView.of(schedule, terminal_id=timer.subject, next=timer.due)

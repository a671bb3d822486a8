"""Control endpoints on the batches of a world, and what became of each of their records."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from sandbox.control import agenda
from sandbox.control.finding import account_of, found_in, page_of, terminal_of, words_of
from sandbox.control.long import written_list
from sandbox.control.rows import ControlFault, ControlRequest, Written
from sandbox.domain.batches import BATCH_STATUSES, Batch, BatchStatus, entries_of
from sandbox.domain.clock import BATCH_RESULT
from sandbox.domain.currencies import in_letters
from sandbox.domain.directory import Account, Terminal
from sandbox.domain.instants import from_ms, to_wire
from sandbox.domain.payments.transactions import Transaction
from sandbox.store.port import OLDEST_FIRST
from sandbox.store.tables import EVERYTHING, LAST_DIGITS, in_scope
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.look_shapes import BatchesQuery

EntryKind = Literal["capture", "refund"]
EntryResult = Literal["accepted", "refused"]

_RESULTS: Final[dict[BatchStatus, EntryResult]] = {
    "accepted": "accepted",
    "partially_accepted": "accepted",
    "rejected": "refused",
}
"""What became of the records that are still in the batch."""


class BatchRow(TypedDict):
    """A batch in a list. Amounts are minor units of `currency`.

    `refused` is the number of records that the processor sent back, null without a result.
    """

    id: str
    status: BatchStatus
    number: str | None
    account_id: str
    merchant: str | None
    terminal_id: str
    terminal: str | None
    processor: str
    currency: str
    captured_amount: int
    refunded_amount: int
    transaction_count: int
    refused: int | None
    opened_at: str
    closed_at: str | None


class BatchesPage(TypedDict):
    """Batches, the newest first. `next` is the `before` of the next page, null on the last."""

    batches: list[BatchRow]
    total: int
    next: int | None


class BatchEntry(TypedDict):
    """A record of a batch. `now_in` is the batch of its payment's capture now, null for none.

    `result` is null until the processor answers.
    """

    transaction_id: str
    kind: EntryKind
    amount: int
    brand: str
    last4: str
    at: str
    status: str
    result: EntryResult | None
    now_in: str | None


class EntrySums(TypedDict):
    """The sums of the records below, to compare with those of the batch; in minor units."""

    captured_amount: int
    refunded_amount: int
    transaction_count: int
    refused_amount: int


class BatchDetail(TypedDict):
    """A batch with its records, the oldest payment first.

    `why` says what the status means for this batch and what comes next. `is_due_at` is the time of
    the processor's answer, null if none is planned.
    """

    batch: BatchRow
    why: str
    is_due_at: str | None
    sums: EntrySums
    records: list[BatchEntry]


async def search(request: ControlRequest) -> Written[BatchesPage]:
    """The batches of a world that match, of all its accounts."""
    query: BatchesQuery = request.query
    world = request.world
    scope = EVERYTHING if query.account is None else account_of(world, query.account).id
    words = words_of("status", query.status, BATCH_STATUSES)
    where: dict[str, Any] = {"scope": scope}
    if words:
        where = {"scope_status": [in_scope(scope, word) for word in words]}
    if query.terminal is not None:
        where["terminal_id"] = terminal_of(world, query.terminal).terminal_id
    rows, total, following = await page_of(
        request, Batch, where, limit=query.limit, before=query.before
    )
    answer = BatchesPage(batches=[], total=total, next=following)
    views = (row_of(world, batch) for batch in rows)
    return await request.services.worlds.slices.run(written_list(answer, "batches", views))


async def read(request: ControlRequest) -> Written[BatchDetail]:
    """One batch with each record's result, and where the record is now."""
    batch = request.world.store.get(Batch, request.params["id"])
    if batch is None:
        raise ControlFault(404, "not_found", "the world has no batch with this id")
    answer = await detail_of(request, batch)
    steps = written_list(answer, "records", answer["records"])
    return await request.services.worlds.slices.run(steps)


async def detail_of(request: ControlRequest, batch: Batch) -> BatchDetail:
    """The batch with each record's result, and where the record is now."""
    found: dict[str, Transaction] = {}
    for index in ("batch_id", "refund_batch_id", "refused_in"):
        rows, _ = await found_in(request, Transaction, {index: batch.id}, order=OLDEST_FIRST)
        found |= {tx.transaction_id: tx for tx in rows}
    payments = sorted(found.values(), key=lambda tx: tx.origin.created_at)
    entries = [entry for tx in payments for entry in _entries(batch, tx)]
    why, due = _why(request.world, batch)
    return {
        "batch": row_of(request.world, batch),
        "why": why,
        "is_due_at": due,
        "sums": _sums(entries),
        "records": entries,
    }


def row_of(world: World, batch: Batch) -> BatchRow:
    """A batch as lists show it."""
    account = world.store.get(Account, batch.account_id)
    terminal = world.store.get(Terminal, batch.terminal_id)
    return {
        "id": batch.id,
        "status": batch.status,
        "number": batch.processor_batch_id,
        "account_id": batch.account_id,
        "merchant": None if account is None else account.name,
        "terminal_id": batch.terminal_id,
        "terminal": None if terminal is None else terminal.name,
        "processor": batch.processor_name,
        "currency": in_letters(None if terminal is None else terminal.currency_code),
        "captured_amount": batch.captured_amount,
        "refunded_amount": batch.refunded_amount,
        "transaction_count": batch.transaction_count,
        "refused": _refused(batch),
        "opened_at": to_wire(batch.opened_at),
        "closed_at": None if batch.closed_at is None else to_wire(batch.closed_at),
    }


def _refused(batch: Batch) -> int | None:
    if batch.status == "rejected":
        return batch.transaction_count
    if batch.status == "accepted":
        return 0
    return (batch.response or {}).get("rejected") if batch.status == "partially_accepted" else None


def _entries(batch: Batch, tx: Transaction) -> Iterator[BatchEntry]:
    """The capture entry of a payment, and its refund entries. Source: assumed M10."""
    is_refused = batch.id in tx.refused_in
    result: EntryResult | None = _RESULTS.get(batch.status)
    if tx.batch_id == batch.id or is_refused:
        # What was refused may have come back into the same batch only by an edit.
        went_back = is_refused and tx.batch_id != batch.id
        kept = tx.ledger.kept if went_back else entries_of(tx, batch.id).captured
        yield _entry(tx, "capture", kept, _captured_at(tx), "refused" if went_back else result)
    for attempt in tx.history:
        if attempt.transaction_type == "refund" and attempt.batch_id == batch.id:
            yield _entry(tx, "refund", attempt.amount, attempt.created_at, result)


def _captured_at(tx: Transaction) -> int:
    return next(
        (attempt.created_at for attempt in tx.history if attempt.status == "captured"),
        tx.origin.created_at,
    )


def _entry(
    tx: Transaction, kind: EntryKind, amount: int, at_ms: int, result: EntryResult | None
) -> BatchEntry:
    return {
        "transaction_id": tx.transaction_id,
        "kind": kind,
        "amount": amount,
        "brand": tx.origin.card.brand,
        "last4": tx.origin.card.masked[-LAST_DIGITS:],
        "at": to_wire(from_ms(at_ms)),
        "status": tx.status,
        "result": result,
        "now_in": tx.batch_id,
    }


def _sums(entries: list[BatchEntry]) -> EntrySums:
    def of(kind: EntryKind) -> int:
        return sum(one["amount"] for one in entries if one["kind"] == kind)

    return {
        "captured_amount": of("capture"),
        "refunded_amount": of("refund"),
        "transaction_count": len(entries),
        "refused_amount": sum(one["amount"] for one in entries if one["result"] == "refused"),
    }


def _why(world: World, batch: Batch) -> tuple[str, str | None]:
    """What the status means, and when the processor answers."""
    if batch.status == "submitted":
        timer = world.store.timer(BATCH_RESULT, batch.id)
        if timer is not None:
            return agenda.view(world, timer)["says"], to_wire(timer.due)
        if world.switches["batch.settlement"] == "manual":
            return "it waits for you to answer, because the switch batch.settlement is manual", None
        return "the processor gives no result until you answer (assumed 6.2-settlement)", None
    if batch.status == "open":
        return "its terminal's captures and refunds go into it until it is closed", None
    if batch.status == "accepted":
        return "the processor settled all of its records", None
    if batch.status == "rejected":
        reason = (batch.response or {}).get("rejection_reason", "no reason was given")
        return f"the processor sent it back: {reason}; edit it and close it again", None
    return (
        f"the processor settled it without {_refused(batch) or 0} of its records; those are in no "
        "batch until one takes them",
        None,
    )

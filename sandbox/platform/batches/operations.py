"""Settlement batches. Source: spec 4.4-paths-batches; details assumed 1.11, B1 to B15."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from msgspec import structs
from pydantic_core import from_json

from sandbox.domain.batches import (
    ACCEPTED,
    BATCH_LIFE,
    DEFAULT_REASON,
    NUMBER_RESTS,
    REASONS,
    RECENT_MAX,
    TRIGGER_OF_ANSWER,
    Batch,
    Result,
    result_of,
)
from sandbox.domain.clock import BATCH_RESULT, Timer
from sandbox.domain.directory import Terminal
from sandbox.domain.faults import CONFLICT, VALIDATION_ERROR, Refusal
from sandbox.domain.instants import parse_duration
from sandbox.domain.payments.outcomes import SETTLEMENTS
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.payments.transitions import SETTLE, transitions_from
from sandbox.domain.readings import EDIT_OF_CLOSED_BATCH
from sandbox.domain.records import Page, WithRows, to_wire_fields
from sandbox.domain.states import NoSuchStep, Step
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.payments import attempts, persist
from sandbox.platform.scopes import one_or_many, scopes_of
from sandbox.scenarios.near_misses import NearMisses
from sandbox.scenarios.running import MatchedRule
from sandbox.store.queries import Order

if TYPE_CHECKING:
    from sandbox.platform.batches.bodies import EditBatch, ListBatches, OpenBatch, ReadBatch

_OLDEST_FIRST = Order(is_descending=False)
_READ_PAYMENTS = "payments:read"


# --- read -------------------------------------------------------------------------------------


def list_all(context: OperationContext) -> Page:
    """Batches of the caller's hierarchy. Source: assumed 1.11-list."""
    query: ListBatches = context.query
    where: dict[str, Any] = {"scope": one_or_many(scopes_of(context))}
    if query.statuses:
        where["status"] = query.statuses
    for name in ("terminal_id", "processor_config_id"):
        if (value := getattr(query, name)) is not None:
            where[name] = value
    rows, total = context.unit.find(Batch, where, limit=query.limit, offset=query.offset)
    return Page(plural="batches", rows=rows, total=total, limit=query.limit, offset=query.offset)


def read(context: OperationContext) -> Any:
    """One batch, with its members on request. Source: assumed 1.11-members.

    A key that may not read payments gets the batch without them. Source: spec 5.6; assumed D31.
    """
    query: ReadBatch = context.query
    batch = cast(Batch, context.record)
    if not query.include_transactions:
        return batch
    if _READ_PAYMENTS not in context.known_caller.grants:
        reason = f"transactions are left out: the key does not hold {_READ_PAYMENTS}"
        context.decided("render", "without transactions", reason, "spec 5.6")
        return batch
    return WithRows(
        fields=to_wire_fields(batch), plural="transactions", rows=members_of(context, batch)
    )


def members_of(context: OperationContext, batch: Batch) -> list[Transaction]:
    """The payments whose capture settles in the batch, oldest first."""
    found, _ = context.unit.find(Transaction, {"batch_id": batch.id}, order=_OLDEST_FIRST)
    return found


# --- open, edit, close ------------------------------------------------------------------------


def open_one(context: OperationContext) -> Batch:
    """Open a terminal's batch; it can have one at a time. Source: assumed B1, 1.11-open."""
    body: OpenBatch = context.body
    terminal = cast(Terminal, context.record)
    already = persist.open_batch_of(context, terminal.terminal_id)
    if already is not None:
        raise Refusal(
            CONFLICT, f"the terminal has an open batch, {already.id}", source="assumed B1"
        )
    return persist.open_batch(context, terminal, body.processor_batch_id)


def edit(context: OperationContext) -> Batch:
    """Add and remove members, or rename the batch; all of it or nothing. Source: assumed B7."""
    body: EditBatch = context.body
    batch = cast(Batch, context.record)
    step = _step(batch, "edit")
    if batch.status != "open" and context.world.readings[EDIT_OF_CLOSED_BATCH] == "open_only":
        raise Refusal(
            VALIDATION_ERROR,
            f"the batch is {batch.status}",
            reason=f"the reading {EDIT_OF_CLOSED_BATCH} is open_only",
            source="assumed D35-batch-edit",
            step="rule",
        )
    if batch.status == "rejected" and persist.open_batch_of(context, batch.terminal_id) is not None:
        raise Refusal(
            CONFLICT,
            "the terminal has another batch open; close that one first",
            source="assumed D10",
        )
    _must_be_distinct(body)
    added = [_addable(context, batch, id) for id in body.added_transactions]
    removed = [_removable(context, batch, id) for id in body.removed_transactions]
    batch = replace(
        batch,
        status="open",
        response=None,
        processor_batch_id=body.processor_batch_id or batch.processor_batch_id,
    )
    context.unit.put(batch)
    for tx, batch_id in [*((tx, batch.id) for tx in added), *((tx, None) for tx in removed)]:
        moved = _moved(tx, batch_id)
        context.unit.put(moved)
        persist.count(context, tx, moved)
    batch = cast(Batch, context.unit.get(Batch, batch.id))
    assert step.event
    context.emit(step.event, batch)
    context.decided("apply", "ok", f"edit: {step.state} to {step.target}", step.source)
    return batch


def _moved(tx: Transaction, batch_id: str | None) -> Transaction:
    """The payment in another batch, or in none; its capture settles there (assumed 2.10)."""
    history = tuple(
        structs.replace(attempt, batch_id=batch_id)
        if attempt.status == "captured" and attempt.transaction_type != "refund"
        else attempt
        for attempt in tx.history
    )
    return structs.replace(tx, batch_id=batch_id, history=history)


def _must_be_distinct(body: "EditBatch") -> None:
    ids = [*body.added_transactions, *body.removed_transactions]
    if len(ids) != len(set(ids)):
        raise Refusal(VALIDATION_ERROR, "a transaction is named twice", source="assumed B7")


def _addable(context: OperationContext, batch: Batch, id: str) -> Transaction:
    """A captured payment of this terminal, unbatched or in a rejected batch (assumed B7, D10)."""
    tx = context.unit.get(Transaction, id)
    if tx is None or tx.account_id != batch.account_id:
        raise _bad_member("added_transactions", id, "is not a transaction of this account")
    if tx.origin.site.terminal_id != batch.terminal_id:
        raise _bad_member("added_transactions", id, "belongs to another terminal")
    if tx.status != "captured":
        raise _bad_member("added_transactions", id, f"is {tx.status}, not captured")
    if tx.batch_id is not None:
        present = context.unit.get(Batch, tx.batch_id)
        assert present
        if present.id == batch.id or present.status != "rejected":
            raise _bad_member("added_transactions", id, f"is in the batch {present.id}")
    return tx


def _removable(context: OperationContext, batch: Batch, id: str) -> Transaction:
    tx = context.unit.get(Transaction, id)
    if tx is None or tx.batch_id != batch.id:
        raise _bad_member("removed_transactions", id, "is not a member of this batch")
    return tx


def _bad_member(field: str, id: str, problem: str) -> Refusal:
    return Refusal(VALIDATION_ERROR, f"{field}: {id[:80]} {problem}", source="assumed B7")


def close(context: OperationContext) -> Batch:
    """Submit the batch; its result comes after the answer. Source: assumed B8, B9."""
    batch = cast(Batch, context.record)
    step = _step(batch, "close")
    # Its result asks for them when it falls due, and cannot wait until the store is prepared.
    members_of(context, batch)
    return submit(context, batch, step)


def submit(context: OperationContext, batch: Batch, step: Step | None = None) -> Batch:
    """Send an open or rejected batch to the processor. Source: assumed B8, B9, B16."""
    step = step or _step(batch, "close")
    batch = replace(batch, status="submitted", response=None, closed_at=None)
    context.unit.put(batch)
    assert step.event
    context.emit(step.event, batch)
    result = _result_to_come(context, batch)
    if result is not None:
        context.unit.schedule(result)
    context.decided("apply", "ok", f"close: {step.state} to {step.target}", step.source)
    return batch


def _result_to_come(context: OperationContext, batch: Batch) -> Timer | None:
    """The time of the automatic result, and the result of a scenario; None if there is none."""
    matched = _ruling(context, batch) if context.world.scenario is not None else None
    if matched is None:
        if context.world.switches["batch.settlement"] != "auto":
            return None
        return Timer(kind=BATCH_RESULT, subject=batch.id, due=context.now)
    then = matched.then
    context.decided("outcome", then.batch or "", f"scenario: {matched.rule}", "assumed D4")
    attempts.schedule_follow_ups(context, then.follow or (), terminal_id=batch.terminal_id)
    return Timer(
        kind=BATCH_RESULT,
        subject=batch.id,
        due=context.now + parse_duration(then.after or "0s"),
        detail=then.model_dump_json(include={"batch", "reason", "rejected"}),
    )


def _ruling(context: OperationContext, batch: Batch) -> MatchedRule | None:
    """The running scenario's choice for closing this batch."""
    assert context.world.scenario
    words = {
        "operation": "close_batch",
        "terminal": batch.terminal_id,
        "account": batch.account_id,
        # No key closes a batch on schedule.
        "key": context.caller.key.id if context.caller is not None else None,
        "processor": batch.processor_name,
    }
    near = context.near_misses = NearMisses()
    return context.world.scenario.matched(words, lambda then: then.batch is not None, near)


def _step(batch: Batch, trigger: str) -> Step:
    try:
        return BATCH_LIFE.step(batch.status, trigger)
    except NoSuchStep as error:
        raise Refusal(
            VALIDATION_ERROR,
            f"the batch is {batch.status}",
            reason=str(error),
            source="assumed 3.2",
            step="rule",
        ) from None


# --- results ----------------------------------------------------------------------------------


def answer_by_itself(context: OperationContext, batch_id: str, planned: str) -> None:
    """The processor's result: planned by a scenario, else chosen by the amounts of the members.

    Source: assumed 6.2-settlement, D4.
    """
    batch = context.unit.get(Batch, batch_id)
    if batch is None or batch.status != "submitted":
        return
    members = members_of(context, batch)
    result = coming_result(context, batch, planned, members)
    if result is not None:
        answer(context, batch, result, members)


def coming_result(
    context: OperationContext, batch: Batch, planned: str, members: list[Transaction]
) -> Result | None:
    """The result that the processor will give to a submitted batch; None if no result comes."""
    if planned:
        return _planned(from_json(planned), members)
    result = result_of(members)
    if result == ACCEPTED and _repeats_a_number(context, batch):
        return Result(answer="rejected", reason="duplicate_batch")
    return result


def _repeats_a_number(context: OperationContext, batch: Batch) -> bool:
    """Whether the terminal used the number for a batch that settled a few days ago.

    Source: assumed 3.3-repeated.
    """
    found, _ = context.unit.find(Batch, {"terminal_id": batch.terminal_id}, limit=RECENT_MAX)
    return any(
        other.id != batch.id
        and other.processor_batch_id == batch.processor_batch_id
        and other.closed_at is not None
        and context.now - other.closed_at < NUMBER_RESTS
        for other in found
    )


def _planned(then: dict[str, Any], members: list[Transaction]) -> Result:
    """The result that the scenario planned. A number rejects that many of the first members."""
    ids = [tx.transaction_id for tx in members]
    wanted = then["rejected"] or 0
    rejected = wanted if isinstance(wanted, list) else ids[:wanted]
    return Result(
        answer=then["batch"],
        reason=then["reason"],
        rejected=tuple(id for id in rejected if id in ids),
    )


def answer(
    context: OperationContext,
    batch: Batch,
    result: Result,
    members: list[Transaction] | None = None,
) -> Batch:
    """Apply the processor's result to a submitted batch. Source: assumed B10 to B12, F36, F37.

    Raises NoSuchStep when the batch is not submitted.
    """
    step = BATCH_LIFE.step(batch.status, TRIGGER_OF_ANSWER[result.answer])
    members = members_of(context, batch) if members is None else members
    if result.answer == "rejected":
        reason = result.reason or DEFAULT_REASON
        batch = replace(
            batch,
            status="rejected",
            # A reason that is in no list is passed on as it is.
            response={"rejection_reason": REASONS.get(reason, reason)},
        )
        _use_up(context, members)
    else:
        refused = set(result.rejected)
        for tx in members:
            is_refused = tx.transaction_id in refused
            context.unit.put(_released(tx, batch.id) if is_refused else _settled(tx))
        batch = replace(
            batch,
            status=result.answer,
            closed_at=context.now,
            response=_counts(batch, len(refused)) if result != ACCEPTED else None,
        )
    context.unit.put(batch)
    assert step.event
    context.emit(step.event, batch)
    return batch


def _counts(batch: Batch, rejected: int) -> dict[str, int]:
    return {"accepted": batch.transaction_count - rejected, "rejected": rejected}


def _settled(tx: Transaction) -> Transaction:
    """Captured payments become settled; fully refunded ones stay refunded (assumed F36, F37)."""
    rows = transitions_from(SETTLE, tx.status)
    return structs.replace(tx, status=rows[0].next_status) if rows else tx


def _released(tx: Transaction, batch_id: str) -> Transaction:
    """A record that was refused is free for the terminal's next batch (assumed B12)."""
    return structs.replace(_moved(tx, None), settlement=None, refused_in=(*tx.refused_in, batch_id))


def _use_up(context: OperationContext, members: list[Transaction]) -> None:
    """A rejection that happens once does not happen again."""
    for tx in members:
        if tx.settlement is not None and SETTLEMENTS[tx.settlement].is_once:
            context.unit.put(structs.replace(tx, settlement=None))

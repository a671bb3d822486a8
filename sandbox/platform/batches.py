"""Settlement batches: their models and operations.

Source: spec 4.4-paths-batches; details assumed 1.11, B1 to B15.
"""

from typing import Annotated, Any, ClassVar, Final, cast

from msgspec.structs import replace
from pydantic import Field

from sandbox.domain import records
from sandbox.domain.batches import BATCH_STATUSES, Batch
from sandbox.domain.directory import Terminal, relate_to_its_records
from sandbox.domain.faults import CONFLICT, VALIDATION_ERROR, Refusal
from sandbox.domain.field_types import ProcessorBatchId, Text
from sandbox.domain.payments.action_records import payment_of
from sandbox.domain.payments.transactions import Payment, Transaction
from sandbox.domain.text import OneOf
from sandbox.platform import lists, settlement
from sandbox.platform.context import OperationContext
from sandbox.platform.fields import IN_DIGITS, CreateBody, Offset, Query
from sandbox.platform.lists import all_known
from sandbox.platform.operation import ACCOUNT_IN_QUERY, Target, listing, operation


class OpenBatch(CreateBody):
    """The body that opens a batch. Source: assumed 1.11-open."""

    terminal_id: Text
    processor_batch_id: ProcessorBatchId | None = None


class EditBatch(CreateBody):
    """The body that edits a batch. Source: assumed B7."""

    added_transactions: list[Text] = Field(default_factory=list)
    removed_transactions: list[Text] = Field(default_factory=list)
    processor_batch_id: ProcessorBatchId | None = None


class ListBatches(Query):
    """Which batches. Source: assumed 1.11-list."""

    repeatable: ClassVar[frozenset[str]] = frozenset({"statuses"})

    account_id: str | None = None
    terminal_id: str | None = None
    statuses: Annotated[
        list[Annotated[str, OneOf(BATCH_STATUSES)]],
        all_known(BATCH_STATUSES, "a status of batches"),
    ] = Field(default_factory=list)
    processor_config_id: str | None = None
    limit: Annotated[int, Field(ge=1, le=500), IN_DIGITS] = 50
    offset: Offset = 0


class ReadBatch(Query):
    """Whether to show the members too. Source: assumed 1.11-members."""

    include_transactions: bool = False


_BATCH: Final = Target("path", "batch_id", Batch)


@operation(
    "batches.list",
    "GET",
    "/v1/batches",
    needs="batches:read",
    target=ACCOUNT_IN_QUERY,
    response=listing("batches", Batch),
    source="assumed 1.11-list",
)
def list_all(context: OperationContext, query: ListBatches) -> Any:
    """List batches."""
    where = lists.conditions_of(context, {"statuses": "status"})
    return lists.page_of(context, Batch, "batches", where)


@operation(
    "batches.read",
    "GET",
    "/v1/batches/{batch_id}",
    needs="batches:read",
    target=Target("path", "batch_id", Batch, relate=relate_to_its_records),
    response=records.Extended(Batch, {"transactions": list[Transaction]}),
    source="assumed 1.11-members",
)
def read(context: OperationContext, batch: Batch, query: ReadBatch) -> Any:
    """Read a batch, with its transactions for a key that may read payments.

    A payment is in the batch of its capture, so a refund may count in a batch that does not show
    its payment. A key that may not read payments gets the batch without them. Source: spec 5.6;
    assumed B3, D31.
    """
    if not query.include_transactions:
        return batch
    if "payments:read" not in context.known_caller.grants:
        reason = "transactions are left out: the key does not hold payments:read"
        context.explain("render", "without transactions", reason, "spec 5.6")
        return batch
    found = settlement.transactions_in(context, batch)
    # The record of a capture stands for its payment.
    standing = {one.original_id for one in found if payment_of(one) != one.id}
    shown = [one for one in found if one.id not in standing]
    return records.Extended(batch, {"transactions": shown})


@operation(
    "batches.open",
    "POST",
    "/v1/batches/open",
    needs="batches:open",
    target=Target("body", "terminal_id", Terminal, is_required=True),
    status=201,
    events=("batch.opened",),
    can_be_blocked=True,
    refuses=(CONFLICT,),
    source="spec 4.4-paths-batches",
    example={"terminal_id": "{terminals.merchant}"},
)
def open_one(context: OperationContext, terminal: Terminal, body: OpenBatch) -> Batch:
    """Open a batch of a terminal. Source: assumed B1, 1.11-open."""
    already = settlement.open_batch_of(context, terminal.terminal_id)
    if already is not None:
        raise Refusal(
            CONFLICT, f"the terminal has an open batch, {already.id}", source="assumed B1"
        )
    return settlement.open_batch(context, terminal, body.processor_batch_id)


@operation(
    "batches.edit",
    "PUT",
    "/v1/batches/{batch_id}/edit",
    needs="batches:edit",
    target=_BATCH,
    events=("batch.edited",),
    refuses=(CONFLICT,),
    source="spec 4.4-paths-batches",
    example={"processor_batch_id": "101"},
)
def edit(context: OperationContext, batch: Batch, body: EditBatch) -> Batch:
    """Add and remove transactions of a batch. Source: assumed B7."""
    step = settlement.step_of(batch, "edit")
    if batch.status != "open" and context.world.readings["edit_of_closed_batch"] == "open_only":
        reason = "the reading edit_of_closed_batch is open_only"
        raise settlement.refusal(batch, reason, "assumed D35-batch-edit")
    if batch.status == "rejected" and settlement.open_batch_of(context, batch.terminal_id):
        raise Refusal(
            CONFLICT,
            "the terminal has another batch open; close that one first",
            source="assumed D10",
        )
    ids = [*body.added_transactions, *body.removed_transactions]
    added = [_member(context, batch, id, is_added=True) for id in body.added_transactions]
    removed = [_member(context, batch, id, is_added=False) for id in body.removed_transactions]
    # By itself, or by the record of its capture.
    if len({payment.id for payment in (*added, *removed)}) != len(ids):
        raise Refusal(VALIDATION_ERROR, "a transaction is named twice", source="assumed B7")
    batch = replace(
        batch,
        status="open",
        response=None,
        processor_batch_id=body.processor_batch_id or batch.processor_batch_id,
    )
    context.unit.put(batch)
    for batch_id, payments in ((batch.id, added), (None, removed)):
        for payment in payments:
            moved = settlement.move(payment, batch_id)
            context.unit.put(moved)
            settlement.count(context, payment, moved)
    return settlement.take(context, step, cast(Batch, context.unit.get(Batch, batch.id)))


def _member(context: OperationContext, batch: Batch, id: str, *, is_added: bool) -> Payment:
    """Return a payment that can be added to the batch, or be removed from it.

    `id` may be that of the record of its capture. Raises Refusal.
    """
    found = context.unit.get(Payment, id)
    payment = found and context.unit.get(Payment, payment_of(found))
    problem: str | None = "is not a member of this batch"
    if is_added:
        problem = _why_not_added(context, batch, payment)
    elif payment is not None and payment.original_id is None and payment.batch_id == batch.id:
        # The record of a refund or a reversal follows its attempt, and cannot be moved.
        problem = None
    if problem is not None or payment is None:
        field = "added_transactions" if is_added else "removed_transactions"
        raise Refusal(VALIDATION_ERROR, f"{field}: {id[:80]} {problem}", source="assumed B7")
    return payment


def _why_not_added(context: OperationContext, batch: Batch, payment: Payment | None) -> str | None:
    """Why the payment cannot be added to the batch; None if it can.

    It must have been captured at this terminal, if only to be refunded, and be unbatched or in a
    rejected batch (assumed B7, D10).
    """
    if payment is None or payment.account_id != batch.account_id:
        return "is not a transaction of this account"
    if payment.transaction.tid != batch.terminal_id:
        return "belongs to another terminal"
    if payment.original_id is not None:
        return f"is the record of an action on {payment.original_id}, not a payment"
    if payment.status not in ("captured", "refunded"):
        return f"is {payment.status}, not captured"
    present = context.unit.get(Batch, payment.batch_id) if payment.batch_id else None
    if present is not None and (present.id == batch.id or present.status != "rejected"):
        return f"is in the batch {present.id}"
    return None


@operation(
    "batches.close",
    "POST",
    "/v1/batches/{batch_id}/close",
    needs="batches:close",
    target=_BATCH,
    events=("batch.submitted", "batch.accepted", "batch.rejected", "batch.partially_accepted"),
    can_be_blocked=True,
    words=("close_batch",),
    source="spec 4.4-paths-batches",
)
def close(context: OperationContext, batch: Batch) -> Batch:
    """Submit a batch to the processor.

    Its result comes after the answer. Source: assumed B8, B9.
    """
    return settlement.submit(context, batch)

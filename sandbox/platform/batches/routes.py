"""Rows of batches. Source: spec 4.4-paths-batches; details assumed 1.11."""

from typing import Final

from sandbox.domain.access import need
from sandbox.domain.batches import Batch
from sandbox.domain.directory import Terminal, relate_to_its_records, relate_with_admin_reach
from sandbox.domain.faults import CONFLICT
from sandbox.domain.payments.transaction_view import TransactionView
from sandbox.platform.batches import bodies, operations
from sandbox.platform.rows import Extended, Listing, Row, Target

_PATH: Final = "/v1/batches"
_ITEM: Final = f"{_PATH}/{{batch_id}}"
_BATCH: Final = Target(where="path", name="batch_id", kind=Batch)

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="batches.list",
        method="GET",
        path=_PATH,
        summary="List batches",
        source="assumed 1.11-list",
        need=need("batches:read"),
        target=Target(where="query", name="account_id", relate=relate_with_admin_reach),
        run=operations.list_all,
        query=lambda _: bodies.ListBatches,
        response=Listing("batches", Batch),
    ),
    Row(
        name="batches.read",
        method="GET",
        path=_ITEM,
        summary="Read a batch, with its transactions for a key that may read payments",
        source="assumed 1.11-members",
        need=need("batches:read"),
        target=Target(where="path", name="batch_id", kind=Batch, relate=relate_to_its_records),
        run=operations.read,
        query=lambda _: bodies.ReadBatch,
        response=Extended(Batch, "transactions", list[TransactionView]),
    ),
    Row(
        name="batches.open",
        method="POST",
        path=f"{_PATH}/open",
        summary="Open a batch of a terminal",
        source="spec 4.4-paths-batches",
        need=need("batches:open"),
        target=Target(where="body", name="terminal_id", kind=Terminal, is_required=True),
        run=operations.open_one,
        body=lambda _: bodies.OpenBatch,
        response=Batch,
        status=201,
        events=("batch.opened",),
        refuses=(CONFLICT,),
        stops_at_block=True,
    ),
    Row(
        name="batches.edit",
        method="PUT",
        path=f"{_ITEM}/edit",
        summary="Add and remove transactions of a batch",
        source="spec 4.4-paths-batches",
        need=need("batches:edit"),
        target=_BATCH,
        run=operations.edit,
        body=lambda _: bodies.EditBatch,
        response=Batch,
        events=("batch.edited",),
        refuses=(CONFLICT,),
    ),
    Row(
        name="batches.close",
        method="POST",
        path=f"{_ITEM}/close",
        summary="Submit a batch to the processor",
        source="spec 4.4-paths-batches",
        need=need("batches:close"),
        target=_BATCH,
        run=operations.close,
        response=Batch,
        events=("batch.submitted", "batch.accepted", "batch.rejected", "batch.partially_accepted"),
        stops_at_block=True,
    ),
)

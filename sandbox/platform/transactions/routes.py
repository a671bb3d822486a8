"""Rows of transactions. Source: spec 4.3-search; details assumed 1.7."""

from typing import Final

from sandbox.domain.access import need
from sandbox.domain.directory import relate_to_its_records, relate_with_admin_reach
from sandbox.domain.faults import INVALID_TRANSACTION_STATE
from sandbox.domain.payments import edits
from sandbox.domain.payments.transaction_view import AttemptView, TransactionView
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.permissions import CHANGES_PAYMENTS
from sandbox.platform.directory import operations as directory
from sandbox.platform.rows import Listing, Row, Target
from sandbox.platform.transactions import bodies, operations

_PATH: Final = "/v1/transactions"
_READ: Final = need("payments:read")
_ONE: Final = Target(
    where="path", name="transaction_id", kind=Transaction, relate=relate_to_its_records
)

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="transactions.search",
        method="GET",
        path="/v2/transactions",
        summary="Search transactions",
        source="spec 4.3-search",
        need=_READ,
        target=Target(
            where="query",
            name="account_id",
            relate=relate_with_admin_reach,
            is_repeatable=True,
        ),
        run=operations.search,
        query=lambda profile: bodies.search_query(profile),
        response=Listing("transactions", TransactionView),
    ),
    Row(
        name="transactions.list",
        method="GET",
        path=_PATH,
        summary="List transactions, the older way",
        source="spec 4.3-search-v1",
        need=_READ,
        target=Target(where="query", name="account_id", relate=relate_with_admin_reach),
        run=operations.list_all,
        query=lambda _: bodies.ListTransactions,
        response=list[TransactionView],
    ),
    Row(
        name="transactions.retired_search",
        method="POST",
        path=f"{_PATH}/search",
        summary="Retired search, replaced by GET /v2/transactions",
        source="spec 4.3-search-retired",
    ),
    Row(
        name="transactions.read",
        method="GET",
        path=f"{_PATH}/{{transaction_id}}",
        summary="Read a transaction with its history",
        source="spec 4.3-search-v1",
        need=_READ,
        target=_ONE,
        run=directory.read,
        response=TransactionView,
    ),
    Row(
        name="transactions.history",
        method="GET",
        path=f"{_PATH}/{{transaction_id}}/history",
        summary="Read the attempts of a transaction",
        source="assumed 1.7-history",
        need=_READ,
        target=_ONE,
        run=operations.history,
        response=list[AttemptView],
    ),
    Row(
        name="transactions.edit",
        method="PUT",
        path=f"{_PATH}/{{transaction_id}}",
        summary="Reserved: tell the outcome of a passthrough transaction",
        source="spec 4.3-search-edit",
        need=need(*CHANGES_PAYMENTS),
        needs_besides=tuple(edits.PERMISSIONS.items()),
        target=Target(where="path", name="transaction_id", kind=Transaction),
        may=operations.must_be_passthrough,
        run=operations.edit,
        body=lambda _: bodies.EditTransaction,
        response=TransactionView,
        events=(
            "transaction.authorize",
            "transaction.sale",
            "transaction.capture",
            "transaction.refund",
            "transaction.reverse",
            "transaction.cancel",
            "batch.opened",
        ),
        refuses=(INVALID_TRANSACTION_STATE,),
    ),
)

"""Rows of transactions: so far the retired and the reserved one. Source: spec 4.3-search."""

from typing import Final

from sandbox.api.rows import Row
from sandbox.domain.access import need
from sandbox.domain.permissions import ACTIONS
from sandbox.operations import transactions

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="transactions.retired_search",
        method="POST",
        path="/v1/transactions/search",
        summary="Retired search, replaced by GET /v2/transactions",
        source="spec 4.3-search-retired",
    ),
    Row(
        name="transactions.edit",
        method="PUT",
        path="/v1/transactions/{transaction_id}",
        summary="Reserved: the edit of a passthrough transaction",
        source="spec 4.3-search-edit",
        # Any permission of the type makes it visible: assumed 1.7-edit.
        need=need(*(f"payments:{action}" for action in ACTIONS["payments"])),
        run=transactions.edit,
    ),
)

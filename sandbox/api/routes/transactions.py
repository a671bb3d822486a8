"""Rows of transactions: so far the one that is retired. Source: spec 4.3-search."""

from typing import Final

from sandbox.api.rows import Row

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="transactions.retired_search",
        method="POST",
        path="/v1/transactions/search",
        summary="Retired search, replaced by GET /v2/transactions",
        source="spec 4.3-search-retired",
    ),
)

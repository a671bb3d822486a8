"""The route table of the platform: one row per endpoint, retired ones included."""

from typing import Final

from sandbox.api.routes import (
    accounts,
    apikeys,
    batches,
    credentials,
    locations,
    payments,
    terminals,
    transactions,
)
from sandbox.api.rows import Row

OPERATIONS: Final[tuple[Row, ...]] = (
    *accounts.ROWS,
    *credentials.ROWS,
    *terminals.ROWS,
    *locations.ROWS,
    *payments.ROWS,
    *transactions.ROWS,
    *batches.ROWS,
    *apikeys.ROWS,
)

"""The route table of the platform: one row per endpoint, retired ones included."""

from typing import Final

from sandbox.api.routes import accounts, apikeys, credentials, locations, terminals, transactions
from sandbox.api.rows import Row

OPERATIONS: Final[tuple[Row, ...]] = (
    *accounts.ROWS,
    *credentials.ROWS,
    *terminals.ROWS,
    *locations.ROWS,
    *transactions.ROWS,
    *apikeys.ROWS,
)

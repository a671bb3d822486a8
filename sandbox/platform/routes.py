"""The route table of the platform: one row per endpoint, retired ones included."""

from typing import Final

from sandbox.platform.accounts import routes as accounts
from sandbox.platform.apikeys import routes as apikeys
from sandbox.platform.batches import routes as batches
from sandbox.platform.credentials import routes as credentials
from sandbox.platform.locations import routes as locations
from sandbox.platform.payments import routes as payments
from sandbox.platform.routing import build_mounts
from sandbox.platform.rows import Row
from sandbox.platform.terminals import routes as terminals
from sandbox.platform.transactions import routes as transactions

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

MOUNTS: Final = build_mounts("platform", OPERATIONS)
"""Starlette's routes to the operations: a mount for each version of the platform."""

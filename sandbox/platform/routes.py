"""The endpoints of the platform: the operations of every resource, and Starlette's routes to them.

Source: spec 4.4-paths; retired endpoints are among them.
"""

from typing import Final

from sandbox.domain.operations import add_operation
from sandbox.platform import (
    accounts,
    apikeys,
    batches,
    credentials,
    locations,
    terminals,
    transactions,
)
from sandbox.platform.operation import Row
from sandbox.platform.payments import actions, initiation
from sandbox.platform.routing import build_mounts, rows_of

OPERATIONS: Final[tuple[Row, ...]] = rows_of(
    *(accounts, credentials, terminals, locations, initiation, actions),
    *(transactions, batches, apikeys),
)

for _row in OPERATIONS:
    if _row.run is not None:
        add_operation(_row)


def _is_rarely_asked(row: Row) -> bool:
    return row.path.split("/")[2] in ("accounts", "locations")


MOUNTS: Final = sorted(
    build_mounts("platform", sorted(OPERATIONS, key=_is_rarely_asked)),
    key=lambda mount: mount.path != "/v3",
)
"""Starlette's routes to the operations: a mount for each version.

Payments are tried first, accounts and locations last.
"""

"""The endpoints of the platform: the operations of every resource, and Starlette's routes to them.

Source: spec 4.4-paths; retired endpoints are among them.
"""

from typing import Final

from sandbox.platform import (
    accounts,
    apikeys,
    batches,
    credentials,
    locations,
    terminals,
    transactions,
)
from sandbox.platform.operation import Row, rows_of
from sandbox.platform.payments import actions, initiation
from sandbox.platform.routing import build_mounts

OPERATIONS: Final[tuple[Row, ...]] = tuple(
    row
    for resource in (
        accounts,
        credentials,
        terminals,
        locations,
        initiation,
        actions,
        transactions,
        batches,
        apikeys,
    )
    for row in rows_of(resource.__name__)
)

MOUNTS: Final = sorted(build_mounts("platform", OPERATIONS), key=lambda mount: mount.path != "/v3")
"""Starlette's routes to the operations: a mount for each version. Payments are tried first."""

"""All control endpoints, subject by subject."""

from typing import Final

from sandbox.control import (
    batches,
    captures,
    catalogues,
    clock,
    console_files,
    coverage,
    directory,
    docs,
    endpoints,
    exports,
    journal,
    ledger,
    messages,
    outcomes,
    overview,
    payments,
    permissions,
    platform_requests,
    receivers,
    reconciliation,
    scenarios,
    servers,
    sessions,
    snapshots,
    stream,
    switches,
    worlds,
)
from sandbox.control.routing import PREFIX, ControlRow
from sandbox.platform.routing import build_routes, rows_of

CONTROL: Final[tuple[ControlRow, ...]] = rows_of(
    *(
        servers,
        sessions,
        worlds,
        snapshots,
        clock,
        switches,
        overview,
        payments,
        permissions,
    ),
    *(batches, reconciliation, outcomes, scenarios, catalogues, directory, messages),
    *(receivers, endpoints, platform_requests, journal, exports, stream, captures),
    *(coverage, ledger, docs, console_files),
)
"""One row for each endpoint under `/_sandbox`."""

ROUTES: Final = build_routes("control", CONTROL, below=PREFIX)
"""Starlette's routes to the endpoints, below the prefix."""

"""The control table: one row per endpoint under `/_sandbox`."""

from typing import Any, Final

from sandbox.control.routes import (
    acting,
    console,
    looking,
    observing,
    payments,
    webhooks,
    worlds,
)
from sandbox.control.rows import PREFIX, ControlRow
from sandbox.platform.routing import build_routes

CONTROL: Final[tuple[ControlRow, ...]] = (
    *worlds.ROWS,
    *payments.ROWS,
    *looking.ROWS,
    *webhooks.ROWS,
    *observing.ROWS,
    *acting.ROWS,
    *console.ROWS,
)


ROUTES: Final = build_routes("control", CONTROL, below=PREFIX)
"""Starlette's routes to the endpoints, below the prefix."""


def document(**options: Any) -> dict[str, Any]:
    """The OpenAPI document of all rows; the options are those of `openapi.document`."""
    from sandbox.control import openapi

    return openapi.document(CONTROL, **options)

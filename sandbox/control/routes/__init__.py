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
from sandbox.control.rows import ControlRow

CONTROL: Final[tuple[ControlRow, ...]] = (
    *worlds.ROWS,
    *payments.ROWS,
    *looking.ROWS,
    *webhooks.ROWS,
    *observing.ROWS,
    *acting.ROWS,
    *console.ROWS,
)


def document(**options: Any) -> dict[str, Any]:
    """The OpenAPI document of all rows; the options are those of `openapi.document`."""
    from sandbox.control import openapi

    return openapi.document(CONTROL, **options)

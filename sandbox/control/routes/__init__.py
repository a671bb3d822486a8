"""The control table: one row per endpoint under `/_sandbox`."""

from typing import Final

from sandbox.control.routes import observing, payments, webhooks, worlds
from sandbox.control.rows import ControlRow

CONTROL: Final[tuple[ControlRow, ...]] = (
    *worlds.ROWS,
    *payments.ROWS,
    *webhooks.ROWS,
    *observing.ROWS,
)

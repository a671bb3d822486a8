"""Rows that look at the records of a world and change nothing."""

from typing import TYPE_CHECKING, Final

from sandbox.control import payment_lists
from sandbox.control.rows import WORLD, ControlRow
from sandbox.platform.rows import LazyModule

if TYPE_CHECKING:
    from sandbox.control import look_shapes
else:
    look_shapes = LazyModule("sandbox.control.look_shapes")


ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="payments.search",
        method="GET",
        path=f"{WORLD}/payments",
        summary="Search the payments of a world, of all its accounts",
        run=payment_lists.search,
        query=lambda: look_shapes.PaymentsQuery,
    ),
)

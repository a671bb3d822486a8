"""Rows that look at the records of a world and change nothing."""

from typing import TYPE_CHECKING, Final

from sandbox.control import lens, moves, payment_lists, payment_story
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
    ControlRow(
        name="payments.story",
        method="GET",
        path=f"{WORLD}/payments/{{id}}",
        summary="Read a payment with its money, its batch and all that happened to it",
        run=payment_story.read,
    ),
    ControlRow(
        name="payments.moves",
        method="GET",
        path=f"{WORLD}/payments/{{id}}/moves",
        summary="What can be done with a payment now, and what cannot and why",
        run=moves.moves,
        query=lambda: look_shapes.MovesQuery,
    ),
    ControlRow(
        name="lens.simulate",
        method="POST",
        path=f"{WORLD}/lens",
        summary="Find out what a key would be answered, without a request",
        run=lens.simulate,
        body=lambda: look_shapes.LensBody,
    ),
    ControlRow(
        name="lens.table",
        method="GET",
        path=f"{WORLD}/lens/{{key}}",
        summary="List all operations with the statuses that a key gets",
        run=lens.table,
    ),
)

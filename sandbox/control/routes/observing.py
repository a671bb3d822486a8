"""Rows that show what happened."""

from typing import Final

from sandbox.control import observe
from sandbox.control.rows import WORLD, ControlRow

ROWS: Final[tuple[ControlRow, ...]] = (
    ControlRow(
        name="requests.list",
        method="GET",
        path=f"{WORLD}/requests",
        summary="List a world's journal, newest last",
        run=observe.requests,
        query="RequestsQuery",
    ),
    ControlRow(
        name="requests.clear",
        method="DELETE",
        path=f"{WORLD}/requests",
        summary="Empty a world's journal",
        run=observe.forget_requests,
        status=204,
    ),
    ControlRow(
        name="requests.read",
        method="GET",
        path=f"{WORLD}/requests/{{id}}",
        summary="Read a request of the journal",
        run=observe.request,
    ),
)

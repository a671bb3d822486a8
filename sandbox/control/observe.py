"""Control endpoints on the messages and the journal of a world."""

from typing import TYPE_CHECKING, Any, Final

from sandbox.control.long import written_list
from sandbox.control.rows import ControlFault, ControlRequest, must_be_known, window
from sandbox.platform.routes import OPERATIONS

if TYPE_CHECKING:
    from sandbox.control.shapes import RequestsQuery

_ROUTES: Final = frozenset(row.name for row in OPERATIONS)


async def requests(request: ControlRequest) -> list[bytes]:
    """The journal of a world, newest last."""
    query: RequestsQuery = request.query
    journal = request.world.journal
    must_be_known("route", query.route, _ROUTES)
    fitting = [
        entry
        for entry in journal.entries()
        if (query.route is None or entry.route == query.route)
        and (query.status is None or entry.status == query.status)
    ]
    page = window(fitting, query.limit, query.offset)
    return await request.services.worlds.slices.run(
        written_list("requests", page.items, journal.view, page.about())
    )


def request(request: ControlRequest) -> dict[str, Any]:
    """One request of the journal."""
    journal = request.world.journal
    entry = journal.entry(request.params["id"])
    if entry is None:
        raise ControlFault(
            404, "not_found", "the journal has no request with this id, or no longer has it"
        )
    return dict(journal.view(entry))


def forget_requests(request: ControlRequest) -> None:
    """Empty the journal of a world."""
    request.world.journal.clear()

"""Control endpoints on the messages and the journal of a world."""

from typing import TYPE_CHECKING, Final, TypedDict

from sandbox.control.long import written_list
from sandbox.control.rows import ControlFault, ControlRequest, Written, must_be_known, window
from sandbox.platform.routes import OPERATIONS
from sandbox.worlds.journal import EntryView

if TYPE_CHECKING:
    from sandbox.control.shapes import RequestsQuery

_ROUTES: Final = frozenset(row.name for row in OPERATIONS)


class Requests(TypedDict):
    """Journal entries, oldest first."""

    requests: list[EntryView]
    total: int
    limit: int
    offset: int


async def requests(request: ControlRequest) -> Written[Requests]:
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
    answer = Requests(requests=[], total=page.total, limit=page.limit, offset=page.offset)
    return await request.services.worlds.slices.run(
        written_list(answer, "requests", map(journal.view, page.items))
    )


def request(request: ControlRequest) -> EntryView:
    """One request of the journal."""
    journal = request.world.journal
    entry = journal.entry(request.params["id"])
    if entry is None:
        raise ControlFault(
            404, "not_found", "the journal has no request with this id, or no longer has it"
        )
    return journal.view(entry)


def forget_requests(request: ControlRequest) -> None:
    """Empty the journal of a world."""
    request.world.journal.clear()

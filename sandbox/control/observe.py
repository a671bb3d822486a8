"""Control endpoints that show what happened in a world: its messages and its journal."""

from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json

from sandbox.api.routes import OPERATIONS
from sandbox.control.rows import Ask, ControlFault, window
from sandbox.domain.events import EVENTS, Message, body_of
from sandbox.domain.instants import to_wire
from sandbox.domain.words import nearest

if TYPE_CHECKING:
    from sandbox.control.shapes import MessagesQuery, RequestsQuery

_ROUTES: Final = frozenset(row.name for row in OPERATIONS)


def messages(ask: Ask) -> dict[str, Any]:
    """The messages of a world, newest last."""
    query: MessagesQuery = ask.query
    wanted = query.event_type
    if wanted is not None and wanted not in EVENTS:
        raise ControlFault(
            400,
            "unknown_event_type",
            f"event_type: there is no {wanted!r}",
            nearest=nearest(wanted, EVENTS),
        )
    fitting = [
        message
        for message in ask.world.store.messages()
        if (wanted is None or message.event_type == wanted)
        and (query.since is None or message.created_at >= query.since)
        and (query.subject is None or message.subject == query.subject)
    ]
    page = window(fitting, query.limit, query.offset).view("messages")
    return page | {"messages": [_message(one) for one in page["messages"]]}


def message(ask: Ask) -> dict[str, Any]:
    """One message, with its body."""
    found = ask.world.store.message(ask.params["id"])
    if found is None:
        raise ControlFault(404, "not_found", "the world has no message with this id")
    return _message(found)


def _message(message: Message) -> dict[str, Any]:
    return {
        "id": message.id,
        "event_type": message.event_type,
        "account_id": message.account_id,
        "subject": message.subject,
        "request_id": message.request_id,
        "created_at": to_wire(message.created_at),
        "body": from_json(body_of(message)),
        "deliveries": [],
    }


def requests(ask: Ask) -> dict[str, Any]:
    """The journal of a world, newest last."""
    query: RequestsQuery = ask.query
    journal = ask.world.journal
    if query.route is not None and query.route not in _ROUTES:
        raise ControlFault(
            400,
            "unknown_route",
            f"route: there is no row {query.route!r}",
            nearest=nearest(query.route, _ROUTES),
        )
    fitting = [
        entry
        for entry in journal.entries()
        if (query.route is None or entry.route == query.route)
        and (query.status is None or entry.status == query.status)
    ]
    page = window(fitting, query.limit, query.offset).view("requests")
    return page | {"requests": [journal.view(entry) for entry in page["requests"]]}


def request(ask: Ask) -> dict[str, Any]:
    """One request of the journal."""
    journal = ask.world.journal
    entry = journal.entry(ask.params["id"])
    if entry is None:
        raise ControlFault(
            404, "not_found", "the journal has no request with this id, or no longer has it"
        )
    return dict(journal.view(entry))


def forget_requests(ask: Ask) -> None:
    """Empty the journal of a world."""
    ask.world.journal.clear()

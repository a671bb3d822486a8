"""Control endpoints on receivers inside the process. Source: assumed D25-receivers."""

from typing import TYPE_CHECKING, Any, TypedDict

from pydantic_core import from_json

from sandbox.control import endpoints
from sandbox.control.endpoints import EndpointView
from sandbox.control.rows import ControlFault, ControlRequest, window
from sandbox.domain.instants import to_wire
from sandbox.domain.webhooks import Endpoint
from sandbox.webhooks.inside import Program, Received, is_inside, program_of, url_of
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import NewReceiver
    from sandbox.control.shapes import Listing

DESCRIPTION = "Built-in receiver"


class ReceiverView(TypedDict):
    """A receiver inside: an endpoint with the same id, its programmed answers, and its secret.

    The first attempt at each message gets the first of `answers`, and so on; later ones get the
    last. `received` counts the deliveries that came.
    """

    id: str
    answers: list[int]
    delay_ms: int
    received: int
    secret: str
    endpoint: EndpointView


class Receivers(TypedDict):
    """The receivers inside a world."""

    receivers: list[ReceiverView]
    total: int


class ReceivedView(TypedDict):
    """A delivery as it came. `answer` is null if the receiver took too long.

    `says` tells what its check of the signature found, with all secrets that were in force. `body`
    is text where a scenario spoilt the JSON.
    """

    at: str
    message_id: str
    event_type: str | None
    attempt: int
    headers: dict[str, str]
    body: Any
    genuine: bool
    says: str
    answer: int | None


class ReceivedPage(TypedDict):
    """The last deliveries to a receiver, oldest first; `total` counts those that are kept."""

    received: list[ReceivedView]
    total: int
    limit: int
    offset: int


def create(request: ControlRequest) -> ReceiverView:
    """Have webhooks go to a receiver inside, which answers as it is told."""
    body: NewReceiver = request.body
    program = Program(tuple(body.answers), body.delay_ms)
    made = endpoints.add(
        request,
        {
            "url": url_of(program),
            "description": body.description or DESCRIPTION,
            "event_types": body.event_types,
        },
    )
    return _view(request.world, made)


def list_all(request: ControlRequest) -> Receivers:
    """The receivers inside a world, in the order in which they came."""
    known = request.world.outbox.endpoints.values()
    views = [_view(request.world, one) for one in known if is_inside(one.url)]
    return {"receivers": views, "total": len(views)}


def delete(request: ControlRequest) -> None:
    """Forget a receiver, what it was sent, and what still waited for it."""
    id = _found(request).id
    request.world.outbox.remove(id)
    request.world.inbox.forget(id)


def received(request: ControlRequest) -> ReceivedPage:
    """What a receiver was sent, with its check of each signature."""
    query: Listing = request.query
    world, id = request.world, _found(request).id
    kept = world.inbox.received(id)
    page = window(kept, query.limit, query.offset)
    return {
        "received": [_received(world, one) for one in page.items],
        "total": len(kept),
        "limit": page.limit,
        "offset": page.offset,
    }


def _found(request: ControlRequest) -> Endpoint:
    endpoint = request.world.outbox.endpoints.get(request.params["id"])
    if endpoint is None or not is_inside(endpoint.url):
        raise ControlFault(404, "not_found", "the world has no receiver with this id")
    return endpoint


def _view(world: World, endpoint: Endpoint) -> ReceiverView:
    try:
        program = program_of(endpoint.url)
    except ValueError:
        program = Program()
    return {
        "id": endpoint.id,
        "answers": list(program.answers),
        "delay_ms": program.delay_ms,
        "received": world.inbox.total(endpoint.id),
        "secret": endpoint.secret,
        "endpoint": endpoints.view(endpoint, world.now()),
    }


def _received(world: World, one: Received) -> ReceivedView:
    message = world.store.message(one.message_id)
    try:
        body = from_json(one.body)
    except ValueError:
        body = one.body.decode("utf-8", "replace")
    return {
        "at": to_wire(one.at),
        "message_id": one.message_id,
        "event_type": None if message is None else message.event_type,
        "attempt": one.attempt,
        "headers": dict(one.headers),
        "body": body,
        "genuine": one.check.step is None,
        "says": one.check.says,
        "answer": one.answer,
    }

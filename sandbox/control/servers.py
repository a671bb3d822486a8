"""Servers: their health and metrics, and those that share worlds and answer for each other."""

from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Final, Literal, TypeVar

from pydantic import Field
from starlette.types import Receive, Scope, Send

from sandbox.control.context import ControlFault, ControlRequest, unknown_among
from sandbox.control.models import TOTAL, View, shows
from sandbox.control.routing import PREFIX, ControlRow, Written, get
from sandbox.domain.faults import MISDIRECTED, UNAVAILABLE
from sandbox.platform.forwarding import FORWARDED, was_forwarded
from sandbox.platform.routing import path_of
from sandbox.store.files.port import StoreError, Unavailable
from sandbox.worlds.elsewhere import Elsewhere, KeptWorld, ServerRow, WorldLost
from sandbox.worlds.spec import DEFAULT_WORLD

ViewT = TypeVar("ViewT", bound=View)


def unavailable(error: StoreError | WorldLost) -> ControlFault:
    """Return the refusal while the state is unknown, or another server may have the world."""
    why = str(error)
    if isinstance(error, WorldLost):
        why = f"the world {why!r} is now on another server; the request may have been carried out"
    return ControlFault(UNAVAILABLE.status, UNAVAILABLE.code, why, headers={"retry-after": "1"})


Asgi = tuple[Scope, Receive, Send]


async def forward(
    request: ControlRequest, row: ControlRow, read: Callable[[], Awaitable[Any]], asgi: Asgi
) -> bool:
    """Forward the request to the server that has its world; return whether that one answered.

    If not, it is for this server. `read` reads the body. Raises Unavailable, and ControlFault for
    an unknown world or a request that was already forwarded.
    """
    services, who, name = request.services, request.who, request.params.get("w")
    worlds, elsewhere = services.worlds, services.elsewhere
    id = DEFAULT_WORLD if name is None else who.meant(name)
    if elsewhere is None or not (name or row.is_for_default) or worlds.get(id) is not None:
        return False
    body: bytes | None = None
    while (peer := await elsewhere.have_world(id)) is not None:
        if was_forwarded(asgi[0]["headers"]):
            why, headers = "another server has the world", {FORWARDED.decode(): "1"}
            raise ControlFault(MISDIRECTED.status, MISDIRECTED.code, why, headers=headers)
        if body is None:
            body = bytes(await read())
        if await elsewhere.carry(peer, peer.control_url, *asgi, body):
            return True
    if worlds.get(id) is None and name is not None:
        ids = [one.id for one in await elsewhere.list_others(())]
        raise unknown_among(ids, name, who)
    return False


def other_servers(request: ControlRequest) -> Elsewhere | None:
    """Return the other servers, to ask them too; None if the request came from one of them."""
    if was_forwarded(request.scope["headers"]):
        return None
    return request.services.elsewhere


_OF_THE_SENDER: Final = (b"authorization", b"cookie", b"host")
"""The headers that say who asks. The name of a session's cookie depends on the host."""


async def ask_other_servers(request: ControlRequest, answer: type[ViewT]) -> list[ViewT]:
    """Send the request to the other servers too; each answers about the worlds that it has."""
    if (others := other_servers(request)) is None:
        return []
    scope = request.scope
    headers = [one for one in scope["headers"] if one[0] in _OF_THE_SENDER]
    bodies = await others.ask_all(path_of(scope), scope["query_string"], headers)
    return [answer.model_validate_json(body) for body in bodies]


async def list_stored_worlds(
    request: ControlRequest, others: Elsewhere, known: Iterable[str]
) -> list[KeptWorld]:
    """List the worlds within reach that are not among the known ones.

    No server has them, or their server does not answer.
    """
    return [one for one in await others.list_others(known) if request.who.can_reach(one.id)]


class Health(View):
    """The health of the server; `store` is `memory`, or the name of the state file.

    `server` is the name of a server that shares worlds with others.
    """

    status: Literal["ok"]
    version: str
    store: str
    server: str = Field(default="", exclude_if=lambda name: not name)


@get(f"{PREFIX}/health", "health", is_open=True)
def read_health(request: ControlRequest) -> Health:
    """Check that the server answers.

    A server that shares worlds is unhealthy while it has no contact with the others, and once it
    leaves them.
    """
    services, elsewhere = request.services, request.services.elsewhere
    if elsewhere is not None and not elsewhere.is_current:
        raise unavailable(Unavailable("this server has lost the others, or is shutting down"))
    return Health.of(services, status="ok", server="" if elsewhere is None else elsewhere.name)


@shows(ServerRow, without=("session", "control_url"))
class ServerView(View):
    """A server: its name, its address for the others, its state, and how many worlds it has."""


class Servers(View):
    """The servers that share worlds; empty if they are not shared."""

    servers: list[ServerView]
    total: int = TOTAL


@get(f"{PREFIX}/servers", "servers.list", is_for_operator=True)
async def list_servers(request: ControlRequest) -> Servers:
    """List the servers that share worlds."""
    elsewhere = request.services.elsewhere
    rows = [] if elsewhere is None else await elsewhere.servers()
    return Servers(servers=list(map(ServerView.of, rows)))


MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@get(f"{PREFIX}/metrics", "metrics", is_for_operator=True, media_type=MEDIA_TYPE)
def read_metrics(request: ControlRequest) -> Written[str]:
    """Read the metrics of the server, in the format of Prometheus."""
    return Written(request.services.worlds.measured.write())

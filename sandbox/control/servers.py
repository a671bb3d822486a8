"""The health of the server, the servers that share worlds, and metrics."""

from typing import Final, Literal

from pydantic import Field

from sandbox.control.context import ControlRequest
from sandbox.control.forwarding import unavailable
from sandbox.control.models import Time, View, Written
from sandbox.control.routing import PREFIX, Router
from sandbox.store.files.port import Unavailable

router = Router()


class Health(View):
    """That the server answers; `store` is `memory`, or the name of the state file.

    `server` is the name of a server that shares worlds with others.
    """

    status: Literal["ok"]
    version: str
    store: str
    server: str = Field(default="", exclude_if=lambda name: not name)


@router.get(f"{PREFIX}/health", "health", is_open=True)
def read_health(request: ControlRequest) -> Health:
    """Check that the server answers.

    One that shares worlds is not healthy while it has no contact with the others, nor once it
    leaves them.
    """
    services = request.services
    elsewhere = services.elsewhere
    if elsewhere is not None and not elsewhere.is_current:
        raise unavailable(Unavailable("this server has no contact with the others, or leaves"))
    name = "" if elsewhere is None else elsewhere.name
    return Health(status="ok", version=services.version, store=services.store, server=name)


class ServerView(View):
    """A server: its name, its address for the others, its state, and how many worlds it has."""

    name: str
    url: str
    state: str
    version: str
    started_at: Time
    worlds: int


class Servers(View):
    """The servers that share worlds; empty where one server has its worlds for itself."""

    servers: list[ServerView]
    total: int


@router.get(f"{PREFIX}/servers", "servers.list", is_for_operator=True)
async def list_servers(request: ControlRequest) -> Servers:
    """List the servers that share worlds."""
    elsewhere = request.services.elsewhere
    rows = [] if elsewhere is None else await elsewhere.servers()
    servers = [ServerView.of(one) for one in rows]
    return Servers(servers=servers, total=len(servers))


MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"


@router.get(f"{PREFIX}/metrics", "metrics", is_for_operator=True, media_type=MEDIA_TYPE)
def read_metrics(request: ControlRequest) -> Written[str]:
    """Read the metrics of the server, in the format of Prometheus."""
    return Written(request.services.worlds.measured.write())

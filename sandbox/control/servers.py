"""The control endpoint on the servers that share worlds."""

from typing import TypedDict

from sandbox.control.rows import ControlRequest
from sandbox.domain.instants import to_wire


class ServerView(TypedDict):
    """A server: its name, its address for the others, its state, and how many worlds it has."""

    name: str
    url: str
    state: str
    version: str
    started_at: str
    worlds: int


class Servers(TypedDict):
    """The servers that share worlds; empty where one server has its worlds for itself."""

    servers: list[ServerView]
    total: int


async def list_all(request: ControlRequest) -> Servers:
    """All servers that live, by name."""
    elsewhere = request.services.elsewhere
    rows = [] if elsewhere is None else await elsewhere.servers()
    servers: list[ServerView] = [
        {
            "name": one.name,
            "url": one.url,
            "state": one.state,
            "version": one.version,
            "started_at": to_wire(one.started_at),
            "worlds": one.worlds,
        }
        for one in rows
    ]
    return {"servers": servers, "total": len(servers)}

"""Worlds that several servers share: what this server asks about the others."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from sandbox.domain.keys import ParsedKey


class WorldLost(Exception):
    """Another server has the world, so nothing that this one knows of it may be answered.

    What was carried out here meanwhile may have been written before, or not.
    """


class Peer(NamedTuple):
    """Another server: its session, its name, and where it answers."""

    session: int
    name: str
    url: str
    control_url: str


class KeptWorld(NamedTuple):
    """A world that this server does not have, as it was last written.

    `state` is the document of its state; `is_held` says whether another server has it.
    """

    id: str
    state: str
    payments: int
    requests: int
    is_held: bool


class ServerRow(NamedTuple):
    """One of the servers: its name, address and state, since when, and how many worlds it has."""

    name: str
    url: str
    state: str
    version: str
    started_at: datetime
    worlds: int


class Elsewhere(Protocol):
    """The other servers. Worlds move between them; one server has a world at a time.

    All of this raises Unavailable while the answer is unknown.
    """

    async def have_world(self, id: str) -> Peer | None:
        """Have the world be here; else the server that has it.

        None as well if there is no such world.
        """

    async def have_key(self, sent: bytes, key: ParsedKey, *, afresh: bool = False) -> Peer | None:
        """Have the world of this key be here; else the server that has it.

        It is looked up `afresh` where what is remembered may be old. A key of no world leads to
        `default`, whose journal has the requests of strangers.
        """

    async def may_have_key(self, world: str, sent: str, key: ParsedKey) -> bool:
        """Whether a key that a client supplies is free for this world, on all servers.

        If so, no other world gets it for some seconds.
        """

    async def carry(
        self, peer: Peer, url: str, scope: Any, receive: Any, send: Any, body: bytes
    ) -> bool:
        """Have that server answer the request at one of its URLs.

        False if it no longer has the world.
        """

    async def ask_all(
        self, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]]
    ) -> list[bytes]:
        """Return the bodies of what the other servers answer to this GET.

        One that fails says nothing.
        """

    async def list_others(self, known: Iterable[str]) -> list[KeptWorld]:
        """All worlds but the known ones, by id."""

    async def servers(self) -> list[ServerRow]:
        """All servers that live, by name."""

    @property
    def name(self) -> str:
        """The name of this server."""

    @property
    def is_current(self) -> bool:
        """Whether this server is in contact with the others, so it may answer."""

    def reserve(self, id: str, team: str) -> AbstractAsyncContextManager[str]:
        """Return the id of a world that is made inside the block; no other request can use it.

        An empty id becomes the team's next free one. Raises WorldTaken and TooManyWorlds.
        """

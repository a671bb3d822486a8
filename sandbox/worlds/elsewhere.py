"""The interface to the other servers that share the worlds."""

from collections.abc import Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from datetime import datetime
from typing import Any, NamedTuple, Protocol

from msgspec import Struct

from sandbox.domain.keys import ParsedKey


class WorldLost(Exception):
    """Another server has the world, so this one must not answer from its own copy.

    The last changes on this server may or may not have been written.
    """


class Peer(Struct, frozen=True):
    """Another server: its session, its name, and its URLs."""

    session: int
    name: str
    url: str
    control_url: str


class KeptWorld(NamedTuple):
    """A world that is not on this server, as it was last written.

    `state` is the document of its state. `is_held` if another server has it. `has_own_fixture` if
    its fixture is not a bundled one, but among its documents.
    """

    id: str
    state: str
    payments: int
    requests: int
    is_held: bool
    has_own_fixture: bool


class ReservedKey(NamedTuple):
    """A key that a client supplied, by its fingerprint, and when it was reserved for a world."""

    fingerprint: str
    at: datetime


class ServerRow(Peer, frozen=True):
    """One of the servers: also its state, version and start, and its number of worlds."""

    state: str
    version: str
    started_at: datetime
    worlds: int


class Elsewhere(Protocol):
    """The other servers. Worlds move between them; one server has a world at a time.

    All methods raise Unavailable while the answer is unknown.
    """

    async def have_world(self, id: str) -> Peer | None:
        """Take the world if no other server has it; otherwise return that server.

        Return None also if there is no such world.
        """

    async def have_key(self, sent: bytes, key: ParsedKey, *, afresh: bool = False) -> Peer | None:
        """Take the world of this key if no other server has it; otherwise return that server.

        With `afresh` the key is looked up again, because the remembered owner may be outdated. An
        unknown key leads to `default`, whose journal records such requests.
        """

    async def reserve_key(self, world: str, sent: str, key: ParsedKey) -> ReservedKey | None:
        """Reserve a key that a client supplied for this world, on all servers, for some seconds.

        Return None if another world has it, or has it reserved.
        """

    async def free_keys(self, reserved: Sequence[ReservedKey]) -> None:
        """Free keys after their request, when the world has them or does not want them."""

    async def carry(
        self, peer: Peer, url: str, scope: Any, receive: Any, send: Any, body: bytes
    ) -> bool:
        """Forward the request to one of that server's URLs.

        Return False if that server no longer has the world.
        """

    async def ask_all(
        self, path: str, query: bytes, headers: Sequence[tuple[bytes, bytes]]
    ) -> list[bytes]:
        """Send a GET to all other servers, and return the bodies of the answers.

        Servers that fail are left out.
        """

    async def list_others(self, known: Iterable[str]) -> list[KeptWorld]:
        """Return all worlds except the known ones, ordered by id."""

    async def servers(self) -> list[ServerRow]:
        """Return all live servers, ordered by name."""

    @property
    def name(self) -> str:
        """The name of this server."""

    @property
    def is_current(self) -> bool:
        """Whether this server is in contact with the others, so that it may answer."""

    def reserve(self, id: str, team: str) -> AbstractAsyncContextManager[str]:
        """Reserve the id of a world that is created inside the block.

        An empty id becomes the team's next free one. Raises WorldTaken and TooManyWorlds.
        """

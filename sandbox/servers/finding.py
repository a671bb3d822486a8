"""Which world a key or an id leads to, and which server has it."""

from typing import TYPE_CHECKING, Final, NamedTuple

from sandbox.domain.keys import ParsedKey, digest_of
from sandbox.store.files.port import FORMAT
from sandbox.worlds.elsewhere import KeptWorld

if TYPE_CHECKING:
    import asyncpg


class Whereabouts(NamedTuple):
    """A world in PostgreSQL: its id, its epoch, and the server that has it.

    The server lives as long as it `is_owned`, but was not heard of for a lease if it `is_silent`.
    """

    id: str
    epoch: int
    owner: int | None
    is_owned: bool
    is_silent: bool
    url: str
    control_url: str
    name: str
    format: int

    @property
    def is_too_new(self) -> bool:
        """Whether a later version wrote it, so that this one cannot read it."""
        return self.format > FORMAT


_OF_ID: Final = """
SELECT w.id, w.epoch, w.owner, coalesce(s.state <> 'dead', false),
    coalesce(s.beat_until < now(), true), coalesce(s.url, ''), coalesce(s.control_url, ''),
    coalesce(s.name, ''), w.format
FROM uat_sandbox.worlds w LEFT JOIN uat_sandbox.servers s ON s.id = w.owner
WHERE w.id = $1 AND w.n > 0"""
_OF_LOOKUP: Final = """
SELECT w.id, w.epoch, w.owner, coalesce(s.state <> 'dead', false),
    coalesce(s.beat_until < now(), true), coalesce(s.url, ''), coalesce(s.control_url, ''),
    coalesce(s.name, ''), w.format, k.salt, k.digest
FROM uat_sandbox.keys k JOIN uat_sandbox.worlds w ON w.wid = k.wid
LEFT JOIN uat_sandbox.servers s ON s.id = w.owner
WHERE k.lookup = $1 AND w.n > 0 ORDER BY w.id"""


_BESIDE: Final = """
SELECT w.id, w.state, w.payments, w.requests, coalesce(s.state <> 'dead', false)
FROM uat_sandbox.worlds w LEFT JOIN uat_sandbox.servers s ON s.id = w.owner
WHERE w.n > 0 AND w.state IS NOT NULL AND w.id > $2 AND NOT w.id = ANY($1)
ORDER BY w.id LIMIT $3"""
_PAGE: Final = 500
_OTHERS: Final = """
SELECT control_url FROM uat_sandbox.servers
WHERE state <> 'dead' AND beat_until > now() AND id <> $1 ORDER BY id"""
_SERVERS: Final = """
SELECT s.name, s.url, s.state, s.version, s.started_at,
    (SELECT count(*) FROM uat_sandbox.worlds w WHERE w.owner = s.id)
FROM uat_sandbox.servers s WHERE s.state <> 'dead' AND s.beat_until > now() ORDER BY s.name, s.id"""


async def kept_beside(connection: "asyncpg.Connection", known: list[str]) -> list[KeptWorld]:
    """All worlds but these, by id; others have their turns meanwhile."""
    found: list[KeptWorld] = []
    while True:
        after = found[-1].id if found else ""
        page = await connection.fetch(_BESIDE, known, after, _PAGE)
        found += [KeptWorld(*row) for row in page]
        if len(page) < _PAGE:
            return found


async def others(connection: "asyncpg.Connection", me: int) -> list[str]:
    """Where the control APIs of the other servers are that live."""
    rows = await connection.fetch(_OTHERS, me)
    return [row["control_url"] for row in rows]


async def servers(connection: "asyncpg.Connection") -> "list[asyncpg.Record]":
    """Name, URL, state, version, start and number of worlds of the servers that live."""
    rows: list[asyncpg.Record] = await connection.fetch(_SERVERS)
    return rows


async def of_id(connection: "asyncpg.Connection", id: str) -> Whereabouts | None:
    """Where the world with this id is; None if there is none."""
    row = await connection.fetchrow(_OF_ID, id)
    return None if row is None else Whereabouts(*row)


async def of_key(connection: "asyncpg.Connection", key: ParsedKey) -> Whereabouts | None:
    """Where the world is that has exactly this key; None if no world has it."""
    for row in await connection.fetch(_OF_LOOKUP, key.lookup):
        *found, salt, digest = row
        if digest_of(salt, key.secret) == digest:
            return Whereabouts(*found)
    return None

"""Ownership of worlds by sessions: finding, claiming, reserving and giving away.

A world belongs to the session in its row for as long as that session lives. A claim names the
session that it has seen in the row, so only one of several claims succeeds.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Final, NamedTuple

from asyncpg import Connection
from pydantic_core import from_json

from sandbox.cluster.session import SILENT_S
from sandbox.domain.keys import ParsedKey, digest_of
from sandbox.store.files.port import FIXTURE, FORMAT, Unavailable
from sandbox.worlds.elsewhere import KeptWorld, Peer, ServerRow
from sandbox.worlds.spec import DEFAULT_WORLD, Limits, WorldTaken, team_of, world_of

SKIPPED_MAX: Final = 1_000
"""How many world numbers to skip at once because the ids are taken."""

_MAKING: Final = 4_511_902_661
"""The number of the advisory lock under which worlds are counted and reserved."""


class Found(NamedTuple):
    """A world, the session in its row, and the server that has it, if it is alive."""

    id: str
    format: int
    session: int | None
    owner: Peer | None


class Claim(NamedTuple):
    """A world that a session owns: the `wid` of its rows, and the number of its last commit."""

    session: int
    wid: int
    n: int


_OF_ID: Final = """
SELECT id, format, session, owner, name, url, control_url FROM uat_sandbox.owned
WHERE id = $1 AND n > 0"""
_OF_KEY: Final = """
SELECT d.text, w.id, w.format, w.session, w.owner, w.name, w.url, w.control_url
FROM uat_sandbox.documents d JOIN uat_sandbox.owned w USING (wid)
WHERE d.lookup = $1 AND w.n > 0 ORDER BY w.id"""
_CLAIM: Final = """
UPDATE uat_sandbox.worlds SET session = $2
WHERE id = $1 AND format <= $4 AND n > 0 AND session IS NOT DISTINCT FROM $3
    AND (session = $2 OR NOT EXISTS (SELECT FROM uat_sandbox.living l WHERE l.number = $3))
RETURNING $2::integer, wid, n"""
_RESERVE: Final = """
INSERT INTO uat_sandbox.worlds (id, wid, team, session, n, format)
VALUES ($1, (random() * 9e18)::bigint, $2, $3, 0, $4)
ON CONFLICT (id) DO UPDATE SET wid = excluded.wid, session = excluded.session, touched_at = now()
WHERE worlds.n = 0
    AND NOT EXISTS (SELECT FROM uat_sandbox.living l WHERE l.number = worlds.session)
RETURNING $3::integer, wid, n"""
_GIVE: Final = """
UPDATE uat_sandbox.worlds SET session = $3, touched_at = now()
WHERE id = ANY($1) AND session = $2"""
_NOT_MADE: Final = """
DELETE FROM uat_sandbox.worlds w
WHERE n = 0 AND (session = $1 AND touched_at < now() - interval '10 seconds' AND NOT id = ANY($2)
    OR NOT EXISTS (SELECT FROM uat_sandbox.living l WHERE l.number = w.session))"""
COUNT_ALONE: Final = f"""
SET LOCAL idle_in_transaction_session_timeout = 3000;
SELECT pg_advisory_xact_lock({_MAKING})"""
"""One server at a time counts and reserves; if it freezes, it delays the others for 3 s."""

_NUMBERED: Final = """
INSERT INTO uat_sandbox.meta VALUES ('numbered:' || $1, '1')
ON CONFLICT (name) DO UPDATE SET value = (uat_sandbox.meta.value::bigint + 1)::text
RETURNING value"""
_RESERVE_KEY: Final = """
INSERT INTO uat_sandbox.brought_keys VALUES ($1, $2, now())
ON CONFLICT (fingerprint) DO UPDATE SET world = excluded.world, at = now()
WHERE uat_sandbox.brought_keys.world = excluded.world
    OR uat_sandbox.brought_keys.at < now() - interval '10 seconds'
RETURNING at"""
_LIST: Final = """
SELECT id, state, payments, requests, owner IS NOT NULL, EXISTS (
    SELECT FROM uat_sandbox.documents d WHERE d.wid = w.wid AND d.tbl = $2
) FROM uat_sandbox.owned w
WHERE n > 0 AND state IS NOT NULL AND NOT id = ANY($1) ORDER BY id"""
_SERVERS: Final = """
SELECT number, name, url, control_url, CASE WHEN is_leaving THEN 'leaving' ELSE 'live' END, version,
    started_at, (SELECT count(*) FROM uat_sandbox.worlds w WHERE w.session = l.number)
FROM uat_sandbox.living l ORDER BY name, number"""
_END_SILENT: Final = """
SELECT pg_terminate_backend(a.pid)
FROM uat_sandbox.living l JOIN pg_stat_activity a USING (pid)
WHERE l.number <> $3 AND (l.number = ANY($1::integer[]) OR EXISTS (
        SELECT FROM uat_sandbox.worlds w WHERE w.session = l.number AND n > 0 AND next_due <= now()
    ))
    AND now() - greatest(a.state_change, a.backend_start) > $2 * interval '1 second'"""
_DUE: Final = """
SELECT id FROM uat_sandbox.owned
WHERE n > 0 AND format <= $1 AND NOT id = ANY($4)
    AND (owner = $2 OR owner IS NULL AND next_due <= now()) ORDER BY next_due LIMIT $3"""
_ENDED: Final = """
WITH ended AS (
    DELETE FROM uat_sandbox.sessions s
    WHERE NOT EXISTS (SELECT FROM uat_sandbox.living l WHERE l.number = s.number)
    RETURNING number
) UPDATE uat_sandbox.worlds SET touched_at = now() WHERE session IN (SELECT number FROM ended)"""
"""A world was in use as long as a server had it: to read it touches nothing."""

_UNUSED_MAX_S: Final = 1e9
_UNUSED: Final = """
WITH gone AS (
    DELETE FROM uat_sandbox.worlds w
    WHERE touched_at < now() - $1::float8 * interval '1 second' AND id <> $2 AND n > 0
        AND NOT EXISTS (SELECT FROM uat_sandbox.living l WHERE l.number = w.session)
        AND EXISTS (
            SELECT FROM uat_sandbox.living
            WHERE started_at < now() - $1::float8 * interval '1 second'
        )
    RETURNING wid
) INSERT INTO uat_sandbox.leftovers SELECT wid FROM gone ON CONFLICT DO NOTHING"""
_SWEEP: Final = """
DELETE FROM uat_sandbox.brought_keys WHERE at < now() - interval '1 hour';
DELETE FROM uat_sandbox.documents WHERE ctid = ANY (ARRAY(
    SELECT ctid FROM uat_sandbox.documents WHERE wid = (
        SELECT wid FROM uat_sandbox.leftovers WHERE since < now() - interval '1 minute'
        ORDER BY since LIMIT 1
    ) LIMIT 2000 FOR UPDATE SKIP LOCKED
));
DELETE FROM uat_sandbox.leftovers l WHERE since < now() - interval '1 minute'
    AND NOT EXISTS (SELECT FROM uat_sandbox.documents d WHERE d.wid = l.wid)"""


def _read_row(id: str, format: int, session: int | None, owner: int | None, *peer: str) -> Found:
    return Found(id, format, session, None if owner is None else Peer(owner, *peer))


async def find(connection: Connection, id: str) -> Found | None:
    """Find the world with this id; None if there is none."""
    row = await connection.fetchrow(_OF_ID, id)
    return None if row is None else _read_row(*row)


async def find_key(connection: Connection, key: ParsedKey) -> Found | None:
    """Find the world that has exactly this key; None if there is none."""
    for text, *row in await connection.fetch(_OF_KEY, key.lookup):
        document = from_json(text)
        if digest_of(document["salt"], key.secret) == document["digest"]:
            return _read_row(*row)
    return None


async def claim(connection: Connection, found: Found, session: int) -> Claim | None:
    """Claim a world for a session; return None if another live session owns it."""
    row = await connection.fetchrow(_CLAIM, found.id, session, found.session, FORMAT)
    return None if row is None else Claim(*row)


async def reserve(
    connection: Connection, id: str, team: str, session: int, limits: Limits
) -> tuple[str, Claim]:
    """Reserve the id of a new world; without one, the team's next `world-N`.

    Raises WorldTaken, TooManyWorlds, or Unavailable while another server creates that world.
    """
    whose = team_of(id) if id else team
    async with connection.transaction():
        await connection.execute(COUNT_ALONE)
        of_all, of_team = await connection.fetchrow(
            "SELECT count(*), count(*) FILTER (WHERE team = $1) FROM uat_sandbox.worlds", whose
        )
        for _ in range(1 if id else SKIPPED_MAX):
            wanted = id or world_of(team, f"world-{await connection.fetchval(_NUMBERED, whose)}")
            row = await connection.fetchrow(_RESERVE, wanted, whose, session, FORMAT)
            if row is not None:
                # Afterwards, so that a taken id is refused as such. This undoes the reservation.
                limits.check(whose, of_all=of_all, of_team=of_team, holder="these servers hold")
                return wanted, Claim(*row)
        n = await connection.fetchval("SELECT n FROM uat_sandbox.worlds WHERE id = $1", wanted)
        if not n:
            # Without a row, it was being created until now.
            raise Unavailable(f"the world {wanted!r} is being created")
    if id:
        raise WorldTaken(f"a world {id!r} already exists")
    raise WorldTaken(f"a world {wanted!r} and those before it already exist")


async def take_back(connection: Connection, wid: int) -> None:
    """Free the id of a world that was not created."""
    await connection.execute("DELETE FROM uat_sandbox.worlds WHERE wid = $1 AND n = 0", wid)


async def leave(connection: Connection, session: int) -> None:
    """Tell the other servers that a session takes no more worlds."""
    leave = "UPDATE uat_sandbox.sessions SET is_leaving = true WHERE number = $1"
    await connection.execute(leave, session)


async def reserve_key(connection: Connection, fingerprint: str, world: str) -> datetime | None:
    """Reserve a key that a user supplied; return the time, or None if another world has done so."""
    at: datetime | None = await connection.fetchval(_RESERVE_KEY, fingerprint, world)
    return at


async def free_key(connection: Connection, fingerprint: str, at: datetime) -> None:
    """Free a reserved key, unless another request has reserved it since."""
    free = "DELETE FROM uat_sandbox.brought_keys WHERE fingerprint = $1 AND at = $2"
    await connection.execute(free, fingerprint, at)


async def give(connection: Connection, ids: list[str], mine: int, to: int | None) -> None:
    """Give worlds to another session; with None, any session can claim them."""
    await connection.execute(_GIVE, ids, mine, to)


async def end_silent(connection: Connection, me: int, sessions: Iterable[int]) -> set[int]:
    """End other sessions that were silent for too long, and return all live ones.

    It checks `sessions`, and those in whose worlds something is overdue. PostgreSQL itself measures
    the silence. A busy but healthy server sends a statement each second.
    """
    await connection.execute(_END_SILENT, list(sessions), SILENT_S, me)
    rows = await connection.fetch("SELECT number FROM uat_sandbox.living")
    return {row["number"] for row in rows}


async def servers(connection: Connection) -> list[ServerRow]:
    """Return all live servers, ordered by name."""
    return [ServerRow(*row) for row in await connection.fetch(_SERVERS)]


async def list_others(connection: Connection, known: list[str]) -> list[KeptWorld]:
    """Return all worlds except these, ordered by id, while other requests are served."""
    async with connection.transaction():
        return [KeptWorld(*row) async for row in connection.cursor(_LIST, known, FIXTURE)]


async def due(connection: Connection, me: int, here: list[str], count: int) -> list[str]:
    """Return worlds that this server should load and that are not `here`.

    Either no session owns them and something is due, or they were given to this session.
    """
    return [row["id"] for row in await connection.fetch(_DUE, FORMAT, me, count, here)]


async def sweep(
    connection: Connection, me: int, made: list[str], unused_after_s: float | None
) -> None:
    """Delete unused worlds, abandoned ids and leftover rows, a limited number at a time.

    `made` are the worlds that this server is creating; its other reserved ids were never freed, or
    it never learned that it had reserved them. Time without any server makes no world unused.
    """
    await connection.execute(_NOT_MADE, me, made)
    await connection.execute(_ENDED)
    if unused_after_s is not None:
        # PostgreSQL has no times before 4713 BC.
        await connection.execute(_UNUSED, min(unused_after_s, _UNUSED_MAX_S), DEFAULT_WORLD)
    await connection.execute(_SWEEP)

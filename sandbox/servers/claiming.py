"""Taking worlds over, reserving ids for new ones, and giving them back.

The one statement that takes a world over checks that nobody else has it, and raises its epoch. From
then on no commit of the former owner is taken up.
"""

from typing import TYPE_CHECKING, Final, NamedTuple

from sandbox.domain.teams import OPERATOR, team_of, world_of
from sandbox.store.files.port import FORMAT
from sandbox.worlds.limits import Limits, TooManyWorlds, WorldTaken
from sandbox.worlds.spec import DEFAULT_WORLD

if TYPE_CHECKING:
    import asyncpg

_BURY: Final = (
    "UPDATE uat_sandbox.servers SET state = 'dead' "
    "WHERE id = $1 AND beat_until < now() AND state <> 'dead'"
)
_CLAIM: Final = """
UPDATE uat_sandbox.worlds SET owner = $2, epoch = epoch + 1
WHERE id = $1 AND epoch = $3 AND format <= $4 AND n > 0 AND (
    owner IS NULL OR owner = $2
    OR NOT EXISTS (SELECT FROM uat_sandbox.servers WHERE id = owner AND state <> 'dead')
) RETURNING wid, epoch, n"""
_RESERVE: Final = """
INSERT INTO uat_sandbox.worlds (id, wid, team, owner, epoch, n, format)
VALUES ($1, nextval('uat_sandbox.wids'), $2, $3, 1, 0, $4)
ON CONFLICT DO NOTHING RETURNING wid"""
_NUMBERED: Final = """
INSERT INTO uat_sandbox.meta VALUES ('numbered:' || $1, '1')
ON CONFLICT (name) DO UPDATE SET value = (uat_sandbox.meta.value::bigint + 1)::text
RETURNING value"""
_RESERVE_KEY: Final = """
INSERT INTO uat_sandbox.brought_keys VALUES ($1, $2, now())
ON CONFLICT (fingerprint) DO UPDATE SET world = excluded.world, at = now()
WHERE uat_sandbox.brought_keys.world = excluded.world
    OR uat_sandbox.brought_keys.at < now() - interval '10 seconds'
RETURNING world"""
_DUE: Final = """
SELECT w.id FROM uat_sandbox.worlds w
WHERE w.next_due <= now() AND w.n > 0 AND w.format <= $1 AND (
    w.owner IS NULL
    OR NOT EXISTS (
        SELECT FROM uat_sandbox.servers s
        WHERE s.id = w.owner AND s.state <> 'dead' AND s.beat_until > now())
) ORDER BY w.next_due LIMIT $2"""

_UNUSED: Final = """
WITH gone AS (
    DELETE FROM uat_sandbox.worlds w
    WHERE touched_at < now() - $1::float8 * interval '1 second' AND id <> $2 AND n > 0
        AND NOT EXISTS (
            SELECT FROM uat_sandbox.servers s WHERE s.id = w.owner AND s.state <> 'dead')
    RETURNING wid
) INSERT INTO uat_sandbox.leftovers SELECT wid FROM gone ON CONFLICT DO NOTHING"""
_ABANDONED: Final = """
DELETE FROM uat_sandbox.worlds w WHERE n = 0 AND NOT EXISTS
(SELECT FROM uat_sandbox.servers s WHERE s.id = w.owner AND s.state <> 'dead')"""
_LEFT_OVER: Final = (
    "DELETE FROM uat_sandbox.documents WHERE wid = $1 AND place IN "
    "(SELECT place FROM uat_sandbox.documents WHERE wid = $1 LIMIT $2)",
    "DELETE FROM uat_sandbox.messages WHERE wid = $1 AND number IN "
    "(SELECT number FROM uat_sandbox.messages WHERE wid = $1 LIMIT $2)",
)

SKIPPED_MAX: Final = 1_000
"""The most numbers of worlds to skip at once because others were given that id."""

_MAKING: Final = 4_511_902_661
"""The number of the advisory lock under which worlds are counted and reserved."""


class Claim(NamedTuple):
    """A world that this server has from now on."""

    wid: int
    epoch: int
    n: int


async def claim(
    connection: "asyncpg.Connection", id: str, *, me: int, epoch: int, owner: int | None
) -> Claim | None:
    """Take over a world that was seen in this epoch; None if another server has it."""
    async with connection.transaction():
        if owner is not None and owner != me:
            await connection.execute(_BURY, owner)
        row = await connection.fetchrow(_CLAIM, id, me, epoch, FORMAT)
    return None if row is None else Claim(*row)


async def reserve(
    connection: "asyncpg.Connection", id: str, team: str, *, me: int, limits: Limits
) -> tuple[str, Claim]:
    """Reserve the id of a new world; without one, the team's next `world-N`.

    Raises WorldTaken or TooManyWorlds.
    """
    async with connection.transaction():
        await connection.execute("SELECT pg_advisory_xact_lock($1)", _MAKING)
        of_all, of_team = await connection.fetchrow(
            "SELECT count(*), count(*) FILTER (WHERE team = $1) FROM uat_sandbox.worlds",
            team_of(id) if id else team,
        )
        if of_all >= limits.worlds_max:
            raise TooManyWorlds(
                f"{of_all} worlds are in use, which is the most that these servers hold; delete "
                "those that are done with"
            )
        whose = team_of(id) if id else team
        if whose != OPERATOR and of_team >= limits.worlds_per_team_max:
            raise TooManyWorlds(
                f"the team has {of_team} worlds, which is the most that a team may have; delete "
                "those that are done with"
            )
        for _ in range(1 if id else SKIPPED_MAX):
            wanted = id or world_of(team, f"world-{await connection.fetchval(_NUMBERED, whose)}")
            wid = await connection.fetchval(_RESERVE, wanted, whose, me, FORMAT)
            if wid is not None:
                return wanted, Claim(wid, 1, 0)
    raise WorldTaken(f"a world {id or 'world-1'!r} and those after it are there already")


async def take_back(connection: "asyncpg.Connection", id: str) -> None:
    """Free the id of a world that was not made."""
    await connection.execute("DELETE FROM uat_sandbox.worlds WHERE id = $1 AND n = 0", id)


async def release(connection: "asyncpg.Connection", id: str, epoch: int) -> None:
    """Have no server own the world, so that any other may take it."""
    await connection.execute(
        "UPDATE uat_sandbox.worlds SET owner = NULL, touched_at = now() "
        "WHERE id = $1 AND epoch = $2",
        id,
        epoch,
    )


async def reserve_key(connection: "asyncpg.Connection", fingerprint: str, world: str) -> bool:
    """Whether a key that somebody brings may be given to this world now, and to no other."""
    return await connection.fetchval(_RESERVE_KEY, fingerprint, world) is not None


async def due(connection: "asyncpg.Connection", count: int) -> list[str]:
    """Worlds that no server has, and in which something should happen by now."""
    return [row["id"] for row in await connection.fetch(_DUE, FORMAT, count)]


async def drop_unused(connection: "asyncpg.Connection", seconds: float) -> None:
    """Delete the worlds that no server has, and that nobody used for so long."""
    await connection.execute(_UNUSED, seconds, DEFAULT_WORLD)


async def sweep_rows(connection: "asyncpg.Connection", count: int) -> int:
    """Delete some rows that no world has any more, and reserved ids of dead servers; how many."""
    await connection.execute(_ABANDONED)
    wid = await connection.fetchval("SELECT wid FROM uat_sandbox.leftovers LIMIT 1")
    if wid is None:
        return 0
    deleted = 0
    for statement in _LEFT_OVER:
        deleted += int((await connection.execute(statement, wid, count)).split()[-1])
    await connection.execute(
        "DELETE FROM uat_sandbox.brought_keys WHERE at < now() - interval '1 hour'"
    )
    if not deleted:
        await connection.execute("DELETE FROM uat_sandbox.keys WHERE wid = $1", wid)
        await connection.execute("DELETE FROM uat_sandbox.leftovers WHERE wid = $1", wid)
    return deleted

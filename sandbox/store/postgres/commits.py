"""Writing worlds to PostgreSQL: every commit is also the check that the world is still ours.

A world has an owner, and an epoch that grows with each owner. A commit names the epoch under which
the server has the world, and the number of the commit. Where another server has taken the world
over, no row fits, and nothing is written.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from sandbox.store.files.port import FORMAT
from sandbox.store.postgres.database import ANSWER_S
from sandbox.store.postgres.rows import Written, of_many

if TYPE_CHECKING:
    import asyncpg

_ROWS_PER_S: Final = 1_000
"""A large commit has a second more for each of so many rows."""

CHUNK_ROWS: Final = 1_000
"""The most rows of one statement when a whole world is written."""


class CommitHead(NamedTuple):
    """What a commit says of a world beside its rows.

    `n` is the number of this commit. `due_s` are the seconds until something happens in the world
    without a request; None if nothing will. `state` is None if it did not change.
    """

    id: str
    wid: int
    epoch: int
    n: int
    state: str | None
    payments: int
    requests: int
    due_s: float | None


_COMMIT: Final = """
WITH held AS (
    UPDATE uat_sandbox.worlds w
    SET n = s.n, state = coalesce(s.state, w.state), payments = s.payments,
        requests = s.requests, next_due = now() + s.due_s * interval '1 second', touched_at = now()
    FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[],
        $7::bigint[], $8::float8[]) AS s(id, wid, epoch, n, state, payments, requests, due_s)
    WHERE w.id = s.id AND w.wid = s.wid AND w.epoch = s.epoch AND w.n = s.n - 1
    RETURNING w.wid
), put AS (
    INSERT INTO uat_sandbox.documents
    SELECT d.* FROM unnest($9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::text[],
        $14::text[], $15::text[]) AS d(wid, place, tbl, id, number, text, claims)
    JOIN held USING (wid)
    ON CONFLICT (wid, place) DO UPDATE
    SET number = excluded.number, text = excluded.text, claims = excluded.claims
), gone AS (
    DELETE FROM uat_sandbox.documents d
    USING unnest($16::bigint[], $17::bigint[]) AS g(wid, place)
    WHERE d.wid = g.wid AND d.place = g.place AND g.wid IN (SELECT wid FROM held)
), said AS (
    INSERT INTO uat_sandbox.messages
    SELECT m.* FROM unnest($18::bigint[], $19::bigint[], $20::text[], $21::text[], $22::text[])
        AS m(wid, number, id, text, said)
    JOIN held USING (wid)
    ON CONFLICT DO NOTHING
), known AS (
    INSERT INTO uat_sandbox.keys
    SELECT k.* FROM unnest($23::text[], $24::bigint[], $25::text[], $26::text[], $27::text[])
        AS k(lookup, wid, id, salt, digest)
    JOIN held USING (wid)
    ON CONFLICT (lookup, wid, id) DO UPDATE SET salt = excluded.salt, digest = excluded.digest
), unknown AS (
    DELETE FROM uat_sandbox.keys k
    USING unnest($28::bigint[], $29::text[]) AS u(wid, id)
    WHERE k.wid = u.wid AND k.id = u.id AND u.wid IN (SELECT wid FROM held)
) SELECT wid FROM held"""

_LEAVE: Final = """
INSERT INTO uat_sandbox.leftovers
SELECT wid FROM uat_sandbox.worlds WHERE id = $1 AND epoch = $2 AND n = $3 - 1 FOR UPDATE
ON CONFLICT DO NOTHING"""
_DELETE: Final = """
WITH gone AS (DELETE FROM uat_sandbox.worlds WHERE id = $1 AND epoch = $2 RETURNING wid)
INSERT INTO uat_sandbox.leftovers SELECT wid FROM gone ON CONFLICT DO NOTHING"""
_ANEW: Final = """
UPDATE uat_sandbox.worlds
SET wid = $4, n = $3, state = $5, payments = $6, requests = $7,
    next_due = now() + $8::float8 * interval '1 second', touched_at = now(), format = $9
WHERE id = $1 AND epoch = $2 AND n = $3 - 1
RETURNING wid"""

_PUT: Final = "INSERT INTO uat_sandbox.documents SELECT * FROM unnest($1::bigint[], $2::bigint[], \
$3::text[], $4::text[], $5::text[], $6::text[], $7::text[])"
_SAY: Final = "INSERT INTO uat_sandbox.messages SELECT * FROM unnest($1::bigint[], $2::bigint[], \
$3::text[], $4::text[], $5::text[])"
_KNOW: Final = "INSERT INTO uat_sandbox.keys SELECT * FROM unnest($1::text[], $2::bigint[], \
$3::text[], $4::text[], $5::text[])"


async def commit(
    connection: "asyncpg.Connection", heads: Sequence[CommitHead], rows: Written
) -> set[int]:
    """Write the changes of these worlds; returns the `wid` of those that are still ours.

    The heads are sorted by the ids of their worlds: two servers never wait for each other.
    """
    columns = zip(*heads, strict=True)
    held = await connection.fetch(
        _COMMIT,
        *map(list, columns),
        *rows.documents,
        *rows.gone,
        *rows.messages,
        *rows.keys,
        *rows.lost_keys,
        timeout=ANSWER_S + len(rows.documents[0]) / _ROWS_PER_S,
    )
    return {row["wid"] for row in held}


async def new_wid(connection: "asyncpg.Connection") -> int:
    """A number for the rows of a world that is written anew."""
    return int(await connection.fetchval("SELECT nextval('uat_sandbox.wids')"))


async def commit_anew(connection: "asyncpg.Connection", head: CommitHead, rows: Written) -> bool:
    """Write a whole world in place of what is there; False if it is no longer ours.

    Its rows get the new `wid` of the head. Those with the former one are deleted later.
    """
    async with connection.transaction():
        await connection.execute(_LEAVE, head.id, head.epoch, head.n)
        found = await connection.fetchval(
            _ANEW,
            head.id,
            head.epoch,
            head.n,
            head.wid,
            head.state,
            head.payments,
            head.requests,
            head.due_s,
            FORMAT,
        )
        if found is None:
            return False
        for statement, columns in (
            (_PUT, rows.documents),
            (_SAY, rows.messages),
            (_KNOW, rows.keys),
        ):
            for chunk in of_many(columns, CHUNK_ROWS):
                await connection.execute(statement, *chunk)
    return True


async def delete(connection: "asyncpg.Connection", id: str, epoch: int) -> None:
    """Delete a world, if it is still ours. Its rows go later."""
    await connection.execute(_DELETE, id, epoch)


async def standing(
    connection: "asyncpg.Connection", ids: Sequence[str]
) -> dict[str, tuple[int, int]]:
    """The epoch and the number of the last commit of these worlds, as far as they are there."""
    rows = await connection.fetch(
        "SELECT id, epoch, n FROM uat_sandbox.worlds WHERE id = ANY($1)", list(ids)
    )
    return {row["id"]: (row["epoch"], row["n"]) for row in rows}

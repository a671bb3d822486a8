"""Reading and writing worlds: every commit checks that the session still owns each world."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

import asyncpg
from msgspec import Struct, field
from pydantic_core import from_json

from sandbox.domain.keys import ApiKey
from sandbox.store.files.port import FORMAT, WORLD, Change, Document
from sandbox.store.tables import NAMES
from sandbox.store.world_documents import SavedWorld

KEYS: Final = NAMES[ApiKey]

CHUNK_ROWS: Final = 1_000
"""The most rows of one statement when a whole world is written."""


class Head(NamedTuple):
    """What a commit says of a world beside its rows.

    Its rows get `new_wid`, which is another one if all of the world is written. `n` is the number
    of this commit. `state` is None if it did not change. `due_s` are the seconds until something
    happens in the world without a request; None if nothing will.
    """

    wid: int
    new_wid: int
    n: int
    state: str | None
    payments: int
    requests: int
    due_s: float | None


class Rows(Struct):
    """The rows to write and to delete, for all worlds of one commit.

    `documents`: wid, table, id, number, text, lookup. `gone`: wid, table, id.
    """

    documents: list[tuple[int, str, str, str, str, str | None]] = field(default_factory=list)
    gone: list[tuple[int, str, str]] = field(default_factory=list)

    def add(self, change: Change, wid: int) -> str | None:
        """Add the rows of a change. Returns the state of the world, if it changed."""
        state = None
        for table, document in change.puts:
            id, number, text = document.id, document.number, document.text
            lookup = from_json(text)["lookup"] if table == KEYS else None
            self.documents.append((wid, table, id, str(number), text, lookup))
            if table == WORLD:
                state = text
        self.gone += [(wid, table, id) for table, id in change.gone]
        return state


def _turn(rows: Sequence[tuple[Any, ...]], count: int) -> list[list[Any]]:
    """Return the columns of these rows."""
    return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(count)]


_PUT: Final = """
INSERT INTO uat_sandbox.documents
SELECT d.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[])
    AS d(wid, tbl, id, number, text, lookup)"""
_COMMIT: Final = """
WITH said AS (
    SELECT * FROM unnest($3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::bigint[],
        $8::bigint[], $9::float8[]) AS s(wid, new_wid, n, state, payments, requests, due_s)
), mine AS (
    UPDATE uat_sandbox.worlds w
    SET wid = s.new_wid, n = s.n, state = coalesce(s.state, w.state), payments = s.payments,
        requests = s.requests, next_due = now() + s.due_s * interval '1 second',
        touched_at = now(), format = $2
    FROM said s WHERE w.wid = s.wid AND w.session = $1 AND w.n = s.n - 1
    RETURNING w.wid, s.wid AS former
), put AS (
    INSERT INTO uat_sandbox.documents
    SELECT d.* FROM unnest($10::bigint[], $11::text[], $12::text[], $13::text[], $14::text[],
        $15::text[]) AS d(wid, tbl, id, number, text, lookup) WHERE wid IN (SELECT wid FROM mine)
    ON CONFLICT (wid, tbl, id) DO UPDATE
    SET number = excluded.number, text = excluded.text, lookup = excluded.lookup
), gone AS (
    DELETE FROM uat_sandbox.documents d
    USING unnest($16::bigint[], $17::text[], $18::text[]) AS g(wid, tbl, id)
    WHERE d.wid = g.wid AND d.tbl = g.tbl AND d.id = g.id AND g.wid IN (SELECT wid FROM mine)
), kept AS (
    DELETE FROM uat_sandbox.leftovers WHERE wid IN (SELECT wid FROM mine)
), deleted AS (
    DELETE FROM uat_sandbox.worlds WHERE wid = ANY($19) AND session = $1 RETURNING wid
), left_over AS (
    INSERT INTO uat_sandbox.leftovers
    SELECT former FROM mine WHERE former <> wid UNION SELECT wid FROM deleted
    ON CONFLICT DO NOTHING
) SELECT former FROM mine"""


async def commit(
    connection: asyncpg.Connection,
    session: int,
    heads: Sequence[Head],
    rows: Rows,
    gone: Sequence[int],
) -> set[int]:
    """Write the changes of these worlds; returns the `wid` of those that the session owns.

    Worlds that are `gone` are deleted if the session owns them. Their rows go later.
    """
    said = _turn(heads, len(Head._fields))
    columns = *_turn(rows.documents, 6), *_turn(rows.gone, 3)
    mine = await connection.fetch(_COMMIT, session, FORMAT, *said, *columns, gone)
    return {row["former"] for row in mine}


async def write_rows(connection: asyncpg.Connection, rows: Rows, wid: int) -> None:
    """Write all rows of a world under a number that no world has yet.

    They count as left over until a commit turns the world over to them.
    """
    async with connection.transaction():
        for first in range(0, len(rows.documents), CHUNK_ROWS):
            chunk = rows.documents[first : first + CHUNK_ROWS]
            await connection.execute(_PUT, *_turn(chunk, 6))
        # Last, since they are swept some time after this.
        await connection.execute("INSERT INTO uat_sandbox.leftovers VALUES ($1)", wid)


async def load(connection: asyncpg.Connection, wid: int) -> SavedWorld:
    """Return the world whose rows have this number, as of the moment of this one statement."""
    rows = await connection.fetch(
        "SELECT tbl, id, number, text FROM uat_sandbox.documents WHERE wid = $1", wid
    )
    return await asyncio.to_thread(_sort, rows)


def _sort(rows: Iterable[Sequence[Any]]) -> SavedWorld:
    tables: dict[str, list[Document]] = defaultdict(list)
    for table, id, number, text in rows:
        tables[table].append(Document(id, int(number), text))
    for documents in tables.values():
        documents.sort(key=attrgetter("number"))
    return SavedWorld(tables, is_from_file=True, is_trusted=True)

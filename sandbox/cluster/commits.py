"""Reading and writing worlds: every commit checks that the session still owns each world."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any, Final, NamedTuple

import asyncpg
from msgspec import Struct, field
from pydantic_core import from_json

from sandbox.domain.keys import ApiKey
from sandbox.store.files.port import WORLD, Change, Document
from sandbox.store.saved_world import SavedWorld
from sandbox.store.tables import NAMES

KEYS: Final = NAMES[ApiKey]

CHUNK_ROWS: Final = 1_000
"""The most rows of one statement when a whole world is written."""

_READ_AHEAD: Final = 500
"""Rows that are taken at a time; other requests get their turn in between."""

Columns = list[list[Any]]


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
    """The columns of rows to write and to delete, for all worlds of one commit.

    `documents`: wid, table, id, number, text. `gone`: wid, table, id. `keys`: lookup, wid, id,
    salt, digest. `gone_keys`: wid, id.
    """

    documents: Columns = field(default_factory=lambda: [[] for _ in range(5)])
    gone: Columns = field(default_factory=lambda: [[] for _ in range(3)])
    keys: Columns = field(default_factory=lambda: [[] for _ in range(5)])
    gone_keys: Columns = field(default_factory=lambda: [[] for _ in range(2)])

    def add(self, change: Change, wid: int) -> str | None:
        """Add the rows of a change. Returns the state of the world, if it changed."""
        state = None
        for table, document in change.puts:
            id, number, text = document.id, document.number, document.text
            _add(self.documents, wid, table, id, str(number), text)
            if table == KEYS:
                key = from_json(text)
                _add(self.keys, key["lookup"], wid, id, key["salt"], key["digest"])
            elif table == WORLD:
                state = text
        for table, id in change.gone:
            _add(self.gone, wid, table, id)
            if table == KEYS:
                _add(self.gone_keys, wid, id)
        return state

    def __len__(self) -> int:
        """The number of documents."""
        return len(self.documents[0])


def _add(columns: Columns, *values: Any) -> None:
    for column, value in zip(columns, values, strict=True):
        column.append(value)


_PUT: Final = """
INSERT INTO uat_sandbox.documents
SELECT d.* FROM unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::text[])
    AS d(wid, tbl, id, number, text)"""
_KNOW: Final = """
INSERT INTO uat_sandbox.keys
SELECT k.* FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[])
    AS k(lookup, wid, id, salt, digest)"""
_COMMIT: Final = """
WITH said AS (
    SELECT * FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::bigint[],
        $7::bigint[], $8::float8[]) AS s(wid, new_wid, n, state, payments, requests, due_s)
), mine AS (
    UPDATE uat_sandbox.worlds w
    SET wid = s.new_wid, n = s.n, state = coalesce(s.state, w.state), payments = s.payments,
        requests = s.requests, next_due = now() + s.due_s * interval '1 second',
        touched_at = now(), format = $23
    FROM said s WHERE w.wid = s.wid AND w.session = $1 AND w.n = s.n - 1
    RETURNING w.wid, s.wid AS former
), put AS (
    INSERT INTO uat_sandbox.documents
    SELECT d.* FROM unnest($9::bigint[], $10::text[], $11::text[], $12::text[], $13::text[])
        AS d(wid, tbl, id, number, text) JOIN (SELECT wid FROM mine) m USING (wid)
    ON CONFLICT (wid, tbl, id) DO UPDATE SET number = excluded.number, text = excluded.text
), gone AS (
    DELETE FROM uat_sandbox.documents d
    USING unnest($14::bigint[], $15::text[], $16::text[]) AS g(wid, tbl, id)
    WHERE d.wid = g.wid AND d.tbl = g.tbl AND d.id = g.id AND g.wid IN (SELECT wid FROM mine)
), known AS (
    INSERT INTO uat_sandbox.keys
    SELECT k.* FROM unnest($17::text[], $18::bigint[], $19::text[], $20::text[], $21::text[])
        AS k(lookup, wid, id, salt, digest) JOIN (SELECT wid FROM mine) m USING (wid)
    ON CONFLICT (lookup, wid, id) DO UPDATE SET salt = excluded.salt, digest = excluded.digest
), unknown AS (
    DELETE FROM uat_sandbox.keys k USING unnest($22::bigint[], $24::text[]) AS u(wid, id)
    WHERE k.wid = u.wid AND k.id = u.id AND u.wid IN (SELECT wid FROM mine)
), kept AS (
    DELETE FROM uat_sandbox.leftovers WHERE wid IN (SELECT wid FROM mine)
), left_over AS (
    INSERT INTO uat_sandbox.leftovers SELECT former FROM mine WHERE former <> wid
    ON CONFLICT DO NOTHING
) SELECT former FROM mine"""
_DELETE: Final = """
WITH gone AS (
    DELETE FROM uat_sandbox.worlds WHERE wid = ANY($1) AND session = $2 RETURNING wid
) INSERT INTO uat_sandbox.leftovers SELECT wid FROM gone ON CONFLICT DO NOTHING"""


async def commit(
    connection: asyncpg.Connection,
    session: int | None,
    heads: Sequence[Head],
    rows: Rows,
    *,
    format: int,
) -> set[int]:
    """Write the changes of these worlds; returns the `wid` of those that the session owns."""
    wids, ids = rows.gone_keys
    mine = await connection.fetch(
        _COMMIT,
        session,
        *map(list, zip(*heads, strict=True)),
        *rows.documents,
        *rows.gone,
        *rows.keys,
        wids,
        format,
        ids,
    )
    return {row["former"] for row in mine}


async def write_rows(connection: asyncpg.Connection, rows: Rows, wid: int) -> None:
    """Write all rows of a world under a number that no world has yet.

    They count as left over until a commit turns the world over to them.
    """
    async with connection.transaction():
        await connection.execute("INSERT INTO uat_sandbox.leftovers VALUES ($1)", wid)
        for statement, columns in ((_PUT, rows.documents), (_KNOW, rows.keys)):
            for first in range(0, len(columns[0]), CHUNK_ROWS):
                chunk = [column[first : first + CHUNK_ROWS] for column in columns]
                await connection.execute(statement, *chunk)


async def delete(connection: asyncpg.Connection, session: int, wids: list[int]) -> None:
    """Delete worlds that the session owns. Their rows go later."""
    await connection.execute(_DELETE, wids, session)


async def load(connection: asyncpg.Connection, wid: int) -> SavedWorld:
    """The world whose rows have this number, as of one moment."""
    tables: dict[str, list[Document]] = defaultdict(list)
    async with connection.transaction(isolation="repeatable_read", readonly=True):
        async for table, id, number, text in connection.cursor(
            "SELECT tbl, id, number, text FROM uat_sandbox.documents WHERE wid = $1",
            wid,
            prefetch=_READ_AHEAD,
        ):
            tables[table].append(Document(id, int(number), text))
    for documents in tables.values():
        documents.sort(key=lambda document: document.number)
    return SavedWorld(tables, is_from_file=True, is_trusted=True)

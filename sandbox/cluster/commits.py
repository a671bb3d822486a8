"""Reading and writing worlds; every commit checks that the session still owns each world."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, Final

from asyncpg import Connection
from msgspec import Struct, field, json
from pydantic_core import from_json

from sandbox.domain.keys import ApiKey
from sandbox.store.files.port import FORMAT, MESSAGES, RECORDS, WORLD, Change, Document
from sandbox.store.tables import NAMES
from sandbox.store.world_documents import SavedWorld


class Head(Struct):
    """The data of a world in a commit, besides its rows.

    The rows get `new_wid`, which differs from `wid` if the whole world is written. `n` is the
    number of this commit. `state` is None if it did not change. `due_s` is the time in seconds
    until something happens in the world without a request; None if nothing will.
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

    Their columns are those of the table: wid, table, id, number, text, lookup, body; rows in `gone`
    only need the first three. A message and its body share a row.
    """

    documents: list[tuple[int, str, str, str, str, str | None, str | None]] = field(
        default_factory=list
    )
    gone: list[tuple[int, str, str, None, None, None, None]] = field(default_factory=list)

    def add(self, change: Change, wid: int) -> str | None:
        """Add the rows of a change, and return the state of the world if it changed."""
        state = None
        bodies = {one.id: one.text for table, one in change.puts if table == RECORDS}
        for table, (id, number, text) in change.puts:
            if table == RECORDS:
                continue
            body = bodies.get(id) if table == MESSAGES else None
            lookup = from_json(text).get("lookup") if table == NAMES[ApiKey] else None
            self.documents.append((wid, table, id, str(number), text, lookup, body))
            if table == WORLD:
                state = text
        self.gone += [(wid, table, id, None, None, None, None) for table, id in change.gone]
        return state


_COMMIT: Final = """
WITH said AS (
    SELECT * FROM json_to_recordset($3) AS s(wid bigint, new_wid bigint, n bigint, state text,
        payments bigint, requests bigint, due_s float8)
), mine AS (
    UPDATE uat_sandbox.worlds w
    SET wid = s.new_wid, n = s.n, state = coalesce(s.state, w.state), payments = s.payments,
        requests = s.requests, next_due = now() + s.due_s * interval '1 second',
        touched_at = now(), format = $2
    FROM said s WHERE w.wid = s.wid AND w.session = $1 AND w.n = s.n - 1
    RETURNING w.wid, s.wid AS former
), put AS (
    INSERT INTO uat_sandbox.documents SELECT d.* FROM unnest($4::uat_sandbox.documents[]) d
    WHERE wid IN (SELECT wid FROM mine) ON CONFLICT (wid, tbl, id) DO UPDATE
    SET number = excluded.number, text = excluded.text, lookup = excluded.lookup,
        body = excluded.body
), gone AS (
    DELETE FROM uat_sandbox.documents d USING unnest($5::uat_sandbox.documents[]) g
    WHERE d.wid = g.wid AND d.tbl = g.tbl AND d.id = g.id AND g.wid IN (SELECT wid FROM mine)
), kept AS (
    DELETE FROM uat_sandbox.leftovers WHERE wid IN (SELECT wid FROM mine)
), deleted AS (
    DELETE FROM uat_sandbox.worlds WHERE wid = ANY($6) AND session = $1 RETURNING wid
), left_over AS (
    INSERT INTO uat_sandbox.leftovers
    SELECT former FROM mine WHERE former <> wid UNION SELECT wid FROM deleted
    ON CONFLICT DO NOTHING
) SELECT former FROM mine"""

_LOAD: Final = """
SELECT tbl, id, number, text, body FROM uat_sandbox.documents
WHERE wid = $1 ORDER BY number::numeric"""


async def commit(
    connection: Connection, session: int, heads: list[Head], rows: Rows, gone: list[int]
) -> set[int]:
    """Write the changes of these worlds, and return the `wid` of those that the session owns.

    Worlds in `gone` are deleted if the session owns them. Their rows are swept later.
    """
    said = json.encode(heads).decode()
    mine = await connection.fetch(_COMMIT, session, FORMAT, said, rows.documents, rows.gone, gone)
    return {former for (former,) in mine}


async def write_rows(connection: Connection, rows: Rows, wid: int) -> None:
    """Write all rows of a world under a `wid` that no world has yet.

    They count as leftovers until a commit switches the world to them.
    """
    async with connection.transaction():
        await connection.copy_records_to_table(
            "documents", schema_name="uat_sandbox", records=rows.documents
        )
        # Last, since the time until they are swept begins here.
        await connection.execute("INSERT INTO uat_sandbox.leftovers VALUES ($1)", wid)


async def load(connection: Connection, wid: int) -> SavedWorld:
    """Return the world whose rows have this `wid`, read in one statement."""
    return await asyncio.to_thread(_build, await connection.fetch(_LOAD, wid))


def _build(rows: Iterable[Sequence[Any]]) -> SavedWorld:
    tables: dict[str, list[Document]] = defaultdict(list)
    for table, id, number, text, body in rows:
        tables[table].append(Document(id, int(number), text))
        if body is not None:
            tables[RECORDS].append(Document(id, int(number), body))
    return SavedWorld(tables, is_from_file=True, is_trusted=True)

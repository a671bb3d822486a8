"""The tables of `state.db`, and their queries."""

import sqlite3
from collections.abc import Callable, Sequence
from typing import Any, Final

from sandbox.store.files.port import MESSAGES, Document
from sandbox.store.files.sqlite_digests import check_row

SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    place INTEGER PRIMARY KEY,
    world TEXT NOT NULL,
    tbl TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    text TEXT NOT NULL,
    claims TEXT NOT NULL,
    digest INTEGER
);
CREATE TABLE records (
    world TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    text TEXT NOT NULL,
    claims TEXT NOT NULL,
    digest INTEGER,
    UNIQUE (world, id)
);
"""
"""Numbers are texts, as SQLite's integers end at 64 bits.

Digests are null in rows of earlier versions, whose tables have no such column at first.
"""

MESSAGES_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS messages (
    place INTEGER PRIMARY KEY,
    world TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    text TEXT NOT NULL,
    digest INTEGER
)
"""
"""Messages are only ever added, and there are more of them than of anything else."""

PUT_META: Final = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
PUT: Final = (
    "INSERT OR REPLACE INTO documents (place, world, tbl, id, number, text, claims, digest) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
)
PUT_RECORD: Final = (
    "INSERT INTO records (world, id, number, text, claims, digest) VALUES (?, ?, ?, ?, ?, ?) "
    "ON CONFLICT (world, id) DO UPDATE SET number = excluded.number, text = excluded.text, "
    "claims = excluded.claims, digest = excluded.digest"
)
# A jump from one world to the next; to look at every record would be to read the whole index.
# Of payments only their unique values: a text is read when it is needed. One without claims
# may come from another program, and is read in full.
LOAD: Final = """
SELECT place, world, tbl, id, number,
    CASE WHEN tbl = 'transactions' AND claims <> '' THEN '' ELSE text END,
    claims, digest
FROM documents ORDER BY place
"""
PUT_MESSAGE: Final = "INSERT INTO messages (world, id, number, text, digest) VALUES (?, ?, ?, ?, ?)"
READ_MESSAGES: Final = (
    "SELECT id, number, text, digest FROM messages WHERE world = ? ORDER BY place"
)
READ: Final = "SELECT world, tbl, id, number, text, claims, digest FROM documents WHERE place = ?"
READ_RECORD: Final = (
    "SELECT world, ?, id, number, text, claims, digest FROM records WHERE world = ? AND id = ?"
)
READ_RECORDS: Final = (
    "SELECT world, ?, id, number, text, claims, digest FROM records WHERE world = ?"
)

WORLDS_OF_RECORDS: Final = """
WITH RECURSIVE found (world) AS (
    SELECT min(world) FROM records
    UNION ALL
    SELECT (SELECT min(world) FROM records WHERE world > found.world) FROM found
    WHERE found.world IS NOT NULL
)
SELECT world FROM found WHERE world IS NOT NULL
"""


class MessageRows(Sequence[Document]):
    """The messages of one world, which are read when the first one is needed."""

    def __init__(
        self,
        database: sqlite3.Connection,
        query: str,
        world: str,
        count: int,
        unusable: Callable[[Exception], Exception],
    ) -> None:
        self._database = database
        self._query = query
        self._world = world
        self._count = count
        self._unusable = unusable
        self._documents: list[Document] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if self._documents is None:
            try:
                self._documents = self._read()
            # TypeError, ValueError: values that no version has written.
            except (sqlite3.Error, TypeError, ValueError) as error:
                raise self._unusable(error) from error
        return self._documents[index]

    def _read(self) -> list[Document]:
        rows = self._database.execute(self._query, (self._world,)).fetchmany(self._count)
        for id, number, text, digest in rows:
            check_row(self._world, MESSAGES, id, number, text, "", digest)
        return [Document(id, int(number), text) for id, number, text, _ in rows]

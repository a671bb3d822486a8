"""The tables of `state.db`, and what is asked of them."""

import sqlite3
from collections.abc import Sequence
from typing import Any, Final

from sandbox.store.files import Document

SCHEMA: Final = """
CREATE TABLE meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
    place INTEGER PRIMARY KEY,
    world TEXT NOT NULL,
    tbl TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    text TEXT NOT NULL,
    claims TEXT NOT NULL
);
CREATE TABLE records (
    world TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    text TEXT NOT NULL,
    claims TEXT NOT NULL,
    UNIQUE (world, id)
);
"""
"""Numbers are texts, as SQLite's integers end at 64 bits."""

MESSAGES_SCHEMA: Final = """
CREATE TABLE IF NOT EXISTS messages (
    place INTEGER PRIMARY KEY,
    world TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    text TEXT NOT NULL
)
"""
"""Messages are only ever added, and there are more of them than of anything else."""

PUT_META: Final = "INSERT OR REPLACE INTO meta VALUES (?, ?)"
PUT: Final = "INSERT OR REPLACE INTO documents VALUES (?, ?, ?, ?, ?, ?, ?)"
PUT_RECORD: Final = (
    "INSERT INTO records VALUES (?, ?, ?, ?, ?) ON CONFLICT (world, id) DO UPDATE "
    "SET number = excluded.number, text = excluded.text, claims = excluded.claims"
)
# A jump from one world to the next; to look at every record would be to read the whole index.
# Of payments only what finds them: a text is read when somebody asks for it. One without claims
# may be of another hand, and has to be looked at.
LOAD: Final = """
SELECT place, world, tbl, id, number,
    CASE WHEN tbl = 'transactions' AND claims <> '' THEN '' ELSE text END,
    claims
FROM documents ORDER BY place
"""
PUT_MESSAGE: Final = "INSERT INTO messages (world, id, number, text) VALUES (?, ?, ?, ?)"
WORLDS_OF_RECORDS: Final = """
WITH RECURSIVE found (world) AS (
    SELECT min(world) FROM records
    UNION ALL
    SELECT (SELECT min(world) FROM records WHERE world > found.world) FROM found
    WHERE found.world IS NOT NULL
)
SELECT world FROM found WHERE world IS NOT NULL
"""


class Messages(Sequence[Document]):
    """The messages of one world, which are read when somebody first asks for one."""

    def __init__(self, database: sqlite3.Connection, world: str, count: int) -> None:
        self._database = database
        self._world = world
        self._count = count
        self._documents: list[Document] | None = None

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        if self._documents is None:
            query = "SELECT id, number, text FROM messages WHERE world = ? ORDER BY place"
            rows = self._database.execute(query, (self._world,)).fetchmany(self._count)
            self._documents = [Document(id, int(number), text) for id, number, text in rows]
        return self._documents[index]

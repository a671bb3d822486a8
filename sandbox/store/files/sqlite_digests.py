"""A checksum beside each row of `state.db`, which reveals changed bytes.

After a byte has flipped on the disk, SQLite still opens the database, and the text may still be
JSON. The checksums do not protect against changes on purpose.
"""

import sqlite3
from typing import Final
from zlib import crc32

from sandbox.store.files.port import MESSAGES, RECORDS
from sandbox.store.files.sqlite_recovery import damage

EVERYTHING: Final = """
SELECT world, tbl, id, number, text, claims, digest FROM documents
UNION ALL SELECT world, ?, id, number, text, claims, digest FROM records
UNION ALL SELECT world, ?, id, number, text, '', digest FROM messages
"""
TABLES: Final = ("documents", "records", "messages")

TEXT_BITS: Final = 32


class Damaged(ValueError):
    """A row was changed or damaged since it was written; the message names it."""


def digest_of(world: str, table: str, id: str, number: str, text: str, unique_values: str) -> int:
    """Checksums that reveal damage to a row: one of its text, one of its other columns.

    The columns are checked when the row is found, the text when it is read. The sums do not
    protect against deliberate changes.
    """
    rest = crc32(f"{world}\0{table}\0{id}\0{number}\0{unique_values}".encode())
    return _SMALLEST + (rest << TEXT_BITS | crc32(text.encode()))


_SMALLEST: Final = -(2**63)


def check_row(
    world: str, table: str, id: str, number: str, text: str, unique_values: str, digest: int | None
) -> None:
    """Raises Damaged unless the row is as it was written. A row without a digest passes.

    A text that was left out is not checked.
    """
    if digest is None:
        return
    expected = digest_of(world, table, id, number, text, unique_values)
    is_good = digest >> TEXT_BITS == expected >> TEXT_BITS if not text else digest == expected
    if not is_good:
        raise Damaged(
            f"the document {id[:80]!r} in table {table[:80]!r} of world {world[:80]!r} is damaged"
        )


class Digests:
    """The sums in one file. Those of earlier versions have none until they are written to."""

    def __init__(self, database: sqlite3.Connection) -> None:
        self._database = database
        self._missing: list[str] = []

    def look(self) -> None:
        """See which tables have them. Raises sqlite3.Error."""
        columns = {
            table: [row[1] for row in self._database.execute(f"PRAGMA table_info({table})")]
            for table in TABLES
        }
        self._missing = [table for table, names in columns.items() if "digest" not in names]

    def begin(self) -> None:
        """Have every row that is written from now on have one. Called within a transaction.

        Raises sqlite3.Error.
        """
        for table in self._missing:
            self._database.execute(f"ALTER TABLE {table} ADD COLUMN digest INTEGER")

    def begun(self) -> None:
        """The transaction was committed."""
        self._missing = []

    def readable(self, query: str) -> str:
        """The query, without the digest column if the table has none."""
        return query.replace("digest", "NULL") if self._missing else query

    def check_all(self) -> None:
        """Look at every row, and at the indexes. Raises Damaged and sqlite3.Error."""
        if self._missing:
            return
        if why := damage(self._database, "integrity_check"):
            raise Damaged(why)
        for row in self._database.execute(EVERYTHING, (RECORDS, MESSAGES)):
            check_row(*row)

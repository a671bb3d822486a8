"""Detecting another server that writes to the same `state.db` without a common lock (decision 45).

Not every system has a lock that holds under every name of a file. So a server writes its own mark
into the file with its first write, and checks the mark before each later one. SQLite reports
whether another program has changed the file, and only then is a check needed.
"""

import sqlite3
from pathlib import Path
from secrets import token_hex

from sandbox.store.files.disk import START_ANEW, WRITING, cannot
from sandbox.store.files.sqlite_tables import PUT_META


class OnlyWriter:
    """Detects whether another process has written to the file."""

    def __init__(self, database: sqlite3.Connection, path: Path) -> None:
        self._execute = database.execute
        self._path = path
        self._name = token_hex(8)
        self._is_named = False
        # The change counter of the file at the last read.
        self._changes: int | None = None

    def look(self) -> None:
        """The file is about to be read. Raises sqlite3.Error."""
        if self._changes is None:
            self._changes = self._count()

    def check(self) -> None:
        """Raises StoreError where another server writes. Called within a transaction."""
        changes = self._count()
        if changes == self._changes:
            if not self._is_named:
                self._execute(PUT_META, ("writer", self._name))
            return
        found = dict(self._execute("SELECT name, value FROM meta")).get("writer")
        if found != self._name:
            raise cannot(self._path, WRITING, "another server has written to it", START_ANEW)
        self._changes = changes

    def committed(self) -> None:
        """The transaction was committed."""
        self._is_named = True

    def _count(self) -> int:
        (count,) = self._execute("PRAGMA data_version").fetchone()
        return int(count)

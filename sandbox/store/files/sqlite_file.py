"""`state.db`: SQLite with one table of documents; the cost of a write is independent of its size.

Every write is a transaction that is on the disk when it returns.
"""

import os
import sqlite3
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json, to_json

from sandbox import __version__
from sandbox.store.files import disk, port
from sandbox.store.files.disk import Hold
from sandbox.store.files.port import Change, Document, StateFile, StoreError, Tables, UnknownFormat

GOOD_COPY_BYTES_MAX: Final = 64 * 1024 * 1024
"""Larger files are not copied, because starting would take too long."""

WAITS_MS: Final = 1_000
"""How long a write waits while another program writes to the file."""

APPLICATION: Final = 0x75617473
"""The application id in the header of the database: `uats`."""

_NO_ROOM: Final = ("SQLITE_FULL", "SQLITE_IOERR")
"""Prefixes of the errors on a full disk, where not even reading has room for its log."""

SCHEMA: Final = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {port.FORMAT};
CREATE TABLE documents (
    world TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    number TEXT NOT NULL,
    body TEXT NOT NULL,
    UNIQUE (world, kind, id)
);
"""
"""Numbers are text, since SQLite's integers have 64 bits. The document about the file itself has
the kind `file` and no world."""

PUT: Final = """
INSERT INTO documents (world, kind, id, number, body) VALUES (?, ?, ?, ?, ?)
ON CONFLICT (world, kind, id) DO UPDATE SET number = excluded.number, body = excluded.body
"""


class SqliteFile(StateFile):
    """A `StateFile` in SQLite, for any number of documents that fits in memory."""

    def __init__(self, path: Path) -> None:
        """Open the file. Raises StoreError if it is in use or unusable."""
        super().__init__()
        self._hold = Hold(path)
        self._path = self._hold.path
        self.name = f"{self._path.name} (SQLite)"
        # A server that was killed leaves its log behind.
        self._log = self._path.with_name(self._path.name + "-wal")
        self._has_log = self._log.exists() and self._log.stat().st_size > 0
        try:
            with ExitStack() as opened:
                opened.callback(self._hold.release)
                self._is_new = self._hold.seen is None or not self._hold.seen.size
                had_content = self._has_log or disk.good_copy(self._path).exists()
                if self._hold.seen is not None and self._is_new and had_content:
                    # SQLite would make a new database of it.
                    raise self._unusable("its content is gone")
                if self._hold.seen is None:
                    with disk.synced(self._path.parent):
                        os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, disk.PRIVATE))
                    self._hold.look()
                self._database = sqlite3.connect(
                    self._path,
                    timeout=WAITS_MS / 1000,
                    isolation_level=None,
                    check_same_thread=False,
                )
                opened.callback(self._database.close)
                self._open()
                self._opened = opened.pop_all()
        except UnknownFormat as error:
            raise disk.cannot(self._path, "be read", error, disk.OTHER_VERSION) from None
        # ValueError: another program changed the documents.
        except (sqlite3.Error, ValueError, OSError) as error:
            raise self._unusable(error) from error

    def load(self) -> Mapping[str, Tables]:
        """Return all worlds by id. Raises StoreError."""
        worlds: dict[str, dict[str, list[Document]]] = {}
        query = "SELECT world, kind, id, number, body FROM documents WHERE world <> ''"
        try:
            rows = sorted(self._database.execute(query), key=lambda row: int(row[3]))
        except (sqlite3.Error, ValueError) as error:
            raise self._unusable(error) from error
        for world, kind, id, number, body in rows:
            tables = worlds.setdefault(world, {})
            tables.setdefault(kind, []).append(Document(id, int(number), body))
        return worlds

    def keep_good_copy(self) -> None:
        """Copy the file through SQLite, unless it is large. Raises StoreError."""
        seen = None if self._is_new else self._hold.seen
        if seen is not None and seen.size <= GOOD_COPY_BYTES_MAX:
            disk.keep_good_copy(self._path, self._database.serialize)

    def write(self, changes: Sequence[Change]) -> None:
        """Write all changes or none. Raises StoreError; the same changes can be tried again."""
        self._hold.must_be_there()
        try:
            # Committed at the end of the block, or rolled back.
            with self._database:
                self._database.execute("BEGIN IMMEDIATE")
                if self.is_head_new:
                    head = to_json(self.head).decode()
                    self._database.execute(PUT, ("", port.FILE, port.FILE, "1", head))
                for change in changes:
                    self._apply(change)
            self.is_head_new = False
        # UnicodeEncodeError: texts that SQLite does not accept.
        except (sqlite3.Error, UnicodeEncodeError) as error:
            raise disk.cannot(self._path, disk.WRITING, error, disk.TRY_AGAIN) from error
        if self._has_log and not self._log.exists():
            # What was committed since the last checkpoint is in no file that has a name.
            why = f"{self._log.name} was removed"
            raise disk.cannot(self._path, disk.WRITING, why, disk.RESTART)
        self._has_log = self._log.exists()

    def close(self) -> None:
        """Close and unlock the file. The rest of its log is read when it is next opened."""
        self._opened.close()

    # --- the database

    def _open(self) -> None:
        """Create the table in a new file, or check that the file is ours and intact.

        Raises UnknownFormat, StoreError, ValueError and sqlite3.Error.
        """
        execute = self._database.execute
        if self._is_new:
            # First, so that a file that was begun on a full disk is empty, or ours.
            self._database.executescript(f"BEGIN IMMEDIATE; {SCHEMA} COMMIT;")
            execute("PRAGMA journal_mode = WAL")
            self.keep(program=port.PROGRAM, version=__version__)
        else:
            self._check()
            execute("PRAGMA journal_mode = WAL")
            found = execute("SELECT body FROM documents WHERE kind = ?", (port.FILE,)).fetchone()
            self.head = {} if found is None else from_json(found[0])
            port.read_secret(self.head.get("secret"))
        execute("PRAGMA synchronous = FULL")

    def _check(self) -> None:
        """Raise UnknownFormat, StoreError or sqlite3.Error unless the file is ours and intact."""
        if self._pragma("application_id") != APPLICATION:
            tables = {name for (name,) in self._database.execute("SELECT name FROM sqlite_master")}
            if {"meta", "documents"} <= tables:
                raise UnknownFormat(
                    f"it has an earlier format, and this version reads format {port.FORMAT}"
                )
            raise self._unusable(f"it is a database that {port.PROGRAM} did not create")
        port.check_format(self._pragma("user_version"))
        whole = self._pragma("page_size") * self._pragma("page_count")
        if not self._has_log and self._path.stat().st_size < whole:
            raise self._unusable(f"it is incomplete: it has fewer than {whole:,} bytes")
        if (found := self._pragma("quick_check(1)")) != "ok":
            raise self._unusable(f"it is damaged: {' '.join(str(found).split())}")

    def _pragma(self, name: str) -> Any:
        (value,) = self._database.execute(f"PRAGMA {name}").fetchone()
        return value

    def _apply(self, change: Change) -> None:
        """Make one change within a transaction. Raises sqlite3.Error."""
        database, world = self._database, change.world
        if change.is_replacement:
            database.execute("DELETE FROM documents WHERE world = ?", (world,))
        query = "DELETE FROM documents WHERE world = ? AND kind = ? AND id = ?"
        database.executemany(query, [(world, kind, id) for kind, id in change.gone])
        database.executemany(
            PUT,
            [(world, kind, one.id, str(one.number), one.text) for kind, one in change.puts],
        )

    def _unusable(self, why: Exception | str) -> StoreError:
        if getattr(why, "sqlite_errorname", "").startswith(_NO_ROOM):
            possible = "the file was not changed; make room on the disk, or repair it, and restart"
            return disk.cannot(self._path, "be read", why, possible)
        # SQLite would apply these logs to the copy.
        logs = f"{self._path.name}-wal and -shm"
        how = f" (to go back to it, remove {logs} if they are there)"
        return disk.unusable(self._path, why, how)

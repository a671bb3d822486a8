"""`state.db`: SQLite, every commit written through, at a cost that does not grow with the file.

Documents are appended to one table and changed in place; a place is a row number. The places of
all documents are in memory. An index of ids in the file would cost as much as the documents, as ids
have no order, and the caller has every id in memory anyway. RECORDS stay out of memory, so they
have a table of their own, with an index.
"""

import gc
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from operator import itemgetter
from pathlib import Path
from typing import Any, Final

from sandbox.store.files.disk import PRIVATE, WRITING, Hold, about_good_copy, cannot, good_copy
from sandbox.store.files.migrations import MIGRATIONS, Migrations
from sandbox.store.files.port import FORMAT, MESSAGES, RECORDS, Change, Document, StoreError, Tables
from sandbox.store.files.sqlite_digests import Digests, check_row, digest_of
from sandbox.store.files.sqlite_head import Head
from sandbox.store.files.sqlite_migrating import migrated
from sandbox.store.files.sqlite_recovery import back_up, damage, has_log, torn, words
from sandbox.store.files.sqlite_tables import (
    LOAD,
    MESSAGES_SCHEMA,
    PUT,
    PUT_MESSAGE,
    PUT_RECORD,
    READ,
    READ_MESSAGES,
    READ_RECORD,
    READ_RECORDS,
    SCHEMA,
    WORLDS_OF_RECORDS,
    MessageRows,
)
from sandbox.store.files.sqlite_writer import OnlyWriter

GOOD_COPY_BYTES_MAX: Final = 64 * 1024 * 1024
CHECKED_BYTES_MAX: Final = 64 * 1024 * 1024
"""Up to this every row of a file is looked at when it is opened: half a second at most."""

WAITS_MS: Final = 1_000
"""Time that a write waits for another program that writes to the file. It blocks the server."""

PAGES_OF_WAL: Final = 4_000
"""When the log goes into the file, in pages of 4 KiB: seldom, as that waits for the disk."""

Places = dict[tuple[str, str], dict[str, int]]
"""World and table, then id, to the row of the document."""


class SqliteFile:
    """A `StateFile` in SQLite, for any number of documents that fits in memory.

    Every write is a transaction in the write-ahead log, so it outlives the process. A power failure
    can lose the last writes that the system had not put on disk yet, but never part of one.
    """

    def __init__(self, path: Path, migrations: Migrations = MIGRATIONS) -> None:
        """Raises StoreError when the file is in use, or is none that can be used."""
        self._migrations = migrations
        self._places: Places | None = None
        self._next_place = 1
        self._is_checked = False
        self._hold = Hold(path)
        self._path = self._hold.path
        try:
            was_killed = has_log(self._path)
            if why := torn(self._path):
                raise self._unusable(why)
            if not self._path.exists():
                os.close(os.open(self._path, os.O_CREAT | os.O_RDWR, PRIVATE))
                self._hold.look()
            self._database = sqlite3.connect(
                self._path,
                timeout=WAITS_MS / 1000,
                isolation_level=None,
                check_same_thread=False,
            )
            self._head = Head(self._database)
            self._digests = Digests(self._database)
            self._only = OnlyWriter(self._database, self._path)
            try:
                self._format, self._is_new = self._open(was_killed)
            except BaseException:
                self._database.close()
                raise
        # ValueError: texts of another hand, and an unknown format.
        except (sqlite3.Error, TypeError, ValueError, OSError) as error:
            self._hold.release()
            raise self._unusable(error) from error
        except BaseException:
            self._hold.release()
            raise

    @property
    def name(self) -> str:
        return f"{self._path.name} (SQLite)"

    @property
    def is_for_people(self) -> bool:
        return False

    @property
    def secret(self) -> bytes:
        return self._head.secret

    def keep_secret(self, secret: bytes) -> None:
        self._head.keep(secret)

    @property
    def tokens(self) -> str:
        return self._head.tokens

    def keep_tokens(self, tokens: str) -> None:
        self._head.keep_tokens(tokens)

    def load(self) -> Mapping[str, Tables]:
        self._places = None
        # Garbage collection would scan all rows read so far again and again, and find nothing.
        was_enabled = gc.isenabled()
        gc.disable()
        try:
            self._only.look()
            if self._format != FORMAT:
                self._migrate()
            self._check()
            return self._load()
        # TypeError, ValueError: values that no version has written.
        except (sqlite3.Error, TypeError, ValueError) as error:
            raise self._unusable(error) from error
        finally:
            if was_enabled:
                gc.enable()

    def read(self, world: str, table: str, id: str) -> str | None:
        try:
            if table == RECORDS:
                query = self._digests.readable(READ_RECORD)
                found = self._database.execute(query, (RECORDS, world, id)).fetchone()
            else:
                place = self._known().get((world, table), {}).get(id)
                query = self._digests.readable(READ)
                found = self._database.execute(query, (place,)).fetchone()
            if found is None:
                return None
            check_row(*found)
        except (sqlite3.Error, TypeError, ValueError) as error:
            raise self._unusable(error) from error
        return str(found[4])

    def records(self, world: str) -> Iterator[Document]:
        query = self._digests.readable(READ_RECORDS)
        try:
            for row in self._database.execute(query, (RECORDS, world)):
                check_row(*row)
                _, _, id, number, text, unique_values, _ = row
                yield Document(id, int(number), text, unique_values)
        except (sqlite3.Error, TypeError, ValueError) as error:
            raise self._unusable(error) from error

    def keep_good_copy(self) -> None:
        """A copy of the file, by SQLite's own means; none of a file above 64 MiB.

        To copy that would make starting slow. Raises StoreError.
        """
        if not self._is_new:
            self._keep_good_copy(GOOD_COPY_BYTES_MAX)

    def write(self, changes: Sequence[Change]) -> None:
        places = self._known()
        execute = self._database.execute
        self._hold.must_be_open()
        self._hold.must_be_there()
        try:
            execute("BEGIN IMMEDIATE")
            self._only.check()
            self._digests.begin()
            self._head.put()
            for change in changes:
                self._apply(places, change)
            execute("COMMIT")
            self._head.committed()
            self._only.committed()
            self._digests.begun()
        except BaseException as error:
            if not isinstance(error, StoreError):
                # The places are those of the failed changes; the file knows the right ones.
                self._places = None
            with suppress(sqlite3.Error):
                if self._database.in_transaction:
                    execute("ROLLBACK")
            # OverflowError, UnicodeEncodeError: texts that SQLite does not accept.
            if isinstance(error, sqlite3.Error | OverflowError | UnicodeEncodeError):
                raise cannot(
                    self._path,
                    WRITING,
                    words(error),
                    "the file is as it was before; mend this, and try again",
                ) from error
            raise

    def close(self) -> None:
        try:
            with closing(self._database) as database, suppress(sqlite3.Error):
                # Not to be done is no loss: the log is read with the next opening.
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        finally:
            self._hold.release()

    def _open(self, was_killed: bool) -> tuple[int, bool]:
        """The format of the file, and whether it was made just now. Changes no file but a new one.

        Raises sqlite3.Error, UnknownFormat and StoreError.
        """
        execute = self._database.execute
        found = self._head.look(self._migrations)
        if was_killed and (why := damage(self._database)):
            raise self._unusable(why)
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute(f"PRAGMA wal_autocheckpoint = {PAGES_OF_WAL}")
        if found is not None:
            execute(MESSAGES_SCHEMA)
            self._digests.look()
            return found, False
        self._database.executescript(f"BEGIN IMMEDIATE; {SCHEMA}; {MESSAGES_SCHEMA};")
        self._head.sign()
        execute("COMMIT")
        return FORMAT, True

    def _check(self) -> None:
        """Check every row, unless there are too many to wait for.

        Those of a larger file are looked at when they are read. Raises Damaged and sqlite3.Error.
        """
        if not self._is_checked and self._path.stat().st_size <= CHECKED_BYTES_MAX:
            self._digests.check_all()
        self._is_checked = True

    def _load(self) -> dict[str, dict[str, Sequence[Document]]]:
        """All worlds, and the places of their documents. Raises sqlite3.Error and StoreError."""
        found: dict[tuple[str, str], tuple[list[Document], list[int]]] = {}
        last = 0
        # Runs half a million times at a start: calling Document would take as long as reading.
        make = tuple.__new__
        for row in self._database.execute(self._digests.readable(LOAD)):
            last, world, name, id, number, text, unique_values, _ = row
            check_row(*row[1:])
            table = found.get((world, name))
            if table is None:
                table = found[world, name] = ([], [])
            table[0].append(make(Document, (id, int(number), text, unique_values)))
            table[1].append(last)
        worlds: dict[str, dict[str, Sequence[Document]]] = {}
        places: Places = {}
        for (world, name), (documents, stand) in found.items():
            ids = map(itemgetter(0), documents)
            places[world, name] = its = dict(zip(ids, stand, strict=True))
            if len(its) != len(documents):
                raise self._unusable(f"an id appears twice in table {name!r} of world {world!r}")
            # They are nearly in this order already, so sorting costs next to nothing.
            documents.sort(key=itemgetter(1))
            worlds.setdefault(world, {})[name] = documents
        for (world,) in self._database.execute(WORLDS_OF_RECORDS):
            worlds.setdefault(world, {})
        counts = "SELECT world, count(*) FROM messages GROUP BY world"
        for world, count in self._database.execute(counts):
            query = self._digests.readable(READ_MESSAGES)
            worlds.setdefault(world, {})[MESSAGES] = MessageRows(
                self._database, query, world, count, self._unusable
            )
        self._places, self._next_place = places, last + 1
        return worlds

    def _known(self) -> Places:
        """The place of every document. Read again after a failed write."""
        if self._places is None:
            self.load()
        assert self._places is not None
        return self._places

    def _apply(self, places: Places, change: Change) -> None:
        """Make one change within a transaction. Raises sqlite3.Error."""
        database, world = self._database, change.world
        if change.anew:
            self._forget(places, world)
        for table, id in change.gone:
            if table == RECORDS:
                query = "DELETE FROM records WHERE world = ? AND id = ?"
                database.execute(query, (world, id))
            elif (place := places.get((world, table), {}).pop(id, None)) is not None:
                database.execute("DELETE FROM documents WHERE place = ?", (place,))
        self._put(places, change)

    def _put(self, places: Places, change: Change) -> None:
        """Write the documents of a change, each kind at once. Raises sqlite3.Error."""
        world = change.world
        rows: dict[str, list[tuple[Any, ...]]] = {PUT: [], PUT_RECORD: [], PUT_MESSAGE: []}
        for table, (id, number, text, unique_values) in change.puts:
            at = str(number)
            if table == RECORDS:
                digest = digest_of(world, table, id, at, text, unique_values)
                rows[PUT_RECORD].append((world, id, at, text, unique_values, digest))
            elif table == MESSAGES:
                # They have no unique values.
                digest = digest_of(world, table, id, at, text, "")
                rows[PUT_MESSAGE].append((world, id, at, text, digest))
            else:
                place = self._place(places, (world, table), id)
                digest = digest_of(world, table, id, at, text, unique_values)
                rows[PUT].append((place, world, table, id, at, text, unique_values, digest))
        for query, values in rows.items():
            if values:
                self._database.executemany(query, values)

    def _place(self, places: Places, names: tuple[str, str], id: str) -> int:
        """The present or future place of a document."""
        ids = places.get(names)
        if ids is None:
            ids = places[names] = {}
        place = ids.get(id)
        if place is None:
            place = ids[id] = self._next_place
            self._next_place += 1
        return place

    def _forget(self, places: Places, world: str) -> None:
        """Remove all that a world has, within a transaction."""
        for table in [table for name, table in places if name == world]:
            self._forget_table(places, world, table)
        for table in (RECORDS, MESSAGES):
            self._forget_table(places, world, table)

    def _forget_table(self, places: Places, world: str, table: str) -> None:
        """Remove all documents of a table of a world, within a transaction."""
        if table == RECORDS:
            self._database.execute("DELETE FROM records WHERE world = ?", (world,))
        elif table == MESSAGES:
            self._database.execute("DELETE FROM messages WHERE world = ?", (world,))
        else:
            rows = ((place,) for place in places.pop((world, table), {}).values())
            self._database.executemany("DELETE FROM documents WHERE place = ?", rows)

    def _migrate(self) -> None:
        """Bring the file to the current format, in one transaction, after making a copy."""
        self._keep_good_copy()
        worlds = self._load()
        changes = [
            migrated(self, world, tables, self._format, self._migrations)
            for world, tables in worlds.items()
        ]
        execute, places = self._database.execute, self._known()
        execute("BEGIN IMMEDIATE")
        try:
            self._digests.begin()
            for change, replaced in changes:
                for table in replaced:
                    self._forget_table(places, change.world, table)
                self._put(places, change)
            self._head.sign()
            execute("COMMIT")
        except BaseException:
            self._places = None
            if self._database.in_transaction:
                execute("ROLLBACK")
            raise
        self._digests.begun()
        self._format = FORMAT

    def _keep_good_copy(self, bytes_max: int | None = None) -> None:
        good = good_copy(self._path)
        try:
            if bytes_max is None or self._path.stat().st_size <= bytes_max:
                back_up(self._database, good)
        except (OSError, sqlite3.Error) as error:
            possible = "make room, and start again"
            raise cannot(good, "keep the good copy", words(error), possible) from error

    def _unusable(self, why: Exception | str) -> StoreError:
        possible = about_good_copy(self._path)
        if good_copy(self._path).exists():
            # SQLite would treat their content as part of the copy.
            possible += (
                f" (to go back to it, remove {self._path.name}-wal and -shm if they are there)"
            )
        why = why if isinstance(why, str) else words(why)
        return cannot(self._path, "be read", why, possible)

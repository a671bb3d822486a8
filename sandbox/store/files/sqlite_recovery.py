"""Recovery of `state.db`: detecting damage, keeping a good copy, readable errors."""

import os
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Final

from sandbox.store.files.disk import good_copy, put_in_place, temporary

MAGIC: Final = b"SQLite format 3\0"
HEAD_BYTES: Final = 100


def has_log(path: Path) -> bool:
    """Whether there is a log that did not go into the file: the process that wrote was killed."""
    log = path.with_name(path.name + "-wal")
    return log.exists() and log.stat().st_size > 0


def torn(path: Path) -> str | None:
    """A message if a file is shorter than its header says; None if it is whole or missing.

    Raises OSError. SQLite starts anew in an empty file, and reads zeros for a torn page. Beside a
    log a file may be short, because the process may have been killed during a checkpoint; `damage`
    finds missing pages there.
    Source: sqlite.org/fileformat2.html, the database header.
    """
    if not path.exists():
        return None
    size = path.stat().st_size
    if size == 0 and (has_log(path) or good_copy(path).exists()):
        return "it has no content any more"
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if has_log(path) or len(head) < HEAD_BYTES or not head.startswith(MAGIC):
        return None
    # 1 means 65,536, which does not fit.
    page = int.from_bytes(head[16:18]) if head[16:18] != b"\0\1" else 65_536
    whole = page * int.from_bytes(head[28:32])
    return f"it is torn: it has {size:,} bytes of {whole:,}" if size < whole else None


def damage(database: sqlite3.Connection, check: str = "quick_check") -> str | None:
    """The damage to the pages of a database; None if it is sound. Raises sqlite3.Error.

    It reads the whole file: about a second for 700 MB. An `integrity_check` also compares indexes
    with what they lead to.
    """
    (found,) = database.execute(f"PRAGMA {check}(1)").fetchone()
    return None if found == "ok" else f"it is damaged: {' '.join(found.split())}"


def back_up(database: sqlite3.Connection, path: Path) -> None:
    """Put a complete copy of a database at this path and sync it, or leave the path as it was.

    Raises OSError and sqlite3.Error with nothing left behind.
    """
    new = temporary(path)
    try:
        new.unlink(missing_ok=True)
        with closing(sqlite3.connect(new)) as copy:
            # An incomplete copy is discarded; a complete one is synced below.
            copy.execute("PRAGMA synchronous = OFF")
            database.backup(copy)
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        put_in_place(new, path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def words(error: BaseException) -> str:
    """The text of an error, or an explanation if the text is not clear."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
        return "another program is writing to it"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

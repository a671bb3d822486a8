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
    """How a file is shorter than it says; None when it is whole, or not there. Raises OSError.

    SQLite begins anew in a file of no bytes, and takes zeros for the end of a page that is torn.
    Beside a log a file may be short, as the process may have been killed while the log went into
    it; `damage` sees what is missing there.
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
    # 1 stands for 65,536, which does not fit.
    page = int.from_bytes(head[16:18]) if head[16:18] != b"\0\1" else 65_536
    whole = page * int.from_bytes(head[28:32])
    return f"it is torn: it has {size:,} bytes of {whole:,}" if size < whole else None


def damage(database: sqlite3.Connection, check: str = "quick_check") -> str | None:
    """What is wrong with the pages of a database; None when nothing is. Raises sqlite3.Error.

    It reads the whole file: about a second for 700 MB. An `integrity_check` also compares indexes
    with what they lead to.
    """
    (found,) = database.execute(f"PRAGMA {check}(1)").fetchone()
    return None if found == "ok" else f"it is damaged: {' '.join(found.split())}"


def back_up(database: sqlite3.Connection, path: Path) -> None:
    """Put a copy of a database at this path, whole and on the disk, or leave what is there.

    Raises OSError and sqlite3.Error with nothing left behind.
    """
    new = temporary(path)
    try:
        new.unlink(missing_ok=True)
        with closing(sqlite3.connect(new)) as copy:
            # What is not whole is thrown away; what is goes to the disk below.
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
    """What an error says of itself, or what it means where that is not plain."""
    if getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY:
        return "another program is writing to it"
    return (error.strerror if isinstance(error, OSError) else None) or str(error)

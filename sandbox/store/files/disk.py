"""Disk operations for both kinds of file: locking one, and replacing it atomically.

Errors of the operating system become messages here: the operation, the error, the remedy.
"""

import errno
import os
import shutil
import struct
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from filelock import FileLock, Timeout

from sandbox.store.files.port import StoreError

PRIVATE: Final = 0o600
"""A new file is its owner's alone: it holds the secrets of endpoints, and keys that can be read
again (assumed D26)."""


def cannot(path: Path, tried: str, why: Exception | str, possible: str) -> StoreError:
    """The error with the failed operation, its reason, and the remedy."""
    if isinstance(why, OSError):
        why = why.strerror or str(why)
    return StoreError(f"{path}: cannot {tried}: {why}; {possible}")


def good_copy(path: Path) -> Path:
    """The path of the last good copy of a file."""
    return path.with_name(path.name + ".good")


def about_good_copy(path: Path) -> str:
    """The remedy when the content of a file is unusable. Nothing was changed."""
    good = good_copy(path)
    if good.exists():
        return f"the file was not changed; mend it; the last good copy is {good}"
    return "the file was not changed; mend it, or move it away to start empty"


WRITING: Final = "write the committed changes"
START_ANEW: Final = (
    "the server will not overwrite it; stop this server, and start one that continues from the file"
)

LOCKED_BYTE: Final = 2**62
"""The byte of a file to lock: far beyond its content and the bytes that SQLite locks."""


class Seen(NamedTuple):
    """The identity and version of a file: another file, or other content, compares unequal."""

    device: int
    inode: int
    size: int
    changed_ns: int

    def is_same_file(self, other: "Seen | None") -> bool:
        """Whether this is the same file, even if its content changed."""
        return other is not None and self[:2] == other[:2]


def _seen(status: os.stat_result) -> Seen:
    return Seen(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)


class Hold:
    """A file of which this process is the only user, by two locks (decision 45).

    The lock on `<path>.lock` names the process that holds it. The lock on the file itself, if the
    system has such locks, works under every name of the file, and even after the lock file was
    removed. `release` frees both, and so does the end of the process.
    `path` is the real file, symbolic links followed. Raises StoreError when another server uses the
    file, and when it could not be written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.path = path.resolve()
            if self.path.is_symlink():
                # Links in a circle, from Python 3.13 on; before that it is a RuntimeError.
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            _check(self.path)
        # ValueError: the name is not valid on any system.
        except (OSError, RuntimeError, ValueError) as error:
            raise cannot(path, "be opened", error, "name another file") from error
        note = self.path.with_name(self.path.name + ".lock")
        # Without this, only the thread that took a lock could release it.
        self._lock = FileLock(note, thread_local=False)
        try:
            self._lock.acquire(blocking=False)
        except Timeout:
            raise cannot(
                self.path,
                "be opened",
                f"another server uses it{_holder(note)}",
                "stop that one, or name another file",
            ) from None
        except OSError as error:
            raise cannot(note, "be locked", error, "name a file in another folder") from error
        # Where a locked file cannot be written (Windows), the process stays unnamed.
        with suppress(OSError):
            note.write_text(f"{os.getpid()}\n", encoding="ascii")
        self._file: int | None = None
        self._next: int | None = None
        self.seen: Seen | None = None
        try:
            self.look()
        except BaseException:
            self.release()
            raise

    def look(self) -> None:
        """Lock the file that is there now, and note how it looks. Raises StoreError."""
        try:
            file = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
        except FileNotFoundError:
            self._hold(None)
            return
        except OSError as error:
            raise cannot(self.path, "be opened", error, "mend this, and start again") from error
        if self._file is None or not _seen(os.fstat(file)).is_same_file(self.seen):
            self._lock_file(file)
        else:
            # It has our lock already.
            os.close(file)
            self.seen = _seen(os.fstat(self._file))

    def _lock_file(self, file: int) -> None:
        try:
            is_locked = lock_byte(file)
        except BlockingIOError:
            os.close(file)
            why = "another server uses it, under another name or after its lock was removed"
            possible = "stop that one, or name another file"
            raise cannot(self.path, "be opened", why, possible) from None
        if not is_locked and os.fstat(file).st_nlink > 1:
            os.close(file)
            why = "it has another name (a hard link), under which another server may use it"
            raise cannot(self.path, "be opened", why, "make a copy, and name that")
        self._hold(file)

    def prepare(self, file: int) -> None:
        """Lock this open file, which is about to replace the locked one."""
        self._next = os.dup(file)
        lock_byte(self._next)

    def settle(self) -> None:
        """Hold the prepared file, if it has replaced the other."""
        prepared, self._next = self._next, None
        if prepared is None:
            return
        if _seen(os.fstat(prepared)) == self.now():
            self._hold(prepared)
        else:
            os.close(prepared)

    def _hold(self, file: int | None) -> None:
        before, self._file = self._file, file
        self.seen = None if file is None else _seen(os.fstat(file))
        if before is not None:
            os.close(before)

    def must_be_open(self) -> None:
        """Raise StoreError once it was let go of."""
        if not self._lock.is_locked:
            raise cannot(self.path, WRITING, "it was closed", "open the file anew")

    def must_be_there(self) -> None:
        """Raise StoreError unless the path leads to the file that is held."""
        try:
            now = self.now()
        except OSError as error:
            raise cannot(self.path, WRITING, error, "mend this, and try again") from error
        if now is None or not now.is_same_file(self.seen):
            why = "it was removed, or another file has taken its place"
            raise cannot(self.path, WRITING, why, START_ANEW)

    def must_be_as_seen(self) -> None:
        """Raise StoreError where something else has changed the file, or put another there."""
        if self.now() not in (None, self.seen):
            raise cannot(self.path, WRITING, "another program has changed it", START_ANEW)

    def now(self) -> Seen | None:
        """The identity and version of a file; None if it does not exist. Raises OSError."""
        try:
            return _seen(self.path.stat())
        except FileNotFoundError:
            return None

    def release(self) -> None:
        self._hold(None)
        self._lock.release()


def lock_byte(file: int) -> bool:
    """Lock an open file until it is closed; False if the system has no such lock.

    Raises BlockingIOError if it is locked already.

    The lock belongs to the open file, not to the process. SQLite locks byte ranges of the same
    file, which do not interfere with this lock.
    """
    if sys.platform != "linux":
        return False
    import fcntl

    wanted = struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, LOCKED_BYTE, 1, 0)
    try:
        fcntl.fcntl(file, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        raise
    except OSError:
        # A file system that knows no locks.
        return False
    return True


def _check(path: Path) -> None:
    """Raise StoreError unless a file can be made, replaced or written here."""
    folder = path.parent
    if not folder.is_dir():
        raise cannot(path, "be opened", f"there is no folder {folder}", "make it first")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise cannot(
            path, "be opened", f"the folder {folder} is read-only", "name a file in another folder"
        )
    if not path.exists():
        return
    if not path.is_file():
        raise cannot(path, "be opened", "it is not a file", "name another one")
    if not os.access(path, os.R_OK | os.W_OK):
        raise cannot(
            path, "be opened", "it may not be read and written", "change its mode, or name another"
        )


def _holder(note: Path) -> str:
    """The process named in a lock file, for a message; empty if it names none."""
    try:
        process = note.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return f" (process {process})" if process.isdecimal() else ""


def replace_file(
    path: Path,
    pieces: Iterable[bytes],
    *,
    keeps_mode: bool = True,
    on_disk: Callable[[int], None] = lambda file: None,
) -> None:
    """Put a new content in the place of a file, whole and on the disk, or leave it as it was.

    Who may read it stays as it was, unless it `keeps_mode` no more: then the owner alone may.
    `on_disk` is called with the open file before it takes its place. Raises OSError with nothing
    left behind.
    """
    new = temporary(path)
    try:
        # A leftover file of a killed process, or a link, is not written to.
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE), "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
            on_disk(file.fileno())
        put_in_place(new, path, keeps_mode=keeps_mode)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def temporary(path: Path) -> Path:
    """The place of the next content of a file: always the same, so nothing piles up."""
    return path.with_name(path.name + ".new")


def put_in_place(new: Path, path: Path, *, keeps_mode: bool = True) -> None:
    """Rename a file that is on the disk over another. Raises OSError."""
    if keeps_mode and path.exists():
        shutil.copymode(path, new)
    new.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Have the disk know the names in this folder, where systems can do that."""
    if os.name == "nt":
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        # Some network file systems know no such thing; the rename is as safe there as it gets.
        if error.errno != errno.EINVAL:
            raise
    finally:
        os.close(descriptor)

"""Disk operations of both kinds of state files: locking, and atomic replacement.

Errors of the operating system become sentences: the operation, the error, the remedy.
"""

import errno
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, NamedTuple

from filelock import FileLock, Timeout

from sandbox.store.files.port import StoreError

if sys.platform != "win32":
    import fcntl

PRIVATE: Final = 0o600
"""Only its owner can read a new file: it holds endpoint secrets and retrievable keys (assumed
D26)."""

WRITING: Final = "write the committed changes"
OTHER_SERVER: Final = "stop that one, or name another file"
RESTART: Final = (
    "the server will not overwrite it; stop this server, and start one that continues from the file"
)
TRY_AGAIN: Final = "the file is as it was before; fix this, and try again"
OTHER_VERSION: Final = (
    "the file was not changed; name another file, or use the version that wrote it"
)


def cannot(path: Path, tried: str, why: BaseException | str, possible: str) -> StoreError:
    """Return the error with the failed operation, its reason, and the remedy."""
    if getattr(why, "sqlite_errorname", None) == "SQLITE_BUSY":
        why = "another program is writing to it"
    said = getattr(why, "strerror", None) or why
    return StoreError(f"{path}: cannot {tried}: {said}; {possible}")


def good_copy(path: Path) -> Path:
    """Return the path of the last good copy of a file."""
    return path.with_name(path.name + ".good")


def unusable(path: Path, why: BaseException | str, how: str = "") -> StoreError:
    """Return the error of a file with unusable content; `how` explains how to restore its copy."""
    good = good_copy(path)
    if good.exists():
        possible = f"the file was not changed; repair it; the last good copy is {good}{how}"
    else:
        possible = "the file was not changed; repair it, or move it away to start empty"
    return cannot(path, "be read", why, possible)


def keep_good_copy(path: Path, read: Callable[[], bytes]) -> None:
    """Store the content that `read` returns as the good copy of a file. Raises StoreError."""
    good = good_copy(path)
    try:
        replace_file(good, [read()])
    except (OSError, sqlite3.Error) as error:
        raise cannot(good, "keep the good copy", error, "make room, and start again") from error


class Seen(NamedTuple):
    """The identity and version of a file; unequal for another file or other content."""

    device: int
    inode: int
    size: int
    changed_ns: int


class Hold:
    """A file that only this process uses, protected by two locks.

    The lock file `<path>.lock` names the process. The lock on the file itself (not on Windows) also
    works under other names of the file, and after the lock file was removed. `release` frees both,
    and so does the end of the process. `path` is the real file, with symbolic links resolved.
    Raises StoreError if another server uses the file, or if it could not be written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.path = path.resolve()
            if self.path.is_symlink():
                # A loop of links; before Python 3.13, `resolve` raises RuntimeError for it.
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
            why = f"another server uses it{_holder(note)}"
            raise cannot(self.path, "be opened", why, OTHER_SERVER) from None
        except OSError as error:
            raise cannot(note, "be locked", error, "name a file in another folder") from error
        # On Windows a locked file cannot be written, so the process stays unnamed.
        with suppress(OSError):
            note.write_text(f"{os.getpid()}\n", encoding="ascii")
        self.seen: Seen | None = None
        self._file: int | None = None
        try:
            self.look()
        except BaseException:
            self.release()
            raise

    def look(self) -> None:
        """Lock the present file, and note its identity and version. Raises StoreError."""
        self._let_go()
        self.seen = self._now()
        if self.seen is None or sys.platform == "win32":
            return
        try:
            self._file = os.open(self.path, os.O_RDWR)
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            why = "another server uses it, under another name or after its lock was removed"
            raise cannot(self.path, "be opened", why, OTHER_SERVER) from None
        except OSError as error:
            # Not every file system supports locks.
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP):
                raise cannot(self.path, "be opened", error, "fix this, and try again") from error

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None

    def must_be_there(self) -> None:
        """Raise StoreError unless the path still leads to the same file."""
        now = self._now()
        if now is None or self.seen is None or now[:2] != self.seen[:2]:
            why = "it was removed, or another file has taken its place"
            raise cannot(self.path, WRITING, why, RESTART)

    def must_be_as_seen(self) -> None:
        """Raise StoreError if another program has changed or replaced the file."""
        if self._now() not in (None, self.seen):
            raise cannot(self.path, WRITING, "another program has changed it", RESTART)

    def _now(self) -> Seen | None:
        """Return the file at the path, or None. Raises StoreError, also after `release`."""
        if not self._lock.is_locked:
            raise cannot(self.path, WRITING, "it was closed", "open the file again")
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise cannot(self.path, "be read", error, "fix this, and try again") from error
        return Seen(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def release(self) -> None:
        """Unlock the file for others."""
        self._let_go()
        self._lock.release()


def _check(path: Path) -> None:
    """Raise StoreError unless a file can be created, replaced and written at this path."""
    folder = path.parent
    if not folder.is_dir():
        why, possible = f"there is no folder {folder}", "create it first"
    elif not os.access(folder, os.W_OK | os.X_OK):
        why, possible = f"the folder {folder} is read-only", "name a file in another folder"
    elif path.exists() and not path.is_file():
        why, possible = "it is not a file", "name another one"
    elif path.exists() and not os.access(path, os.R_OK | os.W_OK):
        why, possible = "it is not readable and writable", "change its mode, or name another"
    else:
        return
    raise cannot(path, "be opened", why, possible)


def _holder(note: Path) -> str:
    """Return the process named in a lock file, for a message; empty if it names none."""
    try:
        return f" (process {int(note.read_text(encoding='ascii'))})"
    except (OSError, ValueError):
        return ""


def replace_file(
    path: Path, pieces: Iterable[bytes], *, keeps_mode: bool = True, former: Path | None = None
) -> None:
    """Replace the content of a file atomically and durably, or leave it unchanged.

    With `keeps_mode` its permissions stay; otherwise only the owner can read it. The previous file
    becomes `former`. Raises OSError, and leaves nothing behind.
    """
    # Always the same name, so leftover files do not pile up.
    new = path.parent / f"{path.name}.new"
    try:
        # Never write into the leftover file of a killed process, or through a link.
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE), "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if keeps_mode and path.exists():
            shutil.copymode(path, new)
        if former is not None and path.exists():
            # The next start makes a copy anyway, or reports why it cannot.
            with suppress(OSError):
                _keep_former(path, former)
        with synced(path.parent):
            new.replace(path)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def _keep_former(path: Path, former: Path) -> None:
    """Keep a file that is about to be replaced under another name. Raises OSError."""
    link = former.with_name(former.name + ".new")
    link.unlink(missing_ok=True)
    try:
        os.link(path, link)
    except OSError:
        # Not every file system supports links.
        shutil.copy2(path, link)
    link.replace(former)


@contextmanager
def synced(folder: Path) -> Iterator[None]:
    """Write the names in this folder to the disk after the block, on systems that can do that.

    The folder is opened first, so that without a free descriptor the block does nothing.
    """
    if os.name == "nt":
        yield
        return
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        yield
        try:
            os.fsync(descriptor)
        except OSError as error:
            # Some network file systems cannot do this; there the rename alone must do.
            if error.errno != errno.EINVAL:
                raise
    finally:
        os.close(descriptor)

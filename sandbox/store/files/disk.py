"""What both kinds of state file do on the disk: locking one, and replacing a file atomically.

Errors of the operating system become sentences here: the operation, the error, the remedy.
"""

import errno
import os
import shutil
import sqlite3
import sys
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

from filelock import FileLock, Timeout

from sandbox.store.files.port import StoreError

if sys.platform != "win32":
    import fcntl

PRIVATE: Final = 0o600
"""A new file is its owner's alone: it holds the secrets of endpoints, and keys that can be read
again (assumed D26)."""

WRITING: Final = "write the committed changes"
OTHER_SERVER: Final = "stop that one, or name another file"
START_ANEW: Final = (
    "the server will not overwrite it; stop this server, and start one that continues from the file"
)
TRY_AGAIN: Final = "the file is as it was before; mend this, and try again"
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
    """Return the error of a file with unusable content; `how` to go back to its good copy."""
    good = good_copy(path)
    if good.exists():
        possible = f"the file was not changed; mend it; the last good copy is {good}{how}"
    else:
        possible = "the file was not changed; mend it, or move it away to start empty"
    return cannot(path, "be read", why, possible)


def keep_good_copy(path: Path, read: Callable[[], bytes]) -> None:
    """Make what this reads the good copy of a file. Raises StoreError."""
    good = good_copy(path)
    try:
        replace_file(good, [read()])
    except (OSError, sqlite3.Error) as error:
        raise cannot(good, "keep the good copy", error, "make room, and start again") from error


class Seen(NamedTuple):
    """The identity and version of a file: another file, or other content, compares unequal."""

    device: int
    inode: int
    size: int
    changed_ns: int


class Hold:
    """A file of which this process is the only user, by two locks.

    The lock `<path>.lock` names the process. The one on the file itself, which Windows does not
    have, works under every name of the file, and after the lock file was removed. `release` frees
    both, and so does the end of the process. `path` is the real file, symbolic links followed.
    Raises StoreError when another server uses the file, and when it could not be written.
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
            why = f"another server uses it{_holder(note)}"
            raise cannot(self.path, "be opened", why, OTHER_SERVER) from None
        except OSError as error:
            raise cannot(note, "be locked", error, "name a file in another folder") from error
        # Where a locked file cannot be written (Windows), the process stays unnamed.
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
        """Lock the file that is there now, and note how it looks. Raises StoreError."""
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
            # Not every file system knows locks.
            if error.errno not in (errno.ENOLCK, errno.ENOTSUP):
                raise cannot(self.path, "be opened", error, "mend this, and try again") from error

    def _let_go(self) -> None:
        if self._file is not None:
            os.close(self._file)
        self._file = None

    def must_be_there(self) -> None:
        """Raise StoreError unless the path still leads to the same file."""
        now = self._now()
        if now is None or self.seen is None or now[:2] != self.seen[:2]:
            why = "it was removed, or another file has taken its place"
            raise cannot(self.path, WRITING, why, START_ANEW)

    def must_be_as_seen(self) -> None:
        """Raise StoreError where something else has changed the file, or put another there."""
        if self._now() not in (None, self.seen):
            raise cannot(self.path, WRITING, "another program has changed it", START_ANEW)

    def _now(self) -> Seen | None:
        """Return the file that is there; None if there is none.

        Raises StoreError, also once the file was let go of.
        """
        if not self._lock.is_locked:
            raise cannot(self.path, WRITING, "it was closed", "open the file again")
        try:
            status = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise cannot(self.path, "be read", error, "mend this, and try again") from error
        return Seen(status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)

    def release(self) -> None:
        """Let others use the file."""
        self._let_go()
        self._lock.release()


def _check(path: Path) -> None:
    """Raise StoreError unless a file can be made, replaced or written here."""
    folder = path.parent
    if not folder.is_dir():
        why, possible = f"there is no folder {folder}", "make it first"
    elif not os.access(folder, os.W_OK | os.X_OK):
        why, possible = f"the folder {folder} is read-only", "name a file in another folder"
    elif path.exists() and not path.is_file():
        why, possible = "it is not a file", "name another one"
    elif path.exists() and not os.access(path, os.R_OK | os.W_OK):
        why, possible = "it may not be read and written", "change its mode, or name another"
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
    """Put a new content in the place of a file, whole and on the disk, or leave it as it was.

    Who may read it stays as it was, unless it `keeps_mode` no more: then the owner alone may.
    The file that was there before becomes `former`. Raises OSError with nothing left behind.
    """
    # Always the same place, so nothing piles up.
    new = path.with_name(path.name + ".new")
    try:
        # A leftover file of a killed process, or a link, is not written to.
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE), "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        if keeps_mode and path.exists():
            shutil.copymode(path, new)
        if former is not None and path.exists():
            # That it cannot be kept is said at the next start.
            with suppress(OSError):
                _keep_former(path, former)
        new.replace(path)
        sync_folder(path.parent)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def _keep_former(path: Path, former: Path) -> None:
    """Give a file that is about to be replaced another name. Raises OSError."""
    link = former.with_name(former.name + ".new")
    link.unlink(missing_ok=True)
    try:
        os.link(path, link)
    except OSError:
        # Not every file system knows links.
        shutil.copy2(path, link)
    link.replace(former)


def sync_folder(folder: Path) -> None:
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

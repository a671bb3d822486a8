"""What both kinds of file ask of a disk: one server at a time, and replacing a file whole.

Whatever an operating system answers is put into words here: what was tried, what stood in the way,
what is possible.
"""

import errno
import os
import shutil
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

from filelock import FileLock, Timeout

from sandbox.store.files import StoreError

PRIVATE: Final = 0o600
"""A new file is its owner's alone: it holds the secrets of endpoints, and keys that can be read
again (assumed D26)."""


def cannot(path: Path, tried: str, why: Exception | str, possible: str) -> StoreError:
    """The error that says what was tried here, what stood in the way, and what is possible."""
    if isinstance(why, OSError):
        why = why.strerror or str(why)
    return StoreError(f"{path}: cannot {tried}: {why}; {possible}")


def good_copy(path: Path) -> Path:
    """Where the last good copy of a file is kept."""
    return path.with_name(path.name + ".good")


def about_good_copy(path: Path) -> str:
    """What is possible when the content of a file cannot be used. Nothing was changed."""
    good = good_copy(path)
    if good.exists():
        return f"the file is as it was, mend it; the last good copy is {good}"
    return "the file is as it was: mend it, or move it away to begin with nothing"


class Hold:
    """A file of which this process is the only user, by a lock on `<path>.lock`.

    The lock is let go of by `release`, and by the end of the process, whatever ended it. `path` is
    the real file, symbolic links followed. Raises StoreError when another server uses the file,
    and when it could not be written.
    """

    def __init__(self, path: Path) -> None:
        try:
            self.path = path.resolve()
            if self.path.is_symlink():
                # Links in a circle, from Python 3.13 on; before that it is a RuntimeError.
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
            _check(self.path)
        # ValueError: what no system takes as a name.
        except (OSError, RuntimeError, ValueError) as error:
            raise cannot(path, "be opened", error, "name another file") from error
        note = self.path.with_name(self.path.name + ".lock")
        # Without this a lock that one thread has taken could not be let go of by another.
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

    @property
    def is_held(self) -> bool:
        """Whether the file is still ours."""
        return self._lock.is_locked

    def release(self) -> None:
        self._lock.release()


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
    """The process that wrote itself into a lock file, for people; empty when it says nothing."""
    try:
        said = note.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""
    return f" (process {said})" if said.isdecimal() else ""


def replace_file(path: Path, pieces: Iterable[bytes], *, keeps_mode: bool = True) -> None:
    """Put a new content in the place of a file, whole and on the disk, or leave it as it was.

    Who may read it stays as it was, unless it `keeps_mode` no more: then the owner alone may.
    Raises OSError with nothing left behind.
    """
    new = temporary(path)
    try:
        # A file that a killed process left, or a link that somebody put there, is not written to.
        new.unlink(missing_ok=True)
        with os.fdopen(os.open(new, os.O_CREAT | os.O_EXCL | os.O_WRONLY, PRIVATE), "wb") as file:
            file.writelines(pieces)
            file.flush()
            os.fsync(file.fileno())
        put_in_place(new, path, keeps_mode=keeps_mode)
    except BaseException:
        with suppress(OSError):
            new.unlink(missing_ok=True)
        raise


def temporary(path: Path) -> Path:
    """Where the next content of a file is written: always the same, so that nothing piles up."""
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

"""`state.json`: a TinyDB document that people can open, compare and edit.

Tables are named `<world>.<table>`, and documents by their number; the first field of a document,
`_id`, is its id. The table `file` names the program that wrote the file. TinyDB changes the tables
in memory, and its storage writes the whole file once for all changes of one write.
"""

import logging
import re
import sys
from collections.abc import Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import StringConstraints, TypeAdapter, ValidationError
from pydantic_core import from_json, to_json
from tinydb import Storage, TinyDB, where
from tinydb.middlewares import CachingMiddleware
from tinydb.table import Document as TinyDocument

from sandbox import __version__
from sandbox.store.documents import NotJson, read_json
from sandbox.store.files import disk, port
from sandbox.store.files.disk import Hold
from sandbox.store.files.port import Change, Document, StateFile, StoreError, Tables, UnknownFormat

log = logging.getLogger("sandbox.store")

ID: Final = "_id"
DOCUMENTS_MAX: Final = 5_000
"""Above this size the server recommends SQLite: every write rewrites the whole JSON file."""

_TABLE: Final = re.compile(r"([a-z0-9_-]{1,64}(?:@[a-z0-9_-]{1,32})?)\.(.+)", re.DOTALL)

_Number = Annotated[str, StringConstraints(pattern=r"^(0|-?[1-9][0-9]*)$")]
_CONTENT: Final = TypeAdapter(dict[str, dict[_Number, dict[str, Any]]])


class AtomicStorage(Storage):
    """A TinyDB storage that replaces the whole file atomically, and reads it strictly.

    The previous content becomes the good copy.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self) -> dict[str, dict[str, Any]] | None:
        """Return the tables; None if there is no file. Raises StoreError."""
        try:
            return _CONTENT.validate_python(read_json(self._path.read_bytes()))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise disk.cannot(self._path, "be read", error, "fix this, and start again") from error
        except NotJson as error:
            raise disk.unusable(self._path, f"it {error}") from None
        except ValidationError as error:
            raise disk.unusable(self._path, _place(error.errors()[0]["loc"])) from None

    def write(self, data: dict[str, dict[str, Any]]) -> None:
        """Replace the file. Raises OSError, and ValueError for a value that JSON does not have."""
        # Sorted, so that the same documents give the same file.
        content = {
            name: dict(sorted(data[name].items(), key=lambda item: int(item[0])))
            for name in sorted(data, key=lambda name: (name != port.FILE, name))
            if data[name]
        }
        pieces = [to_json(content, indent=2), b"\n"]
        disk.replace_file(self._path, pieces, former=disk.good_copy(self._path))


def _place(path: Sequence[int | str]) -> str:
    """Describe what is wrong with the structure of a file at this place."""
    match path:
        case [table]:
            return f"table {table!r} is not an object of documents"
        case [table, number, "[key]"]:
            return f"table {table!r}: {number!r} is not the number of a document"
        case [table, number, *_]:
            return f"table {table!r}, document {number!r} is not an object"
        case _:
            return "it is not an object of tables"


class JsonFile(StateFile):
    """A `StateFile` in JSON, for about a thousand documents that people want to read."""

    is_for_people = True

    def __init__(self, path: Path) -> None:
        """Open the file. Raises StoreError if it is in use, or cannot be read and written."""
        super().__init__()
        self._hold = Hold(path)
        self._path = self._hold.path
        self.name = f"{self._path.name} (JSON)"
        self._storage: Any = CachingMiddleware(AtomicStorage)  # type: ignore[no-untyped-call]
        # Only `flush` writes, once for all changes of a write.
        self._storage.WRITE_CACHE_SIZE = sys.maxsize
        self._database = TinyDB(self._path, storage=self._storage)
        self._has_written = self._has_warned = False

    def load(self) -> Mapping[str, Tables]:
        """Return all worlds by id. Raises StoreError."""
        self._storage.cache = None
        self._hold.look()
        self._read_head()
        worlds: dict[str, dict[str, list[Document]]] = {}
        for name in sorted(self._database.tables() - {port.FILE}):
            if (names := _TABLE.fullmatch(name)) is None:
                raise self._unusable(f"table {name!r} is not named <world>.<table>")
            worlds.setdefault(names[1], {})[names[2]] = self._documents(name)
        self._warn()
        return worlds

    def keep_good_copy(self) -> None:
        """Copy the file. Raises StoreError."""
        if self._hold.seen is not None:
            disk.keep_good_copy(self._path, self._path.read_bytes)

    def write(self, changes: Sequence[Change]) -> None:
        """Write all changes or none. Raises StoreError; the same changes can be tried again."""
        self._hold.must_be_as_seen()
        # A file that cannot be read is never overwritten.
        self._read_head()
        # TinyDB replaces the tables that it changes, so this copy keeps the former ones.
        before = copy(self._storage.cache)
        try:
            head = {**self.head, "program": port.PROGRAM, "format": port.FORMAT}
            self._database.drop_table(port.FILE)
            self._database.table(port.FILE).insert(
                TinyDocument({**head, "version": __version__}, doc_id=1)
            )
            for change in changes:
                self._apply(change)
            self._storage.flush()
        except (OSError, ValueError) as error:
            # Do not read the file again: it may be gone by now, and is then written whole.
            self._storage.cache = before
            raise disk.cannot(self._path, disk.WRITING, error, disk.TRY_AGAIN) from error
        self._hold.look()
        self._has_written = True
        self._warn()

    def close(self) -> None:
        """Unlock the file. If it was written, leave a copy beside it."""
        if self._has_written:
            try:
                self._hold.must_be_as_seen()
                self.keep_good_copy()
            except StoreError as error:
                log.warning("%s", error)
        self._hold.release()

    # --- tables

    def _read_head(self) -> None:
        """Read the table `file`, and check program and format. Raises StoreError."""
        if self._storage.read() is None:
            return
        head = dict(next(iter(self._database.table(port.FILE)), {}))
        if head.get("program") != port.PROGRAM:
            raise self._unusable(f"table {port.FILE!r} does not say that {port.PROGRAM} wrote it")
        try:
            port.check_format(head.get("format"))
            port.read_secret(head.get("secret"))
        except UnknownFormat as error:
            raise disk.cannot(self._path, "be read", error, disk.OTHER_VERSION) from None
        except ValueError:
            why = f"table {port.FILE!r}: secret is not {2 * port.SECRET_BYTES} hex digits"
            raise self._unusable(why) from None
        if not self.is_head_new:
            self.head = head

    def _documents(self, name: str) -> list[Document]:
        """Return the documents of a table in the order of their numbers. Raises StoreError."""
        found: dict[str, Document] = {}
        for document in self._database.table(name):
            fields = dict(document)
            id = fields.pop(ID, None)
            if not isinstance(id, str):
                place = f"table {name!r}, document '{document.doc_id}'"
                raise self._unusable(f"{place}: {ID} is not a text")
            if id in found:
                raise self._unusable(f"table {name!r}: {ID} {id!r} appears twice")
            found[id] = Document(id, document.doc_id, to_json(fields).decode())
        return sorted(found.values(), key=lambda one: one.number)

    def _apply(self, change: Change) -> None:
        """Make one change in memory. Raises ValueError."""
        if change.is_replacement:
            for name in self._database.tables():
                if name.startswith(f"{change.world}."):
                    self._database.drop_table(name)
        for name in dict.fromkeys(table for table, _ in (*change.puts, *change.gone)):
            # If an id has several documents, the last one counts.
            documents = {one.id: one for table, one in change.puts if table == name}
            ids = {*documents, *(id for table, id in change.gone if table == name)}
            tiny = self._database.table(f"{change.world}.{name}")
            tiny.remove(where(ID).test(ids.__contains__))
            # The id is the first field.
            tiny.insert_multiple(
                TinyDocument({ID: one.id, **from_json(one.text)}, doc_id=one.number)
                for one in documents.values()
            )

    def _warn(self) -> None:
        """Warn once if there are too many documents for a file of this kind."""
        names = self._database.tables() - {port.FILE}
        count = sum(len(self._database.table(name)) for name in names)
        if count > DOCUMENTS_MAX and not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s has %s documents and is rewritten with every commit; a .db file is made for "
                "that many: convert it with `sandbox world convert`",
                self._path,
                f"{count:,}",
            )

    def _unusable(self, why: str) -> StoreError:
        return disk.unusable(self._path, why)

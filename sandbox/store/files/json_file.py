"""`state.json`: a TinyDB document that a person can open, compare and edit.

Tables are named `<world>.<table>`, documents by their number, and the first field of each, `_id`,
is its id. One more table, `file`, names the program that wrote it. Every write replaces the whole
file, so it is always complete; unchanged texts are copied as they are. TinyDB reads the file. It
does not write it, because its tables copy themselves with every write.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from msgspec import Struct
from tinydb import TinyDB

from sandbox import __version__
from sandbox.store.files.disk import WRITING, Hold, about_good_copy, cannot, good_copy, replace_file
from sandbox.store.files.json_reading import Contents, StrictStorage
from sandbox.store.files.migrations import (
    MIGRATIONS,
    Migrations,
    UnknownFormat,
    check_format,
    migrate,
)
from sandbox.store.files.plain import Plain
from sandbox.store.files.port import (
    FORMAT,
    RECORDS,
    SECRET_BYTES,
    Change,
    Document,
    Tables,
    read_secret,
)

log = logging.getLogger("sandbox.store")

PROGRAM: Final = "uat-sandbox"
FILE: Final = "file"
"""The table with the program that wrote the file. It has no dot, unlike the tables of worlds."""

ID: Final = "_id"
DOCUMENTS_MAX: Final = 5_000
"""Above this size the server recommends SQLite: every write rewrites the whole JSON file."""

_TABLE = re.compile(r"([a-z0-9_-]{1,64}(?:@[a-z0-9_-]{1,32})?)\.(.+)", re.DOTALL)
_COMPACT = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
_INDENTED = json.JSONEncoder(ensure_ascii=False, indent=2)


class _Row(NamedTuple):
    """A document, and the lines that it has in the file."""

    document: Document
    lines: bytes


class _Table(Struct, frozen=True, gc=False):
    """One table of one world: its documents by id, and all its lines in the file."""

    rows: Mapping[str, _Row]
    lines: bytes


Names = tuple[str, str]
"""World and table."""


class JsonFile:
    """A `StateFile` in JSON, for about a thousand documents that people want to read.

    Every write rewrites the whole file. Texts come back with the same values in the same order, as
    compact JSON, and without their unique values.
    """

    def __init__(self, path: Path, migrations: Migrations = MIGRATIONS) -> None:
        """Raises StoreError when the file is in use, or cannot be read and written."""
        self._migrations = migrations
        self._tables: dict[Names, _Table] | None = None
        self._as_opened: bytes | None = None
        self._secret = self._new_secret = b""
        self._tokens = ""
        self._new_tokens: str | None = None
        self._has_warned = False
        self._hold = Hold(path)
        self._path = self._hold.path

    @property
    def name(self) -> str:
        return f"{self._path.name} (JSON)"

    @property
    def is_for_people(self) -> bool:
        return True

    @property
    def secret(self) -> bytes:
        self._loaded()
        return self._new_secret or self._secret

    def keep_secret(self, secret: bytes) -> None:
        self._new_secret = secret

    @property
    def tokens(self) -> str:
        self._loaded()
        return self._tokens if self._new_tokens is None else self._new_tokens

    def keep_tokens(self, tokens: str) -> None:
        self._new_tokens = tokens

    def load(self) -> Mapping[str, Tables]:
        self._tables = None
        self._as_opened = content = self._content()
        self._tables = tables = {} if content is None else self._parse(content)
        self._warn(tables)
        worlds: dict[str, dict[str, list[Document]]] = {}
        for (world, name), table in tables.items():
            found = worlds.setdefault(world, {})
            if name != RECORDS:
                found[name] = [one.document for one in table.rows.values()]
        return worlds

    def read(self, world: str, table: str, id: str) -> str | None:
        found = self._loaded().get((world, table))
        saved = found.rows.get(id) if found else None
        return saved.document.text if saved else None

    def records(self, world: str) -> Iterator[Document]:
        found = self._loaded().get((world, RECORDS))
        return iter([one.document for one in found.rows.values()] if found else [])

    def keep_good_copy(self) -> None:
        content, self._as_opened = self._as_opened, None
        if content is None:
            return
        try:
            replace_file(good_copy(self._path), [content])
        except OSError as error:
            raise cannot(
                good_copy(self._path), "keep the good copy", error, "make room, and start again"
            ) from error

    def write(self, changes: Sequence[Change]) -> None:
        # Before it is read: by now it may be another server's.
        self._hold.must_be_open()
        before = self._loaded()
        after = self._changed(before, changes)
        try:
            self._hold.must_be_as_seen()
            try:
                replace_file(
                    self._path, _pieces(after, self.secret, self.tokens), on_disk=self._hold.prepare
                )
            finally:
                self._hold.settle()
        except OSError as error:
            raise cannot(
                self._path,
                WRITING,
                error,
                "the file is as it was before; mend this, and try again",
            ) from error
        self._tables = after
        self._warn(after)

    def close(self) -> None:
        self._hold.release()

    def _loaded(self) -> dict[Names, _Table]:
        if self._tables is None:
            # Never overwrite a file that could not be read.
            self.load()
        assert self._tables is not None
        return self._tables

    def _content(self) -> bytes | None:
        """The content of the file; None if there is no file."""
        self._hold.look()
        try:
            return self._path.read_bytes() if self._hold.seen else None
        except FileNotFoundError:
            return None
        except OSError as error:
            raise cannot(self._path, "be read", error, "mend this, and start again") from error

    def _parse(self, content: bytes) -> dict[Names, _Table]:
        try:
            # TinyDB passes extra arguments on to the storage.
            with TinyDB(content, storage=StrictStorage) as database:
                found, self._secret, self._tokens = _head(database, self._migrations)
                return _tables(_worlds(database, found, self._migrations))
        except (UnknownFormat, Contents, RecursionError) as error:
            why = "it is nested too deeply" if isinstance(error, RecursionError) else str(error)
            raise cannot(self._path, "be read", why, about_good_copy(self._path)) from error

    def _changed(
        self, before: Mapping[Names, _Table], changes: Sequence[Change]
    ) -> dict[Names, _Table]:
        """All tables after these changes; those before stay as they are. Raises StoreError."""
        drafts: dict[Names, dict[str, _Row]] = {}

        def draft(world: str, table: str) -> dict[str, _Row]:
            names = (world, table)
            if names not in drafts:
                drafts[names] = dict(before[names].rows) if names in before else {}
            return drafts[names]

        try:
            for change in changes:
                if change.anew:
                    ours = {names for names in (*before, *drafts) if names[0] == change.world}
                    drafts |= {names: {} for names in ours}
                for table, id in change.gone:
                    draft(change.world, table).pop(id, None)
                for table, document in change.puts:
                    draft(change.world, table)[document.id] = _row(document)
            after = {**before, **{names: _table(names, saved) for names, saved in drafts.items()}}
        except Contents as error:
            raise cannot(self._path, WRITING, str(error), "the file is as it was before") from error
        # Sorted, so files of the same documents are equal.
        return {names: after[names] for names in sorted(after) if after[names].rows}

    def _warn(self, tables: Mapping[Names, _Table]) -> None:
        """Say once that there are too many documents for a file of this kind."""
        count = sum(len(table.rows) for table in tables.values())
        if count > DOCUMENTS_MAX and not self._has_warned:
            self._has_warned = True
            log.warning(
                "%s holds %s documents and is written whole with every commit; a .db file is made "
                "for so many: convert it with `sandbox world convert`",
                self._path,
                f"{count:,}",
            )


def _head(database: TinyDB, migrations: Migrations) -> tuple[int, bytes, str]:
    """The format of the file, one that can be read; secret and tokens of the server, if any.

    Raises UnknownFormat and Contents.
    """
    about: Mapping[str, Any] = next(iter(database.table(FILE).all()), {})
    if about.get("program") != PROGRAM:
        raise Contents(f"table {FILE!r} does not say that {PROGRAM} has written it")
    found = check_format(about.get("format"), FORMAT, migrations)
    try:
        secret = read_secret(about.get("secret"))
    except ValueError:
        raise Contents(f"table {FILE!r}: secret is not {2 * SECRET_BYTES} hex digits") from None
    return found, secret, _COMPACT.encode(about["tokens"]) if "tokens" in about else ""


def _worlds(
    database: TinyDB, found: int, migrations: Migrations
) -> dict[str, dict[str, list[Plain]]]:
    """The documents of each world, in the current format. Raises Contents."""
    worlds: dict[str, dict[str, list[Plain]]] = {}
    for name in sorted(database.tables() - {FILE}):
        names = _TABLE.fullmatch(name)
        if names is None:
            raise Contents(f"table {name!r} is not named <world>.<table>")
        tables = worlds.setdefault(names[1], {})
        tables[names[2]] = [
            Plain(_id(name, document.doc_id, fields := dict(document)), document.doc_id, fields)
            for document in database.table(name)
        ]
    for tables in worlds.values():
        migrate(tables, found, FORMAT, migrations)
    return worlds


def _id(table: str, number: int, fields: dict[str, Any]) -> str:
    """The id of a document, taken out of its fields. Raises Contents."""
    id = fields.pop(ID, None)
    if not isinstance(id, str):
        raise Contents(f"table {table!r}, document {str(number)!r}: {ID} is not a text")
    return id


def _tables(worlds: Mapping[str, Mapping[str, Sequence[Plain]]]) -> dict[Names, _Table]:
    """The tables to hold for these documents. Raises Contents."""
    tables = {}
    for world, its in worlds.items():
        for name, documents in its.items():
            saved: dict[str, _Row] = {}
            for one in documents:
                if one.id in saved:
                    raise Contents(f"table '{world}.{name}': {ID} {one.id!r} appears twice")
                document = Document(one.id, one.number, _COMPACT.encode(one.fields))
                saved[one.id] = _Row(document, _lines(document, one.fields))
            tables[world, name] = _table((world, name), saved)
    return tables


def _row(document: Document) -> _Row:
    """A document that is being written. Raises Contents."""
    fields = json.loads(document.text)
    if ID in fields:
        raise Contents(f"document {document.id!r} has a field {ID}, which is the file's own")
    document = document._replace(text=_COMPACT.encode(fields), unique_values="")
    return _Row(document, _lines(document, fields))


def _lines(document: Document, fields: Mapping[str, Any]) -> bytes:
    """The text of a document in the file: `"17": {...}`, indented."""
    text = _INDENTED.encode({ID: document.id, **fields}).replace("\n", "\n    ")
    return _utf8(f'    "{document.number}": {text}')


def _table(names: Names, saved: Mapping[str, _Row]) -> _Table:
    """A table in the order of its numbers. Raises Contents."""
    ordered = dict(sorted(saved.items(), key=lambda item: item[1].document.number))
    name = ".".join(names)
    if not _TABLE.fullmatch(name):
        raise Contents(f"{name!r} is no <world>.<table> for a file of this kind")
    last: int | None = None
    for one in ordered.values():
        if one.document.number == last:
            raise Contents(f"table {name!r} has two documents of number {last}")
        last = one.document.number
    lines = [one.lines for one in ordered.values()]
    head = _utf8(f"  {_COMPACT.encode(name)}: {{\n")
    return _Table(ordered, b"".join([head, b",\n".join(lines), b"\n  }"]))


def _pieces(tables: Mapping[Names, _Table], secret: bytes, tokens: str) -> Iterator[bytes]:
    """The whole file."""
    about = {"program": PROGRAM, "format": FORMAT, "version": __version__}
    if secret:
        about["secret"] = secret.hex()
    if tokens:
        about["tokens"] = json.loads(tokens)
    text = _INDENTED.encode({FILE: {"1": about}})
    yield _utf8(text.removesuffix("\n}"))
    for table in tables.values():
        yield b",\n"
        yield table.lines
    yield b"\n}\n"


def _utf8(text: str) -> bytes:
    """JSON in UTF-8. Half a surrogate pair has no bytes, and is escaped as JSON escapes it."""
    return text.encode("utf-8", "backslashreplace")

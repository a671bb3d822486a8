"""The rows of one world in PostgreSQL: where each document stands, and what a commit changes."""

from collections.abc import Iterable, Sequence
from typing import Any, Final

from msgspec import Struct, field
from pydantic_core import from_json

from sandbox.domain.keys import ApiKey
from sandbox.store.files.port import MESSAGES, RECORDS, WORLD, Change, Document
from sandbox.store.tables import NAMES

KEYS: Final = NAMES[ApiKey]

_Columns = list[list[Any]]


def _columns(count: int) -> _Columns:
    return [[] for _ in range(count)]


class Written(Struct):
    """The columns of rows to write and to delete, for all worlds of one commit.

    `documents`: wid, place, table, id, number, text, claims. `gone`: wid, place. `messages`: wid,
    number, id, text, what it says. `keys`: lookup, wid, id, salt, digest. `lost_keys`: wid, id.
    """

    documents: _Columns = field(default_factory=lambda: _columns(7))
    gone: _Columns = field(default_factory=lambda: _columns(2))
    messages: _Columns = field(default_factory=lambda: _columns(5))
    keys: _Columns = field(default_factory=lambda: _columns(5))
    lost_keys: _Columns = field(default_factory=lambda: _columns(2))


def add(columns: _Columns, *values: Any) -> None:
    """Add a row."""
    for column, value in zip(columns, values, strict=True):
        column.append(value)


class Places:
    """The place of each document of a world, by table and id."""

    def __init__(self, known: Iterable[tuple[tuple[str, str], int]] = ()) -> None:
        self._places = dict(known)
        self._next = max(self._places.values(), default=0) + 1

    def of(self, table: str, id: str) -> int:
        """The place of a document, which is a new one if it has none yet."""
        place = self._places.get((table, id))
        if place is None:
            place = self._places[table, id] = self._next
            self._next += 1
        return place

    def forget(self, table: str, id: str) -> int | None:
        """The place of a document that goes; None if it never had one."""
        return self._places.pop((table, id), None)


def write(change: Change, wid: int, places: Places, rows: Written) -> str | None:
    """Add the rows of a change. Returns the state of the world, if it changed.

    A place once given stays, so the same change makes the same rows when it is tried again.
    """
    state = None
    texts: dict[str, Document] = {}
    for table, document in change.puts:
        if table == MESSAGES:
            texts[document.id] = document
        elif table == RECORDS:
            message = texts.pop(document.id)
            add(rows.messages, wid, message.number, message.id, message.text, document.text)
        else:
            _put(table, document, wid, places, rows)
            if table == WORLD:
                state = document.text
    for table, id in change.gone:
        place = places.forget(table, id)
        if place is not None:
            add(rows.gone, wid, place)
        if table == KEYS:
            add(rows.lost_keys, wid, id)
    return state


def _put(table: str, document: Document, wid: int, places: Places, rows: Written) -> None:
    id, number, text = document
    # Unique values are checked when a world is loaded: its column of claims stays empty.
    add(rows.documents, wid, places.of(table, id), table, id, str(number), text, "")
    if table == KEYS:
        key = from_json(text)
        add(rows.keys, key["lookup"], wid, id, key["salt"], key["digest"])


def of_many(columns: _Columns, size: int) -> Sequence[_Columns]:
    """The same rows in chunks of at most this many."""
    count = len(columns[0])
    return [[column[first : first + size] for column in columns] for first in range(0, count, size)]

"""Building an index of a table in steps, while the table changes.

The steps go through the rows in the order of their numbers. A follower notes rows that are put
behind the current position, and the builder adds them at the end.
"""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from sandbox.domain.records import account_id_of
from sandbox.store.memory.indexes import Index, in_pieces
from sandbox.store.memory.trigram_index import TextIndex
from sandbox.store.steps import OFTEN, Steps
from sandbox.store.tables import Path, Table

Put = tuple[int, Any, Any]
"""The number of a row, its record before, if it had one, and its record now."""


class Follower:
    """Notes rows that are put during a build: changed ones behind the position, and new ones."""

    def __init__(self) -> None:
        self.passed = -1
        self.puts: deque[Put] = deque()
        self._new: set[int] = set()

    def note(self, number: int, old: Any, record: Any) -> None:
        """A row was put."""
        if old is None:
            self._new.add(number)
        elif number > self.passed and number not in self._new:
            return
        self.puts.append((number, old, record))

    def is_new(self, number: int) -> bool:
        """Whether the row was put after the beginning."""
        return number in self._new


class IndexedRows(Protocol):
    """The rows of a table, as an index sees them."""

    @property
    def table(self) -> Table:
        """Their table."""

    @property
    def by_number(self) -> Mapping[int, Any]:
        """The records."""

    indexes: dict[str, Index]
    texts: dict[str, TextIndex]
    followers: list[Follower]

    def everything(self) -> Sequence[int]:
        """The numbers of all rows, ascending."""

    def path_of(self, record: Any, /) -> Path:
        """The accounts above the record's account, and its own."""


def build_index(rows: IndexedRows, name: str) -> Steps[None]:
    """Have the index of that name."""
    index, values_of, paths = Index(), rows.table.indexes[name], _Paths(rows)
    follower = Follower()
    rows.followers.append(follower)
    try:
        yield from index.fill(
            (number, values_of(record, paths.of(record))) for number, record in _all(rows, follower)
        )
        while follower.puts:
            number, old, record = follower.puts.popleft()
            before = () if old is None else values_of(old, paths.of(old))
            index.move(number, before, values_of(record, paths.of(record)))
            if not len(follower.puts) % OFTEN:
                yield
        # No other work runs between these two statements.
        rows.indexes[name] = index
    finally:
        rows.followers.remove(follower)


def build_text_index(rows: IndexedRows, name: str) -> Steps[None]:
    """Have the index of texts of that name."""
    index, texts_of = TextIndex(), rows.table.texts[name]
    follower = Follower()
    rows.followers.append(follower)
    try:
        for taken, (number, record) in enumerate(_all(rows, follower)):
            index.move(number, (), texts_of(record))
            if not taken % OFTEN:
                yield
        while follower.puts:
            number, old, record = follower.puts.popleft()
            index.move(number, () if old is None else texts_of(old), texts_of(record))
            yield
        rows.texts[name] = index
    finally:
        rows.followers.remove(follower)


def _all(rows: IndexedRows, follower: Follower) -> Iterator[tuple[int, Any]]:
    """The rows that were there at the beginning, each as it is when its turn comes."""
    for number in in_pieces(rows.everything()):
        if not follower.is_new(number):
            follower.passed = number
            yield number, rows.by_number[number]


class _Paths:
    """The path of each account, looked up once: accounts never move."""

    def __init__(self, rows: IndexedRows) -> None:
        self._rows = rows
        self._known: dict[str, Path] = {}

    def of(self, record: Any) -> Path:
        if not self._rows.table.has_path:
            return ()
        id = account_id_of(record)
        path = self._known.get(id)
        if path is None:
            path = self._known[id] = self._rows.path_of(record)
        return path

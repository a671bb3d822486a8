"""The store of a world that lives as long as its process: dictionaries, and sorted indexes.

The cost of a write and of a page of results does not grow with what is stored: rows are numbered
in the order of their first put, and an index holds the numbers of its rows in a sorted list.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from heapq import merge
from itertools import islice
from operator import attrgetter
from typing import Any

from sortedcontainers import SortedList

from sandbox.domain.events import Message
from sandbox.store.port import DuplicateValue, R, Record, UnitClosed, Where
from sandbox.store.tables import TABLES, Table


class _Rows:
    """The rows of one table."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self.id_of = attrgetter(table.key)
        self.by_id: dict[str, Any] = {}
        self.number_of: dict[str, int] = {}
        self.by_number: dict[int, Any] = {}
        self.unique: dict[str, dict[str, Any]] = {name: {} for name in table.unique}
        self.indexes: dict[str, dict[str, SortedList]] = {name: {} for name in table.indexes}
        self.next_number = 0

    def clashes(self, record: Any) -> str | None:
        """The unique index in which another record already has this one's value."""
        id = self.id_of(record)
        for name, index in self.table.unique.items():
            for value in index(record):
                holder = self.unique[name].get(value)
                if holder is not None and self.id_of(holder) != id:
                    return name
        return None

    def put(self, record: Any) -> None:
        id = self.id_of(record)
        old = self.by_id.get(id)
        if old is None:
            number = self.number_of[id] = self.next_number
            self.next_number += 1
        else:
            number = self.number_of[id]
        self.by_id[id] = self.by_number[number] = record
        for name, index in self.table.unique.items():
            for value in index(record):
                self.unique[name][value] = record
        for name, index in self.table.indexes.items():
            self._move(self.indexes[name], number, () if old is None else index(old), index(record))

    @staticmethod
    def _move(
        entries: dict[str, SortedList], number: int, before: Iterable[str], after: Iterable[str]
    ) -> None:
        if before == after:
            return
        for value in before:
            entries[value].remove(number)
        for value in after:
            if value not in entries:
                entries[value] = SortedList()
            entries[value].add(number)

    def find(self, where: Where, limit: int | None, offset: int) -> tuple[list[Any], int]:
        """A page, newest first, and the total."""
        matching = self._matching(where)
        stop = None if limit is None else offset + limit
        page = [self.by_number[number] for number in islice(reversed(matching), offset, stop)]
        return page, len(matching)

    def _matching(self, where: Where) -> Sequence[int]:
        """The numbers of all rows that match every index, ascending."""
        if not where:
            # Rows are never removed, so that their numbers have no gaps.
            return range(self.next_number)
        found = [self._any_of(name, values) for name, values in where.items()]
        if len(found) == 1:
            return found[0]
        found.sort(key=len)
        others = [frozenset(numbers) for numbers in found[1:]]
        return [number for number in found[0] if all(number in other for other in others)]

    def _any_of(self, name: str, values: str | Collection[str]) -> Sequence[int]:
        index = self.indexes[name]
        if isinstance(values, str):
            return index.get(values, ())  # type: ignore[no-any-return]
        lists = [index[value] for value in dict.fromkeys(values) if value in index]
        if len(lists) == 1:
            return lists[0]  # type: ignore[no-any-return]
        numbers = merge(*lists)
        # A row may stand under several of the values; it is found once.
        return list(dict.fromkeys(numbers))


class MemoryStore:
    """A store in memory. Fulfils `port.Store`.

    A watcher is called with every committed record of its kind: whoever finds worlds by key
    learns of new keys that way, whichever operation made them.
    """

    def __init__(self, watchers: Mapping[type, Callable[[Any], None]] | None = None) -> None:
        self._watchers = watchers or {}
        self.clear()

    def clear(self) -> None:
        self._rows = {table.kind: _Rows(table) for table in TABLES}
        self._messages: list[Message] = []
        self._message_by_id: dict[str, Message] = {}

    def begin(self) -> "MemoryUnit":
        return MemoryUnit(self)

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        return self._rows[kind].unique[index].get(value)

    def messages(self) -> Sequence[Message]:
        return self._messages

    def message(self, id: str) -> Message | None:
        return self._message_by_id.get(id)


class MemoryUnit:
    """A unit of work over a `MemoryStore`. Fulfils `port.UnitOfWork`."""

    __slots__ = ("_emitted", "_open", "_put", "_store")

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._put: dict[tuple[type, str], Record] = {}
        self._emitted: list[Message] = []
        self._open = True

    def get(self, kind: type[R], id: str) -> R | None:
        if self._put:
            own = self._put.get((kind, id))
            if own is not None:
                return own  # type: ignore[return-value]
        return self._store._rows[kind].by_id.get(id)

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        return self._store.one(kind, index, value)

    def find(
        self, kind: type[R], where: Where, *, limit: int | None = None, offset: int = 0
    ) -> tuple[list[R], int]:
        return self._store._rows[kind].find(where, limit, offset)

    def put(self, record: Record) -> None:
        self._must_be_open()
        rows = self._store._rows[type(record)]
        self._put[type(record), rows.id_of(record)] = record

    def emit(self, message: Message) -> None:
        self._must_be_open()
        self._emitted.append(message)

    def commit(self) -> None:
        self._must_be_open()
        self._open = False
        self._refuse_duplicates()
        store = self._store
        for (kind, _), record in self._put.items():
            store._rows[kind].put(record)
            if (watcher := store._watchers.get(kind)) is not None:
                watcher(record)
        for message in self._emitted:
            store._messages.append(message)
            store._message_by_id[message.id] = message

    def _refuse_duplicates(self) -> None:
        """Everything is checked before anything is changed."""
        claimed: set[tuple[type, str, str]] = set()
        for (kind, _), record in self._put.items():
            rows = self._store._rows[kind]
            clash = rows.clashes(record)
            for name, index in rows.table.unique.items():
                claims = {(kind, name, value) for value in index(record)}
                if not claims.isdisjoint(claimed):
                    clash = name
                claimed |= claims
            if clash:
                raise DuplicateValue(f"{rows.table.name}: another record has this {clash}")

    def _must_be_open(self) -> None:
        if not self._open:
            raise UnitClosed("this unit of work was committed; begin another")

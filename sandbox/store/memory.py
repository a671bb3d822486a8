"""The store of a world that lives as long as its process: dictionaries, and sorted indexes.

The cost of a write and of a page of results does not grow with what is stored: rows are numbered
in the order of their first put, and an index holds the numbers of its rows in a sorted list.
Where several indexes have to agree, the shortest is gone through, and the answer is remembered.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import merge
from operator import attrgetter
from typing import Any

from sortedcontainers import SortedList

from sandbox.domain.accounts import Account
from sandbox.domain.events import Message
from sandbox.domain.records import Record, account_id_of
from sandbox.store.answers import Answers, Condition, Question
from sandbox.store.grams import TextIndex
from sandbox.store.port import DuplicateValue, R, UnitClosed, Where
from sandbox.store.tables import EVERYTHING, TABLES, Path, Table

PathOf = Callable[[Record], Path]


class _Rows:
    """The rows of one table."""

    def __init__(self, table: Table, path_of: PathOf) -> None:
        self.table = table
        self.id_of = attrgetter(table.key)
        self.path_of = path_of
        self.by_id: dict[str, Any] = {}
        self.number_of: dict[str, int] = {}
        self.by_number: dict[int, Any] = {}
        self.unique: dict[str, dict[str, Any]] = {name: {} for name in table.unique}
        self.indexes: dict[str, dict[str, SortedList]] = {name: {} for name in table.indexes}
        # Built when somebody first searches, since most worlds never do.
        self.texts: dict[str, TextIndex] = {}
        self.answers = Answers()
        self.next_number = 0

    def claims(self, record: Any) -> list[tuple[str, str]]:
        """The values that the record takes in unique indexes, with the index of each."""
        return [
            (name, value)
            for name, index in self.table.unique.items()
            for value in index(record, ())
        ]

    def holder(self, name: str, value: str) -> str | None:
        """The id of the record that has this value in a unique index."""
        record = self.unique[name].get(value)
        return None if record is None else self.id_of(record)

    def put(self, record: Any) -> None:
        id = self.id_of(record)
        old = self.by_id.get(id)
        if old is None:
            number = self.number_of[id] = self.next_number
            self.next_number += 1
        else:
            number = self.number_of[id]
        self.by_id[id] = self.by_number[number] = record
        for name, value in self.claims(record):
            self.unique[name][value] = record
        path = self.path_of(record)
        old_path = () if old is None else self.path_of(old)
        for name, index in self.table.indexes.items():
            before = () if old is None else index(old, old_path)
            after = index(record, path)
            if before != after:
                _move(self.indexes[name], number, before, after)
        for name, text_index in self.texts.items():
            texts = self.table.texts[name]
            text_index.move(number, () if old is None else texts(old), texts(record))
        self.answers.note_change(number)

    def find(self, where: Where, limit: int | None, offset: int) -> tuple[list[Any], int]:
        """A page, newest first, and the total."""
        matching = self._matching(where)
        total = len(matching)
        end = max(total - offset, 0)
        start = 0 if limit is None else max(end - limit, 0)
        # A slice of a sorted list costs what it holds, however deep into the list it lies.
        page = [self.by_number[number] for number in reversed(matching[start:end])]
        return page, total

    def _matching(self, where: Where) -> Sequence[int]:
        """The numbers of all rows that match every condition, ascending."""
        if not where:
            # Rows are never removed, so that their numbers have no gaps.
            return range(self.next_number)
        conditions = [self._condition(name, values) for name, values in where.items()]
        if len(conditions) == 1 and conditions[0].is_exact:
            return conditions[0].candidates
        return self.answers.matching(_question(where), conditions)

    def _condition(self, name: str, values: str | Collection[str]) -> Condition:
        if name in self.table.texts:
            return self._text_condition(name, str(values))
        index = self.indexes[name]
        if isinstance(values, str):
            return Condition(
                index.get(values, ()), True, lambda number: number in index.get(values, ())
            )
        wanted = tuple(dict.fromkeys(values))
        lists = [index[value] for value in wanted if value in index]
        # A row may stand under several of the values; it is found once.
        candidates = lists[0] if len(lists) == 1 else SortedList(dict.fromkeys(merge(*lists)))
        return Condition(
            candidates,
            True,
            lambda number: any(number in index.get(value, ()) for value in wanted),
        )

    def _text_condition(self, name: str, piece: str) -> Condition:
        texts, wanted = self.table.texts[name], piece.lower()
        candidates, is_exact = self._text_index(name).candidates(piece)
        return Condition(
            candidates,
            is_exact,
            lambda number: any(
                text is not None and wanted in text.lower()
                for text in texts(self.by_number[number])
            ),
        )

    def _text_index(self, name: str) -> TextIndex:
        text_index = self.texts.get(name)
        if text_index is None:
            text_index, texts = TextIndex(), self.table.texts[name]
            for number, record in self.by_number.items():
                text_index.move(number, (), texts(record))
            self.texts[name] = text_index
        return text_index


def _question(where: Where) -> Question:
    """The conditions as something to remember an answer by."""
    return frozenset(
        (name, values if isinstance(values, str) else tuple(values))
        for name, values in where.items()
    )


def _move(
    entries: dict[str, SortedList], number: int, before: Sequence[str], after: Sequence[str]
) -> None:
    for value in before:
        entries[value].remove(number)
    for value in after:
        if value not in entries:
            entries[value] = SortedList()
        entries[value].add(number)


class MemoryStore:
    """A store in memory. Fulfils `port.Store`.

    A watcher is called with every committed record of its kind: whoever finds worlds by key
    learns of new keys that way, whichever operation made them.
    """

    def __init__(self, watchers: Mapping[type, Callable[[Any], None]] | None = None) -> None:
        self._watchers = watchers or {}
        self.clear()

    def clear(self) -> None:
        self._rows = {table.kind: _Rows(table, self._path_of) for table in TABLES}
        self._accounts = self._rows[Account].by_id
        self._messages: list[Message] = []
        self._message_by_id: dict[str, Message] = {}

    def _path_of(self, record: Record) -> Path:
        account_id = account_id_of(record)
        account = record if isinstance(record, Account) else self._accounts.get(account_id)
        parents = account.parent_account_ids if account is not None else ()
        return (EVERYTHING, *parents, account_id)

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
        if not self._put and not self._emitted:
            return
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
        claimed: dict[tuple[type, str, str], str] = {}
        for (kind, id), record in self._put.items():
            rows = self._store._rows[kind]
            for name, value in rows.claims(record):
                holder = claimed.setdefault((kind, name, value), rows.holder(name, value) or id)
                if holder != id:
                    raise DuplicateValue(f"{rows.table.name}: another record has this {name}")

    def _must_be_open(self) -> None:
        if not self._open:
            raise UnitClosed("this unit of work was committed; begin another")

"""The store of a world that lives as long as its process: dictionaries, and sorted indexes.

The cost of a write and of a page of results does not grow with what is stored. Rows are numbered
in the order in which they are listed: by their moment where their table has one, then by their
first put. An index is built when somebody first asks by it, since most worlds are never asked by
most of them, and follows every write from then on. Where several have to agree, the shortest is
gone through, and the answer is remembered.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final

from sandbox.domain.accounts import Account
from sandbox.domain.events import Message
from sandbox.domain.records import Record, account_id_of
from sandbox.domain.timers import Timer
from sandbox.store.answers import Answers, Condition, Question
from sandbox.store.grams import TextIndex
from sandbox.store.indexes import Index, position
from sandbox.store.port import (
    ANY_TIME,
    NEWEST_FIRST,
    Between,
    DuplicateValue,
    Order,
    R,
    UnitClosed,
    Where,
)
from sandbox.store.tables import EVERYTHING, TABLES, Path, Table, in_two
from sandbox.store.timers import Timers

PathOf = Callable[[Record], Path]
Claims = Sequence[tuple[str, str, str]]  # a unique index, and both parts of the value

_PUT_BITS: Final = 40
"""A number is the moment in milliseconds, then so many bits for the order of puts."""


class _Rows:
    """The rows of one table."""

    def __init__(self, table: Table, path_of: PathOf) -> None:
        self.table = table
        self.id_of = attrgetter(table.key)
        self.path_of = path_of
        self.number_of: dict[str, int] = {}
        self.by_number: dict[int, Any] = {}
        # By both parts of a value, which are the record's own texts: joined they would need memory.
        self.unique = {name: defaultdict[str, dict[str, int]](dict) for name in table.unique}
        self.indexes: dict[str, Index] = {}
        self.texts: dict[str, TextIndex] = {}
        self.answers = Answers()
        self.put_so_far = 0

    # --- one row

    def get(self, id: str) -> Any:
        """The record with this id; None when there is none."""
        number = self.number_of.get(id)
        return None if number is None else self.by_number[number]

    def one(self, name: str, value: str) -> Any:
        """The record that has this value in a unique index; None when none has."""
        first, second = in_two(value)
        number = self.unique[name].get(first, {}).get(second)
        return None if number is None else self.by_number[number]

    def claims(self, id: str, record: Any) -> Claims:
        """The values that the record newly takes in unique indexes, with the index of each.

        Raises DuplicateValue where another record has one.
        """
        own, claims = self.number_of.get(id), []
        for name, index in self.table.unique.items():
            taken = self.unique[name]
            for first, second in index(record):
                number = taken[first].get(second)
                if number is None:
                    claims.append((name, first, second))
                elif number != own:
                    raise DuplicateValue(f"{self.table.name}: another record has this {name}")
        return claims

    def put(self, id: str, record: Any, claims: Claims) -> None:
        number = self.number_of.get(id)
        if number is None:
            old, number = None, self._new_number(record)
            self.number_of[id] = number
        else:
            old = self.by_number[number]
        self.by_number[number] = record
        for name, first, second in claims:
            self.unique[name][first][second] = number
        if self.indexes or self.texts:
            keeps_place = self.table.keeps_place
            if old is None or keeps_place is None or not keeps_place(old, record):
                self._reindex(number, old, record)
        self.answers.note_change(number)
        self.put_so_far += 1

    def _new_number(self, record: Any) -> int:
        put, moment = len(self.by_number), self.table.moment
        return put if moment is None else moment(record) << _PUT_BITS | put

    def _reindex(self, number: int, old: Any, record: Any) -> None:
        path = self.path_of(record)
        old_path = () if old is None else self.path_of(old)
        for name, entries in self.indexes.items():
            index = self.table.indexes[name]
            before = () if old is None else index(old, old_path)
            after = index(record, path)
            if before != after:
                entries.move(number, before, after)
        for name, text_index in self.texts.items():
            texts = self.table.texts[name]
            text_index.move(number, () if old is None else texts(old), texts(record))

    # --- many rows

    def find(
        self, where: Where, limit: int | None, offset: int, between: Between, order: Order
    ) -> tuple[list[Any], int]:
        """A page in the order asked for, and the total."""
        if offset == 0 and limit is not None and order is NEWEST_FIRST and between == ANY_TIME:
            numbers = self._matching(where)
            newest = numbers[len(numbers) - limit :] if limit < len(numbers) else numbers
            return [self.by_number[number] for number in reversed(newest)], len(numbers)
        found: Sequence[Any]
        if order.by:
            found = self._ranked(where, between, order.by)
            first, last = 0, len(found)
        else:
            found = self._matching(where)
            first, last = _window(found, between)
        total = last - first
        if order.is_descending:
            end = max(last - offset, first)
            start = first if limit is None else max(end - limit, first)
        else:
            start = min(first + offset, last)
            end = last if limit is None else min(start + limit, last)
        # A slice of a sorted list costs what it holds, however deep into the list it lies.
        page: list[Any] = list(found[start:end])
        if order.by:
            page = [number for _, number in page]
        if order.is_descending:
            page.reverse()
        return [self.by_number[number] for number in page], total

    def _matching(self, where: Where) -> Sequence[int]:
        """The numbers of all rows that match every condition, ascending."""
        if not where:
            return self._everything()
        if len(where) == 1:
            ((name, values),) = where.items()
            if isinstance(values, str) and name in self.table.indexes:
                return self._index(name).rows(values)
        return self.answers.matching(_question(where), self._conditions(where))

    def _ranked(self, where: Where, between: Between, by: str) -> Sequence[tuple[int, int]]:
        """Rank and number of the rows that match, ascending."""
        rank, by_number = self.table.orders[by], self.by_number
        conditions = self._conditions(where)
        question = _question(where)
        if between != ANY_TIME:
            question |= {("", between)}
            first, last = _bounds(between)
            conditions.append(Condition(lambda number: first <= number < last))
        return self.answers.ranked(question, conditions, by, lambda number: rank(by_number[number]))

    def _everything(self) -> Sequence[int]:
        # Rows are never removed, so that numbers without a moment have no gaps.
        if self.table.moment is None:
            return range(len(self.by_number))
        return sorted(self.by_number)

    def _conditions(self, where: Where) -> list[Condition]:
        conditions = [self._condition(name, values) for name, values in where.items()]
        if not any(one.rows for one in conditions):
            everything = self._everything()
            conditions.append(
                Condition(lambda number: True, lambda: everything, len(everything), True)
            )
        return conditions

    def _condition(self, name: str, values: Any) -> Condition:
        table, by_number = self.table, self.by_number
        if name in table.filters:
            fits = table.filters[name]
            return Condition(lambda number: fits(by_number[number], values))
        if name in table.texts:
            return self._text_condition(name, str(values))
        index = self._index(name)
        wanted: Collection[str] = (
            (values,) if isinstance(values, str) else tuple(dict.fromkeys(values))
        )
        return Condition(
            lambda number: any(index.has(value, number) for value in wanted),
            lambda: index.rows_of_any(wanted),
            sum(len(index.rows(value)) for value in wanted),
            True,
        )

    def _index(self, name: str) -> Index:
        index = self.indexes.get(name)
        if index is None:
            index, values_of = Index(), self.table.indexes[name]
            index.fill(
                (number, values_of(self.by_number[number], self.path_of(self.by_number[number])))
                for number in sorted(self.by_number)
            )
            self.indexes[name] = index
        return index

    def _text_condition(self, name: str, piece: str) -> Condition:
        texts, wanted = self.table.texts[name], piece.lower()
        candidates, is_exact = self._text_index(name).candidates(piece)
        return Condition(
            lambda number: any(
                text is not None and wanted in text.lower()
                for text in texts(self.by_number[number])
            ),
            lambda: candidates,
            len(candidates),
            is_exact,
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
        (name, values if isinstance(values, str | int) else tuple(values))
        for name, values in where.items()
    )


def _bounds(between: Between) -> tuple[float, float]:
    """The smallest number of a row of that time, and the first that is too large."""
    first_ms, last_ms = between
    first = float("-inf") if first_ms is None else first_ms << _PUT_BITS
    last = float("inf") if last_ms is None else (last_ms + 1) << _PUT_BITS
    return first, last


def _window(numbers: Sequence[int], between: Between) -> tuple[int, int]:
    """Which of the ascending numbers lie in that time."""
    first_ms, last_ms = between
    first = 0 if first_ms is None else position(numbers, first_ms << _PUT_BITS)
    last = len(numbers) if last_ms is None else position(numbers, (last_ms + 1) << _PUT_BITS)
    return first, max(first, last)


class MemoryStore:
    """A store in memory. Fulfils `port.Store`.

    A watcher is called with every committed record of its kind: whoever finds worlds by key
    learns of new keys that way, whichever operation made them. `on_messages` is called with the
    messages of every commit that has some.
    """

    def __init__(
        self,
        watchers: Mapping[type, Callable[[Any], None]] | None = None,
        on_messages: Callable[[Sequence[Message]], None] | None = None,
    ) -> None:
        self._watchers = watchers or {}
        self._on_messages = on_messages
        self.clear()

    def clear(self) -> None:
        self._rows = {table.kind: _Rows(table, self._path_of) for table in TABLES}
        self._accounts = self._rows[Account]
        self._messages: list[Message] = []
        self._message_by_id: dict[str, Message] = {}
        self._timers = Timers()

    def _path_of(self, record: Record) -> Path:
        account_id = account_id_of(record)
        account = record if isinstance(record, Account) else self._accounts.get(account_id)
        parents = account.parent_account_ids if account is not None else ()
        return (EVERYTHING, *parents, account_id)

    def begin(self) -> "MemoryUnit":
        return MemoryUnit(self)

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        return self._rows[kind].one(index, value)  # type: ignore[no-any-return]

    def messages(self) -> Sequence[Message]:
        return self._messages

    def message(self, id: str) -> Message | None:
        # Hardly anybody asks: they are put in order for it only then.
        by_id = self._message_by_id
        by_id.update((one.id, one) for one in self._messages[len(by_id) :])
        return by_id.get(id)

    def next_timer(self) -> Timer | None:
        return self._timers.next()


class MemoryUnit:
    """A unit of work over a `MemoryStore`. Fulfils `port.UnitOfWork`."""

    __slots__ = ("_emitted", "_open", "_put", "_store", "_timed")

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._put: dict[tuple[type, str], tuple[_Rows, str, Record]] = {}
        self._emitted: list[Message] = []
        self._timed: list[Timer | tuple[str, str]] = []
        self._open = True

    def get(self, kind: type[R], id: str) -> R | None:
        if self._put:
            own = self._put.get((kind, id))
            if own is not None:
                return own[2]  # type: ignore[return-value]
        rows = self._store._rows[kind]
        number = rows.number_of.get(id)
        return None if number is None else rows.by_number[number]

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        return self._store.one(kind, index, value)

    def find(
        self,
        kind: type[R],
        where: Where,
        *,
        limit: int | None = None,
        offset: int = 0,
        between: Between = ANY_TIME,
        order: Order = NEWEST_FIRST,
    ) -> tuple[list[R], int]:
        return self._store._rows[kind].find(where, limit, offset, between, order)

    def changes(self, *kinds: type) -> int:
        rows = self._store._rows
        return sum([rows[kind].put_so_far for kind in kinds])

    def put(self, record: Record) -> None:
        self._must_be_open()
        kind = type(record)
        rows = self._store._rows[kind]
        id = rows.id_of(record)
        self._put[kind, id] = (rows, id, record)

    def emit(self, message: Message) -> None:
        self._must_be_open()
        self._emitted.append(message)

    def schedule(self, timer: Timer) -> None:
        self._must_be_open()
        self._timed.append(timer)

    def cancel(self, kind: str, subject: str) -> None:
        self._must_be_open()
        self._timed.append((kind, subject))

    def commit(self) -> None:
        self._must_be_open()
        self._open = False
        store = self._store
        puts = list(self._put.values())
        # Everything is checked before anything is changed.
        claims = [rows.claims(id, record) if rows.unique else () for rows, id, record in puts]
        if len(puts) > 1:
            _must_differ(puts, claims)
        for (rows, id, record), claimed in zip(puts, claims, strict=True):
            rows.put(id, record, claimed)
            if (watcher := store._watchers.get(type(record))) is not None:
                watcher(record)
        store._messages += self._emitted
        for timed in self._timed:
            if isinstance(timed, Timer):
                store._timers.set(timed)
            else:
                store._timers.cancel(*timed)
        if self._emitted and store._on_messages is not None:
            store._on_messages(self._emitted)

    def _must_be_open(self) -> None:
        if not self._open:
            raise UnitClosed("this unit of work was committed; begin another")


def _must_differ(puts: list[tuple[_Rows, str, Record]], claims: list[Claims]) -> None:
    """Two records that are put together must not claim one value either."""
    seen: set[tuple[str, tuple[str, str, str]]] = set()
    for (rows, _, _), claimed in zip(puts, claims, strict=True):
        for claim in claimed:
            if (rows.table.name, claim) in seen:
                raise DuplicateValue(f"{rows.table.name}: another record has this {claim[0]}")
            seen.add((rows.table.name, claim))

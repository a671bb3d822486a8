"""The store of a world that lives as long as its process, and its units of work."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from sandbox.domain.clock import Timer
from sandbox.domain.directory import Account
from sandbox.domain.events import Message
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.records import account_id_of
from sandbox.store.building import build_index
from sandbox.store.memory.messages import Messages, ReadText
from sandbox.store.memory.table import Claims, Rows
from sandbox.store.memory.timers import Timers
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
from sandbox.store.preparing import ROWS_AT_ONCE_MAX, Unprepared, preparation
from sandbox.store.steps import Container, Steps
from sandbox.store.tables import EVERYTHING, TABLES, Path, Row
from sandbox.store.world_state import Counters

if TYPE_CHECKING:
    from sandbox.store.files.port import Document, Parsed


class NotesChanges(Protocol):
    """Notes every change of a store, for a file."""

    def note(self, unit: "MemoryUnit") -> None:
        """A unit of work was committed."""

    def note_put(self, rows: Rows, id: str) -> None:
        """One record was put, in a unit of its own."""

    def begin_anew(self) -> None:
        """Everything in the store is different."""


Committed = Callable[[Sequence[Row], Collection[tuple[type, str]], bool], None]
"""Takes the records of a commit, kind and id of those removed, and whether timers changed."""


class MemoryStore:
    """A store in memory. Fulfils `port.Store`.

    A watcher is called with every committed record of its kind: the registry learns of new keys
    that way, whichever operation made them. `on_messages` is called with the messages of every
    commit that has some. `log` notes every change, if there is one. `on_commit` is called with the
    records of every commit, with those that it removed, and whether it set or canceled timers.
    `ids_may_repeat`: people could edit the documents of the store, and with them the count of
    draws.
    """

    def __init__(
        self,
        watchers: Mapping[type, Callable[[Any], None]] | None = None,
        on_messages: Callable[[Sequence[Message]], None] | None = None,
    ) -> None:
        self._watchers = watchers or {}
        self._on_messages = on_messages
        self.log: NotesChanges | None = None
        self.on_commit: Committed | None = None
        self.clear()

    def clear(self) -> None:
        """Forget everything: the state of a store that was never written to."""
        self._rows: dict[type, Rows] = {
            table.kind: Rows(table, self._path_of if table.has_path else _no_path)
            for table in TABLES
        }
        self._accounts = self._rows[Account]
        self._messages = Messages()
        self._timers = Timers()
        self._counters = Counters()
        self.ids_may_repeat = False

    def take_over(self, other: "MemoryStore") -> None:
        """Replace everything here with the content of the other, which is not used any more."""
        self._rows, self._accounts = other._rows, other._accounts
        self._messages, self._timers = other._messages, other._timers
        self._counters, self.ids_may_repeat = other._counters, other.ids_may_repeat
        for rows in self._rows.values():
            if rows.table.has_path:
                rows.path_of = self._path_of
        if self.log is not None:
            self.log.begin_anew()

    def containers(self) -> list[Container]:
        """All containers of records and messages, to be freed."""
        of_rows = [one for rows in self._rows.values() for one in rows.containers()]
        return [*of_rows, *self._messages.containers(), *self._timers.containers()]

    def _path_of(self, record: Any) -> Path:
        account_id = account_id_of(record)
        account = record if isinstance(record, Account) else self._accounts.get(account_id)
        parents = account.parent_account_ids if account is not None else ()
        return (EVERYTHING, *parents, account_id)

    def begin(self) -> "MemoryUnit":
        return MemoryUnit(self)

    def put(self, record: Row) -> None:
        kind = type(record)
        rows = self._rows[kind]
        if rows.unique:
            unit = self.begin()
            unit.put(record)
            unit.commit()
            return
        # Quicker than a unit of work: a key that is used does this with every request.
        id = rows.id_of(record)
        number = rows.number_of.get(id)
        if number is None or not rows.is_plain:
            rows.put(id, record, ())
        else:
            rows.by_number[number] = record
        if (watcher := self._watchers.get(kind)) is not None:
            watcher(record)
        if self.log is not None:
            self.log.note_put(rows, id)
        if self.on_commit is not None:
            self.on_commit((record,), (), False)

    @property
    def counters(self) -> Counters:
        return self._counters

    def get(self, kind: type[R], id: str) -> R | None:
        # As Rows.get does, without a call: every request gets several records.
        rows = self._rows[kind]
        number = rows.number_of.get(id)
        return None if number is None else rows.by_number[number]

    def all(self, kind: type[R]) -> Mapping[str, R]:
        return self._rows[kind].all

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        return self._rows[kind].one(index, value)  # type: ignore[no-any-return]

    def messages(self) -> Sequence[Message]:
        return self._messages

    def message(self, id: str) -> Message | None:
        return self._messages.by_id(id)

    def place_of(self, message_id: str) -> int | None:
        return self._messages.place_of(message_id)

    def messages_now(self) -> Messages:
        return self._messages.as_now()

    def timer(self, kind: str, subject: str, tag: str = "") -> Timer | None:
        return self._timers.get(kind, subject, tag)

    @property
    def timers(self) -> Timers:
        """The timers, by due time."""
        return self._timers

    def rows(self, kind: type) -> Rows:
        """The table of that kind of record."""
        return self._rows[kind]

    def tables(self) -> Iterator[tuple[str, Rows]]:
        """Every table of records, with its name."""
        return ((rows.table.name, rows) for rows in self._rows.values())

    def prepare(self) -> Steps[None]:
        """Build the indexes of large tables that changes query: changes cannot wait for them.

        Empty tables have theirs from the start, at no cost. Records that were never read are left
        out: reading all of them takes longer than waiting.
        """
        for rows in self._rows.values():
            count = len(rows.number_of)
            if not count or (count > ROWS_AT_ONCE_MAX and not rows.by_number.documents):
                for name in rows.table.for_changes:
                    yield from build_index(rows, name)

    def restore_messages(self, documents: "Sequence[Document | Parsed]", read: ReadText) -> None:
        """Take over the documents of messages of an earlier run; `read` gives a body."""
        transactions = self._rows[Transaction]
        self._messages = Messages(documents, read, lambda one: transactions.get(one).origin)

    def restore_counters(self, counters: Counters) -> None:
        """Count on from an earlier run."""
        self._counters = counters

    def next_timer(self) -> Timer | None:
        return self._timers.soonest


def _no_path(record: object) -> Path:
    return ()


class MemoryUnit:
    """A unit of work over a `MemoryStore`. Fulfils `port.UnitOfWork`.

    A unit that `can_wait` raises Unprepared if a query is long work that can be prepared.
    """

    __slots__ = ("_emitted", "_open", "_put", "_removed", "_store", "_timed", "can_wait")

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._put: dict[tuple[type, str], tuple[Rows, str, Row]] = {}
        self._removed: dict[tuple[type, str], Rows] = {}
        self._emitted: list[Message] = []
        self._timed: list[Timer | tuple[str, str, str]] = []
        self._open = True
        self.can_wait = False

    def get(self, kind: type[R], id: str) -> R | None:
        if self._put:
            own = self._put.get((kind, id))
            if own is not None:
                return own[2]  # type: ignore[return-value]
        if self._removed and (kind, id) in self._removed:
            return None
        rows = self._store._rows[kind]
        number = rows.number_of.get(id)
        return None if number is None else rows.by_number[number]

    def one(self, kind: type[R], index: str, value: str) -> R | None:
        return self._store._rows[kind].one(index, value)  # type: ignore[no-any-return]

    def newest(self, kind: type[R], index: str, value: str) -> R | None:
        return self._store._rows[kind].newest(index, value)  # type: ignore[no-any-return]

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
        rows = self._store._rows[kind]
        if self.can_wait:

            def steps() -> Steps[None] | None:
                return preparation(rows, where, limit=limit, between=between, order=order)

            if steps() is not None:
                raise Unprepared(steps)
        return rows.find(where, limit, offset, between, order)

    def put(self, record: Row) -> None:
        self._must_be_open()
        kind = type(record)
        rows = self._store._rows[kind]
        id = rows.id_of(record)
        self._put[kind, id] = (rows, id, record)
        if self._removed:
            self._removed.pop((kind, id), None)

    def remove(self, kind: type[R], id: str) -> None:
        self._must_be_open()
        self._put.pop((kind, id), None)
        self._removed[kind, id] = self._store._rows[kind]

    def emit(self, message: Message) -> None:
        self._must_be_open()
        self._emitted.append(message)

    def schedule(self, timer: Timer) -> None:
        self._must_be_open()
        self._timed.append(timer)

    def cancel(self, kind: str, subject: str, tag: str = "") -> None:
        self._must_be_open()
        self._timed.append((kind, subject, tag))

    def commit(self) -> None:
        self._must_be_open()
        self._open = False
        if not (self._put or self._emitted or self._timed or self._removed):
            return
        store = self._store
        puts = list(self._put.values())
        # Everything is checked before anything is changed.
        unique_values = [
            rows.unique_values(id, record) if rows.unique else () for rows, id, record in puts
        ]
        if len([claimed for claimed in unique_values if claimed]) > 1:
            _must_differ(puts, unique_values)
        for (rows, id, record), claimed in zip(puts, unique_values, strict=True):
            rows.put(id, record, claimed)
            if (watcher := store._watchers.get(type(record))) is not None:
                watcher(record)
        for (_, id), rows in self._removed.items():
            rows.remove(id)
        store._messages.extend(self._emitted)
        for timed in self._timed:
            if isinstance(timed, Timer):
                store._timers.set(timed)
            else:
                store._timers.cancel(*timed)
        self._tell(store)

    def _tell(self, store: MemoryStore) -> None:
        if store.log is not None:
            store.log.note(self)
        if self._emitted and store._on_messages is not None:
            store._on_messages(self._emitted)
        if store.on_commit is not None:
            records = [record for _, _, record in self._put.values()]
            store.on_commit(records, self._removed, bool(self._timed))

    # --- for the log

    def changed(self) -> Iterator[tuple[Rows, str]]:
        """The records that were put or removed: table and id."""
        for rows, id, _ in self._put.values():
            yield rows, id
        for (_, id), rows in self._removed.items():
            yield rows, id

    @property
    def emitted(self) -> Sequence[Message]:
        """The messages that were announced."""
        return self._emitted

    @property
    def timed(self) -> Sequence[Timer | tuple[str, str, str]]:
        """Timers that were set, and kind, subject and tag of those canceled."""
        return self._timed

    def _must_be_open(self) -> None:
        if not self._open:
            raise UnitClosed("this unit of work was committed; begin another")


def _must_differ(puts: list[tuple[Rows, str, Row]], unique_values: list[Claims]) -> None:
    """Two records that are put together must not claim one value either."""
    seen: set[tuple[str, tuple[str, str, str]]] = set()
    for (rows, _, _), claimed in zip(puts, unique_values, strict=True):
        for claim in claimed:
            if (rows.table.name, claim) in seen:
                raise DuplicateValue(f"{rows.table.name}: another record has this {claim[0]}")
            seen.add((rows.table.name, claim))

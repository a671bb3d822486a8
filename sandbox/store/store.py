"""The state of a world, and the units of work that change it.

A unit of work reads committed records and its own changes. No other unit sees these changes until
`commit`, which applies records and messages together or not at all. A unit that is dropped without
a commit changes nothing. A unit never lives across an `await`.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, Self

from msgspec import Struct

from sandbox.domain.clock import Timer, timer_id
from sandbox.domain.directory import Account
from sandbox.domain.events import Message
from sandbox.store.records import Claims, Records, Timers, keep
from sandbox.store.tables import MESSAGES, TABLES, TIMERS, R, Row, UnitClosed, Where
from sandbox.store.world_state import Counters


class Store:
    """The state of one world.

    `log`, if there is one, and then `on_commit` are called with every committed unit. `timers` are
    pending, and `counters` are numbers taken one by one, outside units of work. `is_restored` if
    the store was filled from documents.
    """

    def __init__(self, on_commit: "Callable[[UnitOfWork], None] | None" = None) -> None:
        self.log: Callable[[UnitOfWork], None] | None = None
        self.on_commit = on_commit
        self.clear()

    def clear(self) -> None:
        """Forget everything, as if the store had never been written to."""
        self._tables: dict[type, Records] = {}
        for table in (*TABLES, MESSAGES):
            self._tables[table.kind] = Records(table, self._tables.get(Account))
        self.timers = self._tables[Timer] = Timers(TIMERS)
        self.counters = Counters()
        self.is_restored = False

    def take_over(self, other: "Store") -> None:
        """Replace the content with that of another store, which must not be used afterwards."""
        self._tables, self.timers = other._tables, other.timers
        self.counters, self.is_restored = other.counters, other.is_restored

    def begin(self) -> "UnitOfWork":
        """Return a new unit of work."""
        return UnitOfWork(self)

    def put(self, record: Row) -> None:
        """Commit the record in its own unit of work."""
        unit = self.begin()
        unit.put(record)
        unit.commit()

    def get(self, kind: type[R], id: str) -> R | None:
        """Return the committed record with this id, or None."""
        return self._tables[kind].by_id.get(id)

    def all(self, kind: type[R]) -> Mapping[str, R]:
        """Return a live view of all committed records of a kind by id, oldest first."""
        return MappingProxyType(self._tables[kind].by_id)

    def one(self, kind: type[R], lookup: str, value: str) -> R | None:
        """Return the record that has this value in a unique lookup, or None."""
        return self._tables[kind].one(lookup, value)  # type: ignore[no-any-return]

    def messages(self) -> list[Message]:
        """Return every message committed so far, oldest first."""
        return list(self.all(Message).values())

    def place_of(self, message_id: str) -> int | None:
        """Return the number of a message, which is higher than those before it, or None."""
        return self._tables[Message].numbers.get(message_id)

    def timer(self, kind: str, subject: str, tag: str = "") -> Timer | None:
        """Return the timer with this kind, subject and tag, or None."""
        return self.get(Timer, timer_id(kind, subject, tag))

    def table(self, kind: type) -> Records:
        """Return the records of a kind."""
        return self._tables[kind]

    def tables(self) -> Iterator[Records]:
        """Return the records of every kind, accounts first."""
        return iter(self._tables.values())

    def __contains__(self, id: object) -> bool:
        """Whether a record or a message has this id."""
        return any(id in table.by_id for table in self._tables.values())


class UnitOfWork(Struct, eq=False):
    """One consistent change of one world.

    `changed` has the records to put by table and id, or None for a record to remove. `emitted` are
    the messages to announce. `is_open` until the commit. As a context it commits itself at the end
    of the block, unless that fails.
    """

    _store: Store
    changed: dict[tuple[Records, str], Any] = {}
    emitted: list[Message] = []
    is_open: bool = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.commit()

    def get(self, kind: type[R], id: str) -> R | None:
        """Return the record with this id, as this unit sees it, or None."""
        rows = self._store._tables[kind]
        if (rows, id) in self.changed:
            return self.changed[rows, id]  # type: ignore[no-any-return]
        return rows.by_id.get(id)

    def one(self, kind: type[R], lookup: str, value: str) -> R | None:
        """Return the committed record that has this value in a unique lookup, or None."""
        return self._store._tables[kind].one(lookup, value)  # type: ignore[no-any-return]

    def newest(self, kind: type[R], lookup: str, value: str) -> R | None:
        """Return the newest committed record with this value in a lookup, or None."""
        return self._store._tables[kind].newest(lookup, value)  # type: ignore[no-any-return]

    def all_with(self, kind: type[R], lookup: str, value: str) -> list[R]:
        """Return the committed records with this value in a lookup, except deleted ones."""
        return self._store._tables[kind].all_with(lookup, value)

    def find(self, kind: type[R], where: Where, **page: Any) -> tuple[list[R], int]:
        """Return a page of the committed records that match all of `where`, and their total number.

        An empty `where` finds all. The newest come first: the order of creation is by moment if the
        table has one, and otherwise by first put; updates do not change it. The options are those
        of `Records.find`.
        """
        return self._store._tables[kind].find(where, **page)

    def put(self, record: Row) -> None:
        """Add the record, or replace the one with its id, when this unit is committed.

        Put an account before the records that belong to it. Its parents must never change.
        """
        self._must_be_open()
        rows = self._store._tables[type(record)]
        self.changed[rows, rows.id_of(record)] = record
        if rows.table.derives is not None:
            for derived in rows.table.derives(record):
                self.put(derived)

    def remove(self, kind: type[R], id: str) -> None:
        """Remove the record, if there is one, when this unit is committed.

        Only for kinds without lookups: the platform's records stay, marked as deleted.
        """
        self._must_be_open()
        self.changed[self._store._tables[kind], id] = None

    def emit(self, message: Message) -> None:
        """Announce the message when this unit is committed."""
        self.put(message)
        self.emitted.append(message)

    def schedule(self, timer: Timer) -> None:
        """Set a timer, in place of the one with its kind, subject and tag."""
        # Moved to the end, so that it gets the highest number.
        self.changed.pop((self._store.timers, timer.id), None)
        self.put(timer)

    def cancel(self, kind: str, subject: str, tag: str = "") -> None:
        """Cancel the subject's timer of this kind and tag."""
        self.remove(Timer, timer_id(kind, subject, tag))

    def commit(self) -> None:
        """Apply everything at once, and close the unit. Raises DuplicateValue; nothing changed."""
        self._must_be_open()
        self.is_open = False
        if not self.changed:
            return
        store = self._store
        # Everything is checked before anything is changed.
        claims: Claims = {}
        for (rows, id), record in self.changed.items():
            if rows.unique:
                rows.claim(id, record, claims)
        for (rows, id), record in self.changed.items():
            if record is None:
                rows.remove(id)
            else:
                rows.put(id, record)
        keep(claims)
        for listener in (store.log, store.on_commit):
            if listener is not None:
                listener(self)

    def _must_be_open(self) -> None:
        if not self.is_open:
            raise UnitClosed("this unit of work was committed; begin another")

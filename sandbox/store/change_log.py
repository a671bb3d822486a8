"""The committed changes of a store since the last write to a file.

The log reads units of work as they are committed, and writes nothing itself. The cost of a commit
does not grow with the store.
"""

from collections.abc import Callable

from sandbox.domain.clock import Timer, timer_id
from sandbox.domain.events import Message
from sandbox.store.documents import to_text
from sandbox.store.files.port import COUNTERS, TAKEN_IDS, TIMERS, Change, Document
from sandbox.store.records import Records
from sandbox.store.store import Store, UnitOfWork
from sandbox.store.world_documents import (
    Fixture,
    Moment,
    Put,
    counters_document,
    message_documents,
)


class ChangeLog:
    """The changes of the store of one world.

    `on_change` is called after each that has to be durable before an answer. `fixture` is the
    document with which the world began, if the file has to hold it.
    """

    def __init__(
        self,
        world_id: str,
        store: Store,
        fixture: Fixture | None,
        on_change: Callable[[], None],
    ) -> None:
        self._world_id = world_id
        self._store = store
        self._fixture = fixture
        self._on_change = on_change
        self._begins = False
        self.forget()

    @property
    def begins(self) -> bool:
        """Whether everything is to be written."""
        return self._begins

    def forget(self) -> None:
        """The store is as the file has it."""
        self._changed: dict[tuple[str, str], Records] = {}
        self._messages: list[tuple[int, Message]] = []
        self._timers: dict[tuple[str, str, str], None] = {}
        self._counters = counters_document(self._store.counters)

    def begin_anew(self) -> None:
        """Have the next write write everything."""
        self.forget()
        self._begins = True
        self._on_change()

    def note(self, unit: UnitOfWork) -> None:
        """A unit of work was committed."""
        must_wait = bool(unit.emitted or unit.timed)
        for records, id in unit.changed():
            self._changed[records.table.name, id] = records
            must_wait = must_wait or not records.table.can_wait
        first = len(self._store.messages()) - len(unit.emitted)
        self._messages += enumerate(unit.emitted, start=first)
        for timed in unit.timed:
            key = (timed.kind, timed.subject, timed.tag) if isinstance(timed, Timer) else timed
            self._timers[key] = None
        if must_wait:
            self._on_change()

    def take(self) -> Change | None:
        """The changes up to now; None if there are none."""
        puts: list[Put] = []
        gone: list[tuple[str, str]] = []
        if self._begins:
            self._begins = False
            self.forget()
            puts += Moment(self._store, self._fixture).documents()
            if self._store.ids_may_repeat:
                puts.append((TAKEN_IDS, Document(TAKEN_IDS, 0, "{}")))
            return Change(self._world_id, puts, gone, anew=True)
        for (table, id), records in self._changed.items():
            record = records.by_id.get(id)
            if record is None:
                gone.append((table, id))
            else:
                puts.append((table, Document(id, records.numbers[id], to_text(record))))
        for number, message in self._messages:
            puts += message_documents(number, message)
        self._take_timers(puts, gone)
        if (counters := counters_document(self._store.counters)) != self._counters:
            puts.append((COUNTERS, counters))
        self.forget()
        return Change(self._world_id, puts, gone) if puts or gone else None

    def _take_timers(self, puts: list[Put], gone: list[tuple[str, str]]) -> None:
        timers = self._store.timers
        for kind, subject, tag in self._timers:
            timer, number = timers.get(kind, subject, tag), timers.number_of(kind, subject, tag)
            if timer is None or number is None:
                gone.append((TIMERS, timer_id(kind, subject, tag)))
            else:
                puts.append((TIMERS, Document(timer.id, number, to_text(timer))))

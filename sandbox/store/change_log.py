"""The committed changes of a store since the last write to a file.

The log reads units of work as they are committed, and writes nothing itself. The cost of a commit
does not grow with the store.
"""

from collections.abc import Callable, Iterator

from sandbox.domain.clock import Timer, timer_id
from sandbox.domain.events import Message
from sandbox.store.files.port import (
    COUNTERS,
    MESSAGES,
    RECORDS,
    TAKEN_IDS,
    TIMERS,
    Change,
    Document,
)
from sandbox.store.memory.messages import message_text
from sandbox.store.memory.store import MemoryStore, MemoryUnit
from sandbox.store.memory.table import Rows
from sandbox.store.memory.texts import Texts
from sandbox.store.moment import (
    Fixture,
    counters_document,
    timer_document,
    write_all,
)
from sandbox.store.steps import Steps

Put = tuple[str, Document]


class ChangeLog:
    """The changes of the store of one world.

    `on_change` is called after each that has to be durable before an answer. `fixture` is the
    document with which the world began, if the file has to hold it.
    """

    def __init__(
        self,
        world_id: str,
        store: MemoryStore,
        fixture: Fixture | None,
        on_change: Callable[[], None],
    ) -> None:
        self._world_id = world_id
        self._store = store
        self._fixture = fixture
        self._on_change = on_change
        self._texts = Texts()
        self._begins = False
        self.forget()

    @property
    def begins(self) -> bool:
        """Whether everything is to be written."""
        return self._begins

    def forget(self) -> None:
        """The store is as the file has it."""
        self._changed: dict[tuple[str, str], Rows] = {}
        self._messages: list[tuple[int, Message]] = []
        self._timers: dict[tuple[str, str, str], None] = {}
        self._counters = counters_document(self._store.counters)

    def begin_anew(self) -> None:
        self.forget()
        self._begins = True
        self._on_change()

    def note(self, unit: MemoryUnit) -> None:
        must_wait = bool(unit.emitted or unit.timed)
        for rows, id in unit.changed():
            self._changed[rows.table.name, id] = rows
            must_wait = must_wait or not rows.table.can_wait
        first = len(self._store.messages()) - len(unit.emitted)
        self._messages += enumerate(unit.emitted, start=first)
        for timed in unit.timed:
            key = (timed.kind, timed.subject, timed.tag) if isinstance(timed, Timer) else timed
            self._timers[key] = None
        if must_wait:
            self._on_change()

    def note_put(self, rows: Rows, id: str) -> None:
        self._changed[rows.table.name, id] = rows
        if not rows.table.can_wait:
            self._on_change()

    def take(self) -> Steps[Change | None]:
        """The changes up to the first step; None if there are none.

        All documents of a large world take many steps. Changes in the meantime are noted for the
        next write.
        """
        puts: list[Put] = []
        gone: list[tuple[str, str]] = []
        if self._begins:
            self._begins = False
            self.forget()
            yield from write_all(
                self._store, self._fixture, lambda table, one: puts.append((table, one))
            )
            if self._store.ids_may_repeat:
                puts.append((TAKEN_IDS, Document(TAKEN_IDS, 0, "{}")))
            return Change(self._world_id, puts, gone, anew=True)
        for (table, id), rows in self._changed.items():
            if id in rows.number_of:
                puts.append((table, rows.document(id, self._texts)))
            else:
                gone.append((table, id))
        for number, message in self._messages:
            puts += _of_message(number, message, self._texts)
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
                puts.append((TIMERS, timer_document(number, timer)))


def _of_message(number: int, message: Message, texts: Texts) -> Iterator[Put]:
    yield MESSAGES, Document(message.id, number, message_text(message))
    yield RECORDS, Document(message.id, number, texts.of_message(message))

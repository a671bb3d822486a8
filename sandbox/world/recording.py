"""What a state file is to hold of a world: everything as documents, or what changed since.

One recorder stands beside one world. It notes what is committed and writes nothing itself; what a
commit costs does not grow with what the world holds.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json

from sandbox.domain.events import Message
from sandbox.domain.instants import to_wire
from sandbox.domain.timers import Timer
from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.domain.webhooks.endpoints import Endpoint
from sandbox.store.codec import to_document
from sandbox.store.files import MESSAGES, RECORDS, TAKEN_IDS, Change, Document
from sandbox.store.memory import MemoryUnit
from sandbox.store.messages import message_text
from sandbox.store.rows import Rows
from sandbox.store.texts import Texts
from sandbox.world.kept import (
    DELIVERIES,
    ENDPOINTS,
    FIXTURE,
    OF_THE_SERVER,
    SCENARIO,
    TIMERS,
    USES,
    WORLD,
)

if TYPE_CHECKING:
    from sandbox.world.world import World

WHOLE_REMEMBERED_MAX: Final = 50_000
"""So many parts of payments are at hand while the messages about them are written."""

Put = tuple[str, Document]


class Recorder:
    """Notes what a world changes. `numbers` are the places of endpoints and deliveries."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._texts = Texts()
        self.numbers: dict[tuple[str, str], int] = {}
        self._numbered = 0
        self.forget()

    def forget(self) -> None:
        """Nothing has changed."""
        self._world.last_used_at.take_touched()
        self._records: dict[tuple[str, str], Rows] = {}
        self._messages: list[tuple[int, Message]] = []
        self._timers: dict[tuple[str, str, str], None] = {}
        self._deliveries: dict[str, Delivery] = {}
        self._state = ""
        self._scenario: object = None
        self._endpoints: dict[str, Endpoint] = {}
        self._begins = False

    def begin_anew(self) -> None:
        """All of the world is different: it is new, was reset, or another was put in its place."""
        self.forget()
        self._begins = True

    def restored(self, state: str) -> None:
        """The world is as a file has it."""
        self.forget()
        self._state = state
        self._scenario = self._world.scenario and self._world.scenario.scenario
        self._endpoints = dict(self._world.outbox.endpoints)

    def place(self, table: str, id: str, number: int | None = None) -> int:
        """The place of an endpoint or a delivery in its table; `number` is one that it had."""
        key = (table, id)
        if number is not None:
            self.numbers[key] = number
            self._numbered = max(self._numbered, number)
        elif key not in self.numbers:
            self._numbered += 1
            self.numbers[key] = self._numbered
        return self.numbers[key]

    # --- noting

    def note(self, unit: MemoryUnit) -> None:
        """A unit of work was committed."""
        for rows, id, _ in unit.put_records():
            self._records[rows.table.name, id] = rows
        emitted = unit.emitted
        first = len(self._world.store.messages()) - len(emitted)
        self._messages += enumerate(emitted, start=first)
        for timed in unit.timed:
            key = (timed.kind, timed.subject, timed.tag) if isinstance(timed, Timer) else timed
            self._timers[key] = None

    def note_delivery(self, delivery: Delivery) -> None:
        """A delivery changes."""
        self._deliveries[delivery.subject] = delivery

    # --- documents

    def change(self) -> Change | None:
        """What changed since the last time; None when nothing did."""
        world = self._world
        puts: list[Put] = []
        gone: list[tuple[str, str]] = []
        if self._begins:
            puts += self.everything()
            self.restored(puts[0][1].text)
            if world.draws.taken:
                puts.append((TAKEN_IDS, Document(TAKEN_IDS, 0, "{}")))
            return Change(world.id, puts, gone, anew=True)
        puts += [
            (table, rows.document(id, self._texts)) for (table, id), rows in self._records.items()
        ]
        for number, message in self._messages:
            puts += _of_message(number, message, self._texts)
        self._records, self._messages = {}, []
        self._take_timers(puts, gone)
        self._take_webhooks(puts, gone)
        puts += [(USES, self._use_document(id)) for id in world.last_used_at.take_touched()]
        scenario = world.scenario and world.scenario.scenario
        if scenario is not self._scenario:
            self._scenario = scenario
            if scenario is None:
                gone.append((SCENARIO, SCENARIO))
            else:
                puts.append((SCENARIO, self._scenario_document()))
        state = to_json(state_of(world)).decode()
        if state != self._state:
            self._state = state
            puts.append((WORLD, Document(world.id, 0, state)))
        return Change(world.id, puts, gone) if puts or gone else None

    def _take_timers(self, puts: list[Put], gone: list[tuple[str, str]]) -> None:
        timers = self._world.store.timers
        for kind, subject, tag in self._timers:
            timer = timers.get(kind, subject, tag)
            if timer is None:
                gone.append((TIMERS, _timer_id(kind, subject, tag)))
            else:
                puts.append((TIMERS, self._timer_document(timer)))
        self._timers = {}

    def _take_webhooks(self, puts: list[Put], gone: list[tuple[str, str]]) -> None:
        outbox = self._world.outbox
        for delivery in self._deliveries.values():
            puts.append((DELIVERIES, self._document(DELIVERIES, delivery.subject, delivery)))
        self._deliveries = {}
        if outbox.endpoints != self._endpoints:
            for id, endpoint in outbox.endpoints.items():
                if self._endpoints.get(id) is not endpoint:
                    puts.append((ENDPOINTS, self._document(ENDPOINTS, id, endpoint)))
            gone += [(ENDPOINTS, id) for id in self._endpoints if id not in outbox.endpoints]
            self._endpoints = dict(outbox.endpoints)

    def everything(self) -> Iterator[Put]:
        """The whole world, table by table."""
        world, texts = self._world, Texts(WHOLE_REMEMBERED_MAX)
        yield WORLD, Document(world.id, 0, to_json(state_of(world)).decode())
        if world.spec.fixture.document is not None:
            yield FIXTURE, Document(FIXTURE, 0, to_json(world.spec.fixture.document).decode())
        if world.scenario is not None:
            yield SCENARIO, self._scenario_document()
        for table, rows in world.store.tables():
            for id in rows.number_of:
                yield table, rows.document(id, texts)
        for id, endpoint in world.outbox.endpoints.items():
            yield ENDPOINTS, self._document(ENDPOINTS, id, endpoint)
        for number, (id, text, said) in enumerate(world.store.written_messages(texts)):
            yield MESSAGES, Document(id, number, text)
            yield RECORDS, Document(id, number, said)
            for delivery in world.outbox.deliveries_of(id):
                yield DELIVERIES, self._document(DELIVERIES, delivery.subject, delivery)
        for timer in world.store.timers:
            yield TIMERS, self._timer_document(timer)
        for id in world.last_used_at:
            yield USES, self._use_document(id)

    def _use_document(self, id: str) -> Document:
        at = to_wire(self._world.last_used_at[id])
        return Document(id, self.place(USES, id), to_json({"last_used_at": at}).decode())

    def _document(self, table: str, id: str, record: Any) -> Document:
        return Document(id, self.place(table, id), to_json(to_document(record)).decode())

    def _timer_document(self, timer: Timer) -> Document:
        number = self._world.store.timers.number_of(timer.kind, timer.subject, timer.tag)
        assert number is not None
        id = _timer_id(timer.kind, timer.subject, timer.tag)
        return Document(id, number, to_json(to_document(timer)).decode())

    def _scenario_document(self) -> Document:
        assert self._world.scenario
        scenario = self._world.scenario.scenario
        return Document(SCENARIO, 0, scenario.model_dump_json(exclude_unset=True))


def _of_message(number: int, message: Message, texts: Texts) -> Iterator[Put]:
    yield MESSAGES, Document(message.id, number, message_text(message))
    yield RECORDS, Document(message.id, number, texts.of_what_is_said(message))


def _timer_id(kind: str, subject: str, tag: str) -> str:
    return "/".join(part for part in (kind, subject, tag) if part)


# --- what is no record ------------------------------------------------------------------------


def state_of(world: "World") -> dict[str, Any]:
    """All of a world that stands in no table. What has nothing to say is left out."""
    spec = world.spec
    state: dict[str, Any] = {
        "id": spec.id,
        "name": spec.name,
        "seed": spec.seed,
        "fixture": spec.fixture.name,
        # Left out where they are known, as it was before there were others.
        "keys": "" if spec.keys_are_known else OF_THE_SERVER,
        "clock": world.clock.kept(),
        "drawn": world.draws.drawn,
        "requests": world.journal.numbered,
        "switches": dict(world.switches),
        "begins": {
            "clock": {
                "now": spec.clock.now and to_wire(spec.clock.now),
                "mode": spec.clock.mode,
                "rate": spec.clock.rate,
            },
            "invention": spec.invention and asdict(spec.invention),
        },
        "queue": [asdict(entry) for entry in world.queue.waiting()],
        "counts": world.scenario.counts() if world.scenario is not None else [],
        "busy": sorted(world.busy),
        "meant_for": world.outbox.meant_for,
        "terminal_outcomes": world.terminal_outcomes,
    }
    return {name: value for name, value in state.items() if value or value == 0}

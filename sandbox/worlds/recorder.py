"""The documents of a world for a state file: all of them, or the changes since the last write.

Each world has one recorder. It notes commits and writes nothing itself. The cost of a commit does
not grow with the world.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import to_json

from sandbox.domain.events import Message
from sandbox.domain.instants import to_wire
from sandbox.domain.timers import Timer
from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.domain.webhooks.endpoints import Endpoint
from sandbox.store.documents import to_document
from sandbox.store.files.port import MESSAGES, RECORDS, TAKEN_IDS, Change, Document
from sandbox.store.memory.messages import message_text
from sandbox.store.memory.store import MemoryUnit
from sandbox.store.memory.table import Rows
from sandbox.store.memory.texts import Texts
from sandbox.store.moment import TableMoment
from sandbox.store.steps import Steps
from sandbox.worlds.change_log import Take
from sandbox.worlds.saved_world import (
    DELIVERIES,
    ENDPOINTS,
    FIXTURE,
    KEY_USAGE,
    OF_THE_SERVER,
    SCENARIO,
    TIMERS,
    WORLD,
)
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.scenarios.shapes import Scenario

WHOLE_REMEMBERED_MAX: Final = 50_000
"""The parts of payments that are cached while the messages about them are written."""

Put = tuple[str, Document]


class Recorder:
    """Notes the changes of a world. `numbers` are the places of endpoints and deliveries."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._texts = Texts()
        self.numbers: dict[tuple[str, str], int] = {}
        self._numbered = 0
        self.forget()

    def forget(self) -> None:
        """Start with no changes."""
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

    def change(self) -> Steps[Change | None]:
        """The changes up to the first step; None if there are none.

        All documents of a large world take many steps. Changes in the meantime are noted for the
        next write.
        """
        world = self._world
        puts: list[Put] = []
        gone: list[tuple[str, str]] = []
        if self._begins:
            self.restored(to_json(state_of(world)).decode())
            yield from self.everything(lambda table, document: puts.append((table, document)))
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
        usage = world.last_used_at
        puts += [(KEY_USAGE, self.usage_document(id, usage[id])) for id in usage.take_touched()]
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
            puts.append((DELIVERIES, self.document(DELIVERIES, delivery.subject, delivery)))
        self._deliveries = {}
        if outbox.endpoints != self._endpoints:
            for id, endpoint in outbox.endpoints.items():
                if self._endpoints.get(id) is not endpoint:
                    puts.append((ENDPOINTS, self.document(ENDPOINTS, id, endpoint)))
            gone += [(ENDPOINTS, id) for id in self._endpoints if id not in outbox.endpoints]
            self._endpoints = dict(outbox.endpoints)

    def everything(self, take: Take) -> Steps[None]:
        """The whole world as of the first step, table by table."""
        moment = Moment(self._world)
        self._world.moments[id(moment)] = moment
        try:
            yield from moment.write(self, take)
        finally:
            moment.close()
            del self._world.moments[id(moment)]

    def usage_document(self, id: str, last_used_at: datetime) -> Document:
        """The document of a key that was used."""
        at = to_wire(last_used_at)
        return Document(id, self.place(KEY_USAGE, id), to_json({"last_used_at": at}).decode())

    def document(self, table: str, id: str, record: Any) -> Document:
        """The document of an endpoint or a delivery."""
        return Document(id, self.place(table, id), to_json(to_document(record)).decode())

    def _timer_document(self, timer: Timer) -> Document:
        number = self._world.store.timers.number_of(timer.kind, timer.subject, timer.tag)
        assert number is not None
        return _timer_document(number, timer)

    def _scenario_document(self) -> Document:
        assert self._world.scenario
        return _scenario_document(self._world.scenario.scenario)


def _of_message(number: int, message: Message, texts: Texts) -> Iterator[Put]:
    yield MESSAGES, Document(message.id, number, message_text(message))
    yield RECORDS, Document(message.id, number, texts.of_message(message))


def _timer_document(number: int, timer: Timer) -> Document:
    id = _timer_id(timer.kind, timer.subject, timer.tag)
    return Document(id, number, to_json(to_document(timer)).decode())


def _scenario_document(scenario: "Scenario") -> Document:
    return Document(SCENARIO, 0, scenario.model_dump_json(exclude_unset=True))


def _timer_id(kind: str, subject: str, tag: str) -> str:
    return "/".join(part for part in (kind, subject, tag) if part)


# --- a moment ---------------------------------------------------------------------------------


class Moment:
    """A world as it is now, to be written in steps while it changes.

    Objects that change in place are handed over before they change (`keep`).
    """

    def __init__(self, world: World) -> None:
        self._world_id = world.id
        self._state = to_json(state_of(world)).decode()
        self._fixture = world.spec.fixture.document
        self._scenario = world.scenario.scenario if world.scenario is not None else None
        self._tables = [TableMoment(rows) for _, rows in world.store.tables()]
        self._endpoints = dict(world.outbox.endpoints)
        self._messages = world.store.messages_now()
        self._deliveries = world.outbox.deliveries_by_message()
        self._timers = world.store.timers.numbered()
        self._uses = dict(world.last_used_at)
        # By identity: deliveries as they were, of those that changed since.
        self._before: dict[int, tuple[Delivery, Delivery]] = {}

    def keep(self, delivery: Delivery) -> None:
        """The delivery is about to change."""
        if id(delivery) not in self._before:
            as_it_was = replace(delivery, attempts=list(delivery.attempts))
            self._before[id(delivery)] = delivery, as_it_was

    def close(self) -> None:
        """Stop following changes."""
        for table in self._tables:
            table.close()

    def write(self, recorder: Recorder, take: Take) -> Steps[None]:
        """Write all documents, table by table; the recorder knows the places of some."""
        texts = Texts(WHOLE_REMEMBERED_MAX)
        take(WORLD, Document(self._world_id, 0, self._state))
        if self._fixture is not None:
            text = yield from _written_fixture(self._fixture)
            take(FIXTURE, Document(FIXTURE, 0, text))
        if self._scenario is not None:
            take(SCENARIO, _scenario_document(self._scenario))
        for table in self._tables:
            for document in table.documents(texts):
                take(table.name, document)
                yield
        for id, endpoint in self._endpoints.items():
            take(ENDPOINTS, recorder.document(ENDPOINTS, id, endpoint))
        yield from self._write_messages(recorder, texts, take)
        for number, timer in self._timers:
            take(TIMERS, _timer_document(number, timer))
            yield
        for id, at in self._uses.items():
            take(KEY_USAGE, recorder.usage_document(id, at))

    def _write_messages(self, recorder: Recorder, texts: Texts, take: Take) -> Steps[None]:
        for number in range(len(self._messages)):
            message_id, text, said = self._messages.written(number, texts)
            take(MESSAGES, Document(message_id, number, text))
            take(RECORDS, Document(message_id, number, said))
            for delivery in self._deliveries.get(message_id, ()):
                _, as_it_was = self._before.get(id(delivery), (None, delivery))
                take(DELIVERIES, recorder.document(DELIVERIES, delivery.subject, as_it_was))
            yield


def _written_fixture(document: Mapping[str, Any]) -> Steps[str]:
    """The fixture as JSON: it may be a whole saved world."""
    tables = []
    for name, documents in document.items():
        if not isinstance(documents, dict):
            tables.append(f"{_text(name)}:{_text(documents)}")
            continue
        written = []
        for number, fields in documents.items():
            written.append(f"{_text(number)}:{_text(fields)}")
            yield
        tables.append(f"{_text(name)}:{{{','.join(written)}}}")
    return f"{{{','.join(tables)}}}"


def _text(value: Any) -> str:
    return to_json(value).decode()


# --- state beside the records -----------------------------------------------------------------


def state_of(world: World) -> dict[str, Any]:
    """The state of a world that is in no table. Empty values are left out."""
    spec = world.spec
    state: dict[str, Any] = {
        "id": spec.id,
        "name": spec.name,
        "seed": spec.seed,
        "fixture": spec.fixture.name,
        # Omitted for documented keys, as in files from before other keys existed.
        "keys": "" if spec.keys_are_known else OF_THE_SERVER,
        "clock": world.clock.saved(),
        "drawn": world.draws.drawn,
        "requests": world.journal.numbered,
        "switches": dict(world.switches),
        "begins": {
            "clock": {
                "now": spec.clock.now and to_wire(spec.clock.now),
                "mode": spec.clock.mode,
                "rate": spec.clock.rate,
            },
            "invention": spec.generated_data and asdict(spec.generated_data),
        },
        "queue": [asdict(entry) for entry in world.queue.waiting()],
        "counts": world.scenario.counts() if world.scenario is not None else [],
        "busy": sorted(world.busy),
        "meant_for": world.outbox.only_for,
        "terminal_outcomes": world.terminal_outcomes,
    }
    return {name: value for name, value in state.items() if value or value == 0}

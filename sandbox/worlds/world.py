"""A world: an isolated sandbox with its own state, clock, ids, switches and journal.

A world knows no other world. The registry decides which world a key belongs to.
"""

from asyncio import Event, Future, Lock, get_running_loop, sleep
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import count
from typing import Any, Final, NamedTuple

from msgspec.structs import replace

from sandbox.domain import readings, switches
from sandbox.domain.clock import Timer
from sandbox.domain.directory import Account, Location, Terminal
from sandbox.domain.keys import ApiKey
from sandbox.domain.operations import ApiOperation
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.text import UnknownWord
from sandbox.domain.transport_faults import NEED_BODY, TRANSPORT_FAULTS
from sandbox.scenarios.matcher import MatchedWebhookRule, Running, Words
from sandbox.scenarios.queue import Queue, WebhookFaults
from sandbox.store.fixture import Cast
from sandbox.store.ids import Ids
from sandbox.store.store import Store, UnitOfWork
from sandbox.store.world_documents import Moment
from sandbox.store.world_state import WorldState
from sandbox.webhooks.outbox import Outbox
from sandbox.webhooks.receivers import Inbox
from sandbox.worlds.background import Background, Saver, call_later
from sandbox.worlds.clock import Clock, SystemClock
from sandbox.worlds.coverage_counters import CoverageCounters
from sandbox.worlds.elsewhere import WorldLost
from sandbox.worlds.event_stream import Subscriptions
from sandbox.worlds.journal import Journal
from sandbox.worlds.quotas import QUOTAS, Quotas
from sandbox.worlds.spec import DEFAULT_WORLD, WorldSpec
from sandbox.worlds.tap_desk import TapDesk

__all__ = ["DEFAULT_WORLD", "World"]

KINDS: Final[dict[str, type[Any]]] = {
    "account": Account,
    "terminal": Terminal,
    "location": Location,
    "key": ApiKey,
}
"""The kinds of records in the cast."""


LOOK_AGAIN_S: Final = 3_600.0
"""How often to read a world's clock again, to notice jumps of the system clock."""

MARKS_MAX: Final = 10
"""How many marks a world keeps; a new one replaces the oldest."""


class Mark(NamedTuple):
    """A mark: the world's time when it was set, the size of its snapshot, and its content."""

    id: str
    name: str
    now: datetime
    bytes: int
    moment: Moment


class World:
    """A world: its store, and everything that exists only while the process runs.

    All durable state is in the store. `touched_s` is the time of the last request by the registry's
    clock, for dropping unused worlds. `saver` makes changes durable once the world is in use, if
    there is a state file. `watched` is the timer for which the world will be woken up.
    """

    touched_s = 0.0
    saver: Saver | None = None
    watched: Timer | None = None
    scenario: Running | None = None

    def __init__(
        self,
        spec: WorldSpec,
        *,
        system_clock: SystemClock,
        key_is_free: Callable[[str], bool],
        background: Background,
        secret: bytes = b"",
    ) -> None:
        self.id, self.spec = spec.id, spec
        self._secret = b"" if spec.are_keys_known else secret
        self.system_clock = system_clock
        self.profile = profile = background.profile
        self.key_is_free = key_is_free
        self.store = Store(on_commit=self._note_commit)
        self.background = background
        self._cancel_wakeup: Callable[[], None] = lambda: None
        # Called with every stored key, once the world is in use.
        self.on_key: Callable[[ApiKey], None] = lambda key: None
        self.readings = readings.in_force(profile.readings, {})
        self.clock = Clock(system_clock, lambda clock: self.put_state(clock=clock))
        self.queue = Queue(lambda queue: self.put_state(queue=queue))
        self.webhook_faults = WebhookFaults(
            lambda faults: self.put_state(webhook_faults=faults), self.find_named
        )
        self.journal = Journal(background.limits.journal_entries_max, self.store.counters)
        # The requests that wait for a change.
        self._waiting: set[Future[None]] = set()
        self.outbox = Outbox(
            self,
            on_work=lambda endpoint_id: background.deliveries.work(self, endpoint_id),
            later=call_later,
        )
        self.subscriptions = Subscriptions(self.journal, self.outbox, self.clock, self.store)
        self.advancing = Lock()
        # Oldest first. No number is used twice.
        self.marks: deque[Mark] = deque(maxlen=MARKS_MAX)
        self.mark_numbers = count(1)
        self.cast = Cast()
        self._begin()
        self.state = spec.first_state(system_clock())
        self.store.put(self.state)

    # --- its state

    def _note_state(self, state: WorldState) -> None:
        # Every request reads these.
        self.state = state
        self.readings = readings.in_force(self.profile.readings, state.readings)
        self.switches = chosen = switches.in_force(state.switches, self.readings)
        self.quotas.limits = {name: int(chosen[name]) for name in QUOTAS if chosen[name]}
        self.clock.state, self.queue.entries = state.clock, state.queue
        self.webhook_faults.entries = state.webhook_faults

    def put_state(self, **changes: Any) -> None:
        """Store these fields of the world's state."""
        self.store.put(replace(self.state, **changes))

    def has_record(self, kind: str, id: str) -> bool:
        """Whether there is an account, a terminal, a location or a key with this id."""
        return self.store.get(KINDS[kind], id) is not None

    def find_named(self, kind: str, name: str) -> str:
        """Return the id of a record by its name in the cast, or by its id. Raises UnknownWord."""
        cast = self.cast.ids_of(kind)
        if name in cast:
            return cast[name]
        if self.has_record(kind, name):
            return name
        raise UnknownWord(f"the world has no {kind} {name[:80]!r}", name, cast)

    def has_body(self, operation: ApiOperation) -> bool:
        """Whether answers of the operation have a body, by the readings of this world."""
        return operation.has_body or self.readings["delete_answers"] == "resource"

    def why_not(self, fault: str | None, operations: Sequence[ApiOperation]) -> str | None:
        """Return why this fault is impossible for the operations; None if it is possible."""
        if fault not in NEED_BODY or any(map(self.has_body, operations)):
            return None
        others = ", ".join(key for key in TRANSPORT_FAULTS if key not in NEED_BODY)
        return (
            f"{fault} cannot happen to {operations[0].name}, whose answer has no body; "
            f"possible are {others}"
        )

    def key_name(self, id: str | None) -> str | None:
        """Return a key's name in the cast, or else its own; None for an unknown id."""
        key = self.store.get(ApiKey, id or "")
        names = (name for name, known in self.cast.keys.items() if known == id)
        return next(names, None if key is None else key.name)

    def find_webhook_rule(self, words: Words) -> MatchedWebhookRule | None:
        """Return the rule for a delivery: a queued fault, or else one of the scenario."""
        rule = self.webhook_faults.for_webhook(words)
        if rule is None and self.scenario is not None:
            rule = self.scenario.for_webhook(words)
        return rule

    def _begin(self) -> None:
        """Set everything that a reset replaces to its initial value."""
        self.draws = self.draws_of(self.spec.seed)
        # Payments that wait for their processor, with an event that ends the wait, and event_ids of
        # their attempts. A reset replaces these dictionaries, so old waits end without effect.
        self.busy: dict[str, Event] = {}
        self.taken_events: dict[str, str] = {}
        self.tap_desk = TapDesk(self.subscriptions.note_tap)
        self.inbox = Inbox()
        self.quotas: Quotas = Quotas()
        self.coverage = CoverageCounters()

    def take_over(self, fresh: "World", state: WorldState, scenario: Running | None) -> None:
        """Continue with the store of a new world of the same spec, and with this state.

        `scenario` is the one in `state`. The new world must not be used afterwards.
        """
        self._end_waits()
        self.outbox.forget()
        self.store.take_over(fresh.store)
        if self.saver is not None:
            self.saver.follow(self, is_in_file=False)
        self._begin()
        self.cast, self.draws = fresh.cast, fresh.draws
        self.journal.restart(self.store.counters)
        self.store.put(state)
        self.scenario = None
        if scenario is not None:
            self.count_rules(scenario)

    def close(self) -> None:
        """End the world: empty it, and write nothing more of it."""
        self.store.log = self.saver = None
        self.store.clear()
        self.watch(None)
        self._end_waits()
        self.subscriptions.close()
        self.outbox.forget()

    def _end_waits(self) -> None:
        """Let requests that wait for a card or the processor find their payment gone."""
        self.tap_desk.close()
        for answered in self.busy.values():
            answered.set()
        self.busy = {}

    def draws_of(self, seed: int) -> Ids:
        """Return the draws of this world for a seed. Its store counts them."""
        return Ids(
            seed=seed,
            world_id=self.spec.id,
            key_seed=self.spec.key_seed,
            counters=self.store.counters,
            secret=self._secret,
            # Other worlds drew all their ids themselves, and never draw one twice.
            taken=self.store if self.store.is_restored else (),
        )

    def set_switches(self, wanted: Mapping[str, Any]) -> None:
        """Set switches, and the readings that some of them stand for; others stay.

        Raises UnknownSwitch.
        """
        own, chosen = switches.parted(switches.checked(wanted))
        self.put_state(
            switches={**self.state.switches, **own}, readings={**self.state.readings, **chosen}
        )

    def set_readings(self, wanted: Mapping[str, str | None]) -> None:
        """Choose readings; others stay, and None returns to the profile's.

        Raises UnknownReading; then nothing changed.
        """
        readings.checked(
            {
                id: readings.DEFAULTS.get(id) if value is None else value
                for id, value in wanted.items()
            }
        )
        both = {**self.state.readings, **wanted}
        self.put_state(readings={id: value for id, value in both.items() if value is not None})

    # --- background work

    def _note_commit(self, unit: UnitOfWork) -> None:
        before = self.state
        for (rows, id), record in unit.changed.items():
            kind = rows.table.kind
            if kind is WorldState:
                self._note_state(record)
            elif kind is ApiKey:
                # Whichever operation created it.
                self.on_key(record)
            elif kind is Payment:
                self.tap_desk.note_payment(id, record)
        self.subscriptions.note_commit(unit, before)
        if messages := unit.emitted:
            self.coverage.count_messages(messages, self.store)
            if self.outbox.endpoints:
                self.outbox.accept(messages)
            self.tell_changed()

    @property
    def has_waiting_clients(self) -> bool:
        """Whether a payment waits for a card or its processor, or a client for news."""
        readers = self.subscriptions
        return bool(self.busy or len(self.tap_desk) or len(readers) or readers.waits)

    async def wait_for_change(self) -> None:
        """Wait for a new message or the result of an attempt."""
        future: Future[None] = get_running_loop().create_future()
        self._waiting.add(future)
        try:
            await future
        finally:
            self._waiting.discard(future)

    def tell_changed(self) -> None:
        """Wake up waiting requests, because of a message, a delivery or another change."""
        for future in self._waiting:
            if not future.done():
                future.set_result(None)

    async def can_send(self) -> bool:
        """Wait until changes so far are durable; return False if another server has the world."""
        if self.saver is not None:
            try:
                await self.saver.saved(self)
            except WorldLost:
                return False
            # Answers that waited for the same write continue two rounds of the loop after it.
            for _ in range(2):
                await sleep(0)
        return True

    async def wait_idle(self) -> None:
        """Wait until all due webhooks were sent."""
        await self.background.deliveries.wait_idle(self)

    def watch(self, timer: Timer | None) -> None:
        """Plan to wake up this world for its next timer."""
        self.watched = timer
        self._cancel_wakeup()
        wait_s = self.find_wait_s(timer)
        if wait_s is not None:
            self._cancel_wakeup = call_later(
                min(wait_s, LOOK_AGAIN_S), lambda: self.background.wake(self)
            )

    def find_wait_s(self, timer: Timer | None) -> float | None:
        """Return the real seconds until a timer is due; None if the clock has to be moved first."""
        if timer is None:
            return None
        wait_s, clock = (timer.due - self.clock.now()).total_seconds(), self.state.clock
        return None if wait_s > 0 and clock.mode == "frozen" else max(0.0, wait_s / clock.rate)

    def now(self) -> datetime:
        """Return the present instant of the world's clock."""
        return self.clock.now()

    def webhook_time(self) -> float:
        """Return the timestamp of a webhook that is sent now, in Unix seconds.

        Source: assumed D1, D49.
        """
        if self.switches["webhooks.timestamp"] == "world":
            return self.clock.now().timestamp()
        return self.system_clock()

    def count_rules(self, running: Running) -> Running:
        """Make this the running scenario, with its counts in the store."""
        self.store.counters.rules = running.counts()
        self.scenario = running
        return running

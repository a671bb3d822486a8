"""One isolated universe: its state, clock, ids, keys in use, switches and journal.

A world knows no other world. The registry decides which world a key belongs to.
"""

from asyncio import Event, Lock
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from sandbox.domain.accounts import Account
from sandbox.domain.events import Message
from sandbox.domain.keys import ApiKey
from sandbox.domain.locations import Location
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.profile import Profile
from sandbox.domain.secret_text import misplaced
from sandbox.domain.terminals import Terminal
from sandbox.domain.timers import Timer
from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.domain.words import UnknownWord
from sandbox.scenarios.loading import ScenarioError
from sandbox.scenarios.queue import Queue
from sandbox.scenarios.running import Running
from sandbox.store.memory.store import MemoryStore, MemoryUnit
from sandbox.store.port import UnitOfWork
from sandbox.store.seeding import Cast
from sandbox.store.steps import Container, Steps
from sandbox.webhooks.outbox import Outbox
from sandbox.worlds import switches
from sandbox.worlds.background import Scheduler
from sandbox.worlds.change_log import ChangeLog, ChangeWriter, DeliveryKeeper
from sandbox.worlds.change_signal import ChangeSignal
from sandbox.worlds.clock import Clock, SystemClock
from sandbox.worlds.coverage_counters import CoverageCounters
from sandbox.worlds.event_stream import Subscriptions
from sandbox.worlds.ids import Ids
from sandbox.worlds.journal import Journal
from sandbox.worlds.key_usage import KeyUsage, RecordedKeyUsage
from sandbox.worlds.memo import Memo
from sandbox.worlds.spec import DEFAULT_WORLD, WorldSpec
from sandbox.worlds.tap_desk import TapDesk

__all__ = ["DEFAULT_WORLD", "TimerHandler", "World"]

KINDS: Final[dict[str, type[Any]]] = {
    "account": Account,
    "terminal": Terminal,
    "location": Location,
    "key": ApiKey,
}

if TYPE_CHECKING:
    from sandbox.scenarios.shapes import Scenario


class World:
    """A world in use.

    `last_used_at` holds the time when each key last authenticated, by key id. It is beside the
    records, because reading must not be a write. `touched_s` is the time of the last request, by
    the registry's clock, for dropping unused worlds. `has_begun`: whether the fixture is known to
    be usable.
    """

    def __init__(
        self,
        spec: WorldSpec,
        *,
        profile: Profile,
        system_clock: SystemClock,
        journal_entries_max: int,
        key_is_free: Callable[[str], bool],
        scheduler: Scheduler["World"],
        on_timer: "TimerHandler",
        secret: bytes = b"",
        is_saved: bool = False,
    ) -> None:
        self.spec = spec
        self._secret = b"" if spec.keys_are_known else secret
        self.system_clock = system_clock
        self.profile = profile
        self.key_is_free = key_is_free
        self.clock = Clock(system_clock, spec.clock)
        self.journal = Journal(entries_max=journal_entries_max, scrub=profile.scrub)
        self.switches = switches.defaults() | dict(spec.switches)
        self.queue = Queue()
        self.scenario: Running | None = None
        self.touched_s = 0.0
        self.store = MemoryStore(
            watchers={
                ApiKey: self._note_key,
                Account: self._note_account,
                Terminal: self._note_directory,
                Location: self._note_directory,
            },
            on_messages=self._announce,
        )
        # Saves the changes once the world is in use; `is_saved` tells whether there is a saver.
        self.saver: ChangeWriter[World] | None = None
        self.is_saved = is_saved
        self._scheduler = scheduler
        self.on_timer = on_timer
        # The messages stored before there was anyone to notify.
        self._new_keys: list[ApiKey] = []
        self._on_new_key: Callable[[ApiKey], None] = self._new_keys.append
        self._listening = ChangeSignal()
        self.outbox = Outbox(
            self,
            on_work=lambda endpoint_id: scheduler.work(self, endpoint_id),
            on_change=self._listening.tell,
            on_delivery=self._note_delivery,
            later=scheduler.later,
        )
        self.recorder: ChangeLog | None = None
        self.has_begun = False
        self.cast = Cast()
        self._reset_ephemeral_state()
        self._begin()

    def _reset_ephemeral_state(self) -> None:
        """Forget who waits for this world, advances its clock, or saves it."""
        # The timer that the scheduler will wake up for.
        self.watched: Timer | None = None
        self.advancing = Lock()
        # Held while the store is prepared for a query.
        self.preparing = Lock()
        # The id of the clock advance in progress, or None.
        self.advance_id: int | None = None
        self.advances = 0
        # Requests of the control API that wait for a message.
        self.waits = 0
        # Savers that are writing a state of this world, by identity.
        self.moments: dict[int, DeliveryKeeper] = {}
        self.subscriptions = Subscriptions(self.journal, self.outbox, self.clock)

    def tell_of_keys(self, on_new_key: Callable[[ApiKey], None]) -> None:
        """From here on, call this with every key that is put; those before come first."""
        for key in self._new_keys:
            on_new_key(key)
        self._new_keys, self._on_new_key = [], on_new_key

    @property
    def id(self) -> str:
        """The world's id."""
        return self.spec.id

    def containers(self) -> list[Container]:
        """All large containers, to be freed once the world is unused."""
        return [*self.store.containers(), *self.outbox.containers()]

    def _note_directory(self, record: object) -> None:
        self._clear_memos()

    def _clear_memos(self) -> None:
        self.places.clear()
        self.reached.clear()

    def has_record(self, kind: str, id: str) -> bool:
        """Whether there is an account, a terminal, a location or a key with this id."""
        return self.store.begin().get(KINDS[kind], id) is not None

    def note_records(self) -> Steps[None]:
        """Take note of accounts and keys that came to be without being put one by one."""
        unit = self.store.begin()
        for account in unit.find(Account, {})[0]:
            self._note_account(account)
            yield
        for key in unit.find(ApiKey, {})[0]:
            self._note_key(key)
            yield

    def _note_key(self, key: ApiKey) -> None:
        self._clear_memos()
        self._on_new_key(key)

    def _note_account(self, account: Account) -> None:
        self._clear_memos()
        if account.status == "blocked":
            self.blocked.add(account.id)

    def _begin(self) -> None:
        """Hold nothing yet."""
        # Accounts that were ever blocked: usually few, so most requests need no lookup.
        self.blocked: set[str] = set()
        self.draws = self.draws_of(self.spec.seed)
        self.last_used_at: KeyUsage = RecordedKeyUsage() if self.is_saved else KeyUsage()
        self.terminal_outcomes: dict[str, str] = {}
        self.places: Memo[Any, Any] = Memo()
        self.reached: Memo[tuple[Any, ...], tuple[Any, ...]] = Memo()
        # Payments that wait for their processor, each with an event that ends the wait, and the
        # event_ids of their attempts. A reset replaces them, so old waits end without effect.
        self.busy: dict[str, Event] = {}
        self.taken_events: dict[str, str] = {}
        self.tap_desk = TapDesk()
        self.coverage = CoverageCounters()

    def empty(self) -> list[Container]:
        """Forget everything but switches and endpoints; returns the containers to let go of."""
        left = self.containers()
        self.tap_desk.close()
        self.outbox.clear()
        self.queue.clear()
        if self.scenario is not None:
            self.scenario.restart()
        self.journal.restart()
        self._begin()
        return left

    def take_over(self, fresh: "World") -> None:
        """Hold the records of a new world of the same spec, which is not used afterwards."""
        self.store.take_over(fresh.store)
        self.cast, self.draws = fresh.cast, fresh.draws
        self.blocked, self.last_used_at = fresh.blocked, fresh.last_used_at
        self.terminal_outcomes = fresh.terminal_outcomes
        self._clear_memos()
        self.clock.restart(self.spec.clock)

    def close(self) -> list[Container]:
        """End the world: it is not used any more, and nothing of it is written.

        Returns the containers to free. Holders of the world find it empty.
        """
        left = self.containers()
        self.store.clear()
        self.saver = self.recorder = self.store.on_commit = None
        self.tap_desk.close()
        self.subscriptions.close()
        # A request that waits with a payment finds it gone.
        self.busy = {}
        self.outbox.endpoints.clear()
        self.outbox.clear()
        return left

    def draws_of(self, seed: int) -> Ids:
        """The draws of this world from another seed; its own are `draws`."""
        return Ids(seed=seed, world_id=self.spec.id, secret=self._secret)

    def note_change(self) -> None:
        """Something was changed that is no record: a switch, the clock, the queue."""
        if self.saver is not None and self.recorder is not None:
            self.saver.note(self)

    def note_commit(self, unit: MemoryUnit) -> None:
        """A unit of work was committed in a world whose changes are written."""
        if self.recorder is not None:
            self.recorder.note(unit)
            self.note_change()

    def _note_delivery(self, delivery: Delivery) -> None:
        for moment in self.moments.values():
            moment.keep(delivery)
        if self.recorder is not None:
            self.recorder.note_delivery(delivery)
            self.note_change()

    def set_switches(self, wanted: Mapping[str, Any]) -> None:
        """Set switches; those not named stay. Raises UnknownSwitch."""
        self.switches.update(switches.checked(wanted))

    # --- background work

    def _announce(self, messages: Sequence[Message]) -> None:
        """Messages were committed."""
        self.coverage.announced(messages, self.store)
        if self.subscriptions.on_messages is not None:
            self.subscriptions.on_messages(messages)
        if self.outbox.endpoints:
            self.outbox.accept(messages)
        self._listening.tell()

    async def changed(self) -> None:
        """Wait for a new message or the result of an attempt."""
        await self._listening.wait()

    async def wait_idle(self) -> None:
        """Wait until every due webhook was sent."""
        await self._scheduler.wait_idle(self)

    def watch(self, timer: Timer | None) -> None:
        """Have the scheduler wake this world up for its next timer."""
        self.watched = timer
        wait_s = None
        if timer is not None:
            wait_s = (timer.due - self.clock.now()).total_seconds() / self.clock.rate
            if wait_s > 0 and self.clock.mode == "frozen":
                wait_s = None
        self._scheduler.arm_wakeup(self, wait_s if wait_s is None else max(0.0, wait_s))

    def check_tap_desk(self) -> None:
        """Wake up the requests whose payment ended without a tap."""
        for waiting in self.tap_desk:
            tx = self.store.begin().get(Transaction, waiting.tap.transaction_id)
            if (tx is None or tx.status != "pending") and not waiting.came.done():
                waiting.came.set_result(None)

    def now(self) -> datetime:
        """The world's present."""
        return self.clock.now()

    def fraction(self, name: str) -> float:
        """A number from 0 to 1 that follows from the seed and the name."""
        return self.draws.fraction(name)

    def draw_message_id(self) -> str:
        """The id of a message to be."""
        return self.draws.message_id()

    @property
    def time_scale(self) -> float:
        """How much of the waits between attempts at a webhook is waited."""
        scale: float = self.switches["webhooks.time_scale"]
        return scale

    def run_scenario(self, scenario: "Scenario") -> Running:
        """Run the scenario in place of the one before.

        Raises ScenarioError if it names something that this world lacks; then nothing changed.
        """
        if found := misplaced(scenario.model_dump(exclude_unset=True), self.profile.key_format):
            raise ScenarioError(str(found))

        def resolve(kind: str, name: str) -> str:
            cast = self.cast.ids_of(kind)
            if name in cast:
                return cast[name]
            if self.has_record(kind, name):
                return name
            raise UnknownWord(f"the world has no {kind} {name[:80]!r}", name, cast)

        self.scenario = Running(scenario, resolve)
        self.coverage.ran(scenario.name)
        self.note_change()
        return self.scenario


TimerHandler = Callable[[World, UnitOfWork, Timer], None]
"""Carries out a timer that is due, in a unit of work that the caller commits."""

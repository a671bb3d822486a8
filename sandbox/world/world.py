"""One isolated universe: its state, clock, ids, keys in use, switches and journal.

Nothing in a world knows of another. Which world a key belongs to is the registry's to say.
"""

from asyncio import Event, Lock
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from sandbox.domain.accounts import Account
from sandbox.domain.events import Message
from sandbox.domain.keys import ApiKey, expiry_of
from sandbox.domain.locations import Location
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.profile import Profile
from sandbox.domain.terminals import Terminal
from sandbox.domain.timers import Timer
from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.domain.words import UnknownWord
from sandbox.scenarios.loading import ScenarioError
from sandbox.scenarios.queue import Queue
from sandbox.scenarios.running import Running
from sandbox.store.invention import invent
from sandbox.store.memory import MemoryStore, MemoryUnit
from sandbox.store.seeding import Cast, seed
from sandbox.webhooks.outbox import Outbox
from sandbox.world import switches
from sandbox.world.clock import Clock, ClockView, Wall
from sandbox.world.desk import Desk
from sandbox.world.host import Host
from sandbox.world.ids import Ids, fixed_chars
from sandbox.world.journal import Journal
from sandbox.world.kept import Kept
from sandbox.world.listening import Listening
from sandbox.world.spec import WorldSpec
from sandbox.world.tally import Tally
from sandbox.world.uses import NotedUses, Uses
from sandbox.world.watchers import Readers

_KINDS: Final[dict[str, type[Any]]] = {
    "account": Account,
    "terminal": Terminal,
    "location": Location,
    "key": ApiKey,
}

DEFAULT_WORLD: Final = "default"
"""The world that is there from the start, with fixed keys."""


if TYPE_CHECKING:
    from sandbox.scenarios.shapes import Scenario
    from sandbox.world.recording import Recorder
    from sandbox.world.saving import Saver


class World:
    """A world in use.

    `last_used_at` holds, by key id, when a key last authenticated; it stands beside the records
    because reading something must not be a write to them. `touched_s` is when the last request
    came, by the registry's count, for dropping worlds that nobody uses. `has_begun`: whether it is
    known that one can begin with the fixture.
    """

    def __init__(
        self,
        spec: WorldSpec,
        *,
        profile: Profile,
        wall: Wall,
        journal_entries_max: int,
        on_new_key: Callable[[ApiKey], None],
        key_is_free: Callable[[str], bool],
        host: Host,
        saver: "Saver | None" = None,
        kept: Kept | None = None,
    ) -> None:
        self.spec = spec
        self.wall = wall
        self.profile = profile
        self.key_is_free = key_is_free
        self.clock = Clock(wall, spec.clock)
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
        self.saver = saver
        self._host = host
        self._on_new_key = on_new_key
        # How often an account, a terminal, a location or a key was put.
        self.directory_version = 0
        self._listening = Listening()
        self.outbox = Outbox(
            self,
            on_work=lambda endpoint_id: host.work(self, endpoint_id),
            on_change=self._listening.tell,
            on_delivery=self._note_delivery,
            later=host.later,
        )
        # The timer for which the host watches the clock.
        self.watched: Timer | None = None
        self.walking = Lock()
        # Held by whoever has the store prepared for a question.
        self.preparing = Lock()
        # The number of the walk through the world's time that is going on; None: none is.
        self.walk: int | None = None
        self.walks = 0
        self.recorder: Recorder | None = None
        self.readers = Readers(self)
        self.has_begun = kept is None
        self._begin()
        self._begin_with(kept)
        self.tally.begin(self.store.messages(), self.scenario)

    def _begin_with(self, kept: Kept | None) -> None:
        """Hold what an earlier run left, else what the fixture says."""
        if kept is None:
            self._fill()
        else:
            self._restore(kept)
        if self.saver is not None:
            self._have_saved(self.saver, kept)
        if kept is not None:
            from sandbox.world.restoring import end_what_was_under_way

            # It is a change of its own: it has to be noted.
            end_what_was_under_way(self, kept)

    @property
    def id(self) -> str:
        """The world's id."""
        return self.spec.id

    def reset(self) -> None:
        """Back to the fixture: data, keys and clock; messages and journal are cleared.

        Switches stay. Source: assumed D25.
        """
        self.store.clear()
        self.desk.close()
        self.outbox.clear()
        self.queue.clear()
        if self.scenario is not None:
            self.scenario.restart()
        self.journal.restart()
        self.clock.restart(self.spec.clock)
        self._begin()
        switches_now = self.switches.copy()
        self._fill()
        self.switches.update(switches_now)
        self.tally.begin(self.store.messages(), self.scenario)
        if self.recorder is not None:
            self.recorder.begin_anew()
            self.note_change()

    def _note_directory(self, record: object) -> None:
        self.directory_version += 1

    def _note_key(self, key: ApiKey) -> None:
        self.directory_version += 1
        self._on_new_key(key)

    def _note_account(self, account: Account) -> None:
        self.directory_version += 1
        if account.status == "blocked":
            self.blocked.add(account.id)

    def _begin(self) -> None:
        """Hold nothing yet."""
        # Accounts that were blocked at some time: mostly few, so that hardly anybody has to look.
        self.blocked: set[str] = set()
        self.draws = Ids(seed=self.spec.seed, world_id=self.spec.id)
        self.last_used_at: Uses = Uses() if self.saver is None else NotedUses()
        self.terminal_outcomes: dict[str, str] = {}
        self.places: dict[Any, Any] = {}
        self.reached: dict[tuple[Any, ...], tuple[Any, ...]] = {}
        # Payments that wait for their processor, each with what tells that it is done, and the
        # event_ids of their attempts. New ones after a reset, so that nothing of before is done.
        self.busy: dict[str, Event] = {}
        self.taken_events: dict[str, str] = {}
        self.desk = Desk()
        self.tally = Tally()

    def close(self) -> None:
        """End: nobody will use this world any more, and nothing of it is written."""
        self.saver = self.recorder = self.store.on_commit = None
        self.desk.close()
        self.readers.close()
        # Whoever waits with a payment finds that it is gone.
        self.busy = {}
        self.outbox.endpoints.clear()
        self.outbox.clear()

    def _seed(self, store: MemoryStore, draws: Ids) -> Cast:
        return seed(
            store,
            self.spec.fixture,
            draws,
            self.profile.key_format,
            fixed_chars if self.spec.id == DEFAULT_WORLD else None,
        )

    def _fill(self) -> None:
        """Hold what the fixture says. Raises NotRestored."""
        self.cast: Cast
        snapshot = self.spec.fixture.snapshot
        if snapshot is not None:
            from sandbox.world.restoring import end_what_was_under_way
            from sandbox.world.snapshots import parse_snapshot

            kept = parse_snapshot(snapshot)
            self._restore(kept, is_beginning=True)
            self.switches.update(self.spec.switches)
            end_what_was_under_way(self, kept)
            self.outbox.resume()
        else:
            self.cast = self._seed(self.store, self.draws)
        if self.spec.invention is not None:
            invent(
                self.store,
                self.spec.invention,
                self.draws,
                seed=self.spec.seed,
                now=self.clock.now(),
            )
        if snapshot is None:
            self._schedule_expiries()

    def _schedule_expiries(self) -> None:
        unit = self.store.begin()
        for key in unit.find(ApiKey, {})[0]:
            if (timer := expiry_of(key)).due > self.clock.now():
                unit.schedule(timer)
        unit.commit()

    # --- an earlier run, and a later one

    def _restore(self, kept: Kept, *, is_beginning: bool = False) -> None:
        """Hold what an earlier run left, or what was saved to begin with. Raises NotRestored."""
        # Here and below: most worlds are neither restored nor kept, and start without these.
        from sandbox.world.restoring import restore, seed_of

        scratch = MemoryStore()
        # The ids of the cast are those of the seed that they were made with.
        draws = Ids(seed=seed_of(kept), world_id=self.spec.id)
        self.cast = self._seed(scratch, draws)
        fresh_keys = {key.id: key for key in scratch.begin().find(ApiKey, {})[0]}
        restore(self, kept, fresh_keys, is_beginning=is_beginning)
        unit = self.store.begin()
        self.cast = self.cast.of_those(lambda kind, one: unit.get(_KINDS[kind], one) is not None)
        for account in unit.find(Account, {})[0]:
            self._note_account(account)
        for key in unit.find(ApiKey, {})[0]:
            self._note_key(key)

    def _have_saved(self, saver: "Saver", kept: Kept | None) -> None:
        """Have every change written, from here on; all of it where it is new to the file."""
        from sandbox.world.recording import Recorder

        recorder = self.recorder = Recorder(self)
        for table, document in kept.placed() if kept is not None else ():
            recorder.place(table, document.id, document.number)

        def note(unit: MemoryUnit) -> None:
            recorder.note(unit)
            saver.note(self)

        self.store.on_commit = note
        if kept is None or not kept.is_from_file:
            recorder.begin_anew()
            saver.note(self)
        else:
            recorder.restored(kept.state_text())

    def note_change(self) -> None:
        """Something was changed that is no record: a switch, the clock, the queue."""
        if self.saver is not None and self.recorder is not None:
            self.saver.note(self)

    def _note_delivery(self, delivery: Delivery) -> None:
        if self.recorder is not None:
            self.recorder.note_delivery(delivery)
            self.note_change()

    def set_switches(self, wanted: Mapping[str, Any]) -> None:
        """Set switches; those not named stay. Raises UnknownSwitch."""
        self.switches.update(switches.checked(wanted))

    # --- what happens by itself

    def _announce(self, messages: Sequence[Message]) -> None:
        """Messages were committed."""
        self.tally.announced(messages, self.store)
        if self.readers.on_messages is not None:
            self.readers.on_messages(messages)
        if self.outbox.endpoints:
            self.outbox.accept(messages)
        self._listening.tell()

    async def changed(self) -> None:
        """Wait until there is a new message, or something came of a delivery."""
        await self._listening.wait()

    async def quiet(self) -> None:
        """Wait until no webhook is to be sent now."""
        await self._host.quiet(self)

    def watch(self, timer: Timer | None) -> None:
        """Have the host watch the clock for this timer, which is the next."""
        self.watched = timer
        if timer is None or self.clock.mode == "frozen":
            self._host.look(self, None)
        else:
            wait_s = (timer.due - self.clock.now()).total_seconds() / self.clock.rate
            self._host.look(self, max(0.0, wait_s))

    def look_at_desk(self) -> None:
        """Tell the payments at the tap desk that have ended by themselves."""
        for waiting in self.desk:
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
        """Have the scenario decide how attempts end, in place of the one before.

        Raises ScenarioError where it names what this world does not have; then nothing changed.
        """
        if self.profile.key_format.mentions_production(scenario.model_dump_json()):
            raise ScenarioError("a production key must never be sent to a sandbox")
        unit = self.store.begin()

        def resolve(kind: str, name: str) -> str:
            cast = self.cast.ids_of(kind)
            if name in cast:
                return cast[name]
            if unit.get(_KINDS[kind], name) is not None:
                return name
            raise UnknownWord(f"the world has no {kind} {name[:80]!r}", name, cast)

        self.scenario = Running(scenario, resolve)
        self.tally.ran(scenario.name)
        self.note_change()
        return self.scenario

    def view(self) -> dict[str, Any]:
        """The world as the control API shows it, with the cast and the plaintext of its keys."""
        clock: ClockView = self.clock.view()
        return {
            "id": self.spec.id,
            "name": self.spec.name,
            "seed": self.spec.seed,
            "fixture": self.spec.fixture.name,
            "scenario": self.scenario and self.scenario.scenario.name,
            "clock": clock,
            "accounts": self.cast.accounts,
            "terminals": self.cast.terminals,
            "locations": self.cast.locations,
            "keys": {name: {"id": id, "key": key} for name, (id, key) in self.cast.keys.items()},
        }

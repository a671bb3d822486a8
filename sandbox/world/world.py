"""One isolated universe: its state, clock, ids, keys in use, switches and journal.

Nothing in a world knows of another. Which world a key belongs to is the registry's to say.
"""

from asyncio import Event
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

from sandbox.domain.accounts import Account
from sandbox.domain.keys import ApiKey
from sandbox.domain.profile import Profile
from sandbox.scenarios.queue import Queue
from sandbox.store.fixtures import Fixture
from sandbox.store.invention import Invention, invent
from sandbox.store.memory import MemoryStore
from sandbox.store.seeding import Cast, seed
from sandbox.world import switches
from sandbox.world.clock import Clock, ClockSetting, ClockView, Wall
from sandbox.world.ids import Ids, fixed_chars
from sandbox.world.journal import Journal

DEFAULT_WORLD: Final = "default"
"""The world that is there from the start, with fixed keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorldSpec:
    """How a world begins, and what a reset brings it back to."""

    id: str
    fixture: Fixture
    name: str = ""
    seed: int = 1
    clock: ClockSetting = field(default_factory=ClockSetting)
    switches: Mapping[str, Any] = field(default_factory=dict)
    invention: Invention | None = None


class World:
    """A world in use.

    `last_used_at` holds, by key id, when a key last authenticated; it stands beside the records
    because reading something must not be a write to them. `touched_s` is the wall time of the
    last request, for dropping worlds that nobody uses.
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
    ) -> None:
        self.spec = spec
        self.profile = profile
        self.key_is_free = key_is_free
        self.clock = Clock(wall, spec.clock)
        self.journal = Journal(entries_max=journal_entries_max, scrub=profile.scrub)
        self.switches = switches.defaults() | dict(spec.switches)
        self.queue = Queue()
        self.touched_s = wall()
        self.store = MemoryStore(watchers={ApiKey: on_new_key, Account: self._note_block})
        self._fill()

    @property
    def id(self) -> str:
        """The world's id."""
        return self.spec.id

    def reset(self) -> None:
        """Back to the fixture: data, keys and clock; messages and journal are cleared.

        Switches stay. Source: assumed D25.
        """
        self.store.clear()
        self.queue.clear()
        self.journal.restart()
        self.clock.restart(self.spec.clock)
        self._fill()

    def _note_block(self, account: Account) -> None:
        if account.status == "blocked":
            self.blocked.add(account.id)

    def _fill(self) -> None:
        # Accounts that were blocked at some time: mostly few, so that hardly anybody has to look.
        self.blocked: set[str] = set()
        self.draws = Ids(seed=self.spec.seed, world_id=self.spec.id)
        self.last_used_at: dict[str, datetime] = {}
        self.terminal_outcomes: dict[str, str] = {}
        self.places: dict[Any, Any] = {}
        # Payments that wait for their processor, each with what tells that it is done, and the
        # event_ids of their attempts. New ones after a reset, so that nothing of before is done.
        self.busy: dict[str, Event] = {}
        self.taken_events: dict[str, str] = {}
        self.cast: Cast = seed(
            self.store,
            self.spec.fixture,
            self.draws,
            self.profile.key_format,
            fixed_chars if self.spec.id == DEFAULT_WORLD else None,
        )
        if self.spec.invention is not None:
            invent(
                self.store,
                self.spec.invention,
                self.draws,
                seed=self.spec.seed,
                now=self.clock.now(),
            )

    def view(self) -> dict[str, Any]:
        """The world as the control API shows it, with the cast and the plaintext of its keys."""
        clock: ClockView = self.clock.view()
        return {
            "id": self.spec.id,
            "name": self.spec.name,
            "seed": self.spec.seed,
            "fixture": self.spec.fixture.name,
            "scenario": None,
            "clock": clock,
            "accounts": self.cast.accounts,
            "terminals": self.cast.terminals,
            "locations": self.cast.locations,
            "keys": {name: {"id": id, "key": key} for name, (id, key) in self.cast.keys.items()},
        }

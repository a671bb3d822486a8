"""Specs of worlds: owner, beginning, limits, and errors if a world cannot be created or deleted.

The id of a team's world is `<world>@<team>`. Without `@` a world belongs to the operator (see
docs/design/security.md).
"""

from collections.abc import Mapping
from typing import Any, Final, Self

from msgspec import Struct, field

from sandbox.domain.clock import RUNNING, ClockSetting
from sandbox.domain.switches import defaults, parted
from sandbox.store.fixture import Fixture
from sandbox.store.world_state import OF_THE_SERVER, Beginning, GeneratedData, WorldState

UNUSED_AFTER_S: Final = 86_400.0
"""Time after which an unused world in memory is dropped. Worlds in a file stay."""
WORLDS_MAX: Final = 1_000
WORLDS_PER_TEAM_MAX: Final = 100
JOURNAL_ENTRIES_MAX: Final = 1_000


OPERATOR: Final = ""
"""The team of worlds that belong to the operator of the server."""

TEAM_PATTERN: Final = r"^[a-z0-9_-]{1,32}$"

_AT: Final = "@"


def team_of(world_id: str) -> str:
    """Return the team to which the world with this id belongs."""
    return world_id.partition(_AT)[2]


def world_of(team: str, name: str) -> str:
    """Return the id of the world that a team calls by this name: always one of the team."""
    return name if team == OPERATOR or team_of(name) == team else f"{name}{_AT}{team}"


class WorldTaken(ValueError):
    """Another world already has the id or the keys."""


class KeysTaken(WorldTaken):
    """Another world already has one of the keys."""


class TooManyWorlds(RuntimeError):
    """The server or the team has as many worlds as it may have, and all of them are in use."""


class Protected(ValueError):
    """The world `default` cannot be deleted."""


class Limits(Struct, frozen=True, kw_only=True, gc=False):
    """Limits of a server: worlds in all and per team, time unused, and entries of a journal.

    If `unused_after_s` is None, worlds in memory are dropped after a day, and worlds in a file
    never.
    """

    worlds_max: int = WORLDS_MAX
    worlds_per_team_max: int = WORLDS_PER_TEAM_MAX
    unused_after_s: float | None = None
    journal_entries_max: int = JOURNAL_ENTRIES_MAX

    def check(self, team: str, *, of_all: int, of_team: int, holder: str) -> None:
        """Raise TooManyWorlds if the team cannot have another world."""
        if of_all >= self.worlds_max:
            raise TooManyWorlds(
                f"{of_all} worlds are in use, which is the most that {holder}; delete some that "
                "you no longer need"
            )
        if team != OPERATOR and of_team >= self.worlds_per_team_max:
            raise TooManyWorlds(
                f"the team has {of_team} worlds, which is the most that a team may have; delete "
                "some that you no longer need"
            )


DEFAULT_WORLD: Final = "default"
"""The world that exists from the start, with fixed keys."""


AS_GIVEN: Final = ("name", "seed", "key_seed", "clock", "generated_data")
"""The fields of a spec that are stored unchanged."""


class WorldSpec(Struct, frozen=True, kw_only=True, gc=False):
    """How a world begins, to which a reset returns it.

    With `are_keys_known` its key material follows from seed and id alone, without a secret. That
    seed is `key_seed` in a world that kept its keys when one of another seed was loaded.
    """

    id: str
    fixture: Fixture
    name: str = ""
    seed: int = 1
    key_seed: int | None = None
    clock: ClockSetting = field(default_factory=ClockSetting)
    switches: Mapping[str, Any] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    generated_data: GeneratedData | None = None
    are_keys_known: bool = True

    @classmethod
    def of(cls, begins: Beginning, *, id: str, fixture: Fixture) -> Self:
        """Return the spec that was stored like this."""
        given = {name: getattr(begins, name) for name in AS_GIVEN}
        is_known = begins.keys != OF_THE_SERVER
        return cls(id=id, fixture=fixture, are_keys_known=is_known, **given)

    @property
    def seed_of_cast_keys(self) -> int:
        """The seed from which the keys of the cast follow."""
        cast_seed = self.seed if self.fixture.cast_seed is None else self.fixture.cast_seed
        return cast_seed if self.key_seed is None else self.key_seed

    def beginning(self) -> Beginning:
        """Return the spec as it is stored."""
        # Omitted for known keys, as in files from before other keys existed.
        keys = "" if self.are_keys_known else OF_THE_SERVER
        given = {name: getattr(self, name) for name in AS_GIVEN}
        fixture = self.fixture
        return Beginning(fixture=fixture.name, cast_seed=fixture.cast_seed, keys=keys, **given)

    def first_state(self, system_s: float) -> WorldState:
        """Return the state of a new world that begins at this system time."""
        own, chosen = parted(self.switches)
        return WorldState(
            id=self.id,
            begins=self.beginning(),
            clock=RUNNING.after(self.clock, system_s),
            switches=defaults() | own,
            readings={**chosen, **self.readings},
        )

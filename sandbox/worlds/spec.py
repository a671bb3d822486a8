"""Whose a world is and how it begins, how many a server holds, and what it says when one cannot be.

The id of a team's world is `<world>@<team>`. Without `@` a world belongs to the operator (see
docs/design/security.md).
"""

from collections.abc import Mapping
from typing import Any, Final

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
"""In place of a team: the operator of the server."""

TEAM_PATTERN: Final = r"^[a-z0-9_-]{1,32}$"

_AT: Final = "@"


def team_of(world_id: str) -> str:
    """Return the team to which the world with this id belongs."""
    return world_id.partition(_AT)[2]


def world_of(team: str, name: str) -> str:
    """Return the id that a team means by the name of a world.

    It is the team's own world, whatever others there are.
    """
    return name if team == OPERATOR or team_of(name) == team else f"{name}{_AT}{team}"


class WorldTaken(ValueError):
    """A world with this id is there already, or one that has its keys."""


class KeysTaken(WorldTaken):
    """Another world has a key that this world would have."""


class TooManyWorlds(RuntimeError):
    """The server holds as many worlds as it may, and all of them are in use."""


class Protected(ValueError):
    """The world `default` cannot be removed."""


class Limits(Struct, frozen=True, kw_only=True, gc=False):
    """Limits: the number of worlds, of all and of a team; the time unused; a journal's length.

    `unused_after_s` None: a day in memory, no limit if the worlds are in a file.
    """

    worlds_max: int = WORLDS_MAX
    worlds_per_team_max: int = WORLDS_PER_TEAM_MAX
    unused_after_s: float | None = None
    journal_entries_max: int = JOURNAL_ENTRIES_MAX

    def check(self, team: str, *, of_all: int, of_team: int, holder: str) -> None:
        """Raise TooManyWorlds if the team gets no other world."""
        if of_all >= self.worlds_max:
            raise TooManyWorlds(
                f"{of_all} worlds are in use, which is the most that {holder}; delete those that "
                "are done with"
            )
        if team != OPERATOR and of_team >= self.worlds_per_team_max:
            raise TooManyWorlds(
                f"the team has {of_team} worlds, which is the most that a team may have; delete "
                "those that are done with"
            )


DEFAULT_WORLD: Final = "default"
"""The world that is there from the start, with fixed keys."""


AS_GIVEN: Final = ("name", "seed", "clock", "generated_data")
"""What the store has of how a world begins as it was given."""


class WorldSpec(Struct, frozen=True, kw_only=True, gc=False):
    """How a world begins, and the state to which a reset returns it.

    `are_keys_known`: its key material follows from seed and id alone, and from no secret.
    """

    id: str
    fixture: Fixture
    name: str = ""
    seed: int = 1
    clock: ClockSetting = field(default_factory=ClockSetting)
    switches: Mapping[str, Any] = field(default_factory=dict)
    readings: Mapping[str, str] = field(default_factory=dict)
    generated_data: GeneratedData | None = None
    are_keys_known: bool = True

    def beginning(self) -> Beginning:
        """Return the spec as the store has it."""
        # Omitted for documented keys, as in files from before other keys existed.
        keys = "" if self.are_keys_known else OF_THE_SERVER
        given = {name: getattr(self, name) for name in AS_GIVEN}
        return Beginning(fixture=self.fixture.name, keys=keys, **given)

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

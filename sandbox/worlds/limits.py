"""How many worlds a server holds, and what it says when one cannot be."""

from typing import Final

from msgspec import Struct

UNUSED_AFTER_S: Final = 86_400.0
"""Time after which an unused world in memory is dropped. Worlds in a file stay."""
WORLDS_MAX: Final = 1_000
WORLDS_PER_TEAM_MAX: Final = 100
JOURNAL_ENTRIES_MAX: Final = 1_000


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

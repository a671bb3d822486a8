"""Teams that share a server: which world belongs to which (docs/design/security.md).

The id of a team's world is `<world>@<team>`. Without `@` a world belongs to the operator.
"""

from typing import Final

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

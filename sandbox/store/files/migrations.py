"""Migrations of earlier file formats to the current one.

A migration converts the documents of one world to the next format. It is pure, and works on plain
fields, because the records of today know only today's format. When FORMAT grows, add the step here,
put a file of the format before into tests/store/formats, and never change either again.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple


class Plain(NamedTuple):
    """One document as a migration sees it: its id, its place in the table, its fields."""

    id: str
    number: int
    fields: dict[str, Any]


World = dict[str, list[Plain]]
"""The documents of one world by table, RECORDS too."""

Migrations = Mapping[int, Callable[[World], World]]
"""By format: what turns a world of that format into one of the next."""

MIGRATIONS: Final[Migrations] = {}
"""Every step there is. FORMAT is 1, and nothing is older."""


class UnknownFormat(ValueError):
    """The file has a format that this version cannot read; the message names it."""


def check_format(found: object, newest: int, migrations: Migrations) -> int:
    """The format named in a file. Raises UnknownFormat if no migration reaches today's."""
    if type(found) is not int:
        raise UnknownFormat(f"its format is {found!r}, which is none")
    if found > newest:
        raise UnknownFormat(
            f"it is of format {found}, and this version knows formats up to {newest}: "
            "a later version has written it"
        )
    # The first is enough: a number below all formats would leave no end of them.
    missing = next((step for step in range(found, newest) if step not in migrations), None)
    if missing is not None:
        raise UnknownFormat(f"it is of format {found}, and nothing leads on from {missing}")
    return found


def migrate(world: World, found: int, newest: int, migrations: Migrations) -> World:
    """A world of the format that was found, in the newest one."""
    for step in range(found, newest):
        world = migrations[step](world)
    return world

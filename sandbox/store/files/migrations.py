"""Migrations of earlier file formats to the current one.

A migration converts the documents of one world to the next format, in place, and touches only the
tables that differ: a large file is not rewritten whole. It works on plain fields, because the
records of today know only today's format. When FORMAT grows, add the step in a module of its own,
put a file of the format before into tests/store/formats, and never change either again.
"""

from collections.abc import Callable, Iterator, Mapping, MutableMapping
from typing import Final

from sandbox.store.files.format_2 import to_format_2
from sandbox.store.files.plain import Plain

World = MutableMapping[str, list[Plain]]
"""The documents of one world by table, RECORDS too."""

Migrations = Mapping[int, Callable[[World], None]]
"""By format: what turns a world of that format into one of the next."""


class LazyWorld(MutableMapping[str, list[Plain]]):
    """A world of a file, whose tables are read when a migration asks for them.

    `replaced` are the tables that were set or deleted; a table that was changed must be set.
    """

    def __init__(self, names: Mapping[str, Callable[[], list[Plain]]]) -> None:
        self._unread = dict(names)
        self._read: dict[str, list[Plain]] = {}
        self.replaced: set[str] = set()

    def __getitem__(self, table: str) -> list[Plain]:
        if table in self._unread:
            self._read[table] = self._unread.pop(table)()
        return self._read[table]

    def __setitem__(self, table: str, documents: list[Plain]) -> None:
        self._unread.pop(table, None)
        self._read[table] = documents
        self.replaced.add(table)

    def __delitem__(self, table: str) -> None:
        if self._unread.pop(table, None) is None:
            del self._read[table]
        self._read.pop(table, None)
        self.replaced.add(table)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._unread, *self._read])

    def __len__(self) -> int:
        return len(self._unread) + len(self._read)


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


def migrate(world: World, found: int, newest: int, migrations: Migrations) -> None:
    """Bring a world of the format that was found to the newest one.

    Raises UnknownFormat if its documents are not as that format has them.
    """
    for step in range(found, newest):
        try:
            migrations[step](world)
        except (TypeError, AttributeError, LookupError, ValueError) as error:
            raise UnknownFormat(
                f"it is of format {step}, but its documents are not: {error}"
            ) from error


MIGRATIONS: Final[Migrations] = {1: to_format_2}
"""Every step there is."""

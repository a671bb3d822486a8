"""Moments of a world to return to. They exist only while the process runs."""

from datetime import datetime
from typing import Final, NamedTuple

from msgspec import Struct

MARKS_MAX: Final = 10
"""Marks of one world; the oldest makes room."""


class Mark(NamedTuple):
    """A mark: the world's time when it was set, and its snapshot in parts."""

    id: str
    name: str
    now: datetime
    parts: list[bytes]


class Marks(Struct):
    """The marks of one world, oldest first. No id is given twice."""

    entries: tuple[Mark, ...] = ()
    numbered: int = 0

    def add(self, name: str, now: datetime, parts: list[bytes]) -> Mark:
        """A new mark; the oldest makes room."""
        self.numbered += 1
        mark = Mark(f"mark_{self.numbered}", name, now, parts)
        self.entries = (*self.entries, mark)[-MARKS_MAX:]
        return mark

    def remove(self, mark: Mark) -> None:
        """Forget a mark."""
        self.entries = tuple(one for one in self.entries if one is not mark)

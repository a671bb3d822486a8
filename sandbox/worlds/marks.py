"""A moment of a world to return to. Marks exist only while the process runs."""

from datetime import datetime
from typing import NamedTuple


class Mark(NamedTuple):
    """A mark: the world's time when it was set, and its snapshot in parts."""

    id: str
    name: str
    now: datetime
    parts: list[bytes]

"""When keys last authenticated. Stored beside the records, because reading is not a write."""

from collections.abc import Iterable
from datetime import datetime


class KeyUsage(dict[str, datetime]):
    """By key id, when it was last used."""

    def take_touched(self) -> Iterable[str]:
        """The keys that were used since the last call; only a state file needs them."""
        return ()


class RecordedKeyUsage(KeyUsage):
    """The same, which notes what changes."""

    def __init__(self) -> None:
        super().__init__()
        self._touched: dict[str, None] = {}

    def __setitem__(self, key_id: str, at: datetime) -> None:
        super().__setitem__(key_id, at)
        self._touched[key_id] = None

    def take_touched(self) -> Iterable[str]:
        touched, self._touched = self._touched, {}
        return touched

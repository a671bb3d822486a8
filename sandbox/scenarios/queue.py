"""The queue of next outcomes of one world, first come first served."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from sandbox.domain.payments.outcomes import Operation, Queued
from sandbox.scenarios.matcher import NearMisses, Words

QUEUE_MAX: Final = 1_000
"""Next outcomes that wait in one world. Each attempt goes through them until one fits."""

Entries = tuple[Queued, ...]


class QueueFull(ValueError):
    """The queue of next outcomes is full."""


class Queue:
    """The next outcomes of one world.

    `entries` are the stored ones, the first one first, and `store` stores others.
    """

    def __init__(self, store: Callable[[Entries], None], entries: Entries = ()) -> None:
        self._store = store
        self.entries = entries
        self._numbered = 0

    def add(self, entry: Queued) -> Queued:
        """Put one at the end, and give it an id. Raises QueueFull."""
        if len(self.entries) >= QUEUE_MAX:
            raise QueueFull(f"{QUEUE_MAX} next outcomes already wait, which is the most")
        ends = (one.id.rpartition("_")[2] for one in self.entries)
        taken = (int(end) for end in ends if end.isascii() and end.isdecimal())
        self._numbered = max(self._numbered, *taken, 0) + 1
        entry = replace(entry, id=f"next_{self._numbered}")
        self._store((*self.entries, entry))
        return entry

    def remove(self, id: str) -> bool:
        """Forget the entry with this id; whether there was one."""
        rest = tuple(one for one in self.entries if one.id != id)
        if len(rest) == len(self.entries):
            return False
        self._store(rest)
        return True

    def take(
        self,
        request: Words,
        operation: Operation | None,
        amount: int | None,
        near_misses: NearMisses,
    ) -> Queued | None:
        """The first that fits, which leaves the queue; the ones passed over are near misses."""
        for place, entry in enumerate(self.entries):
            mismatch = entry.mismatch(request, operation, amount)
            if mismatch is None:
                self._store((*self.entries[:place], *self.entries[place + 1 :]))
                return entry
            near_misses.append(f"queue: {mismatch}")
        return None

    def clear(self) -> None:
        """Forget them all."""
        self._store(())

"""The queue of next outcomes of one world, first come first served."""

from typing import Final, Protocol

from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.queued import Queued
from sandbox.scenarios.near_misses import NearMisses

QUEUE_MAX: Final = 1_000
"""Next outcomes that wait in one world. Each attempt goes through them until one fits."""


class QueueFull(ValueError):
    """The queue of next outcomes is full."""


class HoldsQueue(Protocol):
    """Whoever stores the next outcomes."""

    next_outcomes: tuple[Queued, ...]


class Queue:
    """The next outcomes of one world."""

    def __init__(self, holder: HoldsQueue) -> None:
        self._holder = holder

    def add(self, entry: Queued) -> None:
        """Put one at the end. Raises QueueFull."""
        waiting = self._holder.next_outcomes
        if len(waiting) >= QUEUE_MAX:
            raise QueueFull(f"{QUEUE_MAX} next outcomes already wait, which is the most")
        self._holder.next_outcomes = (*waiting, entry)

    def take(
        self, operation: Operation, amount: int | None, near_misses: NearMisses
    ) -> Queued | None:
        """The first that fits, which leaves the queue; the ones passed over are near misses."""
        waiting = self._holder.next_outcomes
        for place, entry in enumerate(waiting):
            mismatch = entry.mismatch(operation, amount)
            if mismatch is None:
                self._holder.next_outcomes = (*waiting[:place], *waiting[place + 1 :])
                return entry
            near_misses.append(f"queue: {mismatch}")
        return None

    def waiting(self) -> list[Queued]:
        """All that wait, first first."""
        return list(self._holder.next_outcomes)

    def __len__(self) -> int:
        return len(self._holder.next_outcomes)

    def clear(self) -> None:
        """Forget them all."""
        self._holder.next_outcomes = ()

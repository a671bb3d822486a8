"""The timers of one world, soonest first; of two that are due together, the older one."""

from collections.abc import Iterator
from heapq import heappop, heappush
from typing import Final

from sandbox.domain.clock import Timer

_Key = tuple[str, str, str]

CANCELED_MAX: Final = 1_000
"""With more canceled timers than this, and than others, they are dropped."""


class Timers:
    """Pending timers. A subject has one timer of each kind and tag; a new one replaces it."""

    def __init__(self) -> None:
        self._by_subject: dict[_Key, tuple[int, Timer]] = {}
        # Due time, number and key of every timer. Those that were canceled stay until their turn.
        self._heap: list[tuple[float, int, _Key]] = []
        self._numbered = 0

    @property
    def soonest(self) -> Timer | None:
        """The timer that is due first, or None."""
        heap = self._heap
        while heap:
            _, number, key = heap[0]
            entry = self._by_subject.get(key)
            if entry is not None and entry[0] == number:
                return entry[1]
            heappop(heap)
        return None

    def set(self, timer: Timer) -> None:
        """Add the timer, in place of the one of its kind, subject and tag."""
        self._numbered += 1
        self._add(timer, self._numbered)

    def _add(self, timer: Timer, number: int) -> None:
        key = (timer.kind, timer.subject, timer.tag)
        self._by_subject[key] = (number, timer)
        heappush(self._heap, (timer.due.timestamp(), number, key))
        if len(self._heap) > 2 * len(self._by_subject) + CANCELED_MAX:
            self._heap = [
                (one.due.timestamp(), number, (one.kind, one.subject, one.tag))
                for number, one in self.numbered()
            ]

    def cancel(self, kind: str, subject: str, tag: str = "") -> None:
        """Remove the timer, if there is one."""
        self._by_subject.pop((kind, subject, tag), None)

    def get(self, kind: str, subject: str, tag: str) -> Timer | None:
        """The timer of that kind, subject and tag, or None."""
        entry = self._by_subject.get((kind, subject, tag))
        return None if entry is None else entry[1]

    def number_of(self, kind: str, subject: str, tag: str) -> int | None:
        """The place of a timer among those that are due together, or None."""
        entry = self._by_subject.get((kind, subject, tag))
        return None if entry is None else entry[0]

    def numbered(self) -> list[tuple[int, Timer]]:
        """All timers with their numbers, soonest first."""
        return sorted(self._by_subject.values(), key=lambda entry: (entry[1].due, entry[0]))

    def restore(self, timer: Timer, number: int) -> None:
        """Take over a timer of an earlier run, with its number.

        Raises ValueError if there is one of its kind, subject and tag.
        """
        if (timer.kind, timer.subject, timer.tag) in self._by_subject:
            raise ValueError("appears twice: a subject has one timer of a kind and tag")
        self._add(timer, number)
        self._numbered = max(self._numbered, number)

    def __iter__(self) -> Iterator[Timer]:
        return (timer for _, timer in self.numbered())

    def __len__(self) -> int:
        return len(self._by_subject)

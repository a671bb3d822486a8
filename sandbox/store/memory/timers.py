"""The timers of one world, soonest first; of two that are due together, the older one."""

from collections.abc import Iterator

from sortedcontainers import SortedList

from sandbox.domain.clock import Timer
from sandbox.store.steps import Container


class Timers:
    """Pending timers. A subject has one timer of each kind and tag; a new one replaces it.

    `soonest` is the timer that is due first, or None. Every request asks for it several times, so
    it is an attribute.
    """

    def __init__(self) -> None:
        self.soonest: Timer | None = None
        self._by_subject: dict[tuple[str, str, str], tuple[float, int, Timer]] = {}
        self._in_order: SortedList = SortedList(key=lambda entry: entry[:2])
        self._numbered = 0

    def set(self, timer: Timer) -> None:
        """Add the timer, in place of the one of its kind, subject and tag."""
        self.cancel(timer.kind, timer.subject, timer.tag)
        self._numbered += 1
        entry = (timer.due.timestamp(), self._numbered, timer)
        self._by_subject[timer.kind, timer.subject, timer.tag] = entry
        self._add(entry)

    def cancel(self, kind: str, subject: str, tag: str = "") -> None:
        """Remove the timer, if there is one."""
        entry = self._by_subject.pop((kind, subject, tag), None)
        if entry is not None:
            self._in_order.remove(entry)
            if entry[2] is self.soonest:
                self.soonest = self._in_order[0][2] if self._in_order else None

    def get(self, kind: str, subject: str, tag: str) -> Timer | None:
        """The timer of that kind, subject and tag, or None."""
        entry = self._by_subject.get((kind, subject, tag))
        return None if entry is None else entry[2]

    def number_of(self, kind: str, subject: str, tag: str) -> int | None:
        """The place of a timer among those that are due together, or None."""
        entry = self._by_subject.get((kind, subject, tag))
        return None if entry is None else entry[1]

    def numbered(self) -> list[tuple[int, Timer]]:
        """All timers with their numbers, soonest first."""
        return [(number, timer) for _, number, timer in self._in_order]

    def containers(self) -> list[Container]:
        """All containers of timers, to be freed."""
        self._in_order.clear()
        self.soonest = None
        return [self._by_subject]

    def restore(self, timer: Timer, number: int) -> None:
        """Take over a timer of an earlier run, with its number.

        Raises ValueError if there is one of its kind, subject and tag.
        """
        if (timer.kind, timer.subject, timer.tag) in self._by_subject:
            raise ValueError("appears twice: a subject has one timer of a kind and tag")
        entry = (timer.due.timestamp(), number, timer)
        self._by_subject[timer.kind, timer.subject, timer.tag] = entry
        self._add(entry)
        self._numbered = max(self._numbered, number)

    def __iter__(self) -> Iterator[Timer]:
        return (timer for _, _, timer in self._in_order)

    def _add(self, entry: tuple[float, int, Timer]) -> None:
        self._in_order.add(entry)
        self.soonest = self._in_order[0][2]

    def __len__(self) -> int:
        return len(self._in_order)

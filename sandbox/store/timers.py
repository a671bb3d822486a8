"""The timers of one world, soonest first; of two that are due together, the older one."""

from sortedcontainers import SortedList

from sandbox.domain.timers import Timer


class Timers:
    """What will happen later. A subject has one timer of a kind and tag; a new one replaces it."""

    def __init__(self) -> None:
        self._by_subject: dict[tuple[str, str, str], tuple[float, int, Timer]] = {}
        self._in_order: SortedList = SortedList(key=lambda entry: entry[:2])
        self._numbered = 0

    def set(self, timer: Timer) -> None:
        """Add the timer, in place of the one of its kind, subject and tag."""
        self.cancel(timer.kind, timer.subject, timer.tag)
        self._numbered += 1
        entry = (timer.due.timestamp(), self._numbered, timer)
        self._by_subject[timer.kind, timer.subject, timer.tag] = entry
        self._in_order.add(entry)

    def cancel(self, kind: str, subject: str, tag: str = "") -> None:
        """Forget the timer, if there is one."""
        entry = self._by_subject.pop((kind, subject, tag), None)
        if entry is not None:
            self._in_order.remove(entry)

    def next(self) -> Timer | None:
        """The timer that is due soonest; None when there is none."""
        return self._in_order[0][2] if self._in_order else None

    def __len__(self) -> int:
        return len(self._in_order)

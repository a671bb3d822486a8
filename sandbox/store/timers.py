"""The timers of one world, soonest first; of two that are due together, the older one."""

from sortedcontainers import SortedList

from sandbox.domain.timers import Timer


class Timers:
    """What will happen later. A subject has one timer of a kind; a new one takes its place."""

    def __init__(self) -> None:
        self._by_subject: dict[tuple[str, str], tuple[float, int, Timer]] = {}
        self._in_order: SortedList = SortedList(key=lambda entry: entry[:2])
        self._numbered = 0

    def set(self, timer: Timer) -> None:
        """Add the timer, in place of the one of its kind and subject."""
        self.cancel(timer.kind, timer.subject)
        self._numbered += 1
        entry = (timer.due.timestamp(), self._numbered, timer)
        self._by_subject[timer.kind, timer.subject] = entry
        self._in_order.add(entry)

    def cancel(self, kind: str, subject: str) -> None:
        """Forget the timer, if there is one."""
        entry = self._by_subject.pop((kind, subject), None)
        if entry is not None:
            self._in_order.remove(entry)

    def next(self) -> Timer | None:
        """The timer that is due soonest; None when there is none."""
        return self._in_order[0][2] if self._in_order else None

    def __len__(self) -> int:
        return len(self._in_order)

"""An index: values to the numbers of their rows, ascending."""

from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from heapq import merge
from typing import Final

from sortedcontainers import SortedList

from sandbox.store.steps import OFTEN, Steps, let_go

_NO_ROWS: tuple[int, ...] = ()

PIECE: Final = 1_000
"""So many numbers are taken at once: as many as a sorted list has in each of its lists."""


class Index:
    """One index. A value that one row has costs no list: most values of most ids are like that.

    `entries` hold the number of the row, or those of all rows, by value.
    """

    __slots__ = ("entries",)

    def __init__(self) -> None:
        self.entries: dict[str, int | SortedList] = {}

    def fill(self, rows: Iterable[tuple[int, Sequence[str]]]) -> Steps[None]:
        """Take in many rows in steps, given in ascending order of their numbers."""
        found: dict[str, list[int]] = {}
        for taken, (number, values) in enumerate(rows):
            for value in values:
                found.setdefault(value, []).append(number)
            if not taken % OFTEN:
                yield
        for taken, (value, numbers) in enumerate(found.items()):
            if len(numbers) == 1:
                self.entries[value] = numbers[0]
            else:
                self.entries[value] = yield from sorted_in_steps(numbers)
            if not taken % OFTEN:
                yield
        yield from let_go([found])

    def move(self, number: int, before: Sequence[str], after: Sequence[str]) -> None:
        """Take note that the values of a row changed."""
        for value in before:
            if value not in after:
                self._remove(value, number)
        for value in after:
            if value not in before:
                self._add(value, number)

    def _add(self, value: str, number: int) -> None:
        entry = self.entries.get(value)
        if entry is None:
            self.entries[value] = number
        elif isinstance(entry, int):
            self.entries[value] = SortedList((entry, number))
        else:
            entry.add(number)

    def _remove(self, value: str, number: int) -> None:
        entry = self.entries[value]
        if isinstance(entry, int):
            del self.entries[value]
        else:
            entry.remove(number)

    def rows(self, value: str) -> Sequence[int]:
        """The numbers under a value, ascending. The returned list changes with the index."""
        entry = self.entries.get(value)
        if entry is None:
            return _NO_ROWS
        return (entry,) if isinstance(entry, int) else entry

    def has(self, value: str, number: int) -> bool:
        """Whether the row has the value."""
        entry = self.entries.get(value)
        if entry is None or isinstance(entry, int):
            return entry == number
        return number in entry

    def rows_of_any(self, values: Iterable[str]) -> Iterable[int]:
        """The numbers under any of the values, ascending, each once; see `in_pieces`."""
        several = [in_pieces(self.rows(value)) for value in values]
        return several[0] if len(several) == 1 else _each_once(merge(*several))


def _each_once(ascending: Iterable[int]) -> Iterator[int]:
    last = None
    for number in ascending:
        if number != last:
            yield number
        last = number


def in_pieces(numbers: Sequence[int]) -> Iterator[int]:
    """These ascending numbers, of which there may be more, or fewer, before the end.

    A copy would be simpler. But to touch millions of numbers at once takes longer than others
    should wait.
    """
    first = 0
    while piece := list(numbers[(start := position(numbers, first)) : start + PIECE]):
        yield from piece
        first = piece[-1] + 1


def sorted_in_steps(numbers: list[int]) -> Steps[SortedList]:
    """These ascending numbers as a sorted list; the list that is given is empty afterwards."""
    found = SortedList()
    for start in range(0, len(numbers), PIECE):
        piece = numbers[start : start + PIECE]
        # What `update` does with numbers in order, but not with all of them at once.
        found._lists.append(piece)
        found._maxes.append(piece[-1])
        found._len += len(piece)
        yield
    yield from let_go([numbers])
    return found


class Ascending(list[int]):
    """Ascending numbers, most of which come in order."""

    def put(self, number: int) -> None:
        """Add one that is not there."""
        if not self or number > self[-1]:
            self.append(number)
        else:
            insort(self, number)


def position(numbers: Sequence[int], number: int) -> int:
    """How many of these ascending numbers are smaller."""
    if isinstance(numbers, SortedList):
        return int(numbers.bisect_left(number))
    return bisect_left(numbers, number)

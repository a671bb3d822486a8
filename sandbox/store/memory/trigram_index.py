"""Finding a piece of text inside many texts, without searching all of them.

Every run of one to three characters leads to the rows that have it. For a piece of up to three
characters these rows are the result. For a longer piece, the rows of its rarest run are candidates
that still have to be checked.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from sortedcontainers import SortedList

RUN_CHARS: Final = 3


class TextIndex:
    """Runs of characters to the numbers of the rows that have them, in any case of letters."""

    def __init__(self) -> None:
        self.entries: dict[str, SortedList] = {}

    def move(self, number: int, before: Iterable[str | None], after: Iterable[str | None]) -> None:
        """Take note that the texts of a row changed."""
        old, new = _runs(before), _runs(after)
        for run in old - new:
            self.entries[run].remove(number)
        for run in new - old:
            if run not in self.entries:
                self.entries[run] = SortedList()
            self.entries[run].add(number)

    def candidates(self, piece: str) -> tuple[Sequence[int], bool]:
        """Rows that may have the piece, ascending, and whether all of them surely do."""
        piece = piece.lower()
        if len(piece) <= RUN_CHARS:
            return self.entries.get(piece, ()), True
        runs = [piece[at : at + RUN_CHARS] for at in range(len(piece) - RUN_CHARS + 1)]
        return min((self.entries.get(run, ()) for run in runs), key=len), False


def _runs(texts: Iterable[str | None]) -> set[str]:
    found: set[str] = set()
    for text in texts:
        if text:
            lower = text.lower()
            for length in range(1, RUN_CHARS + 1):
                found.update(lower[at : at + length] for at in range(len(lower) - length + 1))
    return found

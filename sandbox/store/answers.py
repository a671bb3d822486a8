"""Answers to questions that no single index answers, remembered and kept up to date.

The first time, the rows of the shortest index are gone through. Asked again, only the rows that
changed since are looked at, so that paging through a search, or polling it, costs the same
whatever is stored.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from sortedcontainers import SortedList

from sandbox.store.port import Where

ANSWERS_MAX: Final = 64
CHANGES_MAX: Final = 50_000
"""Beyond this many changes nobody catches up any more: the answers are forgotten."""

Question = frozenset[tuple[str, Hashable]]
RankOf = Callable[[int], int]


def question_of(where: Where) -> Question:
    """The conditions as something to remember an answer by."""
    return frozenset(
        (name, values if isinstance(values, str | int) else tuple(values))
        for name, values in where.items()
    )


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: how to tell of a row, and where rows that may fulfil it are found.

    `rows` None means that it helps to find none; `size` is how many it finds at most. `is_exact`
    means that all of them fulfil it.
    """

    holds: Callable[[int], bool]
    rows: Callable[[], Iterable[int]] | None = None
    size: int = 0
    is_exact: bool = False


@dataclass(slots=True)
class _Answer:
    """Rows in ascending order: of their numbers, or of rank and number.

    `ranks` is kept for the second kind only, because a row that moves must first be found.
    """

    matching: SortedList
    changes_seen: int
    ranks: dict[int, int] | None = None


class Answers:
    """The remembered answers of one table, those not asked for longest forgotten first."""

    def __init__(self) -> None:
        self._by_question: dict[tuple[Question, str], _Answer] = {}
        self._changes: list[int] = []

    def note_change(self, number: int) -> None:
        """The row with this number is new or has changed."""
        if not self._by_question:
            return
        self._changes.append(number)
        if len(self._changes) > CHANGES_MAX:
            self._by_question.clear()
            self._changes.clear()

    def matching(self, question: Question, conditions: Sequence[Condition]) -> Sequence[int]:
        """The numbers of the rows that fulfil all conditions, ascending."""
        return self._answer(question, conditions, "", None).matching  # type: ignore[no-any-return]

    def ranked(
        self, question: Question, conditions: Sequence[Condition], order: str, rank_of: RankOf
    ) -> Sequence[tuple[int, int]]:
        """Rank and number of the rows that fulfil all conditions, ascending."""
        answer = self._answer(question, conditions, order, rank_of)
        return answer.matching  # type: ignore[no-any-return]

    def _answer(
        self,
        question: Question,
        conditions: Sequence[Condition],
        order: str,
        rank_of: RankOf | None,
    ) -> _Answer:
        answer = self._by_question.pop((question, order), None)
        if answer is None:
            answer = _made(_go_through(conditions), len(self._changes), rank_of)
        else:
            self._catch_up(answer, conditions, rank_of)
        self._by_question[question, order] = answer
        if len(self._by_question) > ANSWERS_MAX:
            del self._by_question[next(iter(self._by_question))]
        return answer

    def _catch_up(
        self, answer: _Answer, conditions: Sequence[Condition], rank_of: RankOf | None
    ) -> None:
        for number in set(self._changes[answer.changes_seen :]):
            fits = all(condition.holds(number) for condition in conditions)
            if answer.ranks is None or rank_of is None:
                answer.matching.discard(number)
                if fits:
                    answer.matching.add(number)
                continue
            if (rank := answer.ranks.pop(number, None)) is not None:
                answer.matching.discard((rank, number))
            if fits:
                answer.ranks[number] = rank_of(number)
                answer.matching.add((answer.ranks[number], number))
        answer.changes_seen = len(self._changes)


def _made(numbers: list[int], changes_seen: int, rank_of: RankOf | None) -> _Answer:
    if rank_of is None:
        return _Answer(SortedList(numbers), changes_seen)
    ranks = {number: rank_of(number) for number in numbers}
    return _Answer(SortedList((rank, n) for n, rank in ranks.items()), changes_seen, ranks)


def _go_through(conditions: Sequence[Condition]) -> list[int]:
    shortest = min((one for one in conditions if one.rows), key=lambda one: one.size)
    assert shortest.rows
    tests = [one.holds for one in conditions if one is not shortest or not one.is_exact]
    return [number for number in shortest.rows() if all(test(number) for test in tests)]

"""Answers to questions that no single index answers, remembered and kept up to date.

The first time, the rows of the shortest index are gone through. Asked again, only the rows that
changed since are looked at, so that paging through a search, or polling it, costs the same
whatever is stored.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from sortedcontainers import SortedList

ANSWERS_MAX: Final = 64
CHANGES_MAX: Final = 50_000
"""Beyond this many changes nobody catches up any more: the answers are forgotten."""

Question = frozenset[tuple[str, str | tuple[str, ...]]]


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition: rows that may fulfil it, whether all of them do, and how to tell of one."""

    candidates: Sequence[int]
    is_exact: bool
    holds: Callable[[int], bool]


@dataclass(slots=True)
class _Answer:
    matching: SortedList
    changes_seen: int


class Answers:
    """The remembered answers of one table, those not asked for longest forgotten first."""

    def __init__(self) -> None:
        self._by_question: dict[Question, _Answer] = {}
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
        """The rows that fulfil all conditions, ascending."""
        answer = self._by_question.pop(question, None)
        if answer is None:
            answer = _Answer(_go_through(conditions), len(self._changes))
        else:
            self._catch_up(answer, conditions)
        self._by_question[question] = answer
        if len(self._by_question) > ANSWERS_MAX:
            del self._by_question[next(iter(self._by_question))]
        return answer.matching  # type: ignore[no-any-return]

    def _catch_up(self, answer: _Answer, conditions: Sequence[Condition]) -> None:
        for number in set(self._changes[answer.changes_seen :]):
            answer.matching.discard(number)
            if all(condition.holds(number) for condition in conditions):
                answer.matching.add(number)
        answer.changes_seen = len(self._changes)


def _go_through(conditions: Sequence[Condition]) -> SortedList:
    shortest = min(conditions, key=lambda condition: len(condition.candidates))
    tests = [one.holds for one in conditions if one is not shortest or not one.is_exact]
    return SortedList(
        number for number in shortest.candidates if all(test(number) for test in tests)
    )

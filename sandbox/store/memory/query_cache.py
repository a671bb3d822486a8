"""Cached results of queries that no single index answers.

The first time, a query goes through the rows of the shortest index. After that it looks only at the
rows that changed, so paging through a search, or polling it, costs the same however much is stored.
"""

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Final

from msgspec import Struct
from sortedcontainers import SortedList

from sandbox.store.memory.indexes import sorted_in_steps
from sandbox.store.port import ANY_TIME, Between, Where
from sandbox.store.steps import OFTEN, Steps, let_go, run_through

ANSWERS_MAX: Final = 64
CHANGES_MAX: Final = 50_000
"""After this many changes the cached results are dropped instead of updated."""

SEEN_AT_ONCE_MAX: Final = 1_000
"""The most changes that a query catches up with itself; more are prepared in steps."""

Query = frozenset[tuple[str, Hashable]]
RankOf = Callable[[int], int]


def question_of(where: Where) -> Query:
    """The conditions as something to remember an answer by."""
    return frozenset(
        (name, values if isinstance(values, str | int) else tuple(values))
        for name, values in where.items()
    )


def ranked_question_of(where: Where, between: Between) -> Query:
    """The same for rows in another order, where the time is a condition as well."""
    question = question_of(where)
    return question if between == ANY_TIME else question | {("", between)}


class Predicate(Struct, frozen=True):
    """One condition: how to check a row, and where to find candidates.

    `rows` None means that it gives no candidates; `size` is their maximum number. `is_exact` means
    that all candidates fulfil it.
    """

    holds: Callable[[int], bool]
    rows: Callable[[], Iterable[int]] | None = None
    size: int = 0
    is_exact: bool = False


class _Answer(Struct):
    """Rows in ascending order: of their numbers, or of rank and number.

    Only the second kind has `ranks`, because a row that moves must first be found.
    """

    matching: SortedList
    changes_seen: int
    ranks: dict[int, int] | None = None


class Answers:
    """The cached results of one table; the least recently used go first."""

    def __init__(self) -> None:
        self._by_question: dict[tuple[Query, str], _Answer] = {}
        self._changes: list[int] = []
        # How many answers are being made, and how often all were forgotten.
        self._being_made = self._forgotten = 0

    def note_change(self, number: int) -> None:
        """The row with this number is new or has changed."""
        if not (self._by_question or self._being_made):
            return
        self._changes.append(number)
        if len(self._changes) > CHANGES_MAX:
            self._by_question.clear()
            self._changes.clear()
            self._forgotten += 1

    def is_ready(self, question: Query, order: str) -> bool:
        """Whether the result is cached and at most a few changes behind."""
        answer = self._by_question.get((question, order))
        return answer is not None and len(self._changes) - answer.changes_seen <= SEEN_AT_ONCE_MAX

    def prepare(
        self,
        question: Query,
        conditions: Sequence[Predicate],
        order: str = "",
        rank_of: RankOf | None = None,
    ) -> Steps[None]:
        """Fill the cache. The next query catches up with changes made meanwhile."""
        key = (question, order)
        answer = self._by_question.get(key)
        if answer is None:
            answer = yield from self._make(conditions, rank_of)
            if answer is None:
                return
            self._remember(key, answer)
        while answer.changes_seen < len(self._changes):
            changes = self._changes[answer.changes_seen : answer.changes_seen + OFTEN]
            _apply(set(changes), answer, conditions, rank_of)
            answer.changes_seen += len(changes)
            yield

    def _make(
        self, conditions: Sequence[Predicate], rank_of: RankOf | None
    ) -> "Steps[_Answer | None]":
        """A new result; None if too much has changed."""
        changes_seen, forgotten = len(self._changes), self._forgotten
        self._being_made += 1
        try:
            numbers = yield from _go_through(conditions)
            answer = yield from _answer_of(numbers, changes_seen, rank_of)
        finally:
            self._being_made -= 1
        return answer if self._forgotten == forgotten else None

    def _remember(self, key: tuple[Query, str], answer: _Answer) -> None:
        self._by_question[key] = answer
        if len(self._by_question) > ANSWERS_MAX:
            del self._by_question[next(iter(self._by_question))]

    def matching(self, question: Query, conditions: Sequence[Predicate]) -> Sequence[int]:
        """The numbers of the rows that fulfil all conditions, ascending."""
        return self._answer(question, conditions, "", None).matching  # type: ignore[no-any-return]

    def ranked(
        self, question: Query, conditions: Sequence[Predicate], order: str, rank_of: RankOf
    ) -> Sequence[tuple[int, int]]:
        """Rank and number of the rows that fulfil all conditions, ascending."""
        answer = self._answer(question, conditions, order, rank_of)
        return answer.matching  # type: ignore[no-any-return]

    def _answer(
        self,
        question: Query,
        conditions: Sequence[Predicate],
        order: str,
        rank_of: RankOf | None,
    ) -> _Answer:
        answer = self._by_question.pop((question, order), None)
        if answer is None:
            answer = run_through(self._make(conditions, rank_of))
            assert answer
        elif answer.changes_seen < len(self._changes):
            _apply(set(self._changes[answer.changes_seen :]), answer, conditions, rank_of)
            answer.changes_seen = len(self._changes)
        self._remember((question, order), answer)
        return answer


def _apply(
    changed: Iterable[int],
    answer: _Answer,
    conditions: Sequence[Predicate],
    rank_of: RankOf | None,
) -> None:
    """Bring an answer up to date with rows that changed."""
    for number in changed:
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


def _answer_of(numbers: list[int], changes_seen: int, rank_of: RankOf | None) -> Steps[_Answer]:
    if rank_of is None:
        in_order = yield from sorted_in_steps(numbers)
        return _Answer(in_order, changes_seen)
    ranks: dict[int, int] = {}
    matching = SortedList()
    for taken, number in enumerate(numbers):
        ranks[number] = rank = rank_of(number)
        matching.add((rank, number))
        if not taken % OFTEN:
            yield
    yield from let_go([numbers])
    return _Answer(matching, changes_seen, ranks)


def _go_through(conditions: Sequence[Predicate]) -> Steps[list[int]]:
    shortest = min((one for one in conditions if one.rows), key=lambda one: one.size)
    assert shortest.rows
    tests = [one.holds for one in conditions if one is not shortest or not one.is_exact]
    found = []
    for taken, number in enumerate(shortest.rows()):
        if all(test(number) for test in tests):
            found.append(number)
        if not taken % OFTEN:
            yield
    return found

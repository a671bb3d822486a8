"""Prepares a query to a large table, so the query itself is quick.

The first query of a kind builds indexes and goes through rows (decisions 11 and 16). A caller that
can wait prepares the query in steps; for any other caller it happens inside the query.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from sandbox.store.building import build_index, build_text_index
from sandbox.store.memory.query_cache import question_of, ranked_question_of
from sandbox.store.port import ANY_TIME, NEWEST_FIRST, Between, Order, Where
from sandbox.store.steps import OFTEN, Steps

if TYPE_CHECKING:
    from sandbox.store.memory.table import Rows

ROWS_AT_ONCE_MAX: Final = 1_000
"""In a table with no more rows every question is answered within a millisecond or two."""


class Unprepared(Exception):
    """A query of a caller that can wait: prepare it, and ask again.

    `steps` gives the remaining steps, or None if there are none.
    """

    def __init__(self, steps: Callable[[], Steps[None] | None]) -> None:
        super().__init__("the question is to be prepared first")
        self.steps = steps


def preparation(
    rows: "Rows",
    where: Where,
    *,
    limit: int | None = None,
    between: Between = ANY_TIME,
    order: Order = NEWEST_FIRST,
) -> Steps[None] | None:
    """The steps after which `Rows.find` answers at once; None if it does already."""
    if len(rows.number_of) <= ROWS_AT_ONCE_MAX:
        return None
    table = rows.table
    is_known = all(
        name in rows.indexes or name in rows.texts or name in table.filters for name in where
    )
    if order.by:
        question = ranked_question_of(where, between)
        is_ready = rows.answers.is_ready(question, order.by)
    else:
        is_ready = rows.is_by_one_index(where) or rows.answers.is_ready(question_of(where), "")
    # A page is short; a whole result may be many unread records.
    is_read = limit is not None or not rows.by_number.documents
    if is_known and is_ready and is_read:
        return None
    return _prepare_unless_gone(_prepare(rows, where, limit, between, order), rows)


def _prepare_unless_gone(steps: Steps[None], rows: "Rows") -> Steps[None]:
    try:
        yield from steps
    except LookupError:
        # The world was reset or deleted, so the next query goes to another table.
        if not rows.is_let_go:
            raise


def _prepare(
    rows: "Rows", where: Where, limit: int | None, between: Between, order: Order
) -> Steps[None]:
    for name in where:
        if name in rows.table.indexes and name not in rows.indexes:
            yield from build_index(rows, name)
        if name in rows.table.texts and name not in rows.texts:
            yield from build_text_index(rows, name)
    if order.by:
        yield from rows.answers.prepare(*rows.ranking(where, between, order.by))
    elif not rows.is_by_one_index(where):
        yield from rows.answers.prepare(question_of(where), rows.conditions(where))
    if limit is None and rows.by_number.documents:
        for taken, number in enumerate(list(rows.matching(where))):
            rows.by_number[number]
            if not taken % OFTEN:
                yield

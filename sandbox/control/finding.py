"""Queries of the control API on the records of a world, in pages.

No query holds up other requests: long ones are prepared in slices (decision 43).
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeVar

from sandbox.control.rows import ControlFault, ControlRequest, must_be_known
from sandbox.domain.directory import Account, Terminal
from sandbox.domain.text import nearest
from sandbox.store.port import ANY_TIME, NEWEST_FIRST, Between, Order, Where
from sandbox.store.preparing import Unprepared
from sandbox.store.tables import Row
from sandbox.worlds.world import World

R = TypeVar("R", bound=Row)

_QUESTIONS_MAX: Final = 8
"""The most preparations of one query; after them it runs at once, however long it takes."""


async def found_in(
    request: ControlRequest,
    kind: type[R],
    where: Where,
    *,
    limit: int | None = None,
    offset: int = 0,
    between: Between = ANY_TIME,
    order: Order = NEWEST_FIRST,
    world: World | None = None,
) -> tuple[list[R], int]:
    """What `UnitOfWork.find` gives, after the store was prepared for the query.

    The world is that of the path, unless another one is given.
    """
    world = world or request.world
    for number in range(_QUESTIONS_MAX + 1):
        unit = world.store.begin()
        unit.can_wait = number < _QUESTIONS_MAX
        try:
            return unit.find(kind, where, limit=limit, offset=offset, between=between, order=order)
        except Unprepared as question:
            async with world.preparing:
                if (steps := question.steps()) is not None:
                    await request.services.worlds.slices.run(steps)
    raise AssertionError("a query that cannot wait is never unprepared")


async def page_of(
    request: ControlRequest,
    kind: type[R],
    where: Where,
    *,
    limit: int,
    before: int | None,
    between: Between = ANY_TIME,
    order: Order = NEWEST_FIRST,
) -> tuple[list[R], int, int | None]:
    """A page of records, their total number, and the cursor of the next page.

    The cursor is the number of records that are still to come, so records that are added in front
    of a page do not move it.
    """
    offset = 0
    if before is not None:
        _, total = await found_in(request, kind, where, limit=1, between=between, order=order)
        offset = max(total - before, 0)
    rows, total = await found_in(
        request, kind, where, limit=limit, offset=offset, between=between, order=order
    )
    left = total - offset - len(rows)
    return rows, total, left if left > 0 and rows else None


def words_of(name: str, text: str | None, known: Iterable[str]) -> list[str]:
    """The words of a parameter, which commas separate.

    Raises ControlFault, with the nearest known word, for one that is none of them.
    """
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        must_be_known(name, word, known)
    return list(dict.fromkeys(words))


def account_of(world: World, text: str, field: str = "account") -> Account:
    """The account with this id or name of the cast. Raises ControlFault if there is none."""
    return _named(world, field, Account, world.cast.accounts, text)


def terminal_of(world: World, text: str) -> Terminal:
    """The terminal with this id or name of the cast. Raises ControlFault if there is none."""
    return _named(world, "terminal", Terminal, world.cast.terminals, text)


def _named(world: World, field: str, kind: type[R], cast: Mapping[str, str], text: str) -> R:
    record = world.store.get(kind, cast.get(text, text))
    if record is None:
        noun = kind.__name__.lower()
        raise ControlFault(
            400,
            "validation_error",
            f"{field}: the world has no {noun} with the id or cast name {text[:80]!r}",
            nearest=nearest(text, cast),
        )
    return record


def cast_names(cast: Mapping[str, Any]) -> dict[str, str]:
    """The name of the cast of each id."""
    return {(id if isinstance(id, str) else id[0]): name for name, id in cast.items()}

"""Queries on the records of a world, in pages."""

from collections.abc import Iterable
from typing import TypeVar

from sandbox.control.context import invalid, must_be_known
from sandbox.domain.directory import Account, Terminal
from sandbox.domain.keys import ApiKey
from sandbox.domain.text import nearest
from sandbox.store.tables import ANY_TIME, EVERYTHING, NEWEST_FIRST, Between, Order, Row, Where
from sandbox.worlds.world import World

R = TypeVar("R", bound=Row)


def find_page(
    world: World,
    kind: type[R],
    where: Where,
    *,
    limit: int,
    before: int | None,
    between: Between = ANY_TIME,
    order: Order = NEWEST_FIRST,
) -> tuple[list[R], int, int | None]:
    """Find a page of records, their total number, and the cursor of the next page.

    The cursor is the number of records that are still to come, so records that are added in front
    of a page do not move it.
    """
    unit, offset = world.store.begin(), 0
    if before is not None:
        _, total = unit.find(kind, where, limit=1, between=between, order=order)
        offset = max(total - before, 0)
    rows, total = unit.find(kind, where, limit=limit, offset=offset, between=between, order=order)
    left = total - offset - len(rows)
    return rows, total, left if left > 0 and rows else None


def parse_words(name: str, text: str | None, known: Iterable[str]) -> list[str]:
    """The words of a parameter, which commas separate.

    Raises ControlFault, with the nearest known word, for one that is none of them.
    """
    words = [] if text is None else [word.strip() for word in text.split(",")]
    for word in words:
        must_be_known(name, word, known)
    return list(dict.fromkeys(words))


def get_account(world: World, text: str, field: str = "account") -> Account:
    """The account with this id or name of the cast. Raises ControlFault if there is none."""
    return _get_named(world, field, Account, "account", text)


def find_scope(world: World, account: str | None) -> str:
    """The scope of a query on the records of an account, or of all. Raises ControlFault."""
    return EVERYTHING if account is None else get_account(world, account).id


def get_terminal(world: World, text: str) -> Terminal:
    """The terminal with this id or name of the cast. Raises ControlFault if there is none."""
    return _get_named(world, "terminal", Terminal, "terminal", text)


def get_key(world: World, text: str, field: str = "key") -> ApiKey:
    """The key with this id or name of the cast. Raises ControlFault if there is none."""
    return _get_named(world, field, ApiKey, "key", text)


def _get_named(world: World, field: str, kind: type[R], noun: str, text: str) -> R:
    cast = world.cast.ids_of(noun)
    record = world.store.get(kind, cast.get(text, text))
    if record is None:
        why = f"{field}: the world has no {noun} with the id or cast name {text[:80]!r}"
        raise invalid(why, nearest(text, cast))
    return record


def cast_names(world: World, kind: str) -> dict[str, str]:
    """The name in the cast of each account, terminal, location or key, by its id."""
    return {id: name for name, id in world.cast.ids_of(kind).items()}

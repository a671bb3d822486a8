"""Work on many records, with pauses in which other requests are answered."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Final, TypeVar

T = TypeVar("T")

EVERY: Final = 200
"""Small things that are looked at in a row: some milliseconds."""


async def collect(items: Iterable[T], *, every: int = EVERY) -> list[T]:
    """Make a list of the items, with a pause after every so many."""
    return await select(items, lambda item: True, every=every)


async def select(items: Iterable[T], fits: Callable[[T], bool], *, every: int = EVERY) -> list[T]:
    """Make a list of the items that fit, with a pause after every so many."""
    found: list[T] = []
    for number, item in enumerate(items, start=1):
        if fits(item):
            found.append(item)
        if number % every == 0:
            await asyncio.sleep(0)
    return found

"""Work on many records, with pauses in which other requests are answered."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar

T = TypeVar("T")

EVERY: Final = 200
"""Small things that are looked at in a row: some milliseconds."""


def _has_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def pause() -> None:
    """Let other requests have a turn, if there is an event loop."""
    if _has_loop():
        await asyncio.sleep(0)


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
            await pause()
    return found


async def run_in_thread(work: Callable[..., T], *given: Any) -> T:
    """Do long work that touches nothing in use, while other requests are answered."""
    return await asyncio.to_thread(work, *given) if _has_loop() else work(*given)

"""Long work beside the requests of other worlds, and work that excludes other work."""

import asyncio
from asyncio import Lock
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

EVERY: Final = 200
"""Small things that are looked at in a row: some milliseconds."""


async def run_in_thread(function: Callable[..., T], *args: Any) -> T:
    """Call a function that touches nothing in use, while other requests are served.

    Without an event loop there are no other requests.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(*args)
    return await asyncio.to_thread(function, *args)


async def run_aside(function: Callable[..., T], *args: Any, is_large: bool) -> T:
    """Call the function, in a thread if it is large work, while other requests are served.

    It must not touch what is in use.
    """
    return await run_in_thread(function, *args) if is_large else function(*args)


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


class Alone:
    """Runs exclusive work one after the other, for each name."""

    def __init__(self) -> None:
        # Only of names that are in use.
        self._locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()

    def __contains__(self, name: str) -> bool:
        lock = self._locks.get(name)
        return lock is not None and lock.locked()

    def with_(self, name: str) -> Lock:
        """The lock that gives the exclusive right to this name."""
        return self._locks.setdefault(name, Lock())

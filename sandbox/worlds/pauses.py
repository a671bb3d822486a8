"""Long work beside the requests of other worlds, and work that excludes other work."""

import asyncio
from asyncio import Lock
from collections.abc import Callable
from typing import Any, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")


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

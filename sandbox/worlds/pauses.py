"""Long work beside the requests of other worlds, and work that excludes other work."""

import asyncio
from asyncio import Lock
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, TypeVar

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
        self._locks: dict[str, Lock] = {}
        self._users: Counter[str] = Counter()

    def __contains__(self, name: str) -> bool:
        return name in self._locks

    @asynccontextmanager
    async def with_(self, name: str) -> AsyncIterator[None]:
        """Hold the exclusive right to this name."""
        lock = self._locks.setdefault(name, Lock())
        self._users[name] += 1
        try:
            async with lock:
                yield
        finally:
            self._users[name] -= 1
            if not self._users[name]:
                del self._users[name], self._locks[name]

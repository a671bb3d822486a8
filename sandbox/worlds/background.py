"""Background work of worlds, and long tasks that leave room for other requests."""

import asyncio
from asyncio import Lock
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from sandbox.domain.clock import Timer
from sandbox.domain.profile import Profile
from sandbox.measurements import Measured
from sandbox.store.store import UnitOfWork
from sandbox.webhooks.worker import DeliveryWorker
from sandbox.worlds.spec import Limits

T = TypeVar("T")

EVERY: Final = 200
"""How many small items to process without a pause: some milliseconds."""


async def run_in_thread(function: Callable[..., T], *args: Any) -> T:
    """Call a function in a thread, while other requests are served; it must not touch shared state.

    Without an event loop there are no other requests, and it is called directly.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return function(*args)
    return await asyncio.to_thread(function, *args)


async def collect(items: Iterable[T], *, every: int = EVERY) -> list[T]:
    """Return a list of the items, with pauses for other tasks."""
    return await select(items, lambda item: True, every=every)


async def select(items: Iterable[T], fits: Callable[[T], bool], *, every: int = EVERY) -> list[T]:
    """Return a list of the items that fit, with pauses for other tasks."""
    found: list[T] = []
    for number, item in enumerate(items, start=1):
        if fits(item):
            found.append(item)
        if number % every == 0:
            await asyncio.sleep(0)
    return found


class Alone:
    """Locks by name, for exclusive work."""

    def __init__(self) -> None:
        # Only names in use have a lock.
        self._locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()

    def __contains__(self, name: str) -> bool:
        lock = self._locks.get(name)
        return lock is not None and lock.locked()

    def with_(self, name: str) -> Lock:
        """Return the lock for this name."""
        return self._locks.setdefault(name, Lock())


# --- timers, saving -----------------------------------------------------------------------------

_LOOK_AGAIN_S: Final = 3_600.0
"""How often to read a world's clock again, to notice jumps of the system clock."""


@dataclass
class _Call:
    """A call to make at a time of the monotonic clock. Without a loop it has no handle yet."""

    due_s: float
    function: Callable[[], object]
    handle: asyncio.TimerHandle | None = None


class Timers:
    """Calls `wake` with a world when its next timer is due, and makes delayed calls.

    Calls can be planned before an event loop runs. A new loop takes over the calls of the last one.
    """

    def __init__(self, wake: Callable[[Any], object]) -> None:
        self._wake = wake
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        # Wake-ups by the `id()` of their world, and other calls by a new object each.
        self._calls: dict[object, _Call] = {}

    def arm_wakeup(self, world: object, wait_s: float | None) -> None:
        """Wake the world after this time, or never for None, in place of an earlier wake-up."""
        self._cancel(id(world))
        if wait_s is not None:
            due_s = monotonic() + min(wait_s, _LOOK_AGAIN_S)
            self._calls[id(world)] = _Call(due_s, partial(self._wake, world))
        self._arm(id(world))

    def later(self, delay_s: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call the function after this many real seconds; return a function that cancels it."""
        key = object()
        self._calls[key] = _Call(monotonic() + delay_s, function)
        self._arm(key)
        return partial(self._cancel, key)

    def _arm(self, *keys: object) -> None:
        """Schedule these calls on the running loop; on a new loop, all calls."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return
        if loop is not self._loop:
            self._loop, self._is_closed, keys = loop, False, tuple(self._calls)
        for key in keys:
            if (call := self._calls.get(key)) is not None and not self._is_closed:
                wait_s = max(0.0, call.due_s - monotonic())
                call.handle = loop.call_later(wait_s, self._make, key)

    def _make(self, key: object) -> None:
        self._calls.pop(key).function()

    def _cancel(self, key: object) -> None:
        call = self._calls.pop(key, None)
        if call is not None and call.handle is not None:
            call.handle.cancel()

    async def close(self) -> None:
        """Stop: wake no worlds and make no calls until another loop runs."""
        self._is_closed = True
        for call in self._calls.values():
            if call.handle is not None:
                call.handle.cancel()


class Background(NamedTuple):
    """The services that all worlds of a server share.

    `on_timer` carries out a due timer of a world in a unit of work, which the caller commits.
    """

    deliveries: DeliveryWorker
    timers: Timers
    measured: Measured
    profile: Profile
    limits: Limits
    on_timer: Callable[[Any, UnitOfWork, Timer], None]


class Saver(Protocol):
    """Writes the changes of worlds to a file or a database."""

    measured: Measured

    @property
    def name(self) -> str:
        """The file or database, for messages."""

    def follow(self, world: Any, *, is_in_file: bool) -> None:
        """Write every change of the world from now on, and all its content unless it is stored."""

    def forget(self, world_id: str) -> None:
        """Forget a world that was deleted."""

    async def saved(self, world: Any = None) -> None:
        """Wait until all changes so far of the world, or of all worlds, are written.

        Raises StoreError, and WorldLost if another server has the world now.
        """

    def keep_tokens(self, tokens: str) -> None:
        """Replace the stored tokens of teams."""

    async def close(self) -> None:
        """Write the remaining changes, and stop."""

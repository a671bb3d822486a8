"""The background work for worlds, and long work beside the requests of other worlds."""

import asyncio
from asyncio import Lock
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Final, NamedTuple, Protocol, TypeVar
from weakref import WeakValueDictionary

from sandbox.measurements import Measured
from sandbox.webhooks.worker import DeliveryWorker

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


async def collect(items: Iterable[T], *, every: int = EVERY) -> list[T]:
    """Make a list of the items, with pauses."""
    return await select(items, lambda item: True, every=every)


async def select(items: Iterable[T], fits: Callable[[T], bool], *, every: int = EVERY) -> list[T]:
    """Make a list of the items that fit, with pauses."""
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
        """Return the lock that gives the exclusive right to this name."""
        return self._locks.setdefault(name, Lock())


# --- webhooks, waking up in time, saving --------------------------------------------------------

_LOOK_AGAIN_S: Final = 3_600.0
"""The seconds after which a world's clock is read again, to notice jumps of the system clock."""


@dataclass(eq=False)
class _Call:
    """A call to make at that time of the monotonic clock. Without a loop it has no handle yet."""

    due_s: float
    function: Callable[[], None]
    handle: asyncio.TimerHandle | None = None


class Timers:
    """Calls `wake` with a world when its next timer is due, and makes delayed calls.

    Delayed calls may be planned before an event loop runs.
    """

    def __init__(self, wake: Callable[[Any], object]) -> None:
        self._wake_world = wake
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        self._wakeups: dict[int, asyncio.TimerHandle] = {}
        # A dictionary as an ordered set.
        self._calls: dict[_Call, None] = {}

    def _is_running(self) -> bool:
        """Whether an event loop runs. The handles of an earlier loop are gone with it."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            return False
        if loop is not self._loop:
            self._loop, self._is_closed, self._wakeups = loop, False, {}
            for call in self._calls:
                self._arm(call)
        return not self._is_closed

    def arm_wakeup(self, world: object, wait_s: float | None) -> None:
        """Wake the world after these seconds, in place of an earlier wake-up; None: never."""
        is_running = self._is_running()
        if (earlier := self._wakeups.pop(id(world), None)) is not None:
            earlier.cancel()
        if wait_s is not None and is_running:
            assert self._loop
            wait_s = min(wait_s, _LOOK_AGAIN_S)
            self._wakeups[id(world)] = self._loop.call_later(wait_s, self._wake, world)

    def _wake(self, world: object) -> None:
        del self._wakeups[id(world)]
        self._wake_world(world)

    def later(self, delay_s: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call the function after this many real seconds; returns a function that cancels it."""
        is_running = self._is_running()
        call = _Call(monotonic() + delay_s, function)
        self._calls[call] = None
        if is_running:
            self._arm(call)

        def cancel() -> None:
            self._calls.pop(call, None)
            if call.handle is not None:
                call.handle.cancel()

        return cancel

    def _arm(self, call: _Call) -> None:
        assert self._loop
        wait_s = max(0.0, call.due_s - monotonic())
        call.handle = self._loop.call_later(wait_s, self._make, call)

    def _make(self, call: _Call) -> None:
        del self._calls[call]
        call.function()

    async def close(self) -> None:
        """Stop: wake no world and make no call."""
        self._is_closed = True
        for wakeup in self._wakeups.values():
            wakeup.cancel()
        for call in self._calls:
            if call.handle is not None:
                call.handle.cancel()


class Background(NamedTuple):
    """What a server does for its worlds beside answering requests, and what it measures."""

    deliveries: DeliveryWorker
    timers: Timers
    measured: Measured


class Saver(Protocol):
    """Writes the changes of worlds to where they are kept."""

    measured: Measured

    @property
    def name(self) -> str:
        """What it writes to, for messages."""

    def follow(self, world: Any, *, is_in_file: bool) -> None:
        """Write every change of the world from now on, and all of it unless it is there."""

    def forget(self, world_id: str) -> None:
        """Forget a world that was deleted."""

    async def saved(self, world: Any = None) -> None:
        """Wait until all changes of the world so far are written; without one, of all worlds.

        Raises StoreError, and WorldLost if another server has the world now.
        """

    def keep_tokens(self, tokens: str) -> None:
        """Write these tokens of teams in place of those that are there."""

    async def close(self) -> None:
        """Write what remains, and stop."""

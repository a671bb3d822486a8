"""The background work for worlds, and long work beside the requests of other worlds."""

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


@dataclass
class _Call:
    """A call to make at that time of the monotonic clock. Without a loop it has no handle yet."""

    due_s: float
    function: Callable[[], object]
    handle: asyncio.TimerHandle | None = None


class Timers:
    """Calls `wake` with a world when its next timer is due, and makes delayed calls.

    Calls may be planned before an event loop runs. The next loop makes those of an earlier one.
    """

    def __init__(self, wake: Callable[[Any], object]) -> None:
        self._wake = wake
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_closed = False
        # That of a wake-up by the id of its world, others by an object of their own.
        self._calls: dict[object, _Call] = {}

    def arm_wakeup(self, world: object, wait_s: float | None) -> None:
        """Wake the world after these seconds, in place of an earlier wake-up; None: never."""
        self._cancel(id(world))
        if wait_s is not None:
            due_s = monotonic() + min(wait_s, _LOOK_AGAIN_S)
            self._calls[id(world)] = _Call(due_s, partial(self._wake, world))
        self._arm(id(world))

    def later(self, delay_s: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call the function after this many real seconds; returns a function that cancels it."""
        key = object()
        self._calls[key] = _Call(monotonic() + delay_s, function)
        self._arm(key)
        return partial(self._cancel, key)

    def _arm(self, *keys: object) -> None:
        """Have the running loop make these calls, and on a new loop all."""
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
        """Stop: wake no world and make no call."""
        self._is_closed = True
        for call in self._calls.values():
            if call.handle is not None:
                call.handle.cancel()


class Background(NamedTuple):
    """What the worlds of a server share, beside its requests.

    `on_timer` carries out a timer that is due in a world, in a unit of work that others commit.
    """

    deliveries: DeliveryWorker
    timers: Timers
    measured: Measured
    profile: Profile
    limits: Limits
    on_timer: Callable[[Any, UnitOfWork, Timer], None]


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

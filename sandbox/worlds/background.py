"""Background work of worlds, and long tasks that leave room for other requests."""

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Protocol, TypeVar

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


def call_later(delay_s: float, function: Callable[[], object]) -> Callable[[], None]:
    """Call the function after this many real seconds; return a function that cancels it.

    Without an event loop it is never called.
    """
    try:
        loop = asyncio.get_running_loop()
    except RuntimeError:
        return lambda: None
    return loop.call_later(delay_s, function).cancel


# --- what worlds share --------------------------------------------------------------------------


class Background(NamedTuple):
    """The services that all worlds of a server share.

    `wake` is called with a world when its next timer is due. `on_timer` carries out a due timer of
    a world in a unit of work, which the caller commits.
    """

    deliveries: DeliveryWorker
    wake: Callable[[Any], object]
    measured: Measured
    profile: Profile
    limits: Limits
    on_timer: Callable[[Any, UnitOfWork, Timer], None]


class Saver(Protocol):
    """Writes the changes of worlds to a file or a database."""

    measured: Measured

    problem: str | None
    """Why the last write failed; None if it did not."""

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

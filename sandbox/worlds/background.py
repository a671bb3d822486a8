"""The background work for worlds: sending webhooks, waking up in time, saving."""

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from sandbox.measurements import Measured

W = TypeVar("W", contravariant=True)


class Deliveries(Protocol[W]):
    """Sends the webhooks of worlds of type W."""

    def work(self, world: W, endpoint_id: str) -> None:
        """Send what is due at this endpoint."""

    async def wait_idle(self, world: W) -> None:
        """Wait until no webhook of the world is due or under way."""


class WakeUps(Protocol[W]):
    """Wakes worlds of type W, and makes delayed calls."""

    def arm_wakeup(self, world: W, wait_s: float | None) -> None:
        """Wake the world after so many seconds, in place of an earlier wake-up; None: never."""

    def later(self, delay_s: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call the function after this many real seconds; returns a function that cancels it."""


class Background(NamedTuple, Generic[W]):
    """What a server does for its worlds beside answering requests, and what it measures."""

    deliveries: Deliveries[W]
    timers: WakeUps[W]
    measured: Measured


class Saver(Protocol[W]):
    """Writes the changes of worlds of type W to where they are kept."""

    measured: Measured

    @property
    def name(self) -> str:
        """What it writes to, for messages."""

    def follow(self, world: W, *, is_in_file: bool) -> None:
        """Write every change of the world from now on, and all of it unless it is there."""

    def forget(self, world_id: str) -> None:
        """The world was deleted."""

    async def saved(self, world: W | None = None) -> None:
        """Wait until all changes of the world so far are written; without one, of all worlds.

        Raises StoreError, and WorldLost if another server has the world now.
        """

    def note_unread(self, error: Exception) -> None:
        """Log a document that could not be read."""

    def keep_tokens(self, tokens: str) -> None:
        """Write these tokens of teams in place of those that are there."""

    async def close(self) -> None:
        """Write what remains, and write nothing any more."""


class _Idle:
    """Sends nothing and wakes no world."""

    def work(self, world: object, endpoint_id: str) -> None:
        """Send nothing."""

    async def wait_idle(self, world: object) -> None:
        """Wait for nothing."""

    def arm_wakeup(self, world: object, wait_s: float | None) -> None:
        """Watch no clock."""

    def later(self, delay_s: float, function: Callable[[], None]) -> Callable[[], None]:
        """Call nothing."""
        return lambda: None


IDLE: Final = Background[object](_Idle(), _Idle(), Measured())
"""The background of a world that is not in use."""

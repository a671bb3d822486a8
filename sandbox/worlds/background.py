"""Background work that a world requests: sending webhooks, waking up when a timer is due."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from sandbox.worlds.measured import Measured

W = TypeVar("W", contravariant=True)


class Scheduler(Protocol[W]):
    """The background work of a server for worlds of type W."""

    def work(self, world: W, endpoint_id: str) -> None:
        """Send the world's pending webhooks to this endpoint."""

    def arm_wakeup(self, world: W, wait_s: float | None) -> None:
        """Wake the world after so many seconds of the system clock; None: no timer is set."""

    async def wait_idle(self, world: W) -> None:
        """Wait until no webhook of the world is left to send now."""

    def later(self, delay_s: float, what: Callable[[], None]) -> Callable[[], None]:
        """Call this after so many seconds of the system clock; returns a function that cancels."""


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


class NullScheduler:
    """Does no background work."""

    def work(self, world: object, endpoint_id: str) -> None:
        """Send nothing."""

    def arm_wakeup(self, world: object, wait_s: float | None) -> None:
        """Watch no clock."""

    async def wait_idle(self, world: object) -> None:
        """Wait for nothing."""

    def later(self, delay_s: float, what: Callable[[], None]) -> Callable[[], None]:
        """Call nothing."""
        return lambda: None

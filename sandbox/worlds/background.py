"""Background work that a world requests: sending webhooks, waking up when a timer is due."""

from collections.abc import Callable
from typing import Protocol, TypeVar

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


class Durability(Protocol):
    """Makes changes durable."""

    async def saved(self) -> None:
        """Wait until all changes so far are written. Raises StoreError."""


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

"""Background work that a world requests: sending webhooks, waking up at due times."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sandbox.worlds.world import World


class Scheduler(Protocol):
    """The background work of a server for its worlds."""

    def work(self, world: "World", endpoint_id: str) -> None:
        """Send the waiting webhooks of this endpoint."""

    def look(self, world: "World", wait_s: float | None) -> None:
        """The next timer is due after this many seconds of real time; None: there is none."""

    async def quiet(self, world: "World") -> None:
        """Wait until every webhook that is due was sent."""

    def later(self, delay_s: float, what: Callable[[], None]) -> Callable[[], None]:
        """Call the function after this many real seconds; returns a function that cancels it."""


class NullScheduler:
    """The host of a world that is not to do anything."""

    def work(self, world: "World", endpoint_id: str) -> None:
        """Nothing is sent."""

    def look(self, world: "World", wait_s: float | None) -> None:
        """Nothing is watched."""

    async def quiet(self, world: "World") -> None:
        """Nothing is waited for."""

    def later(self, delay_s: float, what: Callable[[], None]) -> Callable[[], None]:
        """Nothing is done."""
        return lambda: None

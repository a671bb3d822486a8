"""Who does by itself what a world asks for: a server, or nobody."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from sandbox.worlds.world import World


class Scheduler(Protocol):
    """What a server does by itself for its worlds."""

    def work(self, world: "World", endpoint_id: str) -> None:
        """There is something to send to this endpoint."""

    def look(self, world: "World", wait_s: float | None) -> None:
        """The next thing falls due after so many seconds of the wall; None: nothing does."""

    async def quiet(self, world: "World") -> None:
        """Wait until nothing is to be sent now."""

    def later(self, delay_s: float, what: Callable[[], None]) -> Callable[[], None]:
        """Do this after so many seconds of the wall; returns what calls it off."""


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

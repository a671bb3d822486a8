"""The changes of a world, for a state file or a snapshot that is being written."""

from collections.abc import Callable
from typing import Protocol, TypeVar

from sandbox.domain.webhooks.deliveries import Delivery
from sandbox.store.files.port import Change, Document
from sandbox.store.memory.store import MemoryUnit
from sandbox.store.steps import Steps

Take = Callable[[str, Document], None]
"""Takes a document with the name of its table."""

W = TypeVar("W", contravariant=True)


class ChangeLog(Protocol):
    """Notes every change of one world."""

    def note(self, unit: MemoryUnit) -> None:
        """A unit of work was committed."""

    def note_delivery(self, delivery: Delivery) -> None:
        """A delivery changes."""

    def begin_anew(self) -> None:
        """Everything in the world is different."""

    def change(self) -> Steps[Change | None]:
        """The changes up to the first step; None if there are none."""

    def everything(self, take: Take) -> Steps[None]:
        """The whole world as of the first step, table by table."""


class DeliveryKeeper(Protocol):
    """Keeps deliveries as they were at one moment."""

    def keep(self, delivery: Delivery) -> None:
        """The delivery is about to change."""


class ChangeWriter(Protocol[W]):
    """Writes what worlds of type W note."""

    def note(self, world: W) -> None:
        """The world has changed."""

    async def saved(self) -> None:
        """Wait until everything that was noted is written. Raises StoreError."""

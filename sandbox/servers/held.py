"""The worlds that a server has at the moment, and how much of each is written."""

import asyncio
from dataclasses import dataclass, field

from sandbox.store.change_log import ChangeLog
from sandbox.store.postgres.commits import CommitHead
from sandbox.store.postgres.rows import Places, Written
from sandbox.worlds.world import World


@dataclass(slots=True, eq=False)
class Held:
    """A world that this server has: under which epoch, and how much of it is written.

    `n` is the number of the last commit. `noted` and `written` count its changes. While it
    `is_busy`, all of it is being written, and later changes wait.
    """

    world: World
    epoch: int
    wid: int
    n: int
    places: Places
    log: ChangeLog | None = None
    noted: int = 0
    written: int = 0
    is_lost: bool = False
    is_gone: bool = False
    is_busy: bool = False
    waiting: list["asyncio.Future[None]"] = field(default_factory=list)

    @property
    def begins(self) -> bool:
        """Whether all of it has to be written."""
        return self.log is not None and self.log.begins


@dataclass(slots=True)
class Batch:
    """The changes of some worlds, to be written with one statement."""

    held: list[tuple[Held, CommitHead, int]]
    rows: Written


def due_s(world: World) -> float | None:
    """The seconds until something happens in the world without a request; None if nothing will."""
    if not world.outbox.is_idle:
        return 0.0
    timer = world.store.next_timer()
    if timer is None or world.clock.mode == "frozen":
        return None
    return max(0.0, (timer.due - world.clock.now()).total_seconds() / world.clock.rate)

"""The clock of a world: its state, applied to the system clock.

The system clock is a function, so a test that freezes the time of the process also controls the
clock of every running world.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from msgspec.structs import replace

from sandbox.domain.clock import RUNNING, ClockSetting, ClockState
from sandbox.domain.instants import to_wire

SystemClock = Callable[[], float]
"""Seconds since 1970-01-01T00:00:00Z."""


def system_seconds() -> float:
    """Return the system time. `time.time` is looked up at each call, so it can be frozen."""
    return time.time()


def continue_clock(clock: ClockState, system_clock: SystemClock) -> ClockState:
    """Return the clock of an earlier run.

    A running one has continued meanwhile if its system time was stored; else it starts from now.
    """
    if clock.mode == "frozen" or clock.now is None or clock.system_s is not None:
        return clock
    return replace(clock, system_s=system_clock())


@dataclass(eq=False)
class Clock:
    """The clock of a world.

    `state` is the stored state, and `store` stores a new one. `on_set` is called after the clock
    was set.
    """

    system_clock: SystemClock
    store: Callable[[ClockState], None]
    state: ClockState = RUNNING
    on_set: Callable[[], None] = lambda: None

    def now(self) -> datetime:
        """Return the world's present instant, to the millisecond."""
        return self.state.time_at(self.system_clock())

    def set(self, setting: ClockSetting) -> None:
        """Change the clock to the given values."""
        self.store(self.state.after(setting, self.system_clock()))
        self.on_set()

    def view(self) -> dict[str, Any]:
        """Return the clock as the control API shows it."""
        return {"now": to_wire(self.now()), "mode": self.state.mode, "rate": self.state.rate}

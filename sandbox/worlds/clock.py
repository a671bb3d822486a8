"""The clock of a world in use: its state, read against the system clock.

The system clock is a function, so a test that freezes the time of the process moves every running
world with it.
"""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Protocol, TypedDict

from sandbox.domain.clock import ClockSetting, ClockState, Mode
from sandbox.domain.instants import to_wire

SystemClock = Callable[[], float]
"""Seconds since 1970-01-01T00:00:00Z."""


def system_seconds() -> float:
    """The system clock. Looked up at each call, so freezing `time.time` has an effect."""
    return time.time()


class ClockView(TypedDict):
    """A clock as the control API shows it."""

    now: str
    mode: Mode
    rate: float


class HoldsClock(Protocol):
    """Whoever stores the state of the clock."""

    clock_state: ClockState


class Clock:
    """One world's clock. `on_set` is called after it was set."""

    def __init__(self, system_clock: SystemClock, holder: HoldsClock) -> None:
        self._system_clock = system_clock
        self._holder = holder
        self.on_set: Callable[[], None] | None = None

    @property
    def mode(self) -> Mode:
        """Whether it is running or frozen."""
        return self._holder.clock_state.mode

    @property
    def rate(self) -> float:
        """The number of seconds that pass in the world per real second."""
        return self._holder.clock_state.rate

    def now(self) -> datetime:
        """The world's present instant, to the millisecond."""
        return self._holder.clock_state.time_at(self._system_clock())

    def set(self, setting: ClockSetting) -> None:
        """Set the given values of the clock."""
        holder = self._holder
        holder.clock_state = holder.clock_state.after(setting, self._system_clock())
        self.tell()

    def tell(self) -> None:
        """The clock was set."""
        if self.on_set is not None:
            self.on_set()

    def view(self) -> ClockView:
        """The clock as the control API shows it."""
        return {"now": to_wire(self.now()), "mode": self.mode, "rate": self.rate}

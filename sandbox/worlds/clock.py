"""The clock of a world: frozen at an instant, or running at an offset and a rate.

Everything in a world reads this one clock (assumed 8.2). Only the signatures of webhooks use the
system clock (assumed D1). The system clock is a function, so a test that freezes the time of the
process moves every running world with it.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, Literal, TypedDict

from sandbox.domain.instants import from_ms, parse_rfc3339, to_millisecond, to_wire

Mode = Literal["running", "frozen"]
SystemClock = Callable[[], float]
"""Seconds since 1970-01-01T00:00:00Z."""

EARLIEST: Final = datetime(1970, 1, 1, tzinfo=UTC)
LATEST: Final = datetime(9000, 1, 1, tzinfo=UTC)
"""Limits of a world's time, so every later date can still be written."""

RATE_MAX: Final = 86_400.0
"""A day in a second."""


def system_seconds() -> float:
    """The system clock. Looked up at each call, so freezing `time.time` has an effect."""
    return time.time()


class ClockView(TypedDict):
    """A clock as the control API shows it."""

    now: str
    mode: Mode
    rate: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ClockSetting:
    """New settings of a clock; None leaves a value unchanged.

    `rate` is the number of seconds that pass in the world per real second: more than 0, at most
    RATE_MAX. `now` lies between EARLIEST and LATEST. The code that reads a setting checks both.
    """

    now: datetime | None = None
    mode: Mode | None = None
    rate: float | None = None


class Clock:
    """One world's clock."""

    def __init__(self, system_clock: SystemClock, setting: ClockSetting) -> None:
        self._system_clock = system_clock
        self.on_set: Callable[[], None] | None = None
        self.restart(setting)

    def restart(self, setting: ClockSetting) -> None:
        """Start again at the system time, except for the given settings."""
        self.mode: Mode = "running"
        self.rate = 1.0
        self._system_anchor = self._system_clock()
        self._anchor = datetime.fromtimestamp(self._system_anchor, UTC)
        self._follows_system = True
        self.set(setting)

    def now(self) -> datetime:
        """The world's present instant, to the millisecond."""
        if self.mode == "frozen":
            return self._anchor
        if self._follows_system:
            return from_ms(int(self._system_clock() * 1000))
        elapsed_s = (self._system_clock() - self._system_anchor) * self.rate
        try:
            return min(to_millisecond(self._anchor + timedelta(seconds=elapsed_s)), LATEST)
        except OverflowError:
            return LATEST

    def set(self, setting: ClockSetting) -> None:
        """Set the given values of the clock. Setting it back is allowed (assumed D21)."""
        now = self.now() if setting.now is None else to_millisecond(setting.now)
        self._anchor, self._system_anchor = now, self._system_clock()
        self.mode = setting.mode or self.mode
        self.rate = self.rate if setting.rate is None else setting.rate
        # A running clock that was never moved is the system clock, without drift or rounding.
        self._follows_system = (
            self._follows_system
            and setting.now is None
            and self.rate == 1.0
            and self.mode == "running"
        )
        if self.on_set is not None:
            self.on_set()

    def saved(self) -> dict[str, Any]:
        """The values with which another run can continue this clock."""
        if self._follows_system:
            return {"mode": self.mode, "rate": self.rate}
        anchor = {"now": to_wire(self._anchor)}
        if self.mode == "running":
            anchor["wall"] = to_wire(from_ms(int(self._system_anchor * 1000)))
        return {"mode": self.mode, "rate": self.rate, **anchor}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Continue the clock of an earlier run; a running one has run on.

        Raises ValueError or KeyError for values that no clock would save.
        """
        if saved["mode"] not in ("running", "frozen"):
            raise ValueError("clock.mode: must be running or frozen")
        self.mode, self.rate = saved["mode"], float(saved["rate"])
        self._follows_system = "now" not in saved
        if not self._follows_system:
            self._anchor = parse_rfc3339(saved["now"])
            self._system_anchor = self._system_clock()
        if "wall" in saved:
            self._system_anchor = parse_rfc3339(saved["wall"]).timestamp()

    def go_on_as(self, other: "Clock") -> None:
        """Tell the other's time, and go as that one goes."""
        self.mode, self.rate = other.mode, other.rate
        self._anchor, self._system_anchor = other._anchor, other._system_anchor
        self._follows_system = other._follows_system

    def view(self) -> ClockView:
        """The clock as the control API shows it."""
        return {"now": to_wire(self.now()), "mode": self.mode, "rate": self.rate}

"""What a server measures of itself, for whoever watches it: counts, and times in seconds.

Counting is done where something happens and costs a fraction of a microsecond. Nothing is worked
out before somebody asks.
"""

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from time import monotonic
from typing import Final

ANSWERS_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0)
LAGS_S: Final = (0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0)
WRITES_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.25, 1.0)
SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
STALL_S: Final = 0.05
"""A loop that comes round so much too late has kept everybody waiting."""

_LOOKS_EVERY_S: Final = 0.1


class Histogram:
    """How often a value was up to each bound; the last count is of those above all bounds."""

    __slots__ = ("bounds", "counts", "total")

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds = bounds
        self.counts = [0] * (len(bounds) + 1)
        self.total = 0.0

    def add(self, value: float) -> None:
        """Count a value."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.total += value


class Measured:
    """The counts of one server since it started."""

    def __init__(self) -> None:
        self.answers: defaultdict[str | None, Histogram] = defaultdict(lambda: Histogram(ANSWERS_S))
        self.control_answers: defaultdict[tuple[str, int], int] = defaultdict(int)
        self.attempts: defaultdict[str, int] = defaultdict(int)
        self.lags = Histogram(LAGS_S)
        self.writes = Histogram(WRITES_S)
        self.written_together = Histogram(SIZES)
        self.requests = 0
        self.carried = self.taken_over = self.lost = 0
        self.stalls = 0
        self.longest_stall_s = 0.0

    def count_attempt(self, *, is_delivered: bool) -> None:
        """Count an attempt at a webhook."""
        self.attempts["delivered" if is_delivered else "failed"] += 1

    def note_lag(self, lag_s: float) -> None:
        """Note how long after its event a message is sent for the first time."""
        self.lags.add(lag_s)

    async def watch_loop(self) -> None:
        """Notice when the event loop comes round late; until it is cancelled."""
        with suppress(asyncio.CancelledError):
            while True:
                before_s = monotonic()
                await asyncio.sleep(_LOOKS_EVERY_S)
                late_s = monotonic() - before_s - _LOOKS_EVERY_S
                if late_s >= STALL_S:
                    self.stalls += 1
                    self.longest_stall_s = max(self.longest_stall_s, late_s)

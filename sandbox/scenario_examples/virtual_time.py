"""An event loop that waits for nothing, for examples with delays of real time."""

import asyncio
import selectors
from time import monotonic
from typing import Any, Final

FAR_S: Final = 30 * 24 * 3600.0
"""So far no delay of an example goes, and all that it skips together hardly."""


class _Idle(selectors.DefaultSelector):
    """Waits only for work of other threads; the time until the next timer is skipped."""

    def __init__(self, end_s: float | None) -> None:
        super().__init__()
        self.skipped_s = 0.0
        self._end_s = end_s

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if self._end_s is not None and monotonic() >= self._end_s:
            # Whatever goes on is given up: its timer is due now.
            self.skipped_s, self._end_s = self.skipped_s + FAR_S, None
        if timeout is None:
            return super().select(None)
        ready = super().select(0)
        if not ready and timeout > 0:
            self.skipped_s += timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose time goes on to its next timer as soon as nothing else is to do.

    From `end_s` on, a moment of `monotonic`, everything that FAR_S limits is over.
    """

    def __init__(self, end_s: float | None = None) -> None:
        self._idle = _Idle(end_s)
        super().__init__(self._idle)

    def time(self) -> float:
        """Seconds, with those that were skipped."""
        return super().time() + self._idle.skipped_s


def runner(end_s: float | None) -> asyncio.Runner:
    """Runs coroutines one after the other in such a loop."""

    def loop(*_: Any) -> SkippingLoop:
        return SkippingLoop(end_s)

    return asyncio.Runner(loop_factory=loop)

"""Waiting with a time limit."""

import asyncio
import datetime
import time
import warnings
from typing import Final

WAIT_S: Final = 5.0
"""The default time limit."""


class Deadline:
    """The end of a wait, in seconds of real time from now.

    freezegun stops clock functions that modules import by name. This one keeps running, since a
    wait must also end in a frozen test.
    """

    _now_s = staticmethod(time.monotonic)

    def __init__(self, timeout_s: float) -> None:
        self._end_s = self._now_s() + timeout_s

    @property
    def left_s(self) -> float:
        """The remaining seconds, never less than 0."""
        return max(0.0, self._end_s - self._now_s())


def is_time_frozen() -> bool:
    """Whether freezegun holds the clock of this process: it then replaces the class of times."""
    return datetime.datetime.__module__.startswith("freezegun")


def warn_in_loop(call: str, *, stacklevel: int = 3) -> None:
    """Warn if this thread runs an event loop, which this call of `sandbox` would block.

    An application on that loop could neither answer webhooks nor continue a payment meanwhile.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    warnings.warn(
        f"{call} blocks the event loop of this thread while it waits; if your application runs on "
        f"that loop, call `await asyncio.to_thread(sandbox.{call}, ...)`",
        stacklevel=stacklevel,
    )

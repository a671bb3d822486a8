"""Waiting with a time limit."""

import asyncio
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


def warn_in_loop(name: str) -> None:
    """Warn if this thread runs an event loop, which the wait would block.

    An application that answers webhooks on that loop could not answer meanwhile.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    warnings.warn(
        f"{name} blocks the event loop of this thread while it waits; if your application answers "
        f"webhooks on that loop, call `await asyncio.to_thread(sandbox.webhooks.{name}, ...)`",
        stacklevel=3,
    )

"""Waiting with a time limit."""

import asyncio
import time
import warnings
from typing import Final

WAIT_S: Final = 5.0
"""The default time limit."""


class Deadline:
    """The end of a wait, in seconds of real time from now.

    freezegun stops the clock functions that modules import by name. This one keeps running, since
    a wait in a frozen test must end too.
    """

    _now_s = staticmethod(time.monotonic)

    def __init__(self, timeout_s: float) -> None:
        self._end_s = self._now_s() + timeout_s

    @property
    def left_s(self) -> float:
        """The remaining seconds, never less than 0."""
        return max(0.0, self._end_s - self._now_s())


def warn_in_loop(name: str) -> None:
    """Warn in a thread with a running event loop, which the wait would stop.

    An application that answers webhooks on that loop cannot answer any meanwhile.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return
    warnings.warn(
        f"{name} stops the event loop of this thread while it waits; if your application answers "
        f"webhooks on that loop, call `await asyncio.to_thread(sandbox.webhooks.{name}, ...)`",
        stacklevel=3,
    )

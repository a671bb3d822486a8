"""Waiting with a time limit."""

import time
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

"""Waiting with a time limit, and the error when nothing came."""

import time
from typing import Final

WAIT_S: Final = 5.0
"""The default time limit."""


class NothingCame(AssertionError):
    """What a test waited for did not come; the message says what came instead."""


class Deadline:
    """The end of a wait, so many seconds of real time from now.

    freezegun stops the clock functions that modules have by name; this one goes on, since a wait
    in a frozen test has to end too.
    """

    _now_s = staticmethod(time.monotonic)

    def __init__(self, timeout_s: float) -> None:
        self._end_s = self._now_s() + timeout_s

    @property
    def left_s(self) -> float:
        """What is left of it, never less than 0."""
        return max(0.0, self._end_s - self._now_s())

"""Warnings that clients can cause at will, limited to one line a minute for each kind."""

import logging
import time
from collections.abc import Callable
from typing import Final

EVERY_S: Final = 60.0
"""A warning of one kind is written again after so long."""

_SHOWN_MAX: Final = 100


class RareLog:
    """Writes the first warning of a kind, and counts the others for the next line."""

    def __init__(
        self, log: logging.Logger, *, seconds: Callable[[], float] = time.monotonic
    ) -> None:
        self._log = log
        self._seconds = seconds
        self._written_at: dict[str, float] = {}
        self._left_out: dict[str, int] = {}

    def warn(self, kind: str, message: str) -> None:
        """Write the message, unless one of this kind was written within the last minute."""
        now = self._seconds()
        if now - self._written_at.get(kind, -EVERY_S) < EVERY_S:
            self._left_out[kind] = self._left_out.get(kind, 0) + 1
            return
        self._written_at[kind] = now
        count = self._left_out.pop(kind, 0)
        more = f" ({count} more of this kind since the last line)" if count else ""
        self._log.warning("%s%s", message, more)


def shown(value: bytes) -> str:
    """Client text, shortened to one line, for quoting in a message or in the log."""
    text = value.decode("latin-1")
    return ascii(text if len(text) <= _SHOWN_MAX else text[:_SHOWN_MAX] + "...")

"""The retry schedule of a delivery, and the time after which an endpoint is dead.

Source: assumed 8.3-retry, 8.3-dead, D22.
"""

from datetime import timedelta
from typing import Final

RETRIES_S: Final = (5, 300, 1_800, 7_200, 18_000, 36_000, 36_000)
"""Seconds from one failure to the next attempt: eight attempts in all."""

JITTER: Final = 0.2
"""How much of the planned wait is added at most, so retries do not come all at once."""

THROTTLED_MIN_S: Final = 60
"""After a 429 or a time-out at least so long."""

TIMEOUT_S: Final = 15.0
"""The time limit for an endpoint's answer."""

DEAD_AFTER: Final = timedelta(days=5)
"""An endpoint is disabled this long after its first failure, if nothing succeeded since."""

GONE: Final = 410
TOO_MANY_REQUESTS: Final = 429


def wait_after(
    failures: int,
    *,
    jitter: float,
    retry_after_s: float | None = None,
    is_throttled: bool = False,
    scale: float = 1,
) -> timedelta | None:
    """The wait after this many failures in a row; None if there are no more attempts.

    `jitter` lies between 0 and 1. A `Retry-After` of the endpoint is respected between the planned
    wait and twice as long. `scale` stretches or compresses all of it.
    """
    if failures > len(RETRIES_S):
        return None
    wait_s = RETRIES_S[failures - 1] * (1 + JITTER * jitter)
    if retry_after_s is not None:
        wait_s = max(wait_s, min(retry_after_s, 2 * wait_s))
    if is_throttled:
        wait_s = max(wait_s, THROTTLED_MIN_S)
    return timedelta(milliseconds=round(wait_s * scale * 1000))

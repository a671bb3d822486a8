"""Quotas: how many requests a key can send in a second or a minute of the world's clock.

Source: assumed 5.3-gateway.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Final, NamedTuple

from sandbox.domain.instants import from_ms, to_ms

QUOTAS: Final = {"quota.per_second": 1, "quota.per_minute": 60}
"""The switches, each with the length of its window in seconds."""


class Quota(NamedTuple):
    """The state of the quota with the fewest requests left, after a request.

    `policy` lists all quotas as `limit;w=seconds`.
    """

    name: str
    limit: int
    remaining: int
    ends_at: datetime
    is_exceeded: bool
    policy: str


class Quotas:
    """The requests of each key in the current windows, which begin at whole seconds and minutes.

    `limits` are the quotas that are set.
    """

    def __init__(self) -> None:
        self.limits: Mapping[str, int] = {}
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def take(self, key_id: str, now: datetime) -> Quota:
        """Count a request of the key, unless it exceeds one of the limits."""
        now_ms, limits = to_ms(now), self.limits
        policy = ", ".join(f"{limit};w={QUOTAS[name]}" for name, limit in limits.items())
        used: dict[str, tuple[int, int]] = {}
        for name in limits:
            window = now_ms // (QUOTAS[name] * 1000)
            was, count = self._counts.get((key_id, name), (window, 0))
            used[name] = window, count if was == window else 0
        is_exceeded = any(count >= limits[name] for name, (_, count) in used.items())
        if not is_exceeded:
            used = {name: (window, count + 1) for name, (window, count) in used.items()}
            self._counts |= {(key_id, name): one for name, one in used.items()}
        # A limit may have been lowered below what was used.
        remaining = {name: max(0, limits[name] - count) for name, (_, count) in used.items()}
        name = min(limits, key=lambda one: (remaining[one], -QUOTAS[one]))
        window, _ = used[name]
        ends_at = from_ms((window + 1) * QUOTAS[name] * 1000)
        return Quota(name, limits[name], remaining[name], ends_at, is_exceeded, policy)

"""Near misses of an attempt, as the journal stores them."""

from collections.abc import Iterable
from typing import Final

NEAR_MISSES_MAX: Final = 20
"""Near misses of one attempt that are stored as text; the rest are counted. A queue and a scenario
can have 2,000 together, and the journal holds a thousand attempts."""


class NearMisses(list[str]):
    """The first near misses of an attempt, and how many `more` there were."""

    more: int = 0

    def append(self, why: str) -> None:
        """Note one."""
        if len(self) < NEAR_MISSES_MAX:
            super().append(why)
        else:
            self.more += 1

    def take(self, others: Iterable[str]) -> None:
        """Note the others after these."""
        for why in others:
            self.append(why)
        self.more += getattr(others, "more", 0)


def shown(*parts: Iterable[str]) -> list[str]:
    """All of them in words, one after the other, and the count of the rest."""
    near = NearMisses()
    for part in parts:
        near.take(part)
    return [*near, f"and {near.more} more"] if near.more else list(near)

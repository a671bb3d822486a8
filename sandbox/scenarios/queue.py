"""The queue of next outcomes, which an operator or a test sets for the next matching attempts."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from sandbox.domain.field_types import DelayMs, PositiveAmount
from sandbox.domain.payments.outcomes import Operation, for_operation
from sandbox.scenarios.near_misses import NearMisses

QUEUE_MAX: Final = 1_000
"""Next outcomes that wait in one world. Each attempt goes through them until one fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Queued:
    """One next outcome, for the next attempt that matches. Source: assumed D24.

    `amount` (minor units) must be equal. Without `operation` it matches every operation that the
    outcome applies to. `approved_amount` belongs to a partial approval; `delay_ms` is real time.
    """

    outcome: str | None = None
    operation: Operation | None = None
    amount: PositiveAmount | None = None
    delay_ms: DelayMs = 0
    fault: str | None = None
    approved_amount: PositiveAmount | None = None

    def mismatch(self, operation: Operation, amount: int | None) -> str | None:
        """Why this is not for such an attempt; None when it is."""
        if self.operation is not None and operation is not self.operation:
            return f"waits for {self.operation}"
        if self.amount is not None and amount != self.amount:
            return f"waits for the amount {self.amount}"
        if self.outcome is not None and for_operation(self.outcome, operation) is None:
            return f"{self.outcome} is not for {operation}"
        return None


class QueueFull(ValueError):
    """The queue of next outcomes is full."""


class Queue:
    """The next outcomes of one world, first come first served."""

    def __init__(self) -> None:
        self._waiting: list[Queued] = []

    def add(self, entry: Queued) -> None:
        """Put one at the end. Raises QueueFull."""
        if len(self._waiting) >= QUEUE_MAX:
            raise QueueFull(f"{QUEUE_MAX} next outcomes already wait, which is the most")
        self._waiting.append(entry)

    def restore(self, entries: Iterable[Queued]) -> None:
        """Put back what waited in an earlier run."""
        self._waiting += entries

    def take(
        self, operation: Operation, amount: int | None, near_misses: NearMisses
    ) -> Queued | None:
        """The first that fits, which leaves the queue; the ones passed over are near misses."""
        for place, entry in enumerate(self._waiting):
            mismatch = entry.mismatch(operation, amount)
            if mismatch is None:
                return self._waiting.pop(place)
            near_misses.append(f"queue: {mismatch}")
        return None

    def waiting(self) -> list[Queued]:
        """All that wait, first first."""
        return list(self._waiting)

    def __len__(self) -> int:
        return len(self._waiting)

    def clear(self) -> None:
        """Forget them all."""
        self._waiting.clear()

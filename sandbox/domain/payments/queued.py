"""A next outcome, which an operator or a test sets for the next attempt that matches."""

from typing import Annotated

from msgspec import Struct
from pydantic import AfterValidator

from sandbox.domain.field_types import DelayMs, PositiveAmount
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, for_operation
from sandbox.domain.payments.transport import TRANSPORT_FAULTS


def _known_outcome(outcome: str) -> str:
    if outcome not in OUTCOMES:
        raise ValueError("must be a known outcome")
    return outcome


def _known_fault(fault: str) -> str:
    if fault not in TRANSPORT_FAULTS:
        raise ValueError("must be a known transport fault")
    return fault


OutcomeName = Annotated[str, AfterValidator(_known_outcome)]
"""The key of an outcome."""

FaultName = Annotated[str, AfterValidator(_known_fault)]
"""The key of a transport fault."""


class Queued(Struct, frozen=True, kw_only=True, gc=False):
    """One next outcome, for the next attempt that matches. Source: assumed D24.

    `amount` (minor units) must be equal. Without `operation` it matches every operation that the
    outcome applies to. `approved_amount` belongs to a partial approval; `delay_ms` is real time.
    The queue gives it its `id`.
    """

    outcome: OutcomeName | None = None
    operation: Operation | None = None
    amount: PositiveAmount | None = None
    delay_ms: DelayMs = 0
    fault: FaultName | None = None
    approved_amount: PositiveAmount | None = None
    id: str = ""

    def mismatch(self, operation: Operation, amount: int | None) -> str | None:
        """Why this is not for such an attempt; None when it is."""
        if self.operation is not None and operation is not self.operation:
            return f"waits for {self.operation}"
        if self.amount is not None and amount != self.amount:
            return f"waits for the amount {self.amount}"
        if self.outcome is not None and for_operation(self.outcome, operation) is None:
            return f"{self.outcome} is not for {operation}"
        return None

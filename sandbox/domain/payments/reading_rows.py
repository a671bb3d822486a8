"""Rows that only a reading brings in, beside those of `transitions`."""

from collections.abc import Mapping
from functools import cache
from typing import Final

from msgspec.structs import replace

from sandbox.domain.faults import INVALID_TRANSACTION_STATE
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transitions import Transition

UNSETTLED: Final = Transition(
    id="D35-refund",
    trigger=Operation.REFUND,
    states=("captured",),
    when="before settlement",
    fault=INVALID_TRANSACTION_STATE,
)
"""A refund before settlement, refused. Source: assumed D35-refund."""

_EVENTS: Final[Mapping[str, str]] = {
    Operation.CONFIRM: "transaction.sale",
    Operation.CAPTURE: "transaction.capture",
    Operation.INCREMENT: "transaction.increment",
    Operation.ADJUST: "transaction.tip_adjust",
    Operation.REVERSE: "transaction.reverse",
    Operation.REFUND: "transaction.refund",
}


@cache
def announced(row: Transition) -> Transition:
    """The silent refusal as an attempt that fails, with its event. Source: assumed D35-attempts."""
    return replace(row, shown_status="error", reason="payment_failed", event=_EVENTS[row.trigger])

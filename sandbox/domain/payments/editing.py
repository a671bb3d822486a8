"""The edit of a passthrough transaction: the processor's final outcome, reported afterwards.

Source: spec 4.3-search-edit; the body and its effects assumed 1.7-edit, F8.
"""

from typing import Final

from sandbox.domain.payments.amounts import Ledger
from sandbox.domain.payments.attempts import Conclusion
from sandbox.domain.payments.invariants import ABOUT, broken
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.pricing import Breakdown
from sandbox.domain.payments.transactions import Status, Transaction, attempt_of
from sandbox.domain.payments.transitions import EDIT, TRANSITIONS
from sandbox.domain.values import Value

_EDIT: Final = next(row for row in TRANSITIONS if row.trigger == EDIT)
EDITABLE: Final = _EDIT.states
"""States in which an outcome can still be reported; settled and finished payments are final."""

_REASONS: Final[dict[str, str]] = {
    "declined": "declined",
    "error": "payment_failed",
    "canceled": "merchant_canceled",
}
"""The status reason where the edit names none; else approved, or partial_approval."""


class Edit(Value, frozen=True, kw_only=True):
    """The content of the edit; None changes nothing. A breakdown replaces all amounts."""

    authorized_amount: int | None = None
    breakdown: Breakdown | None = None
    refunded: int | None = None
    reversed: int | None = None
    status: Status | None = None
    status_reason: str | None = None


def edited(tx: Transaction, edit: Edit, *, partial_refund_shows: str = "unchanged") -> Transaction:
    """The transaction as the edit has it, without a new event_id.

    `partial_refund_shows` is the reading status_after_partial_refund. Raises ValueError when the
    money would no longer add up.
    """
    status = edit.status or tx.status
    amounts = edit.breakdown.amounts if edit.breakdown else tx.amounts
    authorized = edit.authorized_amount
    if authorized is None:
        authorized = tx.ledger.authorized if edit.breakdown is None else 0
    authorized = authorized or amounts.total
    if authorized > amounts.total:
        raise ValueError("authorized_amount: is more than the total")
    ledger = _ledger(tx, edit, status, authorized)
    is_partial = status in _APPROVED and authorized < amounts.total
    reason = edit.status_reason or tx.status_reason
    if edit.status is not None and edit.status_reason is None:
        reason = _REASONS.get(status, "partial_approval" if is_partial else "approved")
    after = tx.but(
        status=status,
        status_reason=reason,
        amounts=amounts,
        ledger=ledger,
        is_partial=is_partial,
        surcharge_applied=amounts.surcharge > 0,
        tip_capture_mode=(tx.tip_capture_mode or "sale") if amounts.tip else None,
    )
    if wrong := broken(after):
        raise ValueError("; ".join(ABOUT[clause] for clause in wrong))
    if status == "refunded" and ledger.refunded < ledger.kept and partial_refund_shows != status:
        # Source: assumed M6.
        raise ValueError(
            f"refunded: {ledger.refunded} is a part of {ledger.kept}, and a partial refund leaves "
            "the status as it is (the reading status_after_partial_refund)"
        )
    return after


_APPROVED: Final = ("authorized", "captured", "refunded", "reversed")


def _ledger(tx: Transaction, edit: Edit, status: str, authorized: int) -> Ledger:
    refunded = tx.ledger.refunded if edit.refunded is None else edit.refunded
    back = tx.ledger.reversed_in_all if edit.reversed is None else edit.reversed
    if status not in _APPROVED:
        return Ledger(voided=back, refunded=refunded)
    was_captured = tx.ledger.captured > 0
    if status == "authorized":
        return Ledger(authorized=authorized, voided=back, refunded=refunded)
    if status == "reversed":
        back = authorized if edit.reversed is None else edit.reversed
        if was_captured:
            return Ledger(
                authorized=authorized, captured=authorized, reversed=back, refunded=refunded
            )
        return Ledger(authorized=authorized, voided=back, refunded=refunded)
    if status == "refunded" and edit.refunded is None:
        refunded = authorized - back
    return Ledger(authorized=authorized, captured=authorized, reversed=back, refunded=refunded)


def conclude(
    tx: Transaction,
    after: Transaction,
    *,
    event_id: str,
    at: int,
    capture_batch_id: str | None,
    refund_batch_id: str | None,
) -> Conclusion:
    """The edited transaction with its new status as an attempt of its own."""
    shown_type, event = _shown_as(tx, after.status)
    after = after.but(event_id=event_id, transaction_type=shown_type, batch_id=capture_batch_id)
    amount = after.amounts.total
    if after.status == "refunded":
        amount = after.ledger.refunded - tx.ledger.refunded
    elif after.status == "reversed":
        amount = after.ledger.reversed_in_all
    settles_in = refund_batch_id or capture_batch_id
    attempt = attempt_of(after, amount, at, batch_id=settles_in)
    after = after.but(history=(*after.history, attempt))
    return Conclusion(_EDIT, after, after, ((event, after),))


def _shown_as(tx: Transaction, status: str) -> tuple[str, str]:
    """Transaction type and event of a reported status. Source: assumed F8, D17."""
    operation = tx.origin.operation
    by_status = {
        "authorized": ("auth", "transaction.authorize"),
        "refunded": ("refund", "transaction.refund"),
        "reversed": ("reverse", "transaction.reverse"),
        "canceled": (operation.value, "transaction.cancel"),
    }
    if status in by_status:
        return by_status[status]
    if status == "captured" and operation is Operation.AUTH:
        return "capture", "transaction.capture"
    own = "transaction.sale" if operation is Operation.SALE else "transaction.authorize"
    return operation.value, own

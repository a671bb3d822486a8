"""Invariants of a payment's money. Source: assumed M1 to M8.

The sandbox holds itself to these; the tests check them after every operation, and an edit of a
passthrough transaction that would break one is refused.
"""

from collections.abc import Callable, Mapping
from typing import Final

from sandbox.domain.payments.action_plans import headroom
from sandbox.domain.payments.cards import NOT_READ
from sandbox.domain.payments.transactions import Transaction


def _components_are_not_negative(tx: Transaction) -> bool:
    amounts, ledger = tx.amounts, tx.ledger
    parts = (amounts.subtotal, amounts.tax, amounts.tip, amounts.surcharge)
    money = (ledger.authorized, ledger.voided, ledger.captured, ledger.reversed, ledger.refunded)
    return all(type(one) is int and one >= 0 for one in (*parts, *money))


def _captures_no_more_than_was_held(tx: Transaction) -> bool:
    ledger = tx.ledger
    limit = headroom(tx.amounts) + tx.amounts.surcharge
    return ledger.captured <= ledger.held + ledger.added and 0 <= ledger.added <= limit


def _refunds_at_most_the_captured(tx: Transaction) -> bool:
    return tx.ledger.refunded <= tx.ledger.kept


def _reverses_no_more_than_there_was(tx: Transaction) -> bool:
    ledger = tx.ledger
    return ledger.reversed_in_all <= ledger.authorized + ledger.added


def _money_fits_the_status(tx: Transaction) -> bool:
    ledger, status = tx.ledger, tx.status
    if status == "authorized":
        return ledger.captured == ledger.refunded == 0 and ledger.held > 0
    if status in ("captured", "settled"):
        return ledger.kept > 0
    if status == "reversed":
        return ledger.held == 0 or (ledger.captured > 0 and ledger.kept == 0)
    if status == "refunded":
        return ledger.refunded > 0 and ledger.kept > 0
    if status in ("declined", "error", "canceled"):
        # A canceled authorization may have been reversed in part before (assumed D11).
        voided = 0 if status == "canceled" else ledger.voided
        return ledger.captured == ledger.refunded == ledger.reversed == voided == 0
    return ledger.captured == ledger.refunded == ledger.reversed_in_all == 0


def _the_total_is_what_was_approved(tx: Transaction) -> bool:
    total, ledger = tx.amounts.total, tx.ledger
    if tx.is_partial:
        return total > (ledger.captured or ledger.authorized)
    if tx.status == "authorized":
        return total == ledger.authorized
    if tx.status in ("captured", "settled", "refunded"):
        return total == ledger.captured
    return True


def _surcharge_is_applied_when_there_is_one(tx: Transaction) -> bool:
    is_charged, card = tx.amounts.surcharge > 0, tx.origin.card
    if is_charged and not card.is_credit and card is not NOT_READ:
        return False
    if tx.status == "surcharge_pending":
        return not tx.surcharge_applied
    return tx.surcharge_applied == is_charged


INVARIANTS: Final[Mapping[str, Callable[[Transaction], bool]]] = {
    "M2": _components_are_not_negative,
    "M3": _captures_no_more_than_was_held,
    "M4": _refunds_at_most_the_captured,
    "M5": _reverses_no_more_than_there_was,
    "M6": _money_fits_the_status,
    "M7": _the_total_is_what_was_approved,
    "M8": _surcharge_is_applied_when_there_is_one,
}
"""Clause to whether it holds. M1 holds by construction: the total is the sum of its components."""

ABOUT: Final[Mapping[str, str]] = {
    "M2": "no amount may be negative",
    "M3": "no more can be captured than was authorized",
    "M4": "no more can be refunded than was captured",
    "M5": "no more can be reversed than was authorized",
    "M6": "the amounts do not fit the status",
    "M7": "the total is neither what was authorized nor what was captured",
    "M8": "the surcharge does not fit the card or the status",
}


def broken(tx: Transaction) -> list[str]:
    """The clauses that do not hold for this record."""
    return [clause for clause, holds in INVARIANTS.items() if not holds(tx)]

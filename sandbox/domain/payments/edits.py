"""The edit of a passthrough transaction: the processor's final outcome, reported afterwards.

A payment's money has invariants (assumed M1 to M8): the tests check them after every operation, and
an edit that would break one is refused.

Source: spec 4.3-search-edit; the body and its effects assumed 1.7-edit, F8.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, structs
from msgspec.structs import replace

from sandbox.domain.payments.action_plans import headroom, replace_components, stated_amounts
from sandbox.domain.payments.amounts import Ledger
from sandbox.domain.payments.cards import NOT_READ
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.pricing import Breakdown
from sandbox.domain.payments.transactions import Payment, StatusWord, change, with_attempt
from sandbox.domain.payments.transitions import BY_ITSELF, EDIT, EVENT_OF, Conclusion


def broken(payment: Payment) -> list[tuple[str, str]]:
    """Return the clauses that do not hold for this record, and what is wrong."""
    tx, amounts, ledger = payment.transaction, payment.amounts, payment.ledger
    money = (*structs.astuple(amounts), *structs.astuple(ledger))
    # The tax may exceed the hold by a reading (assumed D35-above).
    above = headroom(amounts) + amounts.surcharge + amounts.tax
    shown = change(payment, amounts=amounts, answer=tx.gateway_transaction_response).transaction
    invariants = {
        ("M2", "no amount may be negative"): all(type(one) is int and one >= 0 for one in money),
        ("M3", "no more can be captured than was authorized"): (
            ledger.captured <= ledger.held + ledger.added and 0 <= ledger.added <= above
        ),
        ("M4", "no more can be refunded than was captured"): ledger.refunded <= ledger.kept,
        ("M5", "no more can be reversed than was authorized"): (
            ledger.reversed_in_all <= ledger.authorized + ledger.added
        ),
        ("M6", "the amounts do not fit the status"): _is_ledger_consistent(payment.status, ledger),
        ("M7", "the total is neither what was authorized nor what was captured"): (
            _is_total_approved(payment)
        ),
        ("M8", "the surcharge does not fit the card or the status"): _is_surcharge_consistent(
            payment
        ),
        ("M1", "the amounts shown do not follow from the money"): tx == shown,
    }
    return [clause for clause, holds in invariants.items() if not holds]


def _is_ledger_consistent(status: str, ledger: Ledger) -> bool:
    if status == "authorized":
        return ledger.captured == ledger.refunded == 0 and ledger.held > 0
    if status in ("captured", "settled"):
        return ledger.kept > 0
    if status == "reversed":
        return ledger.held == 0 or (ledger.captured > 0 and ledger.kept == 0)
    if status == "refunded":
        return ledger.refunded > 0 and ledger.kept > 0
    # A canceled authorization may have been reversed in part before (assumed D11).
    voided = 0 if status == "canceled" else ledger.voided
    return ledger.captured == ledger.refunded == ledger.reversed == voided == 0


def _is_total_approved(payment: Payment) -> bool:
    total, ledger = payment.amounts.total, payment.ledger
    if payment.is_partial:
        return total > (ledger.captured or ledger.authorized)
    if payment.status == "authorized":
        return total == ledger.authorized
    return payment.status not in ("captured", "settled", "refunded") or total == ledger.captured


def _is_surcharge_consistent(payment: Payment) -> bool:
    is_charged, card = payment.amounts.surcharge > 0, payment.card
    if is_charged and not card.is_credit and card is not NOT_READ:
        return False
    is_asked = payment.status == "surcharge_pending"
    return payment.transaction.surcharge_applied == (is_charged and not is_asked)


(_EDIT,) = (row for row in BY_ITSELF if row.trigger == EDIT)
EDITABLE: Final = _EDIT.states
"""States in which an outcome can still be reported; settled and finished payments are final."""

_REASONS: Final[dict[str, str]] = {
    "declined": "declined",
    "error": "payment_failed",
    "canceled": "merchant_canceled",
}
"""The status_reason if the edit names none; for other statuses approved or partial_approval."""


PERMISSIONS: Final = {
    "captured": "payments:capture",
    "refunded": "payments:refund",
    "reversed": "payments:void",
}
"""The permission for reporting a status; any other needs some permission to write payments.

Source: assumed D37.
"""


class Edit(Struct, frozen=True, kw_only=True, gc=False):
    """The content of the edit; None changes nothing. A breakdown replaces all amounts."""

    authorized_amount: int | None = None
    breakdown: Breakdown | None = None
    refunded: int | None = None
    reversed: int | None = None
    status: StatusWord | None = None
    status_reason: str | None = None


def needed(payment: Payment, edit: Edit) -> tuple[str, ...]:
    """Return the permissions for what the edit reports beyond what is known.

    Source: assumed D37.
    """
    reported = [edit.status] if edit.status != payment.status else []
    back = _money_back(payment, edit)
    reported += [name for name, (told, known) in back.items() if told not in (None, known)]
    return tuple(dict.fromkeys(PERMISSIONS[one] for one in reported if one in PERMISSIONS))


def _money_back(payment: Payment, edit: Edit) -> dict[str, tuple[int | None, int]]:
    """Return the money that went back: what the edit reports, and what was known before."""
    return {
        "refunded": (edit.refunded, payment.ledger.refunded),
        "reversed": (edit.reversed, payment.ledger.reversed_in_all),
    }


def steps_of(payment: Payment, edit: Edit) -> list[Edit]:
    """Return the changes that the edit reports, each a separate attempt. Source: assumed D37.

    The outcome comes first, then what was reversed, then what was refunded.
    """
    back = edit.reversed if edit.status in (None, "authorized", "captured") else None
    refunded = edit.refunded if edit.status != "refunded" else None
    first = replace(
        edit,
        reversed=edit.reversed if back is None else None,
        refunded=edit.refunded if refunded is None else None,
    )
    later = (Edit(reversed=back), Edit(refunded=refunded))
    return [first, *(step for step in later if step != Edit())]


def edited(payment: Payment, edit: Edit, readings: Mapping[str, str]) -> Payment:
    """Return the transaction after one step of an edit, without a new event_id.

    Raises ValueError when the money would no longer add up, or the reason contradicts the status.
    """
    partial_refund_shows = readings["status_after_partial_refund"]
    for name, (new, old) in _money_back(payment, edit).items():
        if new is not None and new < old:
            raise ValueError(f"{name}: {new} is less than the {old} reported before")
    if (edit.reversed or 0) > payment.ledger.reversed_in_all and payment.ledger.refunded:
        raise ValueError("reversed: a refunded payment is not reversed")  # assumed M5
    tells_amounts = edit.breakdown is not None or edit.authorized_amount is not None
    if edit.status in (None, payment.status) and not tells_amounts:
        after = _with_money_back(payment, edit, partial_refund_shows)
    else:
        shows_part = readings["total_of_partial_approval"] == "approved"
        after = _as_told(payment, edit, should_show_approved=shows_part)
    if edit.status_reason is not None:
        _must_fit(after)
    if wrong := broken(after):
        raise ValueError("; ".join(about for _, about in wrong))
    ledger = after.ledger
    is_part = ledger.refunded < ledger.kept
    if after.status == "refunded" and is_part and partial_refund_shows != "refunded":
        # Source: assumed M6.
        raise ValueError(
            f"refunded: {ledger.refunded} is a part of {ledger.kept}, and a partial refund leaves "
            "the status as it is (the reading status_after_partial_refund)"
        )
    return after


def _with_money_back(payment: Payment, edit: Edit, partial_refund_shows: str) -> Payment:
    """Return the transaction with more reversed or refunded, as an action would leave it."""
    ledger, status = payment.ledger, payment.status
    if edit.reversed is not None:
        if ledger.captured:
            ledger = replace(ledger, reversed=edit.reversed - ledger.voided)
        else:
            ledger = replace(ledger, voided=edit.reversed)
        if edit.reversed and not (ledger.kept if ledger.captured else ledger.held):
            status = "reversed"
    if edit.refunded is not None:
        ledger = replace(ledger, refunded=edit.refunded)
        if edit.refunded and (not ledger.refundable or partial_refund_shows == "refunded"):
            status = "refunded"
    reason = edit.status_reason or payment.transaction.status_reason
    return change(payment, status=status, status_reason=reason, ledger=ledger)


def _as_told(payment: Payment, edit: Edit, *, should_show_approved: bool) -> Payment:
    """Return the transaction with the reported outcome and amounts."""
    status, known = edit.status or payment.status, payment.ledger
    if status == "pending" != payment.status:
        raise ValueError("status: a payment does not become pending again")
    amounts, changes = payment.amounts, dict[str, Any]()
    if edit.breakdown is not None:
        amounts = stated_amounts(payment, edit.breakdown, None)
        changes = replace_components(payment, edit.breakdown, amounts, "sale")
    is_captured = status in ("captured", "refunded") or (
        status == "reversed" and known.captured > 0
    )
    voided = known.voided if is_captured else 0
    if edit.authorized_amount is not None:
        approved = edit.authorized_amount - voided
    elif edit.breakdown is not None:
        approved = amounts.total
    elif is_captured and known.captured:
        approved = known.captured
    else:
        approved = (known.authorized or amounts.total) - voided
    is_told = status in _APPROVED or edit.authorized_amount is not None
    if is_told and not 0 < approved <= amounts.total:
        raise ValueError("authorized_amount: is more than the total, or less than was reversed")
    is_new = edit.breakdown is not None or edit.authorized_amount not in (None, known.authorized)
    if voided and not (is_new or known.captured or payment.is_partial):
        # As a capture of the rest of the hold.
        amounts = amounts.scaled_to(approved)
    is_partial = status in _APPROVED and approved < amounts.total
    reason = edit.status_reason or payment.transaction.status_reason
    if edit.status is not None and edit.status_reason is None:
        reason = _REASONS.get(status, "partial_approval" if is_partial else "approved")
    if is_partial and should_show_approved:
        # Source: assumed D35-partial-approval.
        amounts, is_partial = amounts.scaled_to(approved), False
    return change(
        payment,
        status=status,
        status_reason=reason,
        ledger=_ledger(payment, edit, status, approved, is_captured=is_captured),
        is_partial=is_partial,
        **changes | {"amounts": amounts},
    )


def _must_fit(after: Payment) -> None:
    """Raise ValueError for a reason that contradicts the status. Source: assumed D37."""
    status, reason = after.status, after.transaction.status_reason
    if status in _APPROVED:
        is_in_part = bool(after.transaction.additional_details.get("remaining_amount"))
        fits = reason == "approved" or (status == "reversed" and reason in _GAVE_UP)
        fits = fits or (reason == "partial_approval" and is_in_part)
    elif status in ("pending", "surcharge_pending"):
        fits = reason == "pending"
    else:
        fits = reason != "pending" and reason not in _SUCCESS
    if not fits:
        raise ValueError(f"status_reason: {reason} contradicts the status {status}")


_APPROVED: Final = ("authorized", "captured", "refunded", "reversed")
_SUCCESS: Final = ("approved", "partial_approval")
_GAVE_UP: Final = ("processor_timeout", "timed_out", "user_canceled", "merchant_canceled")
"""Why an approved payment may be reversed."""


def _ledger(
    payment: Payment, edit: Edit, status: str, approved: int, *, is_captured: bool
) -> Ledger:
    """Return the ledger of an outcome; what was reversed before a capture stays so."""
    known = payment.ledger
    refunded = known.refunded if edit.refunded is None else edit.refunded
    back = known.reversed_in_all if edit.reversed is None else edit.reversed
    if status not in _APPROVED:
        hold = 0
        if status == "canceled":
            hold = known.authorized  # assumed D11
        elif status == "pending":
            # The outcome will be for this amount.
            hold = edit.authorized_amount or 0  # assumed 1.7-edit
        return Ledger(authorized=hold, voided=back, refunded=refunded)
    if is_captured:
        back -= known.voided
    if status == "reversed" and edit.reversed is None:
        back = approved
    if not is_captured:
        return Ledger(authorized=approved, voided=back, refunded=refunded)
    if status == "refunded" and edit.refunded is None:
        refunded = approved - back
    if edit.authorized_amount is not None or approved != known.captured:
        known = Ledger(authorized=approved + known.voided, voided=known.voided, captured=approved)
    return replace(known, reversed=back, refunded=refunded)


def conclude(
    payment: Payment,
    after: Payment,
    *,
    event_id: str,
    at: int,
    capture_batch_id: str | None,
    refund_batch_id: str | None,
) -> Conclusion:
    """Return the edited transaction, with the change as another attempt.

    Source: assumed D37.
    """
    refunded = after.ledger.refunded - payment.ledger.refunded
    reversed_ = after.ledger.reversed_in_all - payment.ledger.reversed_in_all
    told = after.status
    amount = after.amounts.total
    if refunded:
        told, amount = "refunded", refunded
    elif told == "reversed" or (told == payment.status and reversed_):
        told, amount = "reversed", reversed_
    shown_type, event = _describe_status(payment, told)
    after = change(after, event_id=event_id, transaction_type=shown_type, batch_id=capture_batch_id)
    settles_in = refund_batch_id or capture_batch_id
    after = with_attempt(after, amount, at, batch_id=settles_in)
    return Conclusion.announcing(_EDIT, after, event=event)


def _describe_status(payment: Payment, status: str) -> tuple[str, str]:
    """Return the transaction type and event of a reported status. Source: assumed F8, D17."""
    operation = payment.operation
    was_held = any(one.status == "authorized" for one in payment.history)
    shown = {"authorized": Operation.AUTH, "refunded": Operation.REFUND}.get(status, operation)
    if status == "reversed":
        shown = Operation.REVERSE
    elif status == "captured" and (operation is Operation.AUTH or was_held):
        shown = Operation.CAPTURE
    return shown.value, "transaction.cancel" if status == "canceled" else EVENT_OF[shown]

"""Plans of actions: the effect of an action on a payment's money, before it is carried out.

One function per action; each returns a plan that says whether it exceeds the limit of the action.
Source: assumed 2.5. Invalid amounts raise ValueError with a sentence for the client.
"""

from collections.abc import Callable
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.payments.amounts import AMOUNT_MAX, Amounts, Ledger, percent_of
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.pricing import DEFAULT_BASES, Breakdown, tip_type_of
from sandbox.domain.payments.transactions import Payment, TipCapture

TIP_HEADROOM_PERCENT: Final = 100
"""How far a tip may raise a capture above the hold, in percent of the subtotal.

Source: assumed 2.5-headroom.
"""

HEADROOM_PERCENTS: Final = {"nothing": 0, "small_tip": 20}
"""The same for other values of the reading `above_the_hold`. Source: assumed D35-above."""


class ActionRequest(Struct, frozen=True, kw_only=True, gc=False):
    """A client's request for an action. Amounts are minor units; None means not stated.

    `is_confirmed` is False if the cardholder declined the surcharge; `percentage` is the tip in
    percent of the subtotal. `limit` is the reading `above_the_hold`. With `is_new_total` the amount
    of an increment is the new hold (the reading `increment_amount`).
    """

    operation: Operation
    amount: int | None = None
    tip_amount: int | None = None
    percentage: float | None = None
    breakdown: Breakdown | None = None
    is_confirmed: bool = True
    limit: str = "tip_and_surcharge"
    is_new_total: bool = False


class Plan(Struct, frozen=True, gc=False):
    """The effect of the action on the money: `changes`, as `transactions.change` takes them.

    `amount` is that of the operation. `is_excessive` if the action asks for more than there is;
    `is_full` if it leaves nothing.
    """

    amount: int
    changes: dict[str, Any] = {}
    is_excessive: bool = False
    is_full: bool = False


def plan(payment: Payment, action: ActionRequest) -> Plan:
    """Return the plan of the action. Raises ValueError if the request makes no sense."""
    return _PLANS[action.operation](payment, action)


def headroom(amounts: Amounts, limit: str = "") -> int:
    """Return the most that a tip may add to the hold. Source: assumed 2.5-headroom, D35-above."""
    return amounts.subtotal * HEADROOM_PERCENTS.get(limit, TIP_HEADROOM_PERCENT) // 100


def _is_above_hold(amounts: Amounts, held: int, limit: str) -> bool:
    """Whether a capture of these components is above the hold. Source: assumed D35-above."""
    if amounts.total <= held or limit == "nothing":
        return amounts.total > held
    goods = amounts.subtotal if limit == "tip_tax_and_surcharge" else amounts.goods
    return goods > held or amounts.tip > headroom(amounts, limit)


# --- capture ----------------------------------------------------------------------------------


def _capture(payment: Payment, action: ActionRequest) -> Plan:
    """Plan the one capture of an authorization; the rest of the hold is released.

    `amount` is the whole captured total, tip included; a tip alone captures the whole hold plus
    the tip (assumed D15).
    """
    if action.breakdown is not None:
        return _capture_stated_amounts(
            payment, action, _with_tip(action.breakdown, action.tip_amount)
        )
    held, tip = payment.ledger.held, action.tip_amount or 0
    amount = held + tip if action.amount is None else action.amount
    rest = amount - tip
    if rest < 1:
        raise ValueError("tip_amount: leaves nothing of the amount")
    if (amount if action.limit == "nothing" else rest) > held:
        return Plan(amount, is_excessive=True)
    # A partial approval keeps showing the requested amount (assumed 2.7).
    amounts = payment.amounts if payment.is_partial else payment.amounts.scaled_to(rest)
    if amount > held and tip > headroom(amounts, action.limit):
        return Plan(amount, is_excessive=True)
    changes: dict[str, Any] = {"amounts": amounts, "ledger": _record_capture(payment, amount)}
    if tip:
        changes["amounts"] = amounts.with_tip(amounts.tip + tip)
        changes |= {"tip_type": "fixed", "tip_capture_mode": "capture"}
    return Plan(amount, changes)


def _record_capture(payment: Payment, amount: int) -> Ledger:
    added = max(0, amount - payment.ledger.held)
    return replace(payment.ledger, captured=amount, added=added)


def _with_tip(breakdown: Breakdown, tip: int | None) -> Breakdown:
    if tip is None:
        return breakdown
    if breakdown.tip_amount not in (None, tip):
        raise ValueError("tip_amount: is not the tip of the breakdown")
    return replace(breakdown, tip_amount=tip)


def _capture_stated_amounts(payment: Payment, action: ActionRequest, stated: Breakdown) -> Plan:
    """Plan a capture whose components replace those of the payment.

    Source: assumed 2.5-breakdown.
    """
    amounts = stated_amounts(payment, stated, action.amount)
    _must_be_within_its_own_rate(stated, amounts)
    changes = replace_components(payment, stated, amounts, "capture")
    changes |= {"ledger": _record_capture(payment, amounts.total), "is_partial": False}
    is_excessive = _is_above_hold(amounts, payment.ledger.held, action.limit)
    return Plan(amounts.total, changes, is_excessive)


def stated_amounts(payment: Payment, stated: Breakdown, amount: int | None) -> Amounts:
    """Return the components that replace those of the payment, once they add up."""
    if amount is not None:
        stated.must_sum_to(amount)
    if stated.surcharge and not stated.bypass and not payment.card.is_credit:
        raise ValueError("breakdown.surcharge: debit and prepaid cards are never surcharged")
    amounts = stated.amounts.without_surcharge() if stated.bypass else stated.amounts
    if not 1 <= amounts.total <= AMOUNT_MAX:
        raise ValueError(f"breakdown: must add up to between 1 and {AMOUNT_MAX}")
    return amounts


def _must_be_within_its_own_rate(stated: Breakdown, amounts: Amounts) -> None:
    """Raise ValueError for a surcharge of more than one minor unit above what its rate gives.

    Source: assumed 2.5-surcharge-rate.
    """
    if stated.bypass or stated.surcharge_amount is None or stated.surcharge_rate is None:
        return
    most = percent_of(amounts.without_surcharge().total, stated.surcharge_rate) + 1
    if stated.surcharge_amount > most:
        raise ValueError(
            f"breakdown.surchargeAmount: {stated.surcharge_amount} is more than its rate of "
            f"{stated.surcharge_rate:g} % allows, {most}"
        )


def replace_components(
    payment: Payment, stated: Breakdown, amounts: Amounts, mode: TipCapture
) -> dict[str, Any]:
    """Return the changes that go with replaced components.

    A component that did not change keeps its rate and kind.
    """
    before, changes = payment.amounts, dict[str, Any](amounts=amounts)
    for part, basis in DEFAULT_BASES.items():
        amount: int = getattr(amounts, part)
        if amount != getattr(before, part):
            changes[f"{part}_rate"] = getattr(stated, f"{part}_rate") or 0
            changes[f"{part}_source"] = "transaction" if amount else None
            changes[f"{part}_basis"] = basis if amount else None
    if amounts.tip != before.tip:
        changes["tip_type"] = tip_type_of(stated)
        changes["tip_capture_mode"] = mode if amounts.tip else None
    return changes


# --- increment, adjust ------------------------------------------------------------------------


def _increment(payment: Payment, action: ActionRequest) -> Plan:
    """Plan a larger hold: by `amount`, or up to it, by the reading increment_amount.

    Source: spec 6.3-transaction.increment; assumed 2.5-increment, D35-increment.
    """
    assert action.amount is not None
    stated, held = Amounts(subtotal=action.amount), payment.ledger.held
    if action.breakdown is not None:
        stated = stated_amounts(payment, action.breakdown, action.amount)
    if not action.is_new_total:
        amounts = payment.amounts.plus(stated)
    elif stated.total <= held:
        raise ValueError(f"amount: is the new total, so it must be more than the {held} held")
    elif action.breakdown is None:
        amounts = payment.amounts.plus(Amounts(subtotal=stated.total - held))
    else:
        # The part of the total that is not held was reversed or never approved; it stays.
        amounts = stated.plus(Amounts(subtotal=payment.transaction.total_amount - held))
    changes: dict[str, Any] = {"amounts": amounts}
    if action.breakdown is not None:
        changes = replace_components(payment, action.breakdown, amounts, "sale")
    changes["ledger"] = _raise_hold(payment, amounts)
    return Plan(stated.total, changes)


def _raise_hold(payment: Payment, amounts: Amounts) -> Ledger:
    """Return the ledger after the hold became larger, or smaller, with the total."""
    if amounts.total > AMOUNT_MAX:
        raise ValueError(f"amount: the authorization would exceed {AMOUNT_MAX}")
    more = amounts.total - payment.transaction.total_amount
    return replace(payment.ledger, authorized=payment.ledger.authorized + more)


def _adjust(payment: Payment, action: ActionRequest) -> Plan:
    """Plan a new tip, which replaces the old one.

    The surcharge stays the same (assumed 2.5-adjust).
    """
    tip, tip_type = action.amount or 0, "fixed"
    if action.percentage is not None:
        tip, tip_type = percent_of(payment.amounts.subtotal, action.percentage), "percentage"
    amounts = payment.amounts.with_tip(tip)
    limit = headroom(amounts, action.limit)
    if payment.status == "authorized":
        # The hold changes with the tip (assumed D35-tip).
        ledger = _raise_hold(payment, amounts)
        left, is_excessive = ledger.held, tip > limit
    else:
        ledger = _record_capture(payment, payment.ledger.captured + tip - payment.amounts.tip)
        if action.limit == "tip_tax_and_surcharge":
            limit += amounts.tax
        left, is_excessive = ledger.captured, ledger.captured > ledger.held + limit
    if left < 1:
        raise ValueError("amount: leaves nothing of the payment")
    changes = {"amounts": amounts, "ledger": ledger, "tip_type": tip_type}
    return Plan(tip, {**changes, "tip_capture_mode": "adjust" if tip else None}, is_excessive)


# --- reverse, refund --------------------------------------------------------------------------


def _reverse(payment: Payment, action: ActionRequest) -> Plan:
    """Plan a reversal: of part of the hold, or after a capture of the captured amount."""
    ledger, whole, part = payment.ledger, payment.amounts.total, "voided"
    there = whole
    if payment.status == "captured":
        there, part = ledger.kept, "reversed"
    elif payment.status == "authorized":
        there = ledger.held
    amount = back = there if action.amount is None else action.amount
    if payment.status in ("pending", "surcharge_pending"):
        # Nothing is held yet, so it can only be canceled as a whole (assumed F5).
        is_asked = payment.status == "surcharge_pending"
        back = payment.amounts.without_surcharge().total if is_asked else whole
        return Plan(amount, is_full=amount in (whole, back))
    if payment.status == "error":
        # The hold is uncertain, so it can only be reversed as a whole.
        if amount < whole:
            raise ValueError(f"amount: a payment that timed out is reversed as a whole, {whole}")
        ledger = replace(ledger, authorized=whole)
    after = replace(ledger, **{part: getattr(ledger, part) + back})
    return Plan(amount, {"ledger": after}, is_excessive=amount > there, is_full=amount == there)


def _refund(payment: Payment, action: ActionRequest) -> Plan:
    """Plan a refund.

    It gives back the surcharge pro rata, as part of the amount (assumed 2.5-refund).
    """
    ledger, there = payment.ledger, payment.ledger.refundable
    amount = there if action.amount is None else action.amount
    after = replace(ledger, refunded=ledger.refunded + amount)
    return Plan(amount, {"ledger": after}, is_excessive=amount > there, is_full=amount == there)


# --- confirm ----------------------------------------------------------------------------------


def _confirm(payment: Payment, action: ActionRequest) -> Plan:
    """Plan the surcharge as proposed, or what overrides it. Source: assumed 1.8-confirm, 2.5.

    An amount alone is the whole total: the surcharge takes the difference.
    """
    amounts = payment.amounts
    if not action.is_confirmed:
        return Plan(amounts.without_surcharge().total)
    changes: dict[str, Any] = {}
    if action.breakdown is not None:
        amounts = stated_amounts(payment, action.breakdown, action.amount)
        changes = replace_components(payment, action.breakdown, amounts, "sale")
    elif action.amount is not None and action.amount != amounts.total:
        surcharge = action.amount - amounts.without_surcharge().total
        if surcharge < 0:
            raise ValueError("amount: is less than the total without a surcharge")
        amounts = replace(amounts, surcharge=surcharge)
        changes = replace_components(payment, Breakdown(subtotal=amounts.subtotal), amounts, "sale")
    ledger = Ledger(authorized=amounts.total, captured=amounts.total)
    return Plan(amounts.total, {**changes, "amounts": amounts, "ledger": ledger})


_PLANS: Final[dict[Operation, Callable[[Payment, ActionRequest], Plan]]] = {
    Operation.CAPTURE: _capture,
    Operation.INCREMENT: _increment,
    Operation.ADJUST: _adjust,
    Operation.REVERSE: _reverse,
    Operation.REFUND: _refund,
    Operation.CONFIRM: _confirm,
}

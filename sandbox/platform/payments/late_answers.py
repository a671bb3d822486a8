"""Late answers of the processor, planned by a scenario or given by hand.

Source: assumed D24-late.
"""

from msgspec import Struct

from sandbox.domain.directory import Account
from sandbox.domain.payments import follow_ups, initiation
from sandbox.domain.payments.follow_ups import Case, Unanswered, can_be_answered
from sandbox.domain.payments.outcomes import APPROVED, OUTCOMES, PARTIAL, Operation, for_operation
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.payments.transitions import Conclusion
from sandbox.platform import settlement
from sandbox.platform.context import OperationContext
from sandbox.platform.payments import conclusions


class OpenAttempt(Struct, frozen=True, gc=False):
    """An attempt that the processor may still answer."""

    event_id: str
    operation: Operation
    amount: int


def remember(context: OperationContext, case: Case, event_id: str) -> None:
    """Remember an action that timed out, so that it can be answered late."""
    id = case.payment.id
    known = context.unit.get(Unanswered, id)
    actions = (*(known.actions if known else ()), follow_ups.unanswered_action(case, event_id))
    context.unit.put(Unanswered(transaction_id=id, actions=actions))


def open_attempts(context: OperationContext, payment: Payment) -> list[OpenAttempt]:
    """Return the attempts at the payment that the processor may still answer, the oldest first.

    The record of an action has that action alone.
    """
    waiting = context.unit.get(Unanswered, payment.original_id or payment.id)
    found = [
        OpenAttempt(one.event_id, one.action.operation, one.amount)
        for one in (waiting.actions if waiting is not None else ())
    ]
    if payment.original_id is not None:
        return [one for one in found if one.event_id == payment.transaction.event_id]
    if can_be_answered(payment) and all(one.operation is not Operation.CONFIRM for one in found):
        tx = payment.transaction
        found.insert(0, OpenAttempt(tx.event_id, payment.operation, tx.total_amount))
    return found


def answer(context: OperationContext, payment: Payment, key: str, event_id: str) -> bool:
    """Answer an attempt late; an action is named by its event_id. Return False for no effect."""
    if payment.original_id is not None:
        original = context.unit.get(Payment, payment.original_id)
        assert original
        payment = original
    conclusion = preview(context, payment, key, event_id)
    if conclusion is None:
        return False
    if conclusion.taken.batch_entry:
        batch = settlement.batch_for_entry(context, payment)
        conclusion = preview(context, payment, key, event_id, batch.id) or conclusion
    conclusions.save(context, conclusion, payment)
    waiting = context.unit.get(Unanswered, payment.id)
    if waiting is not None and (left := waiting.without(event_id)) != waiting:
        if left.actions:
            context.unit.put(left)
        else:
            context.unit.remove(Unanswered, payment.id)
    return True


def why_no_effect(context: OperationContext, payment: Payment, key: str) -> tuple[str, str]:
    """Return why an answer with no effect has none, with the clause."""
    payment = context.unit.get(Payment, payment.original_id or payment.id) or payment
    account = context.unit.get(Account, payment.account_id)
    if account is None or account.deleted_at is not None:
        return "the account was deleted", "assumed D45"
    if payment.status == "error" and payment.ledger.held > 0 and not OUTCOMES[key].is_approval:
        return "the host holds the amount, so it has approved it", "assumed I11"
    return f"the payment is {payment.status} by now", "assumed D24"


def preview(
    context: OperationContext,
    payment: Payment,
    key: str,
    event_id: str,
    batch_id: str | None = None,
) -> Conclusion | None:
    """Return the conclusion that the answer would have now; None for no effect.

    With a deleted account it has none, because its money could never be settled (assumed D45).
    """
    account = context.unit.get(Account, payment.account_id)
    if account is None or account.deleted_at is not None:
        return None
    at = context.now_ms
    waiting = context.unit.get(Unanswered, payment.id)
    action = waiting.action(event_id) if waiting is not None else None
    if action is None:
        known = ("", payment.transaction.event_id)
        if not can_be_answered(payment, OUTCOMES[key]) or event_id not in known:
            return None
        start = initiation.answered_late(payment, OUTCOMES[key])
        row = initiation.transition_for(start)
        return initiation.conclude(start, row, at=at, batch_id=batch_id)
    outcome = for_operation(key, action.action.operation)
    case = conclusions.case_of(context, payment, action.action)
    if outcome is None or not follow_ups.can_still_happen(case, action):
        return None
    if outcome is PARTIAL and not follow_ups.approve_in_part(case, None):
        outcome = APPROVED
    row = follow_ups.transition_for(case, outcome)
    return follow_ups.conclude(case, row, outcome, event_id=event_id, at=at, batch_id=batch_id)

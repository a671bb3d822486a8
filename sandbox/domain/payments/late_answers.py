"""Late answers: the processor's answer to an attempt that has ended without one.

An initiation takes the row that a timely answer would have taken. So does an action, on the payment
as it is by then; one that can no longer be carried out changes nothing. Source: assumed D24,
D24-late.
"""

from collections.abc import Mapping

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.clock import LATE_ANSWER
from sandbox.domain.faults import Refusal
from sandbox.domain.payments import outcomes
from sandbox.domain.payments.action_plans import ActionRequest
from sandbox.domain.payments.amounts import Amounts
from sandbox.domain.payments.cards import NOT_READ
from sandbox.domain.payments.follow_ups import Case, rule_for
from sandbox.domain.payments.outcomes import Operation, Outcome
from sandbox.domain.payments.transactions import Payment, StatusWord, change
from sandbox.domain.payments.transitions import transitions_from


class UnansweredAction(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """An action whose processor may still answer, with the payment's state before it."""

    event_id: str
    action: ActionRequest
    amount: int
    status: StatusWord
    amounts: Amounts


class Unanswered(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The actions on a payment whose processor may still answer, the oldest first."""

    transaction_id: str
    actions: tuple[UnansweredAction, ...]

    def action(self, event_id: str) -> UnansweredAction | None:
        """Return the action with this event_id, or None."""
        return next((one for one in self.actions if one.event_id == event_id), None)

    def without(self, event_id: str) -> "Unanswered":
        """Return the others."""
        return replace(self, actions=tuple(x for x in self.actions if x.event_id != event_id))


def unanswered_action(case: Case, event_id: str) -> UnansweredAction:
    """Return what to remember of an action that timed out."""
    action, plan = case.action, case.plan
    if action.operation in (Operation.REFUND, Operation.REVERSE):
        # Without an amount it is for all that there was, and not for what there will be.
        action = replace(action, amount=plan.amount)
    return UnansweredAction(
        event_id=event_id,
        action=action,
        amount=plan.amount,
        status=case.payment.status,
        amounts=case.payment.amounts,
    )


def can_be_answered(payment: Payment, late: Outcome | None = None) -> bool:
    """Whether the processor may still answer the initiation, and so."""
    if payment.card is NOT_READ or not transitions_from(LATE_ANSWER, payment.status):
        return False
    if payment.status == "pending":
        return True
    # The host that holds the amount has approved it.
    is_known = payment.ledger.held > 0 and late is not None and not late.is_approval
    tx = payment.transaction
    return tx.status_reason in outcomes.TIMED_OUT and tx.status == "error" and not is_known


def case_now(
    waiting: UnansweredAction,
    payment: Payment,
    *,
    is_batch_closed: bool,
    readings: Mapping[str, str],
) -> Case | None:
    """Return the case of the action on the payment as it is now.

    None if it cannot be carried out.
    """
    operation = waiting.action.operation
    if operation is Operation.CONFIRM and payment.status == "error":
        # The time-out ended the sale, and dropped its surcharge.
        payment = change(payment, status=waiting.status, amounts=waiting.amounts)
    elif payment.status != waiting.status and operation is not Operation.REFUND:
        return None
    case = Case(
        payment=payment, action=waiting.action, is_batch_closed=is_batch_closed, readings=readings
    )
    try:
        return case if rule_for(case) is None else None
    except Refusal:
        return None


def why_no_answer(key: str, operation: Operation) -> str | None:
    """Why the outcome cannot be a late answer to the operation; None if it is one."""
    if outcomes.OUTCOMES[key].response_code in (None, "E"):
        return f"{key} is not an answer of a processor"
    return outcomes.why_not_for(key, operation)

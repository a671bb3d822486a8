"""Changes of a payment after its initiation: actions of the merchant, timers, and late answers.

Applies the rows F1 to F41 of `transitions`. A late answer is the processor's answer to an attempt
that ended without one. An initiation takes the row that a timely answer would have taken, and so
does an action, on the payment as it is by then. An action that is no longer possible changes
nothing. Source: assumed D24, D24-late.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.clock import LATE_ANSWER
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.payments import outcomes, transitions
from sandbox.domain.payments.action_plans import ActionRequest, Plan, plan
from sandbox.domain.payments.amounts import EMPTY, Amounts, Ledger
from sandbox.domain.payments.cards import NOT_READ
from sandbox.domain.payments.initiation import part_of
from sandbox.domain.payments.outcomes import Operation, Outcome
from sandbox.domain.payments.transactions import Payment, StatusWord, change, with_attempt
from sandbox.domain.payments.transitions import Conclusion, Transition, gateway_id


@dataclass(eq=False, kw_only=True)
class Case:
    """The facts that decide the row of a follow-up.

    `is_batch_closed` if the payment's batch was submitted or has its result. `readings` are those
    of the world. The plan is made when a row first needs it, because it may raise ValueError.
    """

    payment: Payment
    action: ActionRequest
    is_batch_closed: bool = False
    readings: Mapping[str, str]

    @cached_property
    def plan(self) -> Plan:
        """The plan of the action for the money."""
        return plan(self.payment, self.action)

    @property
    def amount(self) -> int:
        """The amount of this operation, 0 if unknown."""
        return self.plan.amount if "plan" in vars(self) else self.action.amount or 0

    @property
    def tip(self) -> int | None:
        """The tip that the action asks for, None if it states none."""
        action = self.action
        if action.operation is Operation.ADJUST:
            return self.plan.amount
        if action.tip_amount is None and action.breakdown is not None:
            return action.breakdown.tip
        return action.tip_amount

    @property
    def state(self) -> str:
        """The state that selects the rows.

        A payment that a reading shows as `refunded` after a partial refund is still refundable, and
        another reading lets the tip of a hold be adjusted like that of a captured payment.
        """
        payment, operation = self.payment, self.action.operation
        is_refundable = payment.status == "refunded" and payment.ledger.refundable > 0
        takes_tips = self.readings["tip_on_a_hold"] == "allowed"
        if (operation is Operation.REFUND and is_refundable) or (
            operation is Operation.ADJUST and payment.status == "authorized" and takes_tips
        ):
            return "captured"
        return payment.status

    @property
    def rows(self) -> tuple[Transition, ...]:
        """The rows to try, in order."""
        operation, status = self.action.operation, self.payment.status
        rows = transitions.transitions_from(operation, self.state)
        must_settle = self.readings["refund_before_settlement"] == "refused"
        if operation is Operation.REFUND and status == "captured" and must_settle:
            return (transitions.UNSETTLED, *rows)
        if (
            operation is Operation.REVERSE
            and status == "error"
            and self.payment.original_id is None
            and self.payment.transaction.status_reason in outcomes.TIMED_OUT
            and self.readings["reversal_of_a_timeout"] == "allowed"
        ):
            return transitions.TIMEOUT_REVERSED
        return rows


CONDITIONS: Final[Mapping[str, Callable[[Case], bool]]] = {
    "": lambda case: True,
    "before settlement": lambda case: True,
    "in part": lambda case: not case.plan.is_full,
    "the payer declines": lambda case: not case.action.is_confirmed,
    "above the limit": lambda case: case.plan.is_excessive,
    "in full": lambda case: case.plan.is_full,
    "approved in part": lambda case: case.plan.changes["ledger"].captured < case.plan.amount,
    "refunded in part, or its batch closed": lambda case: (
        case.payment.ledger.refunded > 0 or case.is_batch_closed
    ),
    "refunded or reversed in part, or its batch closed": lambda case: (
        case.payment.ledger.refunded > 0 or case.payment.ledger.reversed > 0 or case.is_batch_closed
    ),
}
"""The conditions under `when` in the rows of a follow-up, except those about the answer."""


def rule_for(case: Case) -> Transition | None:
    """Return the row that decides without the processor; None if the processor decides.

    Raises Refusal for a silent refusal, and for invalid amounts. The record of a refund or a
    reversal is final, and has no attempts of its own (assumed D35-action).
    """
    is_final = case.payment.original_id is not None
    try:
        for row in case.rows:
            if row.answer is None and CONDITIONS[row.when](case):
                if is_final:
                    raise refusal(case, row)
                if not row.is_silent_refusal:
                    return row
                if case.readings["refused_attempts"] == "all":
                    return transitions.announce(row)
                raise refusal(case, row)
        # No row refuses it. Report an invalid amount now, not after the processor's answer.
        _ = case.plan
    except ValueError as error:
        raise Refusal(VALIDATION_ERROR, str(error), source="assumed 2.5", step="rule") from None
    return None


def refusal(case: Case, taken: Transition, forced: Outcome | None = None) -> Refusal:
    """Return the refusal of a row, silent or announced; `forced` is the outcome that chose it."""
    assert taken.fault
    status, source = case.payment.status, taken.source
    # `A declined payment cannot be captured`, for example.
    reason = f"{_PAYMENTS.get(status, f'A {status} payment')} cannot be "
    reason += f"{_DONE[case.action.operation]}{_circumstance(case, taken)}."
    if forced is not None:
        reason, source = f"{forced.key} was requested", "assumed 5.2-forced"
    return Refusal(
        taken.fault, f"Its status is {status}.", reason=reason, source=source, step="rule"
    )


def _circumstance(case: Case, taken: Transition) -> str:
    """Return what forbids the action besides the status, as the end of a sentence."""
    ledger = case.payment.ledger
    if taken.when == "above the limit":
        return f" above the limit: it asks for {case.plan.amount}"
    if "its batch closed" not in taken.when:
        return f" {taken.when}" if taken.when else ""
    causes = {
        "it was refunded in part": ledger.refunded > 0,
        "it was reversed in part": ledger.reversed > 0 and "reversed" in taken.when,
        "its batch was closed": case.is_batch_closed,
    }
    return f" once {' and '.join(cause for cause, holds in causes.items() if holds)}"


_DONE: Final = {
    Operation.CAPTURE: "captured",
    Operation.INCREMENT: "increased",
    Operation.ADJUST: "adjusted",
    Operation.REVERSE: "reversed",
    Operation.REFUND: "refunded",
    Operation.CONFIRM: "confirmed",
}
_PAYMENTS: Final = {
    "authorized": "An authorized payment",
    "error": "A payment that ended in an error",
    "surcharge_pending": "A payment that waits for its surcharge",
}


def approve_in_part(case: Case, approved_amount: int | None) -> bool:
    """Approve a confirmation in part. Return False if that would be all of it (assumed 2.7)."""
    whole = case.plan
    part = part_of(whole.amount, approved_amount)
    if part is None:
        return False
    shows_part = case.readings["total_of_partial_approval"] == "approved"
    changes = {"ledger": Ledger(authorized=part, captured=part), "is_partial": not shows_part}
    if shows_part:
        changes["amounts"] = whole.changes["amounts"].scaled_to(part)
    case.plan = replace(whole, changes={**whole.changes, **changes})
    return True


def transition_for(case: Case, outcome: Outcome) -> Transition:
    """Return the row that the processor's answer leads to."""
    if outcome.key in outcomes.FORCED_RULES:
        return _forced(case.action.operation, outcome)
    wanted = "approved" if outcome.is_approval else "failed"
    is_declined = outcome.verdict == "declined"
    for row in case.rows:
        if row.answer == wanted and (
            is_declined if row.when == "declined" else CONDITIONS[row.when](case)
        ):
            return row
    raise AssertionError(f"no row for {case.action.operation} from {case.state}")


def _forced(operation: Operation, outcome: Outcome) -> Transition:
    """Return the row of the rule failure with the outcome's name.

    Source: assumed 5.2-forced.
    """
    return next(
        row
        for state in ("authorized", "captured")
        for row in transitions.transitions_from(operation, state)
        if row.fault is not None and row.is_rule_failure and row.fault.code == outcome.key
    )


def conclude(
    case: Case,
    taken: Transition,
    outcome: Outcome | None,
    *,
    event_id: str,
    at: int,
    batch_id: str | None = None,
) -> Conclusion:
    """Return the payment after a row was applied; `at` is in Unix milliseconds.

    `batch_id` is the batch of the row's entry.
    """
    tx, operation = case.payment.transaction, case.action.operation
    shown_type = "sale" if operation is Operation.CONFIRM else operation.value
    # A refund is sent to the host separately, and gets its own code (assumed D28).
    earlier = None if operation is Operation.REFUND else tx.gateway_transaction_response
    attempted = change(
        case.payment,
        event_id=event_id,
        transaction_type=shown_type,
        answer=transitions.host_answer(outcome, event_id, earlier),
    )
    if taken.answer == "failed" or taken.is_rule_failure:
        return _failed(case, taken, outcome, attempted, at)
    if taken.money == "released":
        return transitions.release(
            case.payment, taken, event_id=event_id, at=at, amount=case.plan.amount
        )
    status = tx.status if taken.next_status == transitions.SAME else taken.next_status
    if taken.status_reading is not None:
        wanted = case.readings[taken.status_reading]
        status = status if wanted == "unchanged" else wanted
    is_captured = taken.batch_entry == "capture"
    after = change(
        attempted,
        status=status,
        status_reason=taken.reason,
        gateway_transaction_id=tx.gateway_transaction_id or gateway_id(tx.transaction_id),
        batch_id=None if taken.should_leave_batch else batch_id if is_captured else tx.batch_id,
        **case.plan.changes,
    )
    settles_in = batch_id if taken.batch_entry else after.batch_id
    after = with_attempt(after, case.amount, at, batch_id=settles_in)
    if taken.shown_reading is None or case.readings[taken.shown_reading] == "unchanged":
        return Conclusion.announcing(taken, after)
    # The last history element has this status too.
    *before, last = after.history
    status = case.readings[taken.shown_reading]
    after = change(after, history=(*before, replace(last, status=status)))
    return Conclusion.announcing(taken, after, change(after, status=status))


def _failed(
    case: Case, taken: Transition, outcome: Outcome | None, attempted: Payment, at: int
) -> Conclusion:
    """Return a failed attempt beside an unchanged record; only F2 ends the payment itself."""
    status, reason = taken.shown_status, taken.reason
    if reason == transitions.AS_ANSWERED:
        assert outcome
        status, reason = outcome.verdict, outcome.status_reason
    over = change(attempted, status=status, status_reason=reason)
    if taken.money == "emptied":
        # Confirming completes the sale, so its failure is the sale's (assumed F2).
        over = change(over, amounts=over.amounts.without_surcharge(), ledger=EMPTY)
        # spec 6.3-transaction.cancel: for every cancellation
        event = "transaction.cancel" if status == "canceled" else ""
        return Conclusion.announcing(taken, with_attempt(over, case.amount, at), event=event)
    # A hold that was released stays released, whatever failed afterwards (assumed D12).
    details = case.payment.transaction.additional_details
    over = replace(over, transaction=replace(over.transaction, additional_details=details))
    over = with_attempt(over, case.amount, at)
    return Conclusion.announcing(taken, change(case.payment, history=over.history), over)


# --- late answers -------------------------------------------------------------------------------


class UnansweredAction(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """An action that the processor may still answer, with the payment's state before it."""

    event_id: str
    action: ActionRequest
    amount: int
    status: StatusWord
    amounts: Amounts


class Unanswered(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The actions on a payment that the processor may still answer, the oldest first."""

    transaction_id: str
    actions: tuple[UnansweredAction, ...]

    def action(self, event_id: str) -> UnansweredAction | None:
        """Return the action with this event_id, or None."""
        return next((one for one in self.actions if one.event_id == event_id), None)

    def without(self, event_id: str) -> "Unanswered":
        """Return all actions but this one."""
        return replace(self, actions=tuple(x for x in self.actions if x.event_id != event_id))


def unanswered_action(case: Case, event_id: str) -> UnansweredAction:
    """Return what to remember about an action that timed out."""
    action, plan = case.action, case.plan
    if action.operation in (Operation.REFUND, Operation.REVERSE):
        # Without an amount, it is for what there is now, not for what there will be.
        action = replace(action, amount=plan.amount)
    return UnansweredAction(
        event_id=event_id,
        action=action,
        amount=plan.amount,
        status=case.payment.status,
        amounts=case.payment.amounts,
    )


def can_be_answered(payment: Payment, late: Outcome | None = None) -> bool:
    """Whether the processor may still answer the initiation, with this outcome if it is given."""
    if payment.card is NOT_READ or not transitions.transitions_from(LATE_ANSWER, payment.status):
        return False
    if payment.status == "pending":
        return True
    # A host that holds the amount has approved it.
    is_known = payment.ledger.held > 0 and late is not None and not late.is_approval
    tx = payment.transaction
    return tx.status_reason in outcomes.TIMED_OUT and tx.status == "error" and not is_known


def can_still_happen(case: Case, waiting: UnansweredAction) -> bool:
    """Whether the action can be carried out on the case's payment as it is now."""
    payment, operation = case.payment, waiting.action.operation
    if operation is Operation.CONFIRM and payment.status == "error":
        # The time-out ended the sale and dropped its surcharge.
        case.payment = change(payment, status=waiting.status, amounts=waiting.amounts)
    elif payment.status != waiting.status and operation is not Operation.REFUND:
        return False
    try:
        return rule_for(case) is None
    except Refusal:
        return False


def why_no_answer(key: str, operation: Operation) -> str | None:
    """Return why the outcome cannot be a late answer to the operation; None if it can."""
    if not outcomes.OUTCOMES[key].can_come_late:
        return f"{key} is not an answer of a processor"
    return outcomes.why_not_for(key, operation)

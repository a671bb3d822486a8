"""Actions on a payment. Source: spec 4.4-paths-actions, 4.4-paths-refunds; details assumed 1.8."""

from typing import TYPE_CHECKING, cast

from msgspec import Struct

from sandbox.domain.faults import Refusal
from sandbox.domain.payments import follow_ups
from sandbox.domain.payments.action_plans import ActionRequest
from sandbox.domain.payments.follow_ups import Case
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, Outcome
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.payments.transitions import Transition
from sandbox.domain.readings import ABOVE_THE_HOLD, RATES_BELOW_ONE, RULE_FAILURES
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.payments import attempts, persist
from sandbox.scenarios.choosing import ChosenOutcome
from sandbox.store.tables import used_event

if TYPE_CHECKING:
    from sandbox.platform.payments.bodies import (
        Adjust,
        Capture,
        Confirm,
        Increment,
        Refund,
        Reverse,
    )


def capture(context: OperationContext) -> "Acted":
    """Capture an authorization. Source: assumed 1.8-capture."""
    body: Capture = context.body
    return _act(
        context,
        ActionRequest(
            operation=Operation.CAPTURE,
            amount=body.amount,
            tip_amount=body.tip_amount,
            breakdown=attempts.parts_of(context, body.breakdown),
            limit=context.world.readings[ABOVE_THE_HOLD],
        ),
    )


def increment(context: OperationContext) -> "Acted":
    """Add to an authorization. Source: assumed 1.8-increment."""
    body: Increment = context.body
    return _act(
        context,
        ActionRequest(
            operation=Operation.INCREMENT,
            amount=body.amount,
            breakdown=attempts.parts_of(context, body.breakdown),
        ),
    )


def reverse(context: OperationContext) -> "Acted":
    """Reverse a held or captured amount, before settlement. Source: assumed 1.8-reverse."""
    body: Reverse = context.body
    return _act(context, ActionRequest(operation=Operation.REVERSE, amount=body.amount))


def adjust(context: OperationContext) -> "Acted":
    """Replace the tip of a payment. Source: assumed 1.8-adjust."""
    body: Adjust = context.body
    is_percentage, percentage = body.type == "percentage", body.percentage
    if is_percentage and context.world.readings[RATES_BELOW_ONE] == "fraction":
        percentage = attempts.as_percent(percentage)
    elif is_percentage:
        attempts.note_small_rate(context, "percentage", percentage)
    return _act(
        context,
        ActionRequest(
            operation=Operation.ADJUST,
            amount=None if is_percentage else body.amount,
            percentage=percentage if is_percentage else None,
            limit=context.world.readings[ABOVE_THE_HOLD],
        ),
    )


def refund(context: OperationContext) -> "Acted":
    """Refund a captured amount. Source: assumed 1.8-refund, 1.8-standalone."""
    body: Refund = context.body
    attempts.card_in(body)
    return _act(context, ActionRequest(operation=Operation.REFUND, amount=body.amount))


def confirm(context: OperationContext) -> "Acted":
    """The cardholder's answer to the surcharge. Source: assumed 1.8-confirm."""
    body: Confirm = context.body
    return _act(
        context,
        ActionRequest(
            operation=Operation.CONFIRM,
            amount=body.amount,
            breakdown=attempts.parts_of(context, body.breakdown),
            confirms=body.confirm,
        ),
    )


# --- the way of every action ------------------------------------------------------------------


class PendingAction(Struct, frozen=True, gc=False):
    """An action that waits for its processor. Its payment, the `subject`, is as it was before.

    No record holds the event_id yet: `event` is what the store will have as `used_event`.
    """

    subject: str
    action: ActionRequest
    choice: ChosenOutcome
    event_id: str
    event: str
    delay_ms: int

    @property
    def tap(self) -> None:
        """Only a payment that begins waits for a tap."""

    def finish(self, context: OperationContext, is_key_lost: bool) -> Transaction | Refusal:
        """The second phase: the processor has answered, and the record is read again.

        With a lost key the processor has failed (assumed D2).
        """
        tx = context.unit.get(Transaction, self.subject)
        assert tx
        case = _case(context, tx, self.action)
        attempts.follow_outcome(context, self.choice, tx)
        taken = follow_ups.rule_for(case)
        if taken is not None:
            return _conclude(context, case, taken, None, self.event_id)
        outcome = OUTCOMES["payment_failed"] if is_key_lost else self.choice.outcome
        taken = follow_ups.transition_for(case, outcome)
        return _conclude(context, case, taken, outcome, self.event_id, disarms=self.choice.disarms)


Acted = PendingAction | Transaction | Refusal
"""The result of an action: one that waits, a payment as it is, or a refusal that was recorded."""


def _act(context: OperationContext, action: ActionRequest) -> Acted:
    """Rules first, then the processor's answer, then the record (rows F1 to F41)."""
    tx = cast(Transaction, context.record)
    sent = context.body.event_id
    again = attempts.earlier_use(
        context, tx.account_id, sent, action.operation, action.amount, tx.transaction_id
    )
    if isinstance(again, Transaction):
        return again
    sent = sent if again is None else None
    case = _case(context, tx, action)
    ruled = follow_ups.rule_for(case)
    if ruled is not None:
        event_id = attempts.event_id_for(context, tx.account_id, sent)
        return _conclude(context, case, ruled, None, event_id)
    if again is None:
        choice = _choose(context, tx, action)
    else:
        choice = attempts.repeated(context, again, context.body.event_id)
    event_id = attempts.event_id_for(context, tx.account_id, sent)
    return PendingAction(
        tx.transaction_id,
        action,
        choice,
        event_id,
        used_event(tx.account_id, event_id),
        attempts.delay_ms(context, choice),
    )


def row_if_approved(
    context: OperationContext, tx: Transaction, action: ActionRequest
) -> Transition:
    """The row that the action would take now if its processor approved. Nothing is changed.

    Raises Refusal, as the action itself would, also for a rule failure.
    """
    case = _case(context, tx, action)
    ruled = follow_ups.rule_for(case)
    if ruled is None:
        return follow_ups.transition_for(case, OUTCOMES["approved"])
    if ruled.is_rule_failure:
        raise follow_ups.refusal(case, ruled)
    return ruled


def _choose(context: OperationContext, tx: Transaction, action: ActionRequest) -> ChosenOutcome:
    return attempts.decide(
        context,
        action.operation,
        amount=action.amount,
        card=tx.origin.card,
        terminal_id=tx.origin.site.terminal_id,
        armed=tx.armed,
        more=lambda: attempts.words_of(
            context,
            tx.origin.site,
            tip_amount=action.tip_amount,
            status=tx.status,
            # The creation and its outcome are one attempt.
            attempt=max(2, len(tx.history)),
        ),
    )


def _case(context: OperationContext, tx: Transaction, action: ActionRequest) -> Case:
    is_closed = persist.is_closed(context, tx.batch_id)
    return Case(tx=tx, action=action, batch_is_closed=is_closed, readings=context.world.readings)


def _conclude(
    context: OperationContext,
    case: Case,
    taken: Transition,
    outcome: Outcome | None,
    event_id: str,
    *,
    disarms: bool = False,
) -> Transaction | Refusal:
    """Store the result of the row and fire its events.

    Returns a refusal for a rule failure, which is announced all the same (assumed 2.1-rule, Q3,
    Q4).
    """
    tx = case.tx
    batch = persist.batch_for_entry(context, tx) if taken.batch_entry else None
    conclusion = follow_ups.conclude(
        case,
        taken,
        outcome,
        event_id=event_id,
        at=context.now_ms,
        batch_id=batch.id if batch else None,
    )
    if disarms:
        conclusion = follow_ups.disarmed(conclusion)
    persist.save(context, conclusion, tx, batch)
    if not taken.is_rule_failure or context.world.readings[RULE_FAILURES.id] == "http_200":
        return conclusion.shown
    return follow_ups.refusal(case, taken)

"""Actions on a payment. Source: spec 4.4-paths-actions, 4.4-paths-refunds; details assumed 1.8."""

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.payments import follow_ups
from sandbox.domain.payments.action_plans import ActionRequest
from sandbox.domain.payments.attempts import Conclusion
from sandbox.domain.payments.cards import card_of
from sandbox.domain.payments.follow_ups import Case
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, Outcome
from sandbox.domain.payments.pricing import Breakdown
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.payments.transitions import Transition
from sandbox.platform.operation_context import OperationContext, PendingPayment
from sandbox.platform.payments import attempts, persist
from sandbox.scenarios.choosing import ChosenOutcome
from sandbox.store.tables import used_event

if TYPE_CHECKING:
    from sandbox.platform.payments.bodies import (
        Adjust,
        BreakdownBody,
        Capture,
        Confirm,
        Increment,
        Refund,
        Reverse,
    )


def capture(context: OperationContext) -> Any:
    """Capture an authorization. Source: assumed 1.8-capture."""
    body: Capture = context.body
    return _act(
        context,
        ActionRequest(
            operation=Operation.CAPTURE,
            amount=body.amount,
            tip_amount=body.tip_amount,
            breakdown=_parts(body.breakdown),
        ),
    )


def increment(context: OperationContext) -> Any:
    """Add to an authorization. Source: assumed 1.8-increment."""
    body: Increment = context.body
    return _act(
        context,
        ActionRequest(
            operation=Operation.INCREMENT, amount=body.amount, breakdown=_parts(body.breakdown)
        ),
    )


def reverse(context: OperationContext) -> Any:
    """Reverse a held or captured amount, before settlement. Source: assumed 1.8-reverse."""
    body: Reverse = context.body
    return _act(context, ActionRequest(operation=Operation.REVERSE, amount=body.amount))


def adjust(context: OperationContext) -> Any:
    """Replace the tip of a captured payment. Source: assumed 1.8-adjust."""
    body: Adjust = context.body
    is_percentage = body.type == "percentage"
    return _act(
        context,
        ActionRequest(
            operation=Operation.ADJUST,
            amount=None if is_percentage else body.amount,
            percentage=body.percentage if is_percentage else None,
        ),
    )


def refund(context: OperationContext) -> Any:
    """Refund a captured amount. Source: assumed 1.8-refund, 1.8-standalone."""
    body: Refund = context.body
    try:
        card_of(body.card_data)
    except ValueError as error:
        raise Refusal(
            VALIDATION_ERROR, f"card_reader_data: {error}", source="assumed 6.4-unknown"
        ) from None
    return _act(context, ActionRequest(operation=Operation.REFUND, amount=body.amount))


def confirm(context: OperationContext) -> Any:
    """The cardholder's answer to the surcharge. Source: assumed 1.8-confirm."""
    body: Confirm = context.body
    return _act(
        context,
        ActionRequest(
            operation=Operation.CONFIRM,
            amount=body.amount,
            breakdown=_parts(body.breakdown),
            confirms=body.confirm,
        ),
    )


def _parts(body: "BreakdownBody | None") -> Breakdown | None:
    return body.parts() if body else None


# --- the way of every action ------------------------------------------------------------------


def _act(context: OperationContext, action: ActionRequest) -> Any:
    """Rules first, then the processor's answer, then the record (rows F1 to F41)."""
    tx = cast(Transaction, context.record)
    sent = context.body.event_id
    again = attempts.earlier_use(
        context, tx.account_id, sent, action.operation, action.amount, tx.transaction_id
    )
    if again is not None:
        return again
    case, ruled = _ruled(context, tx, action)
    if ruled is not None:
        event_id = attempts.event_id_for(context, tx.account_id, sent)
        return _conclude(context, case, ruled, None, event_id)
    choice = attempts.decide(
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
    event_id = attempts.event_id_for(context, tx.account_id, sent)
    if choice.follow:
        attempts.schedule_follow_ups(
            context,
            choice.follow,
            terminal_id=tx.origin.site.terminal_id,
            payment=tx.transaction_id,
        )
    return PendingPayment(
        attempts.delay_ms(context, choice, choice.outcome),
        partial(_finish, tx.transaction_id, action, choice, event_id),
        tx.transaction_id,
        choice.fault,
        used_event(tx.account_id, event_id),
    )


def _ruled(
    context: OperationContext, tx: Transaction, action: ActionRequest
) -> tuple[Case, Transition | None]:
    """The row that decides without the processor, if any. A silent refusal is raised."""
    case = Case(tx, action, persist.is_closed(context, tx.batch_id))
    try:
        ruled = follow_ups.rule_for(case)
    except ValueError as error:
        raise Refusal(VALIDATION_ERROR, str(error), source="assumed 2.5", step="rule") from None
    if ruled is not None and ruled.is_silent_refusal:
        assert ruled.fault
        raise Refusal(
            ruled.fault,
            f"Its status is {tx.status}.",
            reason=f"{ruled.id}: {action.operation} from {tx.status}"
            + (f", {ruled.when}" if ruled.when else ""),
            source=ruled.source,
            step="rule",
        )
    return case, ruled


def _finish(
    transaction_id: str,
    action: ActionRequest,
    choice: ChosenOutcome,
    event_id: str,
    context: OperationContext,
    key_was_lost: bool,
) -> Any:
    """The second phase: the processor has answered, and the record is read again."""
    tx = context.unit.get(Transaction, transaction_id)
    assert tx
    case, ruled = _ruled(context, tx, action)
    if ruled is not None:
        return _conclude(context, case, ruled, None, event_id)
    outcome = OUTCOMES["payment_failed"] if key_was_lost else choice.outcome
    taken = follow_ups.transition_for(case, outcome)
    return _conclude(context, case, taken, outcome, event_id, disarms=choice.disarms)


def _conclude(
    context: OperationContext,
    case: Case,
    taken: Transition,
    outcome: Outcome | None,
    event_id: str,
    *,
    disarms: bool = False,
) -> Any:
    """Store the result of the row and fire its events; returns a refusal if the row refuses."""
    tx = case.tx
    batch = persist.batch_for_entry(context, tx) if taken.batch_entry else None
    conclusion = follow_ups.conclude(
        case,
        taken,
        outcome,
        event_id=event_id,
        at=context.now_ms,
        batch_id=batch.id if batch else None,
        switches=context.world.switches,
    )
    if disarms:
        conclusion = follow_ups.disarmed(conclusion)
    persist.save(context, conclusion, tx, batch)
    if not taken.is_rule_failure or context.world.switches["lifecycle.rule_failures"] == "http_200":
        return conclusion.shown
    return _as_refusal(case, taken, conclusion)


def _as_refusal(case: Case, taken: Transition, conclusion: Conclusion) -> Refusal:
    """The 400 of a rule failure, which was announced all the same (assumed 2.1-rule, Q3, Q4)."""
    assert taken.fault
    return Refusal(
        taken.fault,
        f"Its status is {case.tx.status}.",
        reason=f"{taken.id}: {case.action.operation} from {case.tx.status}"
        + (f", {taken.when}" if taken.when else ""),
        source=taken.source,
        step="rule",
    )

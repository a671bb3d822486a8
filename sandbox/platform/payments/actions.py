"""Actions on a payment. Source: spec 4.4-paths-actions, 4.4-paths-refunds; details assumed 1.8.

Every action is served under /v1 and /v3 alike (spec 9.4).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, Final, TypeVar

from msgspec.structs import replace

from sandbox.domain.faults import DUPLICATE_EVENT, Refusal
from sandbox.domain.payments import follow_ups, outcomes
from sandbox.domain.payments.action_plans import ActionRequest
from sandbox.domain.payments.follow_ups import Case
from sandbox.domain.payments.outcomes import APPROVED, OUTCOMES, Operation, Outcome
from sandbox.domain.payments.pricing import Breakdown
from sandbox.domain.payments.transactions import Payment, Transaction
from sandbox.domain.payments.transitions import EVENT_OF, TRANSITIONS, Transition
from sandbox.platform import settlement
from sandbox.platform.context import OperationContext, RequestContext
from sandbox.platform.operation import NOWHERE, Example, Run, Target, operation
from sandbox.platform.payments import (
    attempts,
    bodies,
    conclusions,
    late_answers,
    points_of_sale,
    processor,
)
from sandbox.scenarios.outcome_choice import ChosenOutcome
from sandbox.store.tables import event_claim

Asked = TypeVar("Asked", bound=Callable[..., ActionRequest])
Acted = Payment | Refusal
"""The result of an action: the payment after it, or a refusal that was recorded."""


_HOLD: Final = Example(operation="payments.preauth", body=bodies.example_of_sale())


def _parts_of(
    context: RequestContext, payment: Payment, body: bodies.BreakdownBody | None
) -> Breakdown | None:
    """Return the breakdown; its surcharge must be allowed where the payment was made."""
    parts = bodies.parts_of(context, body)
    if parts is not None and parts.surcharge:
        points_of_sale.must_allow_surcharge(context, payment)
    return parts


def _register(name: str, path: str, kind: Operation, **more: Any) -> Callable[[Run], Run]:
    """Register an operation; its events and refusals are those of its rows.

    A repeated event_id is refused too (assumed F38).
    """
    rows = [row for row in TRANSITIONS if row.trigger == kind]
    opens = ["batch.opened"] if any(row.batch_entry for row in rows) else []
    events = [row.event for row in rows if row.event is not None]
    refuses = [row.fault for row in rows if row.fault is not None]
    return operation(
        name,
        "POST",
        path,
        response=Transaction,
        events=tuple(dict.fromkeys((*opens, EVENT_OF[kind], *events))),
        can_be_blocked=True,
        attempts=kind,
        refuses=tuple(dict.fromkeys((DUPLICATE_EVENT, *refuses))),
        **more,
    )


def _action(kind: Operation, segment: str, needs: str, example: Any) -> Callable[[Asked], Asked]:
    """Register an action under both versions; the newer one has the plain name.

    The decorated function says what the body asks for; `_act` does it.
    """

    def decorate(asked: Asked) -> Asked:
        @wraps(asked)
        async def run(context: RequestContext, payment: Payment, body: Any) -> Acted:
            return await _act(context, payment, body.event_id, asked(context, payment, body))

        for version, suffix in (("v3", ""), ("v1", "_v1")):
            _register(
                f"payments.{asked.__name__}{suffix}",
                f"/{version}/payments/{{id}}/{segment}",
                kind,
                needs=needs,
                target=Target("path", "id", Payment),
                source="spec 4.4-paths-actions",
                example=example,
            )(run)
        return asked

    return decorate


@_action(
    Operation.CAPTURE,
    "capture",
    "payments:capture",
    Example(body={"amount": 2500}, first=_HOLD),
)
def capture(context: RequestContext, payment: Payment, body: bodies.Capture) -> ActionRequest:
    """Capture an authorization. Source: assumed 1.8-capture."""
    parts, amount = _parts_of(context, payment, body.breakdown), body.amount
    if amount is not None and context.world.readings["capture_amount"] != "with_tip":
        # The amount leaves the tip out (assumed D35-capture).
        amount += body.tip_amount or (parts.tip if parts else 0)
    return ActionRequest(
        operation=Operation.CAPTURE,
        amount=amount,
        tip_amount=body.tip_amount,
        breakdown=parts,
        limit=context.world.readings["above_the_hold"],
    )


@_action(
    Operation.INCREMENT,
    "auth",
    "payments:incremental-auth",
    Example(body={"amount": 500}, first=_HOLD),
)
def increment(context: RequestContext, payment: Payment, body: bodies.Increment) -> ActionRequest:
    """Add to an authorization. Source: assumed 1.8-increment."""
    return ActionRequest(
        operation=Operation.INCREMENT,
        amount=body.amount,
        breakdown=_parts_of(context, payment, body.breakdown),
        is_new_total=context.world.readings["increment_amount"] == "new_total",
    )


@_action(Operation.REVERSE, "reverse", "payments:void", {})
def reverse(context: RequestContext, payment: Payment, body: bodies.Reverse) -> ActionRequest:
    """Reverse a payment before settlement. Source: assumed 1.8-reverse."""
    return ActionRequest(operation=Operation.REVERSE, amount=body.amount)


@_action(Operation.ADJUST, "adjust", "payments:tipadjust", {"type": "fixed", "amount": 400})
def adjust(context: RequestContext, payment: Payment, body: bodies.Adjust) -> ActionRequest:
    """Adjust the tip of a captured payment. Source: assumed 1.8-adjust."""
    amount, rate = (None, body.percentage) if body.type == "percentage" else (body.amount, None)
    return ActionRequest(
        operation=Operation.ADJUST,
        amount=amount,
        percentage=bodies.percent_in(context, "percentage", rate),
        limit=context.world.readings["above_the_hold"],
    )


@_action(Operation.REFUND, "refund", "payments:refund", {"amount": 1000})
def refund(context: RequestContext, payment: Payment, body: bodies.Refund) -> ActionRequest:
    """Refund a payment. Source: assumed 1.8-refund."""
    bodies.card_in(body)
    return ActionRequest(operation=Operation.REFUND, amount=body.amount)


@_action(
    Operation.CONFIRM,
    "confirm",
    "payments:confirm",
    Example(
        by="partner",
        body={"confirm": True},
        first=Example(
            operation="payments.create",
            by="partner",
            body=bodies.example_of_sale("surcharge_merchant"),
        ),
    ),
)
def confirm(context: RequestContext, payment: Payment, body: bodies.Confirm) -> ActionRequest:
    """Give the cardholder's answer to a surcharge. Source: assumed 1.8-confirm."""
    return ActionRequest(
        operation=Operation.CONFIRM,
        amount=body.amount,
        breakdown=_parts_of(context, payment, body.breakdown),
        is_confirmed=body.confirm,
    )


@_register(
    "refunds.create",
    "/v3/refund",
    Operation.REFUND,
    needs="payments:refund",
    target=Target("body", "transaction_id", Payment, is_required=True),
    source="spec 4.4-paths-refunds",
    example=Example(body={"transaction_id": NOWHERE, "amount": 1000}, takes="transaction_id"),
)
async def refund_by_id(
    context: RequestContext, payment: Payment, body: bodies.StandaloneRefund
) -> Acted:
    """Refund a payment, named in the body. Source: assumed 1.8-standalone."""
    return await _act(context, payment, body.event_id, refund(context, payment, body))


# --- what all actions share -------------------------------------------------------------------


async def _act(
    context: RequestContext, payment: Payment, sent: str | None, action: ActionRequest
) -> Acted:
    """Check the rules, let the processor answer, and store the result (rows F1 to F41).

    `sent` is the event_id of the body.
    """
    again = attempts.earlier_use(context, payment.account_id, sent, action, payment.id)
    if isinstance(again, Payment):
        return again
    new_id = sent if again is None else None
    case = conclusions.case_of(context, payment, action)
    ruled = follow_ups.rule_for(case)
    if ruled is not None:
        event_id = new_id or attempts.new_event_id(context, payment.account_id)
        return _conclude(context, case, ruled, None, event_id)
    if again is not None:
        choice = attempts.choose_repeated(context, again, sent)
    else:
        choice = attempts.decide(
            context,
            action.operation,
            amount=action.amount,
            card=payment.card,
            terminal_id=payment.transaction.tid,
            armed=payment.armed,
            more=lambda: attempts.words_of(
                context,
                payment.transaction,
                tip_amount=case.tip,
                status=payment.status,
                # The creation and its outcome are one attempt.
                attempt=max(2, len(payment.history)),
            ),
        )
    event_id = new_id or attempts.new_event_id(context, payment.account_id)
    delay_ms = processor.delay_ms(context, choice)
    if delay_ms == 0:
        return _finish(context, case, choice, event_id)
    async with processor.in_flight(context, payment.id):
        # No record holds the event_id yet.
        event = event_claim(payment.account_id, event_id)
        await processor.wait_for_answer(context, payment.id, delay_ms, event=event)
        lost = processor.begin_second_phase(context, payment.account_id)
        current = context.unit.get(Payment, payment.id)
        assert current
        case = conclusions.case_of(context, current, action)
        try:
            acted = _finish(context, case, choice, event_id, is_key_lost=lost is not None)
        except Refusal as refusal:
            # A lost key learns nothing else, even if the action is forbidden by now.
            raise lost or refusal from None
        return lost or acted


def _finish(
    context: RequestContext,
    case: Case,
    choice: ChosenOutcome,
    event_id: str,
    *,
    is_key_lost: bool = False,
) -> Acted:
    """Finish the action, now that the processor has answered.

    If the key was lost meanwhile, the processor has failed (assumed D2).
    """
    terminal_id, id = case.payment.transaction.tid, case.payment.id
    attempts.schedule_follow_ups(context, choice.follow, terminal_id, id, event_id)
    taken = follow_ups.rule_for(case)
    if taken is not None:
        return _conclude(context, case, taken, None, event_id)
    outcome = OUTCOMES["payment_failed"] if is_key_lost else choice.outcome
    if outcome is outcomes.PARTIAL and not follow_ups.approve_in_part(case, choice.approved_amount):
        outcome = APPROVED
        context.choice = replace(choice, outcome=outcome)
    if choice.should_disarm:
        # It applies only once (assumed 6.2-later).
        case.payment = replace(case.payment, armed=None)
    taken = follow_ups.transition_for(case, outcome)
    return _conclude(context, case, taken, outcome, event_id)


def row_if_approved(
    context: OperationContext, payment: Payment, action: ActionRequest
) -> Transition:
    """Return the row that the action would take now if its processor approved. Changes nothing.

    Raises Refusal as the action itself would, and for a rule failure.
    """
    case = conclusions.case_of(context, payment, action)
    ruled = follow_ups.rule_for(case)
    if ruled is None:
        return follow_ups.transition_for(case, APPROVED)
    if ruled.is_rule_failure:
        raise follow_ups.refusal(case, ruled)
    return ruled


def _conclude(
    context: OperationContext, case: Case, taken: Transition, outcome: Outcome | None, event_id: str
) -> Acted:
    """Store the result of the row and fire its events.

    Returns a refusal for a rule failure, which is announced too (assumed 2.1-rule, Q3, Q4).
    """
    payment = case.payment
    batch_id = settlement.batch_for_entry(context, payment).id if taken.batch_entry else None
    conclusion = follow_ups.conclude(
        case, taken, outcome, event_id=event_id, at=context.now_ms, batch_id=batch_id
    )
    conclusion = conclusions.save(context, conclusion, payment)
    if taken.answer == "failed" and outcome is not None and outcome.key in outcomes.TIMED_OUT:
        late_answers.remember(context, case, event_id)
    if not taken.is_rule_failure or context.world.readings["rule_failures"] == "http_200":
        return conclusion.shown
    return follow_ups.refusal(case, taken, outcome)

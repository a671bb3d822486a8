"""Actions on a payment. Source: spec 4.4-paths-actions, 4.4-paths-refunds; details assumed 1.8."""

from functools import partial
from typing import TYPE_CHECKING, Any, cast

from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.payments import follow_ups
from sandbox.domain.payments.attempts import Conclusion
from sandbox.domain.payments.cards import card_of
from sandbox.domain.payments.follow_ups import Case
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, Outcome
from sandbox.domain.payments.plans import Asked
from sandbox.domain.payments.pricing import Breakdown
from sandbox.domain.payments.rows import Move
from sandbox.domain.payments.transactions import Transaction
from sandbox.operations.call import Awaiting, Call
from sandbox.operations.payments import attempting, keeping
from sandbox.scenarios.choosing import Choice
from sandbox.store.tables import used_event

if TYPE_CHECKING:
    from sandbox.operations.bodies.payments import (
        Adjust,
        BreakdownBody,
        Capture,
        Confirm,
        Increment,
        Refund,
        Reverse,
    )


def capture(call: Call) -> Any:
    """Capture an authorization. Source: assumed 1.8-capture."""
    body: Capture = call.body
    return _act(
        call,
        Asked(
            operation=Operation.CAPTURE,
            amount=body.amount,
            tip_amount=body.tip_amount,
            breakdown=_parts(body.breakdown),
        ),
    )


def increment(call: Call) -> Any:
    """Add to an authorization. Source: assumed 1.8-increment."""
    body: Increment = call.body
    return _act(
        call,
        Asked(operation=Operation.INCREMENT, amount=body.amount, breakdown=_parts(body.breakdown)),
    )


def reverse(call: Call) -> Any:
    """Give back what was held or captured, before settlement. Source: assumed 1.8-reverse."""
    body: Reverse = call.body
    return _act(call, Asked(operation=Operation.REVERSE, amount=body.amount))


def adjust(call: Call) -> Any:
    """Replace the tip of a captured payment. Source: assumed 1.8-adjust."""
    body: Adjust = call.body
    is_percentage = body.type == "percentage"
    return _act(
        call,
        Asked(
            operation=Operation.ADJUST,
            amount=None if is_percentage else body.amount,
            percentage=body.percentage if is_percentage else None,
        ),
    )


def refund(call: Call) -> Any:
    """Give back what was captured. Source: assumed 1.8-refund, 1.8-standalone."""
    body: Refund = call.body
    try:
        card_of(body.card_data)
    except ValueError as error:
        raise Refusal(
            VALIDATION_ERROR, f"card_reader_data: {error}", source="assumed 6.4-unknown"
        ) from None
    return _act(call, Asked(operation=Operation.REFUND, amount=body.amount))


def confirm(call: Call) -> Any:
    """The cardholder's answer to the surcharge. Source: assumed 1.8-confirm."""
    body: Confirm = call.body
    return _act(
        call,
        Asked(
            operation=Operation.CONFIRM,
            amount=body.amount,
            breakdown=_parts(body.breakdown),
            confirms=body.confirm,
        ),
    )


def _parts(body: "BreakdownBody | None") -> Breakdown | None:
    return body.parts() if body else None


# --- the way of every action ------------------------------------------------------------------


def _act(call: Call, asked: Asked) -> Any:
    """Rules first, then the processor's answer, then the record (rows F1 to F41)."""
    tx = cast(Transaction, call.record)
    sent = call.body.event_id
    again = attempting.earlier_use(
        call, tx.account_id, sent, asked.operation, asked.amount, tx.transaction_id
    )
    if again is not None:
        return again
    case, ruled = _ruled(call, tx, asked)
    if ruled is not None:
        event_id = attempting.event_id_for(call, tx.account_id, sent)
        return _conclude(call, case, ruled, None, event_id)
    choice = attempting.decide(
        call,
        asked.operation,
        amount=asked.amount,
        card=tx.origin.card,
        terminal_id=tx.origin.site.terminal_id,
        armed=tx.armed,
        more=lambda: attempting.words_of(
            call,
            tx.origin.site,
            tip_amount=asked.tip_amount,
            status=tx.status,
            # The creation and its outcome are one attempt.
            attempt=max(2, len(tx.history)),
        ),
    )
    event_id = attempting.event_id_for(call, tx.account_id, sent)
    if choice.follow:
        attempting.schedule_follow_ups(
            call,
            choice.follow,
            terminal_id=tx.origin.site.terminal_id,
            payment=tx.transaction_id,
        )
    return Awaiting(
        attempting.delay_ms(call, choice, choice.outcome),
        partial(_finish, tx.transaction_id, asked, choice, event_id),
        tx.transaction_id,
        choice.fault,
        used_event(tx.account_id, event_id),
    )


def _ruled(call: Call, tx: Transaction, asked: Asked) -> tuple[Case, Move | None]:
    """The row that decides before anybody is asked, if one does. A silent refusal is raised."""
    case = Case(tx, asked, keeping.is_closed(call, tx.batch_id))
    try:
        ruled = follow_ups.rule_for(case)
    except ValueError as error:
        raise Refusal(VALIDATION_ERROR, str(error), source="assumed 2.5", step="rule") from None
    if ruled is not None and ruled.is_silent_refusal:
        assert ruled.fault
        raise Refusal(
            ruled.fault,
            f"Its status is {tx.status}.",
            reason=f"{ruled.id}: {asked.operation} from {tx.status}"
            + (f", {ruled.when}" if ruled.when else ""),
            source=ruled.source,
            step="rule",
        )
    return case, ruled


def _finish(
    transaction_id: str,
    asked: Asked,
    choice: Choice,
    event_id: str,
    call: Call,
    key_was_lost: bool,
) -> Any:
    """The second breath: the processor has answered, and the record is looked at again."""
    tx = call.unit.get(Transaction, transaction_id)
    assert tx
    case, ruled = _ruled(call, tx, asked)
    if ruled is not None:
        return _conclude(call, case, ruled, None, event_id)
    outcome = OUTCOMES["payment_failed"] if key_was_lost else choice.outcome
    taken = follow_ups.move_for(case, outcome)
    return _conclude(call, case, taken, outcome, event_id, disarms=choice.disarms)


def _conclude(
    call: Call,
    case: Case,
    taken: Move,
    outcome: Outcome | None,
    event_id: str,
    *,
    disarms: bool = False,
) -> Any:
    """Keep and announce what the row says; what it refuses is returned as a refusal."""
    tx = case.tx
    batch = keeping.batch_for_entry(call, tx) if taken.joins else None
    conclusion = follow_ups.conclude(
        case,
        taken,
        outcome,
        event_id=event_id,
        at=call.now_ms,
        batch_id=batch.id if batch else None,
        partial_refund_shows=call.world.switches["refund.partial_status"],
    )
    if disarms:
        conclusion = follow_ups.disarmed(conclusion)
    keeping.keep(call, conclusion, tx, batch)
    if not taken.is_rule_failure or call.world.switches["lifecycle.rule_failures"] == "http_200":
        return conclusion.shown
    return _as_refusal(case, taken, conclusion)


def _as_refusal(case: Case, taken: Move, conclusion: Conclusion) -> Refusal:
    """The 400 of a rule failure, which was announced all the same (assumed 2.1-rule, Q3, Q4)."""
    assert taken.fault
    return Refusal(
        taken.fault,
        f"Its status is {case.tx.status}.",
        reason=f"{taken.id}: {case.asked.operation} from {case.tx.status}"
        + (f", {taken.when}" if taken.when else ""),
        source=taken.source,
        step="rule",
    )

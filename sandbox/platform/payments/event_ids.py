"""The event_id of an attempt, which answers a repetition. Source: assumed 7.1, 2.6, F38."""

from sandbox.domain.faults import DUPLICATE_EVENT, Refusal
from sandbox.domain.payments.action_records import record_with
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, Outcome
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.readings import DUPLICATE_EVENT_ID
from sandbox.platform.context import OperationContext
from sandbox.store.tables import event_claim


def new_event_id(context: OperationContext, account_id: str) -> str:
    """Return an event_id in capitals that no attempt of the merchant has: assumed 7.1, 2.6.

    Draws repeat after a reset, so a client may have sent the one that comes next. It is skipped.
    """
    while True:
        event_id = context.world.draws.uuid().upper()
        used = event_claim(account_id, event_id)
        if used in context.world.taken_events:
            continue
        if context.unit.one(Payment, "used_event", used) is None:
            return event_id


def earlier_use(
    context: OperationContext,
    account_id: str,
    sent: str | None,
    operation: Operation,
    amount: int | None,
    acted_on: str | None = None,
) -> Payment | Outcome | None:
    """Return the transaction to answer again if this event_id was used before.

    None if the event_id is new, and the outcome of the attempt if a repetition counts as one. Any
    other repetition is refused silently, before the state is checked (assumed F38, 2.6). The
    reading duplicate_event_id decides. `acted_on` is the id of the payment to act on, None for an
    initiation.
    """
    if sent is None:
        return None
    used = event_claim(account_id, sent)
    payment = context.unit.one(Payment, "used_event", used)
    if payment is None and used not in context.world.taken_events:
        return None
    if (
        payment is not None
        and context.world.readings[DUPLICATE_EVENT_ID.id] == "replay"
        and acted_on in (None, payment.id)
        and _is_same(payment, sent, operation, amount, begins=acted_on is None)
    ):
        context.explain("rule", "replay", f"{payment.id} is answered again", "assumed 2.6")
        return record_with(payment, sent)
    if context.world.readings[DUPLICATE_EVENT_ID.id] == "failed_attempt":
        return OUTCOMES["duplicate_event"]
    user = payment.id if payment is not None else context.world.taken_events[used]
    raise Refusal(DUPLICATE_EVENT, f"event_id was used by transaction {user}", step="rule")


def _is_same(
    payment: Payment, event_id: str, operation: Operation, amount: int | None, *, begins: bool
) -> bool:
    """Whether the event_id belongs to this operation with this amount.

    The event_id of the initiation belongs to the first attempt, and to no action on the payment.
    """
    shown = "sale" if operation is Operation.CONFIRM else operation.value
    return begins == (payment.history[0].event_id == event_id) and any(
        attempt.event_id == event_id
        and attempt.transaction_type == shown
        and amount in (None, attempt.amount)
        for attempt in payment.history
    )

"""Records of actions: a reading makes captures, refunds and reversals separate transactions.

The payment stays one record with the whole history, and decides what can be done. The record of an
action follows from its attempt, so the store keeps it in step. Source: assumed D35-action.
"""

from hashlib import blake2b
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from sandbox.domain.payments.amounts import EMPTY, Amounts, Ledger
from sandbox.domain.payments.transactions import IN_HISTORY, OWN_DETAILS, Attempt, Payment
from sandbox.domain.payments.transitions import Conclusion

_DONE: Final = {"capture": "captured", "refund": "refunded", "reverse": "reversed"}
"""The types of attempts that have a record, and its status if the action succeeded."""

_FAILED: Final = ("declined", "error", "canceled")

_ANSWER: Final = (
    "gateway_transaction_response",
    "processor_response_code",
    "processor_response_message",
)


def with_own_record(conclusion: Conclusion, before: Payment) -> Conclusion:
    """Return the conclusion with a record for its attempt, if the action has one.

    The record is shown and announced. The payment keeps its event_id, its type and its answer.
    """
    payment, kept = conclusion.record, before.transaction
    last = payment.history[-1]
    if last.transaction_type not in _DONE or len(payment.history) == len(before.history):
        return conclusion
    payment = replace(
        payment,
        recorded=tuple(dict.fromkeys((*payment.recorded, last.event_id))),
        transaction=replace(
            payment.transaction,
            **{name: getattr(kept, name) for name in ("event_id", "transaction_type", *_ANSWER)},
        ),
    )
    own = record_with(payment, last.event_id)
    events = tuple((event, own) for event, _ in conclusion.events)
    return replace(conclusion, record=payment, shown=own, events=events)


def records_of(payment: Payment) -> list[Payment]:
    """Return the records of the payment's actions.

    A late answer is another attempt at the same action (assumed D24-late).
    """
    found: dict[str, Payment] = {}
    if not payment.recorded:
        return []
    for one in payment.history:
        if one.event_id in payment.recorded:
            found[one.event_id] = _record_of(payment, one, found.get(one.event_id))
    return list(found.values())


def record_with(payment: Payment, event_id: str) -> Payment:
    """Return the record of the action with this event_id; the payment itself if it has none."""
    found = (one for one in records_of(payment) if one.transaction.event_id == event_id)
    return next(found, payment)


def record_id(payment: Payment, event_id: str) -> str | None:
    """Return the transaction_id of that record, or None."""
    if event_id not in payment.recorded:
        return None
    digest = blake2b(f"{payment.id} {event_id}".encode(), digest_size=16).digest()
    return str(UUID(bytes=digest, version=4))


def payment_of(payment: Payment) -> str:
    """Return the id of the payment that an action on this record acts on.

    The record of a capture stands for its payment. Those of refunds and reversals are final.
    """
    if payment.original_id is not None and payment.transaction.transaction_type == "capture":
        return payment.original_id
    return payment.id


def settled(payment: Payment) -> Payment:
    """Return the payment whose batch was accepted, with the record of its capture settled too."""
    history = (
        replace(one, status="settled")
        if one.event_id in payment.recorded
        and one.transaction_type == "capture"
        and one.status == "captured"
        else one
        for one in payment.history
    )
    return replace(payment, transaction=replace(payment.transaction, history=tuple(history)))


def _record_of(payment: Payment, attempt: Attempt, earlier: Payment | None) -> Payment:
    """Return the record of an action after an attempt; `earlier` is the one before it."""
    kind, amount, tx = attempt.transaction_type, attempt.amount, payment.transaction
    has_failed = attempt.status in _FAILED
    # A part of a settled payment is refunded too: only the record of a capture settles.
    is_settled = kind == "capture" and attempt.status == "settled"
    status = attempt.status if has_failed or is_settled else _DONE[kind]
    amounts, done = Amounts.of(attempt).scaled_to(amount), 0 if has_failed else amount
    refunded, reversed_ = (done if kind == one else 0 for one in ("refund", "reverse"))
    ledger = Ledger(authorized=done, captured=done - reversed_, voided=reversed_, refunded=refunded)
    told = replace(attempt, status=status, refunded=refunded, reversed=reversed_, **amounts.fields)
    details = {
        name: value for name, value in tx.additional_details.items() if name not in OWN_DETAILS
    }
    return replace(
        payment,
        transaction=replace(
            tx,
            transaction_id=record_id(payment, attempt.event_id),
            created_at=earlier.transaction.created_at if earlier else attempt.created_at,
            **{name: getattr(told, name) for name in IN_HISTORY},
            batch_id=told.batch_id,
            surcharge_applied=amounts.surcharge > 0,
            additional_details={**details, "original_transaction_id": payment.id},
            history=(*(earlier.history if earlier else ()), told),
        ),
        ledger=EMPTY if has_failed else ledger,
        is_partial=False,
        armed=None,
        settlement=None,
        refused_in=(),
        recorded=(),
        original_id=payment.id,
    )

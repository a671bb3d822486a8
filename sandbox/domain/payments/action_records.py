"""Records of actions: by a reading, captures, refunds and reversals are transactions of their own.

The payment stays one record with the whole history, and decides what can be done. The record of an
action follows from its attempt, so the store keeps it in step. Source: assumed D35-action.
"""

from hashlib import blake2b
from typing import Final
from uuid import UUID

from msgspec.structs import replace

from sandbox.domain.payments.amounts import EMPTY, Ledger
from sandbox.domain.payments.transactions import Attempt, Transaction
from sandbox.domain.payments.transitions import Conclusion

_DONE: Final = {"capture": "captured", "refund": "refunded", "reverse": "reversed"}
"""The types of attempts that have a record, and its status where the action succeeded."""

_FAILED: Final = ("declined", "error", "canceled")


def with_own_record(conclusion: Conclusion, before: Transaction) -> Conclusion:
    """The conclusion with a record for its attempt, if the action has one.

    The record is what is shown and announced. The payment keeps the event_id, the type and the
    answer that it had.
    """
    record = conclusion.record
    *earlier, last = record.history
    if last.transaction_type not in _DONE or len(earlier) < len(before.history):
        return conclusion
    digest = blake2b(f"{record.id} {last.event_id}".encode(), digest_size=16).digest()
    last = replace(last, record_id=str(UUID(bytes=digest, version=4)))
    record = replace(
        record,
        event_id=before.event_id,
        transaction_type=before.transaction_type,
        answer=before.answer,
        history=(*earlier, last),
    )
    own = _records(record)[last.record_id or ""]
    events = tuple((event, own) for event, _ in conclusion.events)
    return replace(conclusion, record=record, shown=own, events=events)


def records_of(tx: Transaction) -> list[Transaction]:
    """The records of the payment's actions, oldest first."""
    return list(_records(tx).values())


def _records(tx: Transaction) -> dict[str, Transaction]:
    """The same by their ids. A late answer is an attempt at the same action (assumed D24-late)."""
    found: dict[str, Transaction] = {}
    for one in tx.history:
        if one.record_id is not None:
            found[one.record_id] = _record_of(tx, one, found.get(one.record_id))
    return found


def record_with(tx: Transaction, event_id: str) -> Transaction:
    """The record of the action with this event_id; the payment itself if it has none."""
    return next((one for one in records_of(tx) if one.event_id == event_id), tx)


def payment_of(tx: Transaction) -> str:
    """The id of the payment on which an action acts that names this record.

    The record of a capture stands for its payment. Those of refunds and reversals are final.
    """
    if tx.original_id is not None and tx.transaction_type == "capture":
        return tx.original_id
    return tx.id


def settled(tx: Transaction) -> Transaction:
    """The payment whose batch was accepted, with the record of its capture settled too."""
    if all(one.record_id is None for one in tx.history):
        return tx
    history = (
        replace(one, status="settled")
        if one.record_id and one.transaction_type == "capture" and one.status == "captured"
        else one
        for one in tx.history
    )
    return replace(tx, history=tuple(history))


def _record_of(tx: Transaction, attempt: Attempt, earlier: Transaction | None) -> Transaction:
    """The record of an action after an attempt; `earlier` is the same after the one before."""
    type_, amount = attempt.transaction_type, attempt.amount
    has_failed = attempt.status in _FAILED
    status = attempt.status if has_failed or attempt.status == "settled" else _DONE[type_]
    ledger = (
        EMPTY
        if has_failed
        else Ledger(
            authorized=amount,
            captured=amount if type_ != "reverse" else 0,
            voided=amount if type_ == "reverse" else 0,
            refunded=amount if type_ == "refund" else 0,
        )
    )
    amounts = attempt.amounts.scaled_to(amount)
    return replace(
        tx,
        origin=replace(
            tx.origin,
            transaction_id=attempt.record_id,
            created_at=earlier.origin.created_at if earlier else attempt.created_at,
        ),
        event_id=attempt.event_id,
        transaction_type=type_,
        status=status,
        status_reason=attempt.status_reason,
        amounts=amounts,
        ledger=ledger,
        surcharge_applied=amounts.surcharge > 0,
        gateway_transaction_id=attempt.gateway_transaction_id,
        answer=attempt.answer,
        batch_id=attempt.batch_id,
        is_partial=False,
        armed=None,
        settlement=None,
        history=(
            *(earlier.history if earlier else ()),
            replace(attempt, status=status, amounts=amounts, record_id=None),
        ),
        refused_in=(),
        original_id=tx.id,
    )

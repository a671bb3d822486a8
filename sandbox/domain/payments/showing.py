"""How a transaction and its history look on the wire. Source: spec 2.4; assumed 2.10."""

from typing import Any, Final, TypedDict

from sandbox.domain.payments.transactions import (
    Attempt,
    HostAnswer,
    Status,
    TipCapture,
    Transaction,
    owner_of,
)


class HostAnswerView(TypedDict):
    """Source: spec 2.4-response; exactly these four, assumed 0.4-gateway-response."""

    responseCode: str | None
    responseMessage: str | None
    approvalCode: str | None
    processorResponseCode: str | None


class AttemptView(TypedDict):
    """A history element. Source: assumed 2.10."""

    event_id: str
    transaction_type: str
    status: str
    status_reason: str
    amount: int
    subtotal: int
    tax_amount: int
    tip_amount: int
    surcharge_amount: int
    total_amount: int
    refunded: int
    reversed: int
    gateway_transaction_id: str | None
    gateway_transaction_response: HostAnswerView | None
    processor_response_code: str | None
    processor_response_message: str | None
    batch_id: str | None
    created_at: int


class TransactionView(TypedDict):
    """A transaction as it is shown: the fields of spec 2.4, in its order."""

    transaction_id: str
    event_id: str
    mid: str
    tid: str
    processor_mid: str | None
    processor_tid: str | None
    account_id: str
    device_id: str
    location_id: str | None
    processor: str
    gateway: str
    currency: str
    gateway_transaction_id: str | None
    subtotal: int
    tip_amount: int
    tax_amount: int
    total_amount: int
    surcharge_amount: int
    refunded: int
    reversed: int
    tip_type: str
    tip_capture_mode: TipCapture | None
    tax_rate: float
    surcharge_rate: float
    tax_source: str | None
    tax_basis: str | None
    surcharge_source: str | None
    surcharge_basis: str | None
    surcharge_applied: bool
    surcharge_confirmation_required: bool | None
    created_at: int
    status: Status
    status_reason: str
    payment_method: str
    card_type: str
    card_brand: str
    card: str
    additional_details: dict[str, Any]
    gateway_transaction_response: HostAnswerView | None
    processor_response_code: str | None
    processor_response_message: str | None
    transaction_type: str
    apple_transaction_id: str
    reader_identifier: str
    owner_id: str
    parent_account_ids: tuple[str, ...]
    merchant_name: str | None
    psp: None
    batch_id: str | None
    device_type: None
    terminal_details: None
    history: list[AttemptView]


_NEVER_SET: Final = {"psp": None, "device_type": None, "terminal_details": None}
"""Null in every transaction seen. Source: spec 2.4-null-fields."""


def view(tx: Transaction) -> dict[str, Any]:
    """As `TransactionView` says; sources assumed 7.1, 7.1-owner, 5.1, Q17."""
    origin, amounts, rates, ledger, answer = tx.origin, tx.amounts, tx.rates, tx.ledger, tx.answer
    return {
        "transaction_id": origin.transaction_id,
        "event_id": tx.event_id,
        "mid": origin.account_id,
        "tid": origin.terminal_id,
        "processor_mid": origin.processor_mid,
        "processor_tid": origin.processor_tid,
        "account_id": origin.account_id,
        "device_id": origin.device_id,
        "location_id": origin.location_id,
        "processor": origin.processor,
        "gateway": origin.gateway,
        "currency": origin.currency,
        "gateway_transaction_id": tx.gateway_transaction_id,
        "subtotal": amounts.subtotal,
        "tip_amount": amounts.tip,
        "tax_amount": amounts.tax,
        "total_amount": amounts.total,
        "surcharge_amount": amounts.surcharge,
        "refunded": ledger.refunded,
        "reversed": ledger.voided + ledger.reversed,
        "tip_type": tx.tip_type,
        "tip_capture_mode": tx.tip_capture_mode,
        "tax_rate": rates.tax_rate,
        "surcharge_rate": rates.surcharge_rate,
        "tax_source": rates.tax_source,
        "tax_basis": rates.tax_basis,
        "surcharge_source": rates.surcharge_source,
        "surcharge_basis": rates.surcharge_basis,
        "surcharge_applied": tx.surcharge_applied,
        "surcharge_confirmation_required": rates.confirmation_required,
        "created_at": origin.created_at,
        "status": tx.status,
        "status_reason": tx.status_reason,
        "payment_method": origin.payment_method,
        "card_type": origin.card_type,
        "card_brand": origin.card_brand,
        "card": origin.card,
        "additional_details": _details(tx),
        "gateway_transaction_response": _answer_view(answer),
        "processor_response_code": answer.response_code if answer else None,
        "processor_response_message": answer.message if answer else None,
        "transaction_type": tx.transaction_type,
        "apple_transaction_id": origin.apple_transaction_id,
        "reader_identifier": origin.reader_identifier,
        "owner_id": owner_of(origin),
        "parent_account_ids": origin.parent_account_ids,
        "merchant_name": origin.merchant_name,
        **_NEVER_SET,
        "batch_id": tx.batch_id,
        "history": [attempt_view(attempt) for attempt in tx.history],
    }


def _details(tx: Transaction) -> dict[str, Any]:
    """The client's own details, and what became of the authorization (assumed 2.2).

    Once a hold is released there is nothing authorized any more (assumed D12).
    """
    ledger = tx.ledger
    authorized = 0 if tx.status == "canceled" else ledger.authorized
    own: dict[str, Any] = {
        "authorized_amount": authorized,
        "captured_amount": ledger.captured,
    }
    if tx.is_partial:
        own["remaining_amount"] = tx.amounts.total - ledger.authorized
    return {**tx.origin.details, **own} if tx.origin.details else own


def _answer_view(answer: HostAnswer | None) -> dict[str, Any] | None:
    if answer is None:
        return None
    return {
        "responseCode": answer.response_code,
        "responseMessage": answer.message,
        "approvalCode": answer.approval_code,
        "processorResponseCode": answer.host_code,
    }


def attempt_view(attempt: Attempt) -> dict[str, Any]:
    """A history element as `AttemptView` says."""
    amounts, answer = attempt.amounts, attempt.answer
    return {
        "event_id": attempt.event_id,
        "transaction_type": attempt.transaction_type,
        "status": attempt.status,
        "status_reason": attempt.status_reason,
        "amount": attempt.amount,
        "subtotal": amounts.subtotal,
        "tax_amount": amounts.tax,
        "tip_amount": amounts.tip,
        "surcharge_amount": amounts.surcharge,
        "total_amount": amounts.total,
        "refunded": attempt.refunded,
        "reversed": attempt.reversed,
        "gateway_transaction_id": attempt.gateway_transaction_id,
        "gateway_transaction_response": _answer_view(answer),
        "processor_response_code": answer.response_code if answer else None,
        "processor_response_message": answer.message if answer else None,
        "batch_id": attempt.batch_id,
        "created_at": attempt.created_at,
    }

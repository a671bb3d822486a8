"""The transaction record: what never changes of a payment, what does, and how both are shown.

One payment is one record for its whole life; every attempt is appended to its history (assumed
2.1). Source of the fields: spec 2.4; of a history element: assumed 2.10.
"""

from dataclasses import dataclass
from typing import Any, Final, Literal, TypedDict

from sandbox.domain.payments.amounts import EMPTY, Amounts, Ledger
from sandbox.domain.payments.outcomes import Operation

Status = Literal[
    "pending",
    "surcharge_pending",
    "authorized",
    "captured",
    "settled",
    "refunded",
    "reversed",
    "declined",
    "error",
    "canceled",
]
"""Source: spec 3.2."""

STATUSES: Final[tuple[Status, ...]] = Status.__args__  # type: ignore[attr-defined]

STATUS_REASONS: Final = (
    "approved",
    "declined",
    "insufficient_funds",
    "invalid_card",
    "payment_failed",
    "processor_timeout",
    "timed_out",
    "network_connectivity_error",
    "invalid_gateway_response",
    "format_error",
    "invalid_terminal",
    "partial_approval",
    "incremental_auth_declined",
    "invalid_tip_adjustment",
    "exceeds_original_auth",
    "invalid_capture_sequence",
    "surcharge_declined_by_payer",
    "surcharge_expired",
    "user_canceled",
    "merchant_canceled",
    "duplicate_event",
    "pending",
)
"""Source: spec 2.4-reasons."""

TRANSACTION_TYPES: Final = (
    "sale",
    "auth",
    "capture",
    "refund",
    "reverse",
    "tip_adjust",
    "incremental_auth",
)
"""Source: spec 2.4-type."""

TipCapture = Literal["sale", "capture", "adjust"]
"""When the tip was stated. Source: assumed 2.9."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """What a payment is from its first moment on, and never ceases to be.

    `created_at` is in Unix milliseconds; `state` and `mcc` are those of the place of sale.
    `details` are the client's own, as it sent them.
    """

    transaction_id: str
    operation: Operation
    account_id: str
    parent_account_ids: tuple[str, ...]
    terminal_id: str
    processor_mid: str | None
    processor_tid: str | None
    location_id: str | None
    processor: str
    gateway: str
    currency: str
    device_id: str
    reader_identifier: str
    apple_transaction_id: str
    payment_method: str
    card_token: str
    card_type: str
    card_brand: str
    card: str
    merchant_name: str | None
    mcc: str | None
    created_at: int
    details: dict[str, Any] | None


@dataclass(frozen=True, slots=True)
class Rates:
    """The rates that a payment was made at, in percent, and where each came from.

    Sources and bases are None when nothing applied (assumed 2.8-values).
    """

    tax_rate: float = 0
    tax_source: str | None = None
    tax_basis: str | None = None
    surcharge_rate: float = 0
    surcharge_source: str | None = None
    surcharge_basis: str | None = None
    confirmation_required: bool | None = None


NO_RATES: Final = Rates()


@dataclass(frozen=True, slots=True)
class HostAnswer:
    """What the gateway said of an attempt. Source: spec 2.4-response."""

    response_code: str | None
    message: str | None
    approval_code: str | None
    host_code: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One element of the history. `amount` is that of the operation; times are Unix ms.

    `batch_id` is the batch in which this entry settles.
    """

    event_id: str
    transaction_type: str
    status: str
    status_reason: str
    amount: int
    amounts: Amounts
    refunded: int
    reversed: int
    gateway_transaction_id: str | None
    answer: HostAnswer | None
    batch_id: str | None
    created_at: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    """A payment as it is kept.

    `ledger` says what became of the money. `is_partial` marks an approval for less than was asked;
    `armed` is a later operation that will fail once, with its outcome and the amount that armed
    it; `settlement` is how this record will settle (a key of `triggers.SETTLEMENTS`).
    """

    origin: Origin
    event_id: str
    transaction_type: str
    status: str
    status_reason: str
    amounts: Amounts
    ledger: Ledger = EMPTY
    rates: Rates = NO_RATES
    surcharge_applied: bool = False
    tip_type: str = "fixed"
    tip_capture_mode: TipCapture | None = None
    gateway_transaction_id: str | None = None
    answer: HostAnswer | None = None
    batch_id: str | None = None
    is_partial: bool = False
    armed: tuple[Operation, str, int] | None = None
    settlement: str | None = None
    history: tuple[Attempt, ...] = ()

    @property
    def transaction_id(self) -> str:
        """The id of the payment."""
        return self.origin.transaction_id

    @property
    def account_id(self) -> str:
        """The merchant's account."""
        return self.origin.account_id

    @property
    def deleted_at(self) -> None:
        """Nobody deletes a transaction."""
        return None

    def wire(self) -> dict[str, Any]:
        """The record as it is shown, and sent."""
        return view(self)


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


def view(tx: Transaction) -> dict[str, Any]:
    """The transaction as `TransactionView` says.

    `mid` and `tid` are the platform's own ids (assumed 7.1); `owner_id` is the immediate parent
    (assumed 7.1-owner); the top-level response repeats the gateway's (assumed 5.1, Q17).
    """
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
        "psp": None,
        "batch_id": tx.batch_id,
        "device_type": None,
        "terminal_details": None,
        "history": [attempt_view(attempt) for attempt in tx.history],
    }


def owner_of(origin: Origin) -> str:
    """The immediate parent, or the account itself where it is a root. Source: assumed 7.1-owner."""
    return origin.parent_account_ids[-1] if origin.parent_account_ids else origin.account_id


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


def attempt_of(tx: Transaction, amount: int, at: int, *, batch_id: str | None = None) -> Attempt:
    """The history element for what the record shows at this moment."""
    return Attempt(
        event_id=tx.event_id,
        transaction_type=tx.transaction_type,
        status=tx.status,
        status_reason=tx.status_reason,
        amount=amount,
        amounts=tx.amounts,
        refunded=tx.ledger.refunded,
        reversed=tx.ledger.reversed_in_all,
        gateway_transaction_id=tx.gateway_transaction_id,
        answer=tx.answer,
        batch_id=batch_id,
        created_at=at,
    )

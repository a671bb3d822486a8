"""The transaction, which clients see, and the payment, which is stored around it.

One payment is one record for its whole life; every attempt is appended to its history (assumed
2.1). Source of the fields: spec 2.4; of a history element: assumed 2.10.
"""

from hashlib import blake2b
from typing import Annotated, Any, Final, Literal, get_args

from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace
from pydantic import Field

from sandbox.domain.clock import EARLIEST, LATEST
from sandbox.domain.field_types import AppliedRate, SurchargeBasis, Uuid
from sandbox.domain.instants import from_ms, to_ms
from sandbox.domain.payments.amounts import EMPTY, Amounts, Ledger
from sandbox.domain.payments.cards import NOT_READ, Card
from sandbox.domain.payments.outcomes import SETTLEMENTS, Operation, OutcomeName
from sandbox.domain.text import KnownWord

STATUSES: Final = (
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
)
"""Source: spec 3.2."""

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

Type = Annotated[str, KnownWord(TRANSACTION_TYPES)]
StatusWord = Annotated[str, KnownWord(STATUSES)]
Reason = Annotated[str, KnownWord(STATUS_REASONS)]
TipType = Annotated[str, KnownWord(("fixed", "percentage"))]

TipCapture = Literal["sale", "capture", "adjust"]
"""When the tip was stated. Source: assumed 2.9."""


Moment = Annotated[int, Field(ge=to_ms(EARLIEST), le=to_ms(LATEST))]
"""A moment of a world's clock in Unix milliseconds."""

Basis = Annotated[str, KnownWord(get_args(SurchargeBasis))]
"""The base of a rate. Source: assumed 2.8-values."""


class GatewayResponse(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """The gateway's answer to an attempt. Source: spec 2.4-response; assumed 0.4-gateway-response.

    A reading adds the last four fields to a payment's last answer (assumed D35-response).
    """

    response_code: str | None
    response_message: str | None
    approval_code: str | None
    processor_response_code: str | None
    authorized_amount: int | UnsetType = UNSET
    type: Type | UnsetType = UNSET
    status: StatusWord | UnsetType = UNSET
    currency: str | UnsetType = UNSET


class Attempt(Struct, frozen=True, kw_only=True, gc=False):
    """One element of the history. Source: assumed 2.10.

    `amount` is that of the operation, and `batch_id` is the batch in which this entry settles.
    """

    event_id: str
    transaction_type: Type
    status: StatusWord
    status_reason: Reason
    amount: int
    subtotal: int
    tax_amount: int
    tip_amount: int
    surcharge_amount: int
    total_amount: int
    refunded: int
    reversed: int
    gateway_transaction_id: str | None
    gateway_transaction_response: GatewayResponse | None
    processor_response_code: str | None
    processor_response_message: str | None
    batch_id: str | None
    created_at: Moment


class Transaction(Struct, frozen=True, kw_only=True, gc=False):
    """A payment as answers and webhooks show it: the fields of spec 2.4, in its order.

    It shows no card if none was read (assumed D29).
    """

    transaction_id: Uuid
    event_id: str
    mid: str
    tid: str
    processor_mid: str | None
    processor_tid: str | None
    account_id: Uuid
    device_id: str
    location_id: str | None
    processor: str
    gateway: str
    currency: str
    gateway_transaction_id: str | None = None
    subtotal: int = 0
    tip_amount: int = 0
    tax_amount: int = 0
    total_amount: int = 0
    surcharge_amount: int = 0
    refunded: int = 0
    reversed: int = 0
    tip_type: TipType = "fixed"
    tip_capture_mode: TipCapture | None = None
    # Rates are in percent. Sources and bases are None when nothing applied (assumed 2.8-values).
    tax_rate: AppliedRate = 0
    surcharge_rate: AppliedRate = 0
    tax_source: str | None = None
    tax_basis: Basis | None = None
    surcharge_source: str | None = None
    surcharge_basis: Basis | None = None
    surcharge_applied: bool = False
    surcharge_confirmation_required: bool | None = None
    created_at: Moment
    status: StatusWord = "pending"
    status_reason: Reason = "pending"
    payment_method: str | None = None
    card_type: str | None = None
    card_brand: str | None = None
    card: str | None = None
    additional_details: dict[str, Any]
    gateway_transaction_response: GatewayResponse | None = None
    processor_response_code: str | None = None
    processor_response_message: str | None = None
    transaction_type: Type
    apple_transaction_id: str
    reader_identifier: str
    owner_id: str
    parent_account_ids: tuple[str, ...]
    merchant_name: str | None
    psp: None = None
    batch_id: str | None = None
    device_type: None = None
    terminal_details: None = None
    history: Annotated[tuple[Attempt, ...], Field(min_length=1, validate_default=True)] = ()


IN_HISTORY: Final = tuple(
    name for name in Attempt.__struct_fields__ if name not in ("amount", "batch_id", "created_at")
)
"""The fields of a transaction that its history repeats for each attempt."""


class Payment(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A payment as stored: its transaction, and what clients never see.

    `operation` began it, with `card`; `mcc` is the merchant's category. `ledger` is the state of
    the money, and `is_partial` marks a partial approval. `armed` is a later operation that will
    fail once, with its outcome and the amount that armed it; `settlement` decides how this record
    settles (a key of `outcomes.SETTLEMENTS`). With `tells_amounts` the processor's response is
    shown with more fields (assumed D35-response). `refused_in` are the batches from which the
    processor sent the capture back. `recorded` are the event_ids of actions with separate records,
    which have this payment as `original_id` (assumed D35-action).
    """

    transaction: Transaction
    operation: Operation
    card: Card = NOT_READ
    mcc: str | None = None
    ledger: Ledger = EMPTY
    is_partial: bool = False
    armed: tuple[Operation, OutcomeName, int] | None = None
    settlement: Annotated[str, KnownWord(SETTLEMENTS)] | None = None
    tells_amounts: bool = False
    refused_in: tuple[str, ...] = ()
    recorded: tuple[str, ...] = ()
    original_id: str | None = None

    @property
    def id(self) -> str:
        """The id of its transaction."""
        return self.transaction.transaction_id

    @property
    def account_id(self) -> str:
        """The merchant's account."""
        return self.transaction.account_id

    @property
    def terminal_id(self) -> str:
        """The terminal at which it was taken."""
        return self.transaction.tid

    @property
    def status(self) -> str:
        """The status of its transaction."""
        return self.transaction.status

    @property
    def batch_id(self) -> str | None:
        """The batch in which its capture settles."""
        return self.transaction.batch_id

    @property
    def history(self) -> tuple[Attempt, ...]:
        """Its attempts, the oldest first."""
        return self.transaction.history

    @property
    def amounts(self) -> Amounts:
        """The components of its total."""
        return Amounts.of(self.transaction)

    @property
    def deleted_at(self) -> None:
        """Payments are never deleted."""
        return None


def created(tx: Transaction, card: Card, **hidden: Any) -> Payment:
    """Return a new payment: pending, in no batch.

    Its transaction is `tx` with the card, and shows none if none was read (assumed D29). `hidden`
    are the other fields of the payment. Source: spec 6.3-transaction.create.
    """
    history = tx.history or (_attempt_of(tx, tx.total_amount, tx.created_at),)
    if card is NOT_READ:
        tx = replace(tx, history=history, payment_method=None)
    else:
        tx = replace(
            tx, history=history, card_type=card.type, card_brand=card.brand, card=card.masked
        )
    return Payment(transaction=tx, card=card, **hidden)


def change(
    payment: Payment,
    *,
    amounts: Amounts | None = None,
    ledger: Ledger | None = None,
    answer: GatewayResponse | UnsetType | None = UNSET,
    is_partial: bool | None = None,
    **fields: Any,
) -> Payment:
    """Return the payment with these changes, and with the fields of its transaction that follow.

    `fields` are those of the transaction. None leaves the money unchanged, and removes the answer.
    """
    ledger = payment.ledger if ledger is None else ledger
    is_partial = payment.is_partial if is_partial is None else is_partial
    if amounts is not None:
        fields |= amounts.fields
        is_proposed = fields.get("status", payment.status) == "surcharge_pending"
        fields["surcharge_applied"] = amounts.surcharge > 0 and not is_proposed
    if answer is not UNSET:
        fields["gateway_transaction_response"] = answer
        fields["processor_response_code"] = answer and answer.response_code
        fields["processor_response_message"] = answer and answer.response_message
    fields["refunded"], fields["reversed"] = ledger.refunded, ledger.reversed_in_all
    if payment.original_id is not None:
        tx = replace(payment.transaction, **fields)
    else:
        own = fields.get("additional_details", payment.transaction.additional_details)
        status = fields.get("status", payment.transaction.status)
        fields["additional_details"] = details = _details(own, status, ledger)
        tx = replace(payment.transaction, **fields)
        # It follows from the other fields, so it is added to the details last.
        if is_partial or tx.status_reason == "partial_approval":
            details["remaining_amount"] = _remainder(tx, ledger, is_partial=is_partial)
    return replace(payment, transaction=tx, ledger=ledger, is_partial=is_partial)


OWN_DETAILS: Final = frozenset({"authorized_amount", "captured_amount", "remaining_amount"})
"""The additional details that the platform sets itself, and only for payments."""


def _details(own: dict[str, Any], status: str, ledger: Ledger) -> dict[str, Any]:
    """Return the client's own details, and the amounts of the authorization (assumed 2.2).

    Nothing is authorized once a hold is released (assumed D12).
    """
    details = own.copy()
    details["authorized_amount"] = 0 if status == "canceled" else ledger.authorized
    details["captured_amount"] = ledger.captured
    details.pop("remaining_amount", None)
    return details


def _remainder(tx: Transaction, ledger: Ledger, *, is_partial: bool) -> int:
    """Return what is still to be paid after a partial approval (assumed 2.2)."""
    if is_partial:
        return tx.total_amount - (ledger.captured or ledger.authorized)
    # Not those of later operations, which may have failed with any amount.
    begun = tx.history[0].transaction_type
    requested = max(one.amount for one in tx.history if one.transaction_type == begun)
    return requested - tx.total_amount


def with_attempt(payment: Payment, amount: int, at: int, *, batch_id: str | None = None) -> Payment:
    """Return the payment with its present state appended to its history.

    `at` is in Unix milliseconds. The new element is at least a millisecond later than the one
    before, so the times of a payment's events are strictly ordered, even if the world's clock is
    frozen. Source: spec 6.1.10; assumed 2.10-order.
    """
    tx = payment.transaction
    if tx.history and at <= tx.history[-1].created_at:
        at = tx.history[-1].created_at + 1
    history = (*tx.history, _attempt_of(tx, amount, at, batch_id))
    payment = replace(payment, transaction=replace(tx, history=history))
    # The remainder follows from the amounts of all attempts.
    return change(payment) if tx.status_reason == "partial_approval" else payment


def _attempt_of(tx: Transaction, amount: int, at: int, batch_id: str | None = None) -> Attempt:
    return Attempt(
        event_id=tx.event_id,
        transaction_type=tx.transaction_type,
        status=tx.status,
        status_reason=tx.status_reason,
        amount=amount,
        subtotal=tx.subtotal,
        tax_amount=tx.tax_amount,
        tip_amount=tx.tip_amount,
        surcharge_amount=tx.surcharge_amount,
        total_amount=tx.total_amount,
        refunded=tx.refunded,
        reversed=tx.reversed,
        gateway_transaction_id=tx.gateway_transaction_id,
        gateway_transaction_response=tx.gateway_transaction_response,
        processor_response_code=tx.processor_response_code,
        processor_response_message=tx.processor_response_message,
        batch_id=batch_id,
        created_at=at,
    )


def show(payment: Payment) -> Transaction:
    """Return the transaction as answers and webhooks show it (assumed D35-response)."""
    tx = payment.transaction
    answer = tx.gateway_transaction_response
    if answer is None or not payment.tells_amounts:
        return tx
    answer = replace(
        answer,
        authorized_amount=payment.ledger.held,
        type=tx.transaction_type,
        status=tx.status,
        currency=tx.currency,
    )
    return replace(tx, gateway_transaction_response=answer)


class BusyPayment(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A payment that waits for its processor. If the server dies meanwhile, it fails."""

    transaction_id: str


# --- receipt data: what terminals print about the chip and the host's answer ---
#
# The values look like real ones, and are derived from the event_id (assumed D35-receipt).


APPLICATIONS: Final = {
    "Visa": {"aid": "A0000000031010", "application_label": "VISA"},
    "MasterCard": {"aid": "A0000000041010", "application_label": "MASTERCARD"},
    "Amex": {"aid": "A00000002501", "application_label": "AMERICAN EXPRESS"},
    "Discover": {"aid": "A0000001523010", "application_label": "DISCOVER"},
}
"""The chip application of each brand's cards, as terminals print it."""

CONTACTLESS: Final = "07"
"""The entry mode of a contactless chip."""
TVR: Final = "0000000000"
TSI: Final = "0000"
"""Contactless terminals set no bits of these."""


def with_receipt(payment: Payment) -> Payment:
    """Return the payment with receipt data added to the client's own details, which win."""
    details = {**_receipt(payment), **payment.transaction.additional_details}
    return change(payment, additional_details=details)


def _receipt(payment: Payment) -> dict[str, Any]:
    tx = payment.transaction
    digest = blake2b(tx.event_id.encode(), digest_size=16, person=b"receipt").digest()
    stan = int.from_bytes(digest[:4], "big") % 1_000_000
    at = from_ms(tx.created_at)
    application = APPLICATIONS.get(payment.card.brand, {})
    # A letter within, because 16 digits could be taken for a card number.
    cryptogram = f"{digest[8:12].hex()}F{digest[12:].hex()[1:]}".upper()
    emv = {**application, "tvr": TVR, "tsi": TSI, "cryptogram": cryptogram}
    # The last digit of the year, the day of the year, the hour, and the trace number.
    rrn = f"{at.year % 10}{at.timetuple().tm_yday:03}{at.hour:02}{stan:06}"
    return {"rrn": rrn, "stan": f"{stan:06}", "entry_mode": CONTACTLESS, "emv": emv}

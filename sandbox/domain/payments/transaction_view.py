"""A transaction and its history as they are shown, and the receipt data within.

Receipt data is what terminals print of the chip's and the host's part. Its values have the form of
real ones, and are made up from the event_id (assumed D35-receipt). Source: spec 2.4; assumed 2.10.
"""

from functools import lru_cache
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Struct, UnsetType
from msgspec.structs import replace

from sandbox.domain.instants import from_ms
from sandbox.domain.payments.cards import NOT_READ
from sandbox.domain.payments.transactions import (
    Attempt,
    HostAnswer,
    Reason,
    StatusWord,
    TipCapture,
    TipType,
    Transaction,
    Type,
)


class HostAnswerView(Struct, frozen=True, kw_only=True, gc=False, rename="camel"):
    """Source: spec 2.4-response; the first four, assumed 0.4-gateway-response.

    A reading shows the others beside a payment's last answer (assumed D35-response).
    """

    response_code: str | None
    response_message: str | None
    approval_code: str | None
    processor_response_code: str | None
    authorized_amount: int | UnsetType = UNSET
    type: Type | UnsetType = UNSET
    status: StatusWord | UnsetType = UNSET
    currency: str | UnsetType = UNSET


class AttemptView(Struct, frozen=True, kw_only=True, gc=False):
    """A history element. Source: assumed 2.10."""

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
    gateway_transaction_response: HostAnswerView | None
    processor_response_code: str | None
    processor_response_message: str | None
    batch_id: str | None
    created_at: int


class TransactionView(Struct, frozen=True, kw_only=True, gc=False):
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
    tip_type: TipType
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
    status: StatusWord
    status_reason: Reason
    payment_method: str | None
    card_type: str | None
    card_brand: str | None
    card: str | None
    additional_details: dict[str, Any]
    gateway_transaction_response: HostAnswerView | None
    processor_response_code: str | None
    processor_response_message: str | None
    transaction_type: Type
    apple_transaction_id: str
    reader_identifier: str
    owner_id: str
    parent_account_ids: tuple[str, ...]
    merchant_name: str | None
    psp: None
    batch_id: str | None
    device_type: None
    terminal_details: None
    history: tuple[AttemptView, ...]


def body_of(tx: Transaction) -> bytes:
    """The transaction as JSON."""
    return msgspec.json.encode(show(tx))


def view(tx: Transaction) -> Any:
    """The transaction as a value of JSON."""
    return msgspec.json.decode(body_of(tx))


def show_history(tx: Transaction) -> list[AttemptView]:
    """All attempts as they are shown, oldest first."""
    return [_show_attempt(attempt) for attempt in tx.history]


def show(tx: Transaction) -> TransactionView:
    """The transaction as it is shown. Source: assumed 7.1, 5.1, Q17."""
    origin, rates, ledger, amounts, answer = tx.origin, tx.rates, tx.ledger, tx.amounts, tx.answer
    site, card = origin.site, origin.card
    # A card that was not read shows nothing (assumed D29).
    is_read = card is not NOT_READ
    return TransactionView(
        transaction_id=origin.transaction_id,
        event_id=tx.event_id,
        mid=site.account_id,
        tid=site.terminal_id,
        processor_mid=site.processor_mid,
        processor_tid=site.processor_tid,
        account_id=site.account_id,
        device_id=origin.device_id,
        location_id=site.location_id,
        processor=site.processor,
        gateway=site.gateway,
        currency=site.currency,
        gateway_transaction_id=tx.gateway_transaction_id,
        subtotal=amounts.subtotal,
        tip_amount=amounts.tip,
        tax_amount=amounts.tax,
        total_amount=amounts.total,
        surcharge_amount=amounts.surcharge,
        refunded=ledger.refunded,
        reversed=ledger.reversed_in_all,
        tip_type=tx.tip_type,
        tip_capture_mode=tx.tip_capture_mode,
        tax_rate=rates.tax_rate,
        surcharge_rate=rates.surcharge_rate,
        tax_source=rates.tax_source,
        tax_basis=rates.tax_basis,
        surcharge_source=rates.surcharge_source,
        surcharge_basis=rates.surcharge_basis,
        surcharge_applied=tx.surcharge_applied,
        surcharge_confirmation_required=rates.confirmation_required,
        created_at=origin.created_at,
        status=tx.status,
        status_reason=tx.status_reason,
        payment_method=origin.payment_method if is_read else None,
        card_type=card.type if is_read else None,
        card_brand=card.brand if is_read else None,
        card=card.masked if is_read else None,
        additional_details=_details(tx),
        gateway_transaction_response=_show_last_answer(tx),
        processor_response_code=answer.response_code if answer else None,
        processor_response_message=answer.message if answer else None,
        transaction_type=tx.transaction_type,
        apple_transaction_id=origin.apple_transaction_id,
        reader_identifier=origin.reader_identifier,
        owner_id=site.owner_id,
        parent_account_ids=site.parent_account_ids,
        merchant_name=site.merchant_name,
        psp=None,
        batch_id=tx.batch_id,
        device_type=None,
        terminal_details=None,
        history=tuple([_show_attempt(attempt) for attempt in tx.history]),
    )


def _show_attempt(attempt: Attempt) -> AttemptView:
    answer, amounts = attempt.answer, attempt.amounts
    return AttemptView(
        event_id=attempt.event_id,
        transaction_type=attempt.transaction_type,
        status=attempt.status,
        status_reason=attempt.status_reason,
        amount=attempt.amount,
        subtotal=amounts.subtotal,
        tax_amount=amounts.tax,
        tip_amount=amounts.tip,
        surcharge_amount=amounts.surcharge,
        total_amount=amounts.total,
        refunded=attempt.refunded,
        reversed=attempt.reversed,
        gateway_transaction_id=attempt.gateway_transaction_id,
        gateway_transaction_response=_show_answer(answer) if answer else None,
        processor_response_code=answer.response_code if answer else None,
        processor_response_message=answer.message if answer else None,
        batch_id=attempt.batch_id,
        created_at=attempt.created_at,
    )


@lru_cache(maxsize=64)
def _show_answer(answer: HostAnswer) -> HostAnswerView:
    return HostAnswerView(
        response_code=answer.response_code,
        response_message=answer.message,
        approval_code=answer.approval_code,
        processor_response_code=answer.host_code,
    )


def _show_last_answer(tx: Transaction) -> HostAnswerView | None:
    """The answer, with the amounts that a reading shows beside it (assumed D35-response)."""
    if tx.answer is None:
        return None
    shown = _show_answer(tx.answer)
    if not tx.tells_amounts:
        return shown
    return msgspec.structs.replace(
        shown,
        authorized_amount=tx.ledger.held,
        type=tx.transaction_type,
        status=tx.status,
        currency=tx.origin.site.currency,
    )


def _details(tx: Transaction) -> dict[str, Any]:
    """The client's own details, and the amounts of the authorization (assumed 2.2).

    Once a hold is released nothing is authorized (assumed D12). The remainder of a partial approval
    is the amount still to be paid; a tip that changes later changes both sides.
    """
    ledger = tx.ledger
    if tx.original_id is not None:
        return {**(tx.origin.details or {}), "original_transaction_id": tx.original_id}
    authorized = 0 if tx.status == "canceled" else ledger.authorized
    own = {"authorized_amount": authorized, "captured_amount": ledger.captured}
    if tx.is_partial:
        own["remaining_amount"] = tx.amounts.total - (ledger.captured or ledger.authorized)
    elif tx.status_reason == "partial_approval":
        own["remaining_amount"] = max(one.amount for one in tx.history) - tx.amounts.total
    return {**tx.origin.details, **own} if tx.origin.details else own


class _Application(NamedTuple):
    aid: str
    label: str


APPLICATIONS: Final = {
    "Visa": _Application("A0000000031010", "VISA"),
    "MasterCard": _Application("A0000000041010", "MASTERCARD"),
    "Amex": _Application("A00000002501", "AMERICAN EXPRESS"),
    "Discover": _Application("A0000001523010", "DISCOVER"),
}
"""The application of each brand's cards, as terminals print it."""

CONTACTLESS: Final = "07"
"""The entry mode of a contactless chip."""
TVR: Final = "0000000000"
TSI: Final = "0000"
"""A contactless terminal sets no bits of it."""


def with_receipt(tx: Transaction) -> Transaction:
    """The payment with receipt data beside the client's own details, which count first."""
    own = tx.origin.details or {}
    return replace(tx, origin=replace(tx.origin, details={**_receipt(tx), **own}))


def _receipt(tx: Transaction) -> dict[str, Any]:
    digest = blake2b(tx.event_id.encode(), digest_size=16, person=b"receipt").digest()
    stan = int.from_bytes(digest[:4], "big") % 1_000_000
    at = from_ms(tx.origin.created_at)
    application = APPLICATIONS.get(tx.origin.card.brand)
    emv = {"tvr": TVR, "tsi": TSI, "cryptogram": digest[8:].hex().upper()}
    if application is not None:
        emv = {"aid": application.aid, "application_label": application.label, **emv}
    # The last digit of the year, the day of the year, the hour, and the trace number.
    rrn = f"{at.year % 10}{at.timetuple().tm_yday:03}{at.hour:02}{stan:06}"
    return {"rrn": rrn, "stan": f"{stan:06}", "entry_mode": CONTACTLESS, "emv": emv}

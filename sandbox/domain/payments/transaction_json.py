"""The JSON of a transaction and its history. Source: spec 2.4; assumed 2.10."""

from collections.abc import Mapping
from functools import lru_cache
from json.encoder import encode_basestring_ascii
from typing import Annotated, Any, Final, NotRequired, TypedDict

from pydantic_core import from_json, to_json

from sandbox.domain.payments.cards import NOT_READ, Card
from sandbox.domain.payments.transactions import (
    NO_RATES,
    STATUS_REASONS,
    TRANSACTION_TYPES,
    Attempt,
    HostAnswer,
    Origin,
    Rates,
    Status,
    TipCapture,
    Transaction,
    TransactionSite,
)
from sandbox.domain.words import OneOf

Type = Annotated[str, OneOf(TRANSACTION_TYPES)]
Reason = Annotated[str, OneOf(STATUS_REASONS)]


class HostAnswerView(TypedDict):
    """Source: spec 2.4-response; the first four, assumed 0.4-gateway-response.

    A reading shows the others beside a payment's last answer (assumed D35-response).
    """

    responseCode: str | None
    responseMessage: str | None
    approvalCode: str | None
    processorResponseCode: str | None
    authorizedAmount: NotRequired[int]
    type: NotRequired[Type]
    status: NotRequired[Status]
    currency: NotRequired[str]


class AttemptView(TypedDict):
    """A history element. Source: assumed 2.10."""

    event_id: str
    transaction_type: Type
    status: Status
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
    tip_type: Annotated[str, OneOf(("fixed", "percentage"))]
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
    history: list[AttemptView]


# --- writing ----------------------------------------------------------------------------------
#
# Every answer and every webhook of a payment is rendered here, so it has to be quick: one text
# for each, with the parts of the place and the card prepared once.


def body_of(tx: Transaction) -> bytes:
    """The transaction as JSON, as `TransactionView` says; sources assumed 7.1, 5.1, Q17."""
    origin, rates, ledger, answer = tx.origin, tx.rates, tx.ledger, tx.answer
    money = tx.amounts
    subtotal, tax, tip, surcharge = money.subtotal, money.tax, money.tip, money.surcharge
    ids, place, owner = _of_site(origin.site)
    device, reader = _text(origin.device_id), origin.reader_identifier
    history = ",".join([_of_attempt(attempt) for attempt in tx.history])
    text = (
        f'{{"transaction_id":"{origin.transaction_id}","event_id":{_text(tx.event_id)},{ids},'
        f'"device_id":{device},{place},'
        f'"gateway_transaction_id":{_maybe(tx.gateway_transaction_id)},'
        f'"subtotal":{subtotal},"tip_amount":{tip},"tax_amount":{tax},'
        f'"total_amount":{subtotal + tax + tip + surcharge},"surcharge_amount":{surcharge},'
        f'"refunded":{ledger.refunded},"reversed":{ledger.voided + ledger.reversed},'
        f'"tip_type":"{tx.tip_type}","tip_capture_mode":{_maybe(tx.tip_capture_mode)},'
        f"{_NO_RATES if rates is NO_RATES else _of_rates(rates)},"
        f'"surcharge_applied":{_FLAG[tx.surcharge_applied]},'
        f'"surcharge_confirmation_required":{_FLAG[rates.confirmation_required]},'
        f'"created_at":{origin.created_at},"status":"{tx.status}",'
        f'"status_reason":"{tx.status_reason}",'
        f'"payment_method":{_method(origin)},{_of_card(origin.card)},'
        f'"additional_details":{_details(tx)},'
        f"{_NO_ANSWER if answer is None else _of_last_answer(tx, answer)},"
        f'"transaction_type":"{tx.transaction_type}",'
        f'"apple_transaction_id":{_text(origin.apple_transaction_id)},'
        f'"reader_identifier":{device if reader == origin.device_id else _text(reader)},'
        f'{owner},"batch_id":{_maybe(tx.batch_id)},"device_type":null,"terminal_details":null,'
        f'"history":[{history}]}}'
    )
    return text.encode()


def view(tx: Transaction) -> dict[str, Any]:
    """The transaction as `TransactionView` says, as a value."""
    shown: dict[str, Any] = from_json(body_of(tx))
    return shown


def history_of(tx: Transaction) -> bytes:
    """All attempts as JSON, oldest first, each as `AttemptView` says."""
    return f"[{','.join([_of_attempt(attempt) for attempt in tx.history])}]".encode()


_NO_ANSWER: Final = (
    '"gateway_transaction_response":null,"processor_response_code":null,'
    '"processor_response_message":null'
)
_text: Final = encode_basestring_ascii
"""A client's text as a JSON string."""

_FLAG: Final = {None: "null", True: "true", False: "false"}


def _maybe(word: str | None) -> str:
    """A word of ours, which needs no escapes, or null."""
    return "null" if word is None else f'"{word}"'


@lru_cache(maxsize=64)
def _of_answer(answer: HostAnswer) -> str:
    code, message = _maybe(answer.response_code), _maybe(answer.message)
    return (
        f'"gateway_transaction_response":{{"responseCode":{code},"responseMessage":{message},'
        f'"approvalCode":{_maybe(answer.approval_code)},'
        f'"processorResponseCode":{_maybe(answer.host_code)}}},'
        f'"processor_response_code":{code},"processor_response_message":{message}'
    )


def _of_last_answer(tx: Transaction, answer: HostAnswer) -> str:
    """The answer, with the amounts that a reading shows beside it (assumed D35-response)."""
    text = _of_answer(answer)
    if not tx.tells_amounts:
        return text
    more = (
        f',"authorizedAmount":{tx.ledger.held},"type":"{tx.transaction_type}",'
        f'"status":"{tx.status}","currency":"{tx.origin.site.currency}"}},"processor_response_code"'
    )
    return text.replace('},"processor_response_code"', more, 1)


def _of_attempt(attempt: Attempt) -> str:
    answer = attempt.answer
    money = attempt.amounts
    subtotal, tax, tip, surcharge = money.subtotal, money.tax, money.tip, money.surcharge
    return (
        f'{{"event_id":{_text(attempt.event_id)},"transaction_type":"{attempt.transaction_type}",'
        f'"status":"{attempt.status}","status_reason":"{attempt.status_reason}",'
        f'"amount":{attempt.amount},"subtotal":{subtotal},"tax_amount":{tax},"tip_amount":{tip},'
        f'"surcharge_amount":{surcharge},"total_amount":{subtotal + tax + tip + surcharge},'
        f'"refunded":{attempt.refunded},"reversed":{attempt.reversed},'
        f'"gateway_transaction_id":{_maybe(attempt.gateway_transaction_id)},'
        f"{_NO_ANSWER if answer is None else _of_answer(answer)},"
        f'"batch_id":{_maybe(attempt.batch_id)},"created_at":{attempt.created_at}}}'
    )


def _method(origin: Origin) -> str:
    return "null" if origin.card is NOT_READ else f'"{origin.payment_method}"'


def _details(tx: Transaction) -> str:
    """The client's own details, and the amounts of the authorization (assumed 2.2).

    Once a hold is released nothing is authorized (assumed D12). The remainder of a partial approval
    is the amount still to be paid; a tip that changes later changes both sides.
    """
    ledger = tx.ledger
    authorized = 0 if tx.status == "canceled" else ledger.authorized
    own = f'"authorized_amount":{authorized},"captured_amount":{ledger.captured}'
    if tx.is_partial:
        own += f',"remaining_amount":{tx.amounts.total - (ledger.captured or ledger.authorized)}'
    elif tx.status_reason == "partial_approval":
        own += f',"remaining_amount":{tx.history[0].amount - tx.amounts.total}'
    if not tx.origin.details:
        return f"{{{own}}}"
    return f"{to_json(tx.origin.details)[:-1].decode()},{own}}}"


def _members(values: Mapping[str, Any]) -> str:
    """The members of an object, without its braces."""
    return to_json(values)[1:-1].decode()


_RATES: Final = (
    *("tax_rate", "surcharge_rate", "tax_source", "tax_basis"),
    *("surcharge_source", "surcharge_basis"),
)


def _of_rates(rates: Rates) -> str:
    return _members({name: getattr(rates, name) for name in _RATES})


_NO_RATES: Final = _of_rates(NO_RATES)


@lru_cache(maxsize=256)
def _of_card(card: Card) -> str:
    """The members of a card; null each when none was read (assumed D29)."""
    if card is NOT_READ:
        return _members({"card_type": None, "card_brand": None, "card": None})
    return _members({"card_type": card.type, "card_brand": card.brand, "card": card.masked})


@lru_cache(maxsize=4096)
def _of_site(site: TransactionSite) -> tuple[str, str, str]:
    """Ids, place and owner: the fields that all transactions of a place share."""
    ids = {
        "mid": site.account_id,
        "tid": site.terminal_id,
        "processor_mid": site.processor_mid,
        "processor_tid": site.processor_tid,
        "account_id": site.account_id,
    }
    place = {
        "location_id": site.location_id,
        "processor": site.processor,
        "gateway": site.gateway,
        "currency": site.currency,
    }
    owner = {
        "owner_id": site.owner_id,
        "parent_account_ids": site.parent_account_ids,
        "merchant_name": site.merchant_name,
        "psp": None,
    }
    return _members(ids), _members(place), _members(owner)

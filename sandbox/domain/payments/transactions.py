"""The transaction record: the constant fields of a payment, and those that change.

One payment is one record for its whole life; every attempt is appended to its history (assumed
2.1). Source of the fields: spec 2.4; of a history element: assumed 2.10.
"""

from typing import Annotated, Any, Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace
from pydantic import Field

from sandbox.domain.clock import EARLIEST, LATEST
from sandbox.domain.field_types import Percent, SurchargeBasis
from sandbox.domain.instants import to_ms
from sandbox.domain.payments.amounts import EMPTY, Amounts, Ledger
from sandbox.domain.payments.cards import Card
from sandbox.domain.payments.outcomes import SETTLEMENTS, Operation, OutcomeName
from sandbox.domain.text import KnownWord

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

Type = Annotated[str, KnownWord(TRANSACTION_TYPES)]
StatusWord = Annotated[str, KnownWord(STATUSES)]
Reason = Annotated[str, KnownWord(STATUS_REASONS)]
TipType = Annotated[str, KnownWord(("fixed", "percentage"))]

TipCapture = Literal["sale", "capture", "adjust"]
"""When the tip was stated. Source: assumed 2.9."""


Moment = Annotated[int, Field(ge=to_ms(EARLIEST), le=to_ms(LATEST))]
"""A moment of a world's clock in Unix milliseconds."""


class TransactionSite(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The place of a payment: the fields that all its transactions share (assumed 7.1).

    `device_id` is that of the terminal, for clients that name none.
    """

    account_id: str
    parent_account_ids: tuple[str, ...]
    terminal_id: str
    processor_mid: str | None
    processor_tid: str | None
    location_id: str | None
    processor: str
    gateway: str
    currency: str
    merchant_name: str | None
    mcc: str | None
    device_id: str

    @property
    def owner_id(self) -> str:
        """The immediate parent, or the account itself if it is a root (assumed 7.1-owner)."""
        return self.parent_account_ids[-1] if self.parent_account_ids else self.account_id


class Origin(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The parts of a payment that never change after its creation.

    `created_at` is in Unix milliseconds; `details` are the client's own, as it sent them.
    """

    transaction_id: str
    operation: Operation
    site: TransactionSite
    card: Card
    created_at: Moment
    device_id: str
    reader_identifier: str
    apple_transaction_id: str
    payment_method: str
    details: dict[str, Any] | None


Basis = Annotated[str, KnownWord(get_args(SurchargeBasis))]
"""The base of a rate. Source: assumed 2.8-values."""


class Rates(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The rates that a payment was made at, in percent, and where each came from.

    Sources and bases are None when nothing applied (assumed 2.8-values).
    """

    tax_rate: Percent = 0
    tax_source: str | None = None
    tax_basis: Basis | None = None
    surcharge_rate: Percent = 0
    surcharge_source: str | None = None
    surcharge_basis: Basis | None = None
    confirmation_required: bool | None = None


NO_RATES: Final = Rates()


class HostAnswer(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """The gateway's answer to an attempt. Source: spec 2.4-response."""

    response_code: str | None
    message: str | None
    approval_code: str | None
    host_code: str | None


class Attempt(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """One element of the history. `amount` is that of the operation; times are Unix ms.

    `batch_id` is the batch in which this entry settles, and `record_id` the transaction_id of the
    action's own record, where a reading gives it one (assumed D35-action).
    """

    event_id: str
    transaction_type: Type
    status: StatusWord
    status_reason: Reason
    amount: int
    amounts: Amounts
    refunded: int
    reversed: int
    gateway_transaction_id: str | None
    answer: HostAnswer | None
    batch_id: str | None
    created_at: Moment
    record_id: str | None = None


class Transaction(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A payment as stored.

    `ledger` is the state of the money. `is_partial` marks a partial approval; `armed` is a later
    operation that will fail once, with its outcome and the amount that armed it; `settlement` is
    the future settlement of this record (a key of `triggers.SETTLEMENTS`). With `tells_amounts` the
    processor's response is shown with more fields (assumed D35-response). `refused_in` are the
    batches whose processor sent the capture back, which the platform itself never shows. The record
    of an action has its payment as `original_id` (assumed D35-action).
    """

    origin: Origin
    event_id: str
    transaction_type: Type
    status: StatusWord
    status_reason: Reason
    amounts: Amounts
    ledger: Ledger = EMPTY
    rates: Rates = NO_RATES
    surcharge_applied: bool = False
    tip_type: TipType = "fixed"
    tip_capture_mode: TipCapture | None = None
    gateway_transaction_id: str | None = None
    answer: HostAnswer | None = None
    batch_id: str | None = None
    is_partial: bool = False
    armed: tuple[Operation, OutcomeName, int] | None = None
    settlement: Annotated[str, KnownWord(SETTLEMENTS)] | None = None
    history: Annotated[tuple[Attempt, ...], Field(min_length=1)] = ()
    tells_amounts: bool = False
    refused_in: tuple[str, ...] = ()
    original_id: str | None = None

    @property
    def id(self) -> str:
        """The id of the payment."""
        return self.origin.transaction_id

    @property
    def transaction_id(self) -> str:
        """The same, as answers call it."""
        return self.origin.transaction_id

    @property
    def account_id(self) -> str:
        """The merchant's account."""
        return self.origin.site.account_id

    @property
    def deleted_at(self) -> None:
        """Transactions are never deleted."""
        return None


def with_attempt(
    tx: Transaction, amount: int, at: int, *, batch_id: str | None = None
) -> Transaction:
    """The record with its present state as the next history element. `at` is in Unix milliseconds.

    It is at least a millisecond later than the one before, so times order the events of a payment
    strictly, also in a world whose clock stands still. Source: spec 6.1.10; assumed 2.10-order.
    """
    attempt = Attempt(
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
        created_at=max(at, tx.history[-1].created_at + 1) if tx.history else at,
    )
    return replace(tx, history=(*tx.history, attempt))


class BusyPayment(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A payment that waits for its processor. If the server dies meanwhile, the payment fails."""

    transaction_id: str

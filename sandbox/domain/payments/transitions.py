"""The transaction state machine: every row, and the functions that select one.

A payment begins by a sale or an authorization (rows I1 to I11). Later its merchant acts on it (F1
to F35, F39 to F42), or it changes without a request: a deadline passes, a batch settles, an
operator edits a passthrough payment, a scenario has the processor answer late.

How to read a row: for its `trigger` in one of its `states`, if `when` holds, and if the processor
has given the `answer`, the payment takes `next_status`. The rows of one trigger and state are tried
in order; the first that holds applies. A row without an `answer` is decided without the processor.
 Every column is executed: `initiation`, `follow_ups`, `editing` and the handlers of timers
apply them. OpenAPI, the reference and the tests read the same rows.

Two things are decided before any row: a duplicate event_id (F38, assumed D9), and amounts that make
no sense (assumed 2.5). One state is read differently: a payment that shows `refunded` after a part
of it (a switch) is as refundable as a captured one.

Source: spec 3.2-transitions; assumed I1 to I11, F1 to F42, D24.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from hashlib import blake2b
from typing import Any, Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.clock import (
    AUTHORIZATION_EXPIRES,
    CANCEL,
    HOLD_REVERSED,
    LATE_ANSWER,
    SURCHARGE_EXPIRES,
    TAP_EXPIRES,
)
from sandbox.domain.faults import (
    EXCEEDS_ORIGINAL_AUTH,
    INVALID_CAPTURE_SEQUENCE,
    INVALID_TIP_ADJUSTMENT,
    INVALID_TRANSACTION_STATE,
    REFUND_EXCEEDS_CAPTURED,
    REVERSE_EXCEEDS_AVAILABLE,
    Fault,
)
from sandbox.domain.payments.outcomes import Operation, Outcome
from sandbox.domain.payments.transactions import STATUSES, GatewayResponse, Payment
from sandbox.domain.readings import STATUS_AFTER_PARTIAL_REFUND, STATUS_OF_PARTIAL_REVERSE

HostAnswered = Literal["approved", "failed"]
Entry = Literal["capture", "refund"]
Money = Literal[
    "unchanged", "proposed", "authorized", "captured", "planned", "released", "emptied", "given"
]
"""The effect of a row on the money.

`proposed` holds the total without a surcharge, which the cardholder has to confirm. `authorized`
holds the approved amount, `captured` captures it. `planned` is the plan of the action (see
`action_plans`). `released` gives up the hold and a proposed surcharge, `emptied` clears the ledger.
`given` is the content of an edit.
"""

NEW: Final = "-"
"""The state before there is a record."""

SAME: Final = "same"
AS_ANSWERED: Final = "as answered"
"""A status or a reason that the record, or the outcome, decides."""

AS_BEGUN: Final = "as begun"
"""The event of the operation with which the payment began."""

FINISHED: Final = ("refunded", "reversed", "declined", "error", "canceled")
"""States that nothing leaves. Source: assumed F35."""


class Transition(Struct, frozen=True, kw_only=True, gc=False):
    """One row.

    `trigger` is the operation, the kind of a timer, or another cause without a request. `when`
    names a condition of `initiation` or `follow_ups`; "" always holds. `next_status` is stored;
    `shown_status` and `reason` are those of the attempt, in the answer and the event. `fault` is
    the 400 of a refusal. With an `event` too the row is a rule failure: the attempt is announced
    and stored in the history (assumed 2.1-rule). `batch_entry` is the new entry in a batch;
    `leaves_batch` removes the payment from its own. `is_told_later`: the outcome comes by an edit.
    `status_reading` names the reading that may have another status stored, `shown_reading` the one
    that may have it shown in the answer and the event alone.
    """

    id: str
    trigger: str
    states: tuple[str, ...] = (NEW,)
    when: str = ""
    answer: HostAnswered | None = None
    next_status: str = SAME
    shown_status: str = ""
    reason: str = "approved"
    money: Money = "unchanged"
    fault: Fault | None = None
    event: str | None = None
    batch_entry: Entry | None = None
    leaves_batch: bool = False
    is_told_later: bool = False
    status_reading: str | None = None
    shown_reading: str | None = None

    @property
    def source(self) -> str:
        """The clause that fixes the row."""
        return f"assumed {self.id}"

    @property
    def is_rule_failure(self) -> bool:
        """Whether a refused request counts as an attempt: stored in the history and announced."""
        return self.fault is not None and self.event is not None

    @property
    def is_silent_refusal(self) -> bool:
        """Refused, and nothing happened."""
        return self.fault is not None and self.event is None


_SALE, _AUTH, _CONFIRM, _CAPTURE = (
    Operation.SALE,
    Operation.AUTH,
    Operation.CONFIRM,
    Operation.CAPTURE,
)
_INCREMENT, _ADJUST, _REVERSE, _REFUND = (
    Operation.INCREMENT,
    Operation.ADJUST,
    Operation.REVERSE,
    Operation.REFUND,
)
_WAITING: Final = ("surcharge_pending", "pending")
_OPEN: Final = ("authorized", *_WAITING)
_CAPTURED_OR_LATER: Final = ("captured", "settled", *FINISHED)


def _others(*states: str) -> tuple[str, ...]:
    return tuple(status for status in STATUSES if status not in states)


def _states(state: str | tuple[str, ...]) -> tuple[str, ...]:
    return (state,) if isinstance(state, str) else state


# Four shapes that most rows have. Columns left out have their defaults.


def _refused(
    id: str, trigger: str, state: str | tuple[str, ...], fault: Fault, when: str = ""
) -> Transition:
    """Return a row for a silent refusal."""
    return Transition(id=id, trigger=trigger, states=_states(state), when=when, fault=fault)


def _rule(
    id: str, trigger: str, state: str | tuple[str, ...], fault: Fault, event: str, when: str = ""
) -> Transition:
    """Return a row for a rule failure: refused, announced, stored in the history."""
    return Transition(
        id=id,
        trigger=trigger,
        states=_states(state),
        when=when,
        fault=fault,
        shown_status="error",
        reason=fault.code,
        event=event,
    )


def _failed(id: str, trigger: str, state: str, event: str, when: str = "") -> Transition:
    """Return a row for a decline: an attempt that leaves the payment unchanged."""
    return Transition(
        id=id,
        trigger=trigger,
        states=(state,),
        when=when,
        answer="failed",
        shown_status=AS_ANSWERED,
        reason=AS_ANSWERED,
        event=event,
    )


def _done(
    id: str, trigger: str, state: str, next_status: str, event: str, when: str = "", **more: Any
) -> Transition:
    """Return a row for an approval by the processor."""
    columns = {"money": "planned", **more}
    return Transition(
        id=id,
        trigger=trigger,
        states=_states(state),
        when=when,
        answer="approved",
        next_status=next_status,
        shown_status=next_status,
        event=event,
        **columns,
    )


def _ended(
    id: str, trigger: str, states: tuple[str, ...], reason: str, when: str = "", **more: Any
) -> Transition:
    """Over before anything was captured, and without the processor."""
    columns = {"next_status": "canceled", "event": "transaction.cancel", **more}
    return Transition(
        id=id,
        trigger=trigger,
        states=states,
        when=when,
        shown_status=columns["next_status"],
        reason=reason,
        money="released",
        **columns,
    )


def _not_approved(
    id: str, trigger: str, when: str, status: str, event: str | None, **more: Any
) -> Transition:
    """Return a row for an initiation that was not approved."""
    return Transition(
        id=id,
        trigger=trigger,
        when=when,
        next_status=status,
        shown_status=status,
        event=event,
        **more,
    )


# fmt: off
_FAILED: Final[Mapping[str, Any]] = {"answer": "failed", "reason": AS_ANSWERED}
_PENDING: Final[Mapping[str, Any]] = {"reason": "pending"}


def _beginnings(begun: Operation, event: str) -> Iterator[Transition]:
    yield _not_approved("I10", begun, "misconfigured", "error", event, reason="invalid_terminal")
    yield _not_approved("I7", begun, "passthrough", "pending", None, is_told_later=True, **_PENDING)
    yield _not_approved("I7", begun, "left pending", "pending", None, **_PENDING)
    yield _not_approved(
        "I6", begun, "canceled at the reader", "canceled", "transaction.cancel", **_FAILED
    )
    yield _not_approved("I4", begun, "declined", "declined", event, **_FAILED)
    yield _not_approved(
        "I11", begun, "timed out with a hold", "error", event, money="authorized", **_FAILED
    )
    yield _not_approved("I5", begun, "host failure", "error", event, **_FAILED)


INITIATION: Final[tuple[Transition, ...]] = (
    *_beginnings(_SALE, "transaction.sale"),
    *_beginnings(_AUTH, "transaction.authorize"),
    _done("I3", _SALE, NEW, "captured", "transaction.sale", "approved in part",
          reason="partial_approval", money="captured", batch_entry="capture"),
    _done("I2", _SALE, NEW, "surcharge_pending", "transaction.sale", "surcharge to be confirmed",
          money="proposed"),
    _done("I1", _SALE, NEW, "captured", "transaction.sale", money="captured",
          batch_entry="capture"),
    _done("I9", _AUTH, NEW, "authorized", "transaction.authorize", "approved in part",
          reason="partial_approval", money="authorized"),
    _done("I8", _AUTH, NEW, "authorized", "transaction.authorize", money="authorized"),
)


def _refunds(state: str) -> Iterator[Transition]:
    event = "transaction.refund"
    yield _refused("F30", _REFUND, state, REFUND_EXCEEDS_CAPTURED, "above the limit")
    yield _failed("F31", _REFUND, state, event)
    yield _done("F28", _REFUND, state, "refunded", event, "in full", batch_entry="refund")
    yield _done("F29", _REFUND, state, SAME, event, batch_entry="refund",
                status_reading=STATUS_AFTER_PARTIAL_REFUND.id)


FOLLOW_UPS: Final[tuple[Transition, ...]] = (
    # --- confirm
    _ended("F3", _CONFIRM, ("surcharge_pending",), "surcharge_declined_by_payer",
           "the payer declines"),
    Transition(
        id="F2", trigger=_CONFIRM, states=("surcharge_pending",), answer="failed",
        next_status=AS_ANSWERED, shown_status=AS_ANSWERED, reason=AS_ANSWERED, money="emptied",
        event="transaction.sale",
    ),
    _done("F1", _CONFIRM, "surcharge_pending", "captured", "transaction.sale", "approved in part",
          reason="partial_approval", batch_entry="capture"),
    _done("F1", _CONFIRM, "surcharge_pending", "captured", "transaction.sale",
          batch_entry="capture"),
    _refused("F34", _CONFIRM, _others("surcharge_pending"), INVALID_TRANSACTION_STATE),
    # --- capture
    _rule("F6", _CAPTURE, _WAITING, INVALID_CAPTURE_SEQUENCE, "transaction.capture"),
    _rule("F11", _CAPTURE, "authorized", EXCEEDS_ORIGINAL_AUTH, "transaction.capture",
          "above the limit"),
    _failed("F12", _CAPTURE, "authorized", "transaction.capture"),
    _done("F10", _CAPTURE, "authorized", "captured", "transaction.capture", batch_entry="capture"),
    _rule("F32", _CAPTURE, _CAPTURED_OR_LATER, INVALID_CAPTURE_SEQUENCE, "transaction.capture"),
    # --- increment
    _refused("F7", _INCREMENT, _WAITING, INVALID_TRANSACTION_STATE),
    _failed("F14", _INCREMENT, "authorized", "transaction.increment", "declined"),
    _failed("F15", _INCREMENT, "authorized", "transaction.increment"),
    _done("F13", _INCREMENT, "authorized", "authorized", "transaction.increment"),
    _refused("F33", _INCREMENT, _others(*_OPEN), INVALID_TRANSACTION_STATE),
    # --- adjust
    _refused("F7", _ADJUST, _WAITING, INVALID_TRANSACTION_STATE),
    _rule("F19", _ADJUST, "authorized", INVALID_TIP_ADJUSTMENT, "transaction.tip_adjust"),
    _rule("F24", _ADJUST, "captured", INVALID_TIP_ADJUSTMENT, "transaction.tip_adjust",
          "refunded or reversed in part, or its batch closed"),
    _rule("F24", _ADJUST, ("settled", *FINISHED), INVALID_TIP_ADJUSTMENT, "transaction.tip_adjust"),
    _rule("F23", _ADJUST, "captured", EXCEEDS_ORIGINAL_AUTH, "transaction.tip_adjust",
          "above the limit"),
    _failed("F41", _ADJUST, "captured", "transaction.tip_adjust"),
    _done("F22", _ADJUST, "captured", SAME, "transaction.tip_adjust"),
    # --- reverse
    _ended("F5", _REVERSE, _WAITING, "merchant_canceled", "in full"),
    _refused("F7", _REVERSE, _WAITING, INVALID_TRANSACTION_STATE),
    _refused("F18", _REVERSE, "authorized", REVERSE_EXCEEDS_AVAILABLE, "above the limit"),
    _failed("F40", _REVERSE, "authorized", "transaction.reverse"),
    _done("F16", _REVERSE, "authorized", "reversed", "transaction.reverse", "in full"),
    _done("F17", _REVERSE, "authorized", "authorized", "transaction.reverse",
          shown_reading=STATUS_OF_PARTIAL_REVERSE),
    _refused("F27", _REVERSE, "captured", INVALID_TRANSACTION_STATE,
             "refunded in part, or its batch closed"),
    _refused("F27", _REVERSE, "settled", INVALID_TRANSACTION_STATE),
    _refused("F39", _REVERSE, "captured", REVERSE_EXCEEDS_AVAILABLE, "above the limit"),
    _failed("F40", _REVERSE, "captured", "transaction.reverse"),
    _done("F25", _REVERSE, "captured", "reversed", "transaction.reverse", "in full",
          leaves_batch=True),
    _done("F26", _REVERSE, "captured", "captured", "transaction.reverse",
          shown_reading=STATUS_OF_PARTIAL_REVERSE),
    _refused("F35", _REVERSE, FINISHED, INVALID_TRANSACTION_STATE),
    # --- refund
    _refused("F7", _REFUND, _WAITING, INVALID_TRANSACTION_STATE),
    _refused("F20", _REFUND, "authorized", INVALID_TRANSACTION_STATE),
    *_refunds("captured"),
    *_refunds("settled"),
    _refused("F35", _REFUND, FINISHED, INVALID_TRANSACTION_STATE),
)

EDIT: Final = "edit"
SETTLE: Final = "settle"


def _late(id: str, *states: str) -> Transition:
    """Return a row for a late answer, which uses the attempt's. Source: assumed D24, D24-late."""
    return Transition(id=id, trigger=LATE_ANSWER, states=states, next_status=AS_ANSWERED,
                      shown_status=AS_ANSWERED, reason=AS_ANSWERED, event=AS_ANSWERED)


BY_ITSELF: Final[tuple[Transition, ...]] = (
    # --- a timer is due
    _ended("F4", SURCHARGE_EXPIRES, ("surcharge_pending",), "surcharge_expired"),
    _ended("F9", TAP_EXPIRES, ("pending",), "timed_out", next_status="error", event=AS_BEGUN),
    _ended("F21", AUTHORIZATION_EXPIRES, ("authorized",), "timed_out"),
    _ended("F5", CANCEL, _WAITING, "merchant_canceled"),
    Transition(id="F42", trigger=HOLD_REVERSED, states=("error",), next_status="reversed",
               shown_status="reversed", reason="processor_timeout", money="released",
               event="transaction.reverse"),
    _late("D24", "pending", "error"),
    _late("D24-late", "authorized", "captured", "settled"),
    # --- an edit: for pending payments in the spec; until settlement it can correct an outcome
    Transition(id="F8", trigger=EDIT, states=("pending", "authorized", "captured"),
               next_status=AS_ANSWERED, shown_status=AS_ANSWERED, reason=AS_ANSWERED,
               money="given", event=AS_ANSWERED),
    # --- its batch is settled
    Transition(id="F36", trigger=SETTLE, states=("captured",), next_status="settled"),
    Transition(id="F37", trigger=SETTLE, states=("refunded",), next_status="refunded"),
)
# fmt: on

TRANSITIONS: Final[tuple[Transition, ...]] = (*INITIATION, *FOLLOW_UPS, *BY_ITSELF)
"""Every row."""


# --- selecting a row --------------------------------------------------------------------------


def _by_pair() -> dict[tuple[str, str], tuple[Transition, ...]]:
    found: dict[tuple[str, str], tuple[Transition, ...]] = {}
    for row in TRANSITIONS:
        for state in row.states:
            pair = (row.trigger, state)
            found[pair] = (*found.get(pair, ()), row)
    return found


_BY_PAIR: Final = _by_pair()


def transitions_from(trigger: str, state: str = NEW) -> tuple[Transition, ...]:
    """Return the rows for a trigger in a state, in the order in which they are tried."""
    return _BY_PAIR.get((trigger, state), ())


UNSETTLED: Final = Transition(
    id="D35-refund",
    trigger=Operation.REFUND,
    states=("captured",),
    when="before settlement",
    fault=INVALID_TRANSACTION_STATE,
)
"""A refund before settlement, refused. Source: assumed D35-refund."""

TIMEOUT_REVERSED: Final = (
    _refused("F35", _REVERSE, "error", REVERSE_EXCEEDS_AVAILABLE, "above the limit"),
    _failed("F40", _REVERSE, "error", "transaction.reverse"),
    _done("D35-timeout", _REVERSE, "error", "reversed", "transaction.reverse"),
)
"""The reversal of a payment that timed out, where it is allowed. Source: assumed D35-timeout."""

_EVENTS: Final[Mapping[str, str]] = {
    Operation.CONFIRM: "transaction.sale",
    Operation.CAPTURE: "transaction.capture",
    Operation.INCREMENT: "transaction.increment",
    Operation.ADJUST: "transaction.tip_adjust",
    Operation.REVERSE: "transaction.reverse",
    Operation.REFUND: "transaction.refund",
}


@cache
def announced(row: Transition) -> Transition:
    """Turn a silent refusal into a failed attempt with its event. Source: assumed D35-attempts."""
    return replace(row, shown_status="error", reason="payment_failed", event=_EVENTS[row.trigger])


_GATEWAY_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_TO_GATEWAY_CHARS: Final = bytes(ord(_GATEWAY_ALPHABET[byte % 36]) for byte in range(256))


class Conclusion(Struct, frozen=True, kw_only=True, gc=False):
    """The result of an attempt: the row, the record to store, and the one to show.

    They differ where a failed attempt is laid over an unchanged record (assumed 2.1-failed).
    `events` are announced in this order, each with the record of its moment.
    """

    taken: Transition
    record: Payment
    shown: Payment
    events: tuple[tuple[str, Payment], ...] = ()


def host_answer(
    outcome: Outcome | None, event_id: str, earlier: GatewayResponse | None = None
) -> GatewayResponse | None:
    """Return the gateway's answer; None if no answer came. Source: assumed 5.1.

    It repeats the approval code of an earlier one, which receipts print (assumed D28).
    """
    if outcome is None or outcome.response_code is None:
        return None
    code = (earlier.approval_code if earlier else None) or approval_code(event_id)
    return GatewayResponse(
        response_code=outcome.response_code,
        response_message=outcome.message,
        approval_code=code if outcome.has_approval_code else None,
        processor_response_code=outcome.host_code,
    )


def approval_code(event_id: str) -> str:
    """Six digits that follow from the event_id. Source: assumed 5.1."""
    number = int.from_bytes(blake2b(event_id.encode(), digest_size=8).digest(), "big")
    return f"{number % 1_000_000:06}"


def gateway_id(transaction_id: str) -> str:
    """Ten capitals and digits, the same for the life of a payment. Source: assumed 7.1."""
    digest = blake2b(transaction_id.encode(), digest_size=10).digest()
    return digest.translate(_TO_GATEWAY_CHARS).decode()


AUTHORIZATION_DAYS: Final = {"Visa": 5, "MasterCard": 30, "Amex": 7, "Discover": 10}
OTHER_BRANDS_DAYS: Final = 7
LONG_STAY_MCCS: Final = frozenset({"7011", "7512", "7513"})
"""Hotels and car rentals hold for a month, whatever the brand. Source: assumed 8.1."""
LONG_STAY_DAYS: Final = 30

SURCHARGE_PROMPT: Final = timedelta(minutes=5)
"""Source: assumed 8.2-surcharge."""

HOLD_AFTER_TIMEOUT: Final = timedelta(seconds=60)
"""The time after which the host reverses a hold that nobody knows of. Source: assumed F42."""

TAP: Final = timedelta(seconds=60)
"""The default time that a payment waits for its tap. Source: assumed 8.2-deadline."""


def authorization_lifetime(payment: Payment) -> timedelta:
    """How long an authorization holds; an increment does not begin it anew."""
    if payment.mcc in LONG_STAY_MCCS:
        return timedelta(days=LONG_STAY_DAYS)
    return timedelta(days=AUTHORIZATION_DAYS.get(payment.card.brand, OTHER_BRANDS_DAYS))

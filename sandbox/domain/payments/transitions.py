"""The transaction state machine: every row, and the functions that select one.

A payment begins with a sale or an authorization (rows I1 to I11). Later its merchant acts on it (F1
to F35, F39 to F42), or it changes without a request: a deadline passes, a batch settles, an
operator edits a passthrough payment, or the processor answers late.

How to read a row: on its `trigger` in one of its `states`, if `when` holds, and if the processor
has given the `answer`, the payment takes `next_status`. The rows of one trigger and state are tried
in order; the first that holds applies. A row without an `answer` is decided without the processor.
Every column is executed: `initiation`, `follow_ups`, `edits` and the handlers of timers apply them.
OpenAPI, the reference and the tests read the same rows.

Two things are decided before any row: a duplicate event_id (F38, assumed D9), and invalid amounts
(assumed 2.5). There is one exception: a payment that a reading shows as `refunded` after a partial
refund is as refundable as a captured one.

Source: spec 3.2-transitions; assumed I1 to I11, F1 to F42, D24.
"""

from collections.abc import Iterator, Mapping
from datetime import timedelta
from functools import cache
from hashlib import blake2b
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain import faults
from sandbox.domain.faults import Fault
from sandbox.domain.payments.outcomes import Operation, Outcome
from sandbox.domain.payments.transactions import GatewayResponse, Payment, change, with_attempt

NEW: Final = "-"
"""The state before there is a record."""

SAME: Final = "same"
AS_ANSWERED: Final = "as answered"
"""A status or a reason that the outcome decides."""

AS_BEGUN: Final = "as begun"
"""The event of the operation that began the payment."""

FINISHED: Final = ("refunded", "reversed", "declined", "error", "canceled")
"""States that nothing leaves. Source: assumed F35."""


class Transition(Struct, frozen=True, kw_only=True, gc=False):
    """One row.

    `trigger` is the operation, the kind of a timer, or another cause without a request. `when`
    names a condition of `initiation` or `follow_ups`; "" always holds. `next_status` is stored;
    `shown_status` and `reason` are those of the attempt, in the answer and the event. `fault` is
    the 400 of a refusal. A row with both a `fault` and an `event` is a rule failure: the attempt is
    announced and stored in the history (assumed 2.1-rule). `batch_entry` is the new entry in a
    batch; `should_leave_batch` removes the payment from its batch. `status_reading` names a reading
    that may store another status, `shown_reading` one that may show another status in the answer
    and the event only.

    `money` is the effect on the money. `proposed` holds the total without the surcharge, which the
    cardholder has to confirm. `authorized` holds the approved amount, and `captured` captures it.
    `planned` applies the plan of the action (see `action_plans`). `released` gives up the hold and
    a proposed surcharge, and `emptied` clears the ledger. `given` applies an edit. `unchanged` has
    no effect.
    """

    id: str
    trigger: str
    states: tuple[str, ...]
    when: str
    answer: Literal["approved", "failed"] | None
    next_status: str
    reason: str
    money: str
    fault: Fault | None
    event: str | None
    batch_entry: Literal["capture", "refund"] | None
    should_leave_batch: bool
    status_reading: str | None
    shown_reading: str | None

    @property
    def source(self) -> str:
        """The clause that fixes the row."""
        return f"assumed {self.id}"

    @property
    def shown_status(self) -> str:
        """The status of the attempt in the answer and the event; "" if there is no attempt."""
        if self.is_silent_refusal or self.trigger == SETTLE:
            return ""
        if self.is_rule_failure:
            return "error"
        is_laid_over = self.answer == "failed" and self.next_status == SAME
        return AS_ANSWERED if is_laid_over else self.next_status

    @property
    def is_rule_failure(self) -> bool:
        """Whether a refused request counts as an attempt: stored in the history and announced."""
        return self.fault is not None and self.event is not None

    @property
    def is_silent_refusal(self) -> bool:
        """Whether a refused request leaves no trace: no attempt and no event."""
        return self.fault is not None and self.event is None


EDIT: Final = "edit"
SETTLE: Final = "settle"

EVENT_OF: Final[Mapping[str, str]] = {
    **{operation: f"transaction.{operation}" for operation in Operation},
    Operation.AUTH: "transaction.authorize",
    Operation.CONFIRM: "transaction.sale",
    Operation.INCREMENT: "transaction.increment",
}
"""The event of each operation, which tables call `own`."""

_STATES: Final = {"": (NEW,), "waiting": ("surcharge_pending", "pending"), "finished": FINISHED}
"""Words in the tables that mean several states."""


def _rows(table: str) -> Iterator[Transition]:
    for line in table.strip().splitlines():
        cells = (cell.strip() for cell in line.split("|"))
        id, triggers, states, when, answer, next_status, reason, money, event, fault, batch, by = (
            "" if cell == "-" else cell for cell in cells
        )
        stored_or_shown, _, reading = by.partition(" ")
        for trigger in triggers.split(", "):
            yield Transition(
                id=id,
                trigger=trigger,
                states=tuple(
                    state for word in states.split(", ") for state in _STATES.get(word, (word,))
                ),
                when=when,
                answer=answer or None,  # type: ignore[arg-type]
                next_status=next_status,
                reason=reason or "approved",
                money=money or "unchanged",
                fault=getattr(faults, fault) if fault else None,
                event=EVENT_OF[trigger] if event == "own" else event or None,
                batch_entry=batch if batch in ("capture", "refund") else None,  # type: ignore[arg-type]
                should_leave_batch=batch == "left",
                status_reading=reading if stored_or_shown == "stored" else None,
                shown_reading=reading if stored_or_shown == "shown" else None,
            )


# id | trigger | states | when | answer | next | reason | money | event | fault | batch | reading
_OF_OPERATIONS: Final = """
I10 | sale, auth | - | misconfigured | - | error | invalid_terminal | - | own | - | - | -
I7 | sale, auth | - | passthrough | - | pending | pending | - | - | - | - | -
I7 | sale, auth | - | left pending | - | pending | pending | - | - | - | - | -
I6 | sale, auth | - | canceled at the reader | failed | canceled | as answered | - | transaction.cancel | - | - | -
I4 | sale, auth | - | declined | failed | declined | as answered | - | own | - | - | -
I11 | sale, auth | - | timed out with a hold | failed | error | as answered | authorized | own | - | - | -
I5 | sale, auth | - | host failure | failed | error | as answered | - | own | - | - | -
I3 | sale | - | approved in part | approved | captured | partial_approval | captured | own | - | capture | -
I2 | sale | - | surcharge to be confirmed | approved | surcharge_pending | approved | proposed | own | - | - | -
I1 | sale | - | - | approved | captured | approved | captured | own | - | capture | -
I9 | auth | - | approved in part | approved | authorized | partial_approval | authorized | own | - | - | -
I8 | auth | - | - | approved | authorized | approved | authorized | own | - | - | -
F3 | confirm | surcharge_pending | the payer declines | - | canceled | surcharge_declined_by_payer | released | transaction.cancel | - | - | -
F2 | confirm | surcharge_pending | - | failed | as answered | as answered | emptied | own | - | - | -
F1 | confirm | surcharge_pending | approved in part | approved | captured | partial_approval | planned | own | - | capture | -
F1 | confirm | surcharge_pending | - | approved | captured | approved | planned | own | - | capture | -
F34 | confirm | pending, authorized, captured, settled, finished | - | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
F6 | capture | waiting | - | - | same | invalid_capture_sequence | - | own | INVALID_CAPTURE_SEQUENCE | - | -
F11 | capture | authorized | above the limit | - | same | exceeds_original_auth | - | own | EXCEEDS_ORIGINAL_AUTH | - | -
F12 | capture | authorized | - | failed | same | as answered | - | own | - | - | -
F10 | capture | authorized | - | approved | captured | approved | planned | own | - | capture | -
F32 | capture | captured, settled, finished | - | - | same | invalid_capture_sequence | - | own | INVALID_CAPTURE_SEQUENCE | - | -
F7 | incremental_auth, tip_adjust, refund | waiting | - | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
F14 | incremental_auth | authorized | declined | failed | same | as answered | - | own | - | - | -
F15 | incremental_auth | authorized | - | failed | same | as answered | - | own | - | - | -
F13 | incremental_auth | authorized | - | approved | authorized | approved | planned | own | - | - | -
F33 | incremental_auth | captured, settled, finished | - | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
F19 | tip_adjust | authorized | - | - | same | invalid_tip_adjustment | - | own | INVALID_TIP_ADJUSTMENT | - | -
F24 | tip_adjust | captured | refunded or reversed in part, or its batch closed | - | same | invalid_tip_adjustment | - | own | INVALID_TIP_ADJUSTMENT | - | -
F24 | tip_adjust | settled, finished | - | - | same | invalid_tip_adjustment | - | own | INVALID_TIP_ADJUSTMENT | - | -
F23 | tip_adjust | captured | above the limit | - | same | exceeds_original_auth | - | own | EXCEEDS_ORIGINAL_AUTH | - | -
F41 | tip_adjust | captured | - | failed | same | as answered | - | own | - | - | -
F22 | tip_adjust | captured | - | approved | same | approved | planned | own | - | - | -
F5 | reverse | waiting | in full | - | canceled | merchant_canceled | released | transaction.cancel | - | - | -
F7 | reverse | waiting | in part | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
F18 | reverse | authorized | above the limit | - | same | - | - | - | REVERSE_EXCEEDS_AVAILABLE | - | -
F40 | reverse | authorized | - | failed | same | as answered | - | own | - | - | -
F16 | reverse | authorized | in full | approved | reversed | approved | planned | own | - | - | -
F17 | reverse | authorized | - | approved | authorized | approved | planned | own | - | - | shown status_of_partial_reverse
F27 | reverse | captured | refunded in part, or its batch closed | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
F27 | reverse | settled | - | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
F39 | reverse | captured | above the limit | - | same | - | - | - | REVERSE_EXCEEDS_AVAILABLE | - | -
F40 | reverse | captured | - | failed | same | as answered | - | own | - | - | -
F25 | reverse | captured | in full | approved | reversed | approved | planned | own | - | left | -
F26 | reverse | captured | - | approved | captured | approved | planned | own | - | - | shown status_of_partial_reverse
F35 | reverse | finished | - | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
F20 | refund | authorized | - | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
F30 | refund | captured, settled | above the limit | - | same | - | - | - | REFUND_EXCEEDS_CAPTURED | - | -
F31 | refund | captured, settled | - | failed | same | as answered | - | own | - | - | -
F28 | refund | captured, settled | in full | approved | refunded | approved | planned | own | - | refund | -
F29 | refund | captured, settled | - | approved | same | approved | planned | own | - | refund | stored status_after_partial_refund
F35 | refund | finished | - | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
"""  # noqa: E501

_BY_ITSELF: Final = """
F4 | surcharge_expires | surcharge_pending | - | - | canceled | surcharge_expired | released | transaction.cancel | - | - | -
F9 | tap_expires | pending | - | - | error | timed_out | released | as begun | - | - | -
F21 | authorization_expires | authorized | - | - | canceled | timed_out | released | transaction.cancel | - | - | -
F5 | cancel | waiting | - | - | canceled | merchant_canceled | released | transaction.cancel | - | - | -
F42 | hold_reversed | error | - | - | reversed | processor_timeout | released | transaction.reverse | - | - | -
D24 | late_answer | pending, error | - | - | as answered | as answered | - | as answered | - | - | -
D24-late | late_answer | authorized, captured, settled | - | - | as answered | as answered | - | as answered | - | - | -
F8 | edit | pending, authorized, captured | - | - | as answered | as answered | given | as answered | - | - | -
F36 | settle | captured | - | - | settled | approved | - | - | - | - | -
F37 | settle | refunded | - | - | refunded | approved | - | - | - | - | -
"""  # noqa: E501
"""Changes without a request by the merchant: timers, edits, settlements.

In the spec an edit is for pending payments; until settlement it can also correct an outcome. A late
answer takes the attempt's own row (assumed D24, D24-late).
"""

BY_ITSELF: Final = tuple(_rows(_BY_ITSELF))
TRANSITIONS: Final[tuple[Transition, ...]] = (*_rows(_OF_OPERATIONS), *BY_ITSELF)
"""Every row."""


# --- selecting a row --------------------------------------------------------------------------


@cache
def transitions_from(trigger: str, state: str = NEW) -> tuple[Transition, ...]:
    """Return the rows for a trigger in a state, in the order in which they are tried."""
    return tuple(row for row in TRANSITIONS if row.trigger == trigger and state in row.states)


(UNSETTLED,) = _rows("""
D35-refund | refund | captured | before settlement | - | same | - | - | - | INVALID_TRANSACTION_STATE | - | -
""")  # noqa: E501
"""A refund before settlement, refused. Source: assumed D35-refund."""

TIMEOUT_REVERSED: Final = tuple(
    _rows("""
F35 | reverse | error | above the limit | - | same | - | - | - | REVERSE_EXCEEDS_AVAILABLE | - | -
F40 | reverse | error | - | failed | same | as answered | - | own | - | - | -
D35-timeout | reverse | error | - | approved | reversed | approved | planned | own | - | - | -
""")
)
"""The reversal of a payment that timed out, if it is allowed. Source: assumed D35-timeout."""


def announce(row: Transition) -> Transition:
    """Turn a silent refusal into a failed attempt with its event. Source: assumed D35-attempts."""
    return replace(row, reason="payment_failed", event=EVENT_OF[row.trigger])


_GATEWAY_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
_TO_GATEWAY_CHARS: Final = bytes(ord(_GATEWAY_ALPHABET[byte % 36]) for byte in range(256))


class Conclusion(Struct, frozen=True, kw_only=True, gc=False):
    """The result of an attempt: the row, the record to store, and the one to show.

    The two differ if an attempt failed and the record stays unchanged (assumed 2.1-failed).
    `events` are announced in this order, each with the record as it was then.
    """

    taken: Transition
    record: Payment
    shown: Payment
    events: tuple[tuple[str, Payment], ...] = ()

    @classmethod
    def announcing(
        cls, taken: Transition, record: Payment, shown: Payment | None = None, event: str = ""
    ) -> "Conclusion":
        """Return a conclusion with the row's event, or with another one that is named."""
        shown, event = shown or record, event or taken.event or ""
        events = ((event, shown),) if event else ()
        return cls(taken=taken, record=record, shown=shown, events=events)


def release(
    payment: Payment, taken: Transition, *, event_id: str, at: int, amount: int | None = None
) -> Conclusion:
    """End a payment that gives up its hold, and a proposed surcharge (assumed D12).

    Without an `amount` the attempt is for the total. Source: rows F3, F4, F5, F9, F21, F42.
    """
    amounts, ledger = payment.amounts, payment.ledger
    shown_type = payment.operation  # assumed D17
    if payment.status == "surcharge_pending":
        amounts = amounts.without_surcharge()
    if taken.next_status == "reversed":
        shown_type, ledger = Operation.REVERSE, replace(ledger, voided=ledger.authorized)
    after = change(
        payment,
        event_id=event_id,
        transaction_type=shown_type.value,
        status=taken.next_status,
        status_reason=taken.reason,
        amounts=amounts,
        ledger=ledger,
        answer=None,
    )
    event = EVENT_OF[payment.operation] if taken.event == AS_BEGUN else ""
    after = with_attempt(after, amounts.total if amount is None else amount, at)
    return Conclusion.announcing(taken, after, event=event)


def host_answer(
    outcome: Outcome | None, event_id: str, earlier: GatewayResponse | None = None
) -> GatewayResponse | None:
    """Return the gateway's answer; None if no answer came. Source: assumed 5.1.

    It repeats an earlier approval code, which receipts print (assumed D28).
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
    """Return six digits, derived from the event_id. Source: assumed 5.1."""
    number = int.from_bytes(blake2b(event_id.encode(), digest_size=8).digest(), "big")
    return f"{number % 1_000_000:06}"


def gateway_id(transaction_id: str) -> str:
    """Return ten capitals and digits, the same for the life of a payment. Source: assumed 7.1."""
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
"""How long the host keeps a hold that no client knows about. Source: assumed F42."""

TAP: Final = timedelta(seconds=60)
"""How long a payment waits for its tap by default. Source: assumed 8.2-deadline."""


def authorization_lifetime(payment: Payment) -> timedelta:
    """Return how long an authorization holds; an increment does not restart it."""
    if payment.mcc in LONG_STAY_MCCS:
        return timedelta(days=LONG_STAY_DAYS)
    return timedelta(days=AUTHORIZATION_DAYS.get(payment.card.brand, OTHER_BRANDS_DAYS))

"""What can happen to a payment afterwards, as rows. Source: assumed F1 to F41."""

from typing import Final

from sandbox.domain.faults import (
    EXCEEDS_ORIGINAL_AUTH,
    INVALID_CAPTURE_SEQUENCE,
    INVALID_TIP_ADJUSTMENT,
    INVALID_TRANSACTION_STATE,
    REFUND_EXCEEDS_CAPTURED,
    REVERSE_EXCEEDS_AVAILABLE,
    Fault,
)
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.rows import AS_ANSWERED, FINISHED, SAME, Entry, Transition
from sandbox.domain.payments.transactions import STATUSES

_WAITING: Final = ("surcharge_pending", "pending")
_CONFIRM, _CAPTURE, _INCREMENT = Operation.CONFIRM, Operation.CAPTURE, Operation.INCREMENT
_ADJUST, _REVERSE, _REFUND = Operation.ADJUST, Operation.REVERSE, Operation.REFUND


def _others(*states: str) -> tuple[str, ...]:
    return tuple(status for status in STATUSES if status not in states)


def _refused(
    id: str, trigger: str, states: tuple[str, ...], fault: Fault, when: str = ""
) -> Transition:
    return Transition(id=id, trigger=trigger, states=states, when=when, fault=fault)


def _rule(
    id: str, trigger: str, states: tuple[str, ...], fault: Fault, event: str, when: str = ""
) -> Transition:
    return Transition(
        id=id,
        trigger=trigger,
        states=states,
        when=when,
        fault=fault,
        shown_status="error",
        reason=fault.code,
        event=event,
    )


def _failed(
    id: str, trigger: str, states: tuple[str, ...], event: str, when: str = "", head: str = SAME
) -> Transition:
    return Transition(
        id=id,
        trigger=trigger,
        states=states,
        when=when,
        answer="failed",
        head=head,
        shown_status=AS_ANSWERED,
        reason=AS_ANSWERED,
        ledger="unchanged" if head == SAME else "all 0",
        event=event,
    )


def _done(
    id: str,
    trigger: str,
    state: str,
    head: str,
    ledger: str,
    event: str,
    when: str = "",
    batch_entry: Entry | None = None,
) -> Transition:
    return Transition(
        id=id,
        trigger=trigger,
        states=(state,),
        when=when,
        answer="approved",
        head=head,
        shown_status=head,
        ledger=ledger,
        event=event,
        batch_entry=batch_entry,
    )


FOLLOW_UPS: Final[tuple[Transition, ...]] = (
    # --- confirm
    Transition(
        id="F3",
        trigger=_CONFIRM,
        states=("surcharge_pending",),
        when="the payer declines",
        head="canceled",
        shown_status="canceled",
        reason="surcharge_declined_by_payer",
        ledger="A released",
        event="transaction.cancel",
    ),
    _failed("F2", _CONFIRM, ("surcharge_pending",), "transaction.sale", head=AS_ANSWERED),
    _done(
        "F1",
        _CONFIRM,
        "surcharge_pending",
        "captured",
        "A = C = total",
        "transaction.sale",
        batch_entry="capture",
    ),
    _refused("F34", _CONFIRM, _others("surcharge_pending"), INVALID_TRANSACTION_STATE),
    # --- capture
    _rule("F6", _CAPTURE, _WAITING, INVALID_CAPTURE_SEQUENCE, "transaction.capture"),
    _rule(
        "F11",
        _CAPTURE,
        ("authorized",),
        EXCEEDS_ORIGINAL_AUTH,
        "transaction.capture",
        "above the limit",
    ),
    _failed("F12", _CAPTURE, ("authorized",), "transaction.capture"),
    _done(
        "F10",
        _CAPTURE,
        "authorized",
        "captured",
        "C = amount; the rest of the hold is released",
        "transaction.capture",
        batch_entry="capture",
    ),
    _rule(
        "F32",
        _CAPTURE,
        ("captured", "settled", *FINISHED),
        INVALID_CAPTURE_SEQUENCE,
        "transaction.capture",
    ),
    # --- increment
    _refused("F7", _INCREMENT, _WAITING, INVALID_TRANSACTION_STATE),
    _failed("F14", _INCREMENT, ("authorized",), "transaction.increment", "declined"),
    _failed("F15", _INCREMENT, ("authorized",), "transaction.increment"),
    _done(
        "F13",
        _INCREMENT,
        "authorized",
        "authorized",
        "A and total grow by the amount",
        "transaction.increment",
    ),
    _refused("F33", _INCREMENT, _others("authorized", *_WAITING), INVALID_TRANSACTION_STATE),
    # --- adjust
    _refused("F7", _ADJUST, _WAITING, INVALID_TRANSACTION_STATE),
    _rule("F19", _ADJUST, ("authorized",), INVALID_TIP_ADJUSTMENT, "transaction.tip_adjust"),
    _rule(
        "F24",
        _ADJUST,
        ("captured",),
        INVALID_TIP_ADJUSTMENT,
        "transaction.tip_adjust",
        "refunded or reversed in part, or its batch closed",
    ),
    _rule("F24", _ADJUST, ("settled", *FINISHED), INVALID_TIP_ADJUSTMENT, "transaction.tip_adjust"),
    _rule(
        "F23",
        _ADJUST,
        ("captured",),
        EXCEEDS_ORIGINAL_AUTH,
        "transaction.tip_adjust",
        "above the limit",
    ),
    _failed("F41", _ADJUST, ("captured",), "transaction.tip_adjust"),
    _done(
        "F22",
        _ADJUST,
        "captured",
        "captured",
        "C and total change by the difference",
        "transaction.tip_adjust",
    ),
    # --- reverse
    Transition(
        id="F5",
        trigger=_REVERSE,
        states=_WAITING,
        when="in full",
        head="canceled",
        shown_status="canceled",
        reason="merchant_canceled",
        ledger="A released",
        event="transaction.cancel",
    ),
    _refused("F7", _REVERSE, _WAITING, INVALID_TRANSACTION_STATE),
    _refused("F18", _REVERSE, ("authorized",), REVERSE_EXCEEDS_AVAILABLE, "above the limit"),
    _failed("F40", _REVERSE, ("authorized",), "transaction.reverse"),
    _done("F16", _REVERSE, "authorized", "reversed", "R0 = A", "transaction.reverse", "in full"),
    _done("F17", _REVERSE, "authorized", "authorized", "R0 grows", "transaction.reverse"),
    _refused(
        "F27",
        _REVERSE,
        ("captured",),
        INVALID_TRANSACTION_STATE,
        "refunded in part, or its batch closed",
    ),
    _refused("F27", _REVERSE, ("settled",), INVALID_TRANSACTION_STATE),
    _refused("F39", _REVERSE, ("captured",), REVERSE_EXCEEDS_AVAILABLE, "above the limit"),
    _failed("F40", _REVERSE, ("captured",), "transaction.reverse"),
    _done(
        "F25",
        _REVERSE,
        "captured",
        "reversed",
        "R1 = C; it leaves its batch",
        "transaction.reverse",
        "in full",
    ),
    _done("F26", _REVERSE, "captured", "captured", "R1 grows", "transaction.reverse"),
    _refused("F35", _REVERSE, FINISHED, INVALID_TRANSACTION_STATE),
    # --- refund
    _refused("F7", _REFUND, _WAITING, INVALID_TRANSACTION_STATE),
    _refused("F20", _REFUND, ("authorized",), INVALID_TRANSACTION_STATE),
    *(
        row
        for state in ("captured", "settled")
        for row in (
            _refused("F30", _REFUND, (state,), REFUND_EXCEEDS_CAPTURED, "above the limit"),
            _failed("F31", _REFUND, (state,), "transaction.refund"),
            _done(
                "F28",
                _REFUND,
                state,
                "refunded",
                "F = C - R1",
                "transaction.refund",
                "in full",
                batch_entry="refund",
            ),
            _done(
                "F29",
                _REFUND,
                state,
                SAME,
                "F grows",
                "transaction.refund",
                batch_entry="refund",
            ),
        )
    ),
    _refused("F35", _REFUND, FINISHED, INVALID_TRANSACTION_STATE),
)

BY_ITSELF: Final[tuple[Transition, ...]] = (
    Transition(
        id="F4",
        trigger="clock",
        states=("surcharge_pending",),
        when="the prompt expires",
        head="canceled",
        shown_status="canceled",
        reason="surcharge_expired",
        ledger="A released",
        event="transaction.cancel",
    ),
    Transition(
        id="F9",
        trigger="clock",
        states=("pending",),
        when="waited too long for its tap",
        head="error",
        shown_status="error",
        reason="timed_out",
        ledger="all 0",
        event="transaction.sale",
    ),
    Transition(
        id="F21",
        trigger="clock",
        states=("authorized",),
        when="the authorization expires",
        head="canceled",
        shown_status="canceled",
        reason="timed_out",
        ledger="A released",
        event="transaction.cancel",
    ),
    *(
        Transition(
            id="D24",
            trigger=trigger,
            states=(state,),
            when="a scenario has it follow",
            head=AS_ANSWERED,
            shown_status=AS_ANSWERED,
            reason=AS_ANSWERED,
            ledger="as I1 to I9 have it",
            event="as I1 to I9 have it",
        )
        # Of an error only where the answer had been left open: see `outcomes.TIMED_OUT`.
        for trigger, state in (("late answer", "pending"), ("late approval", "error"))
    ),
    Transition(
        id="F8",
        trigger="edit",
        # The spec has it for what is pending; until settlement an outcome can be corrected.
        states=("pending", "authorized", "captured"),
        head=AS_ANSWERED,
        shown_status=AS_ANSWERED,
        reason=AS_ANSWERED,
        ledger="as given",
        event="as the status says",
    ),
    Transition(id="F36", trigger="settle", states=("captured",), head="settled", shown_status=""),
    Transition(id="F37", trigger="settle", states=("refunded",), head="refunded", shown_status=""),
)

"""Rows of a follow-up that depend on more than its status: on amounts, answers and batches.

Source: assumed 2.3; what is asked plainly stands in test_moves_follow_ups.
"""

from tests.payments.driving_moves import Case


def tip(amount):
    return {"type": "fixed", "amount": amount}


def refused(row, state, operation, body, error, ledger):
    """Without a trace."""
    head = state.partition(",")[0].partition(" ")[0]
    about = {"row": row, "state": state, "operation": operation, "body": body}
    return Case(**about, error=error, head=head, ledger=ledger)


def announced(row, state, operation, body, error, ledger, *, force=None):
    """Refused and yet an attempt, with its own event: assumed 2.1-rule."""
    shown_type = {"capture": "capture", "adjust": "tip_adjust"}[operation]
    return Case(
        row=row,
        state=state,
        operation=operation,
        body=body,
        force=force,
        error=error,
        shown=f"{shown_type}/error/{error}",
        head=state.partition(",")[0].partition(" ")[0],
        events=(f"transaction.{shown_type}",),
        ledger=ledger,
    )


def failed(row, state, operation, force, shown, event, ledger, *, body=None):
    """The processor's answer is laid over an unchanged record: assumed 2.1-failed."""
    return Case(
        row=row,
        state=state,
        operation=operation,
        body=body or {},
        force=force,
        shown=shown,
        head=state,
        events=(event,),
        ledger=ledger,
    )


def done(row, state, operation, body, shown, events, ledger, *, head=None, force=None):
    return Case(
        row=row,
        state=state,
        operation=operation,
        body=body,
        force=force,
        shown=shown,
        head=head or shown.split("/")[1],
        events=events,
        ledger=ledger,
    )


CONFIRM = [
    done(
        *("F3", "surcharge_pending", "confirm", {"confirm": False}),
        *("sale/canceled/surcharge_declined_by_payer", ("transaction.cancel",), (0, 0, 0, 0)),
    ),
    *(
        done(
            *("F2", "surcharge_pending", "confirm", {"confirm": True}),
            *(f"sale/{shown}", ("transaction.sale",), (0, 0, 0, 0)),
            force=force,
        )
        for force, shown in (
            ("do_not_honor", "declined/declined"),
            ("processor_timeout", "error/processor_timeout"),
        )
    ),
]

CAPTURE = [
    announced(
        *("F11", "authorized", "capture", {"amount": 1001}),
        *("exceeds_original_auth", (1000, 0, 0, 0)),
    ),
    announced(
        *("F11", "authorized, 300 reversed", "capture", {"amount": 701}),
        *("exceeds_original_auth", (1000, 0, 0, 300)),
    ),
    *(
        failed(
            *("F12", "authorized", "capture", force, f"capture/{shown}"),
            *("transaction.capture", (1000, 0, 0, 0)),
        )
        for force, shown in (
            ("capture_declined", "declined/declined"),
            ("network_connectivity_error", "error/network_connectivity_error"),
        )
    ),
    done(
        *("F10", "authorized", "capture", {"amount": 400}, "capture/captured/approved"),
        *(("batch.opened", "transaction.capture"), (1000, 400, 0, 0)),
    ),
    done(
        *("F10", "authorized, 300 reversed", "capture", {}, "capture/captured/approved"),
        *(("batch.opened", "transaction.capture"), (1000, 700, 0, 300)),
    ),
]

INCREMENT = [
    *(
        failed(
            *("F14", "authorized", "increment", force),
            *("incremental_auth/declined/incremental_auth_declined", "transaction.increment"),
            (1000, 0, 0, 0),
            body={"amount": 500},
        )
        # What declines an initiation declines an increment too: assumed 5.2-increment.
        for force in ("incremental_auth_declined", "insufficient_funds", "stolen_card")
    ),
    *(
        failed(
            *("F15", "authorized", "increment", force),
            *(f"incremental_auth/error/{reason}", "transaction.increment", (1000, 0, 0, 0)),
            body={"amount": 500},
        )
        for force, reason in (
            ("issuer_unavailable", "payment_failed"),
            ("timed_out", "timed_out"),
        )
    ),
    done(
        *("F13", "authorized, 300 reversed", "increment", {"amount": 50}),
        *("incremental_auth/authorized/approved", ("transaction.increment",), (1050, 0, 0, 300)),
    ),
]

ADJUST = [
    *(
        announced("F24", state, "adjust", tip(100), "invalid_tip_adjustment", ledger)
        for state, ledger in (
            ("captured, 300 refunded", (1000, 1000, 300, 0)),
            ("captured, 300 reversed", (1000, 1000, 0, 300)),
            ("captured, batch submitted", (1000, 1000, 0, 0)),
            ("settled, 300 refunded", (1000, 1000, 300, 0)),
            ("reversed after capture", (1000, 1000, 0, 1000)),
        )
    ),
    announced(
        *("F23", "captured", "adjust", tip(1001), "exceeds_original_auth", (1000, 1000, 0, 0))
    ),
    *(
        failed(
            *("F41", "captured", "adjust", force, f"tip_adjust/{shown}"),
            *("transaction.tip_adjust", (1000, 1000, 0, 0)),
            body=tip(100),
        )
        for force, shown in (
            ("invalid_amount", "declined/declined"),
            ("format_error", "error/format_error"),
        )
    ),
    done(
        *("F22", "captured, batch rejected", "adjust", tip(100)),
        *("tip_adjust/captured/approved", ("transaction.tip_adjust",), (900_402, 900_502, 0, 0)),
    ),
]

REVERSE = [
    *(
        refused("F7", state, "reverse", {"amount": 999}, "invalid_transaction_state", ledger)
        for state, ledger in (
            ("pending", (0, 0, 0, 0)),
            ("pending, kept", (0, 0, 0, 0)),
            ("surcharge_pending", (1000, 0, 0, 0)),
        )
    ),
    done(
        *("F5", "pending, kept", "reverse", {"amount": 1000}),
        *("sale/canceled/merchant_canceled", ("transaction.cancel",), (0, 0, 0, 0)),
    ),
    refused(
        *("F18", "authorized", "reverse", {"amount": 1001}),
        *("reverse_exceeds_available", (1000, 0, 0, 0)),
    ),
    refused(
        *("F18", "authorized, 300 reversed", "reverse", {"amount": 701}),
        *("reverse_exceeds_available", (1000, 0, 0, 300)),
    ),
    *(
        failed(
            *("F40", state, "reverse", force, f"reverse/{shown}", "transaction.reverse"),
            ledger,
        )
        for state, ledger in (("authorized", (1000, 0, 0, 0)), ("captured", (1000, 1000, 0, 0)))
        for force, shown in (
            ("invalid_transaction", "declined/declined"),
            ("already_reversed", "error/payment_failed"),
        )
    ),
    done(
        *("F16", "authorized, 300 reversed", "reverse", {"amount": 700}),
        *("reverse/reversed/approved", ("transaction.reverse",), (1000, 0, 0, 1000)),
    ),
    done(
        *("F17", "authorized", "reverse", {"amount": 999}),
        *("reverse/authorized/approved", ("transaction.reverse",), (1000, 0, 0, 999)),
    ),
    *(
        refused("F27", state, "reverse", body, "invalid_transaction_state", ledger)
        for body in ({}, {"amount": 100}, {"amount": 5000})
        for state, ledger in (
            ("captured, 300 refunded", (1000, 1000, 300, 0)),
            ("captured, batch submitted", (1000, 1000, 0, 0)),
            ("settled", (1000, 1000, 0, 0)),
        )
    ),
    refused(
        *("F39", "captured", "reverse", {"amount": 1001}),
        *("reverse_exceeds_available", (1000, 1000, 0, 0)),
    ),
    refused(
        *("F39", "captured, 300 reversed", "reverse", {"amount": 701}),
        *("reverse_exceeds_available", (1000, 1000, 0, 300)),
    ),
    done(
        *("F25", "captured, 300 reversed", "reverse", {"amount": 700}),
        *("reverse/reversed/approved", ("transaction.reverse",), (1000, 1000, 0, 1000)),
    ),
    done(
        *("F25", "captured, batch rejected", "reverse", {}),
        *("reverse/reversed/approved", ("transaction.reverse",), (900_402, 900_402, 0, 900_402)),
    ),
    done(
        *("F26", "captured", "reverse", {"amount": 999}),
        *("reverse/captured/approved", ("transaction.reverse",), (1000, 1000, 0, 999)),
    ),
    refused(
        *("F35", "reversed after capture", "reverse", {}),
        *("invalid_transaction_state", (1000, 1000, 0, 1000)),
    ),
]

REFUND = [
    *(
        refused("F30", state, "refund", {"amount": amount}, "refund_exceeds_captured", ledger)
        for state, amount, ledger in (
            ("captured", 1001, (1000, 1000, 0, 0)),
            ("captured, 300 refunded", 701, (1000, 1000, 300, 0)),
            ("captured, 300 reversed", 701, (1000, 1000, 0, 300)),
            ("settled", 1001, (1000, 1000, 0, 0)),
            ("settled, 300 refunded", 701, (1000, 1000, 300, 0)),
        )
    ),
    *(
        failed(
            *("F31", state, "refund", force, f"refund/{shown}", "transaction.refund"),
            (1000, 1000, 0, 0),
        )
        for state in ("captured", "settled")
        for force, shown in (
            ("refund_declined", "declined/declined"),
            ("invalid_gateway_response", "error/invalid_gateway_response"),
        )
    ),
    *(
        done("F28", state, "refund", body, "refund/refunded/approved", events, ledger)
        for state, body, events, ledger in (
            *(
                ("captured, 300 refunded", body, ("transaction.refund",), (1000, 1000, 1000, 0))
                for body in ({}, {"amount": 700})
            ),
            ("captured, 300 reversed", {}, ("transaction.refund",), (1000, 1000, 700, 300)),
            # The refund of a payment whose batch is under way goes to the next: assumed B14.
            (
                *("captured, batch submitted", {}, ("batch.opened", "transaction.refund")),
                (1000, 1000, 1000, 0),
            ),
            ("settled, 300 refunded", {}, ("transaction.refund",), (1000, 1000, 1000, 0)),
        )
    ),
    done(
        *("F29", "captured", "refund", {"amount": 999}, "refund/captured/approved"),
        *(("transaction.refund",), (1000, 1000, 999, 0)),
    ),
    done(
        *("F29", "settled", "refund", {"amount": 999}, "refund/settled/approved"),
        *(("batch.opened", "transaction.refund"), (1000, 1000, 999, 0)),
    ),
    refused(
        *("F35", "reversed after capture", "refund", {}),
        *("invalid_transaction_state", (1000, 1000, 0, 1000)),
    ),
]

CASES = [*CONFIRM, *CAPTURE, *INCREMENT, *ADJUST, *REVERSE, *REFUND]

"""Rows of a follow-up that depend on more than its status: on amounts, answers and batches.

Written down by hand from assumed 2.3; what is asked plainly is in test_moves_follow_ups.
"""

from collections.abc import Iterator
from typing import Any

from tests.payments.driving_moves import Case

# row; state; body; forced outcome; what it comes to; ledger; whether it opens a batch.
# "400 code" leaves no trace, "400 error/code" is an attempt all the same: assumed 2.1-rule.
_TABLES = {
    "confirm": """
F3;surcharge_pending;confirm=False;-;canceled/surcharge_declined_by_payer;0 0 0 0
F2;surcharge_pending;confirm=True;do_not_honor;declined/declined;0 0 0 0
F2;surcharge_pending;confirm=True;processor_timeout;error/processor_timeout;0 0 0 0
""",
    "capture": """
F11;authorized;amount=1001;-;400 error/exceeds_original_auth;1000 0 0 0
F11;authorized, 300 reversed;amount=701;-;400 error/exceeds_original_auth;1000 0 0 300
F12;authorized;-;capture_declined;declined/declined;1000 0 0 0
F12;authorized;-;network_connectivity_error;error/network_connectivity_error;1000 0 0 0
F10;authorized;amount=400;-;captured/approved;1000 400 0 0;opens
F10;authorized, 300 reversed;-;-;captured/approved;1000 700 0 300;opens
""",
    "increment": """
F14;authorized;amount=500;incremental_auth_declined;declined/incremental_auth_declined;1000 0 0 0
F14;authorized;amount=500;insufficient_funds;declined/incremental_auth_declined;1000 0 0 0
F14;authorized;amount=500;stolen_card;declined/incremental_auth_declined;1000 0 0 0
F15;authorized;amount=500;issuer_unavailable;error/payment_failed;1000 0 0 0
F15;authorized;amount=500;timed_out;error/timed_out;1000 0 0 0
F13;authorized, 300 reversed;amount=50;-;authorized/approved;1050 0 0 300
""",
    "adjust": """
F24;captured, 300 refunded;amount=100;-;400 error/invalid_tip_adjustment;1000 1000 300 0
F24;captured, 300 reversed;amount=100;-;400 error/invalid_tip_adjustment;1000 1000 0 300
F24;captured, batch submitted;amount=100;-;400 error/invalid_tip_adjustment;1000 1000 0 0
F24;settled, 300 refunded;amount=100;-;400 error/invalid_tip_adjustment;1000 1000 300 0
F24;reversed after capture;amount=100;-;400 error/invalid_tip_adjustment;1000 1000 0 1000
F23;captured;amount=1001;-;400 error/exceeds_original_auth;1000 1000 0 0
F41;captured;amount=100;invalid_amount;declined/declined;1000 1000 0 0
F41;captured;amount=100;format_error;error/format_error;1000 1000 0 0
F22;captured, batch rejected;amount=100;-;captured/approved;900402 900502 0 0
""",
    "reverse": """
F7;pending;amount=999;-;400 invalid_transaction_state;0 0 0 0
F7;pending, kept;amount=999;-;400 invalid_transaction_state;0 0 0 0
F7;surcharge_pending;amount=999;-;400 invalid_transaction_state;1000 0 0 0
F5;pending, kept;amount=1000;-;canceled/merchant_canceled;0 0 0 0
F18;authorized;amount=1001;-;400 reverse_exceeds_available;1000 0 0 0
F18;authorized, 300 reversed;amount=701;-;400 reverse_exceeds_available;1000 0 0 300
F40;authorized;-;invalid_transaction;declined/declined;1000 0 0 0
F40;authorized;-;already_reversed;error/payment_failed;1000 0 0 0
F40;captured;-;invalid_transaction;declined/declined;1000 1000 0 0
F40;captured;-;already_reversed;error/payment_failed;1000 1000 0 0
F16;authorized, 300 reversed;amount=700;-;reversed/approved;1000 0 0 1000
F17;authorized;amount=999;-;authorized/approved;1000 0 0 999
F27;captured, 300 refunded;-;-;400 invalid_transaction_state;1000 1000 300 0
F27;captured, batch submitted;-;-;400 invalid_transaction_state;1000 1000 0 0
F27;settled;-;-;400 invalid_transaction_state;1000 1000 0 0
F27;captured, 300 refunded;amount=100;-;400 invalid_transaction_state;1000 1000 300 0
F27;captured, batch submitted;amount=100;-;400 invalid_transaction_state;1000 1000 0 0
F27;settled;amount=100;-;400 invalid_transaction_state;1000 1000 0 0
F27;captured, 300 refunded;amount=5000;-;400 invalid_transaction_state;1000 1000 300 0
F27;captured, batch submitted;amount=5000;-;400 invalid_transaction_state;1000 1000 0 0
F27;settled;amount=5000;-;400 invalid_transaction_state;1000 1000 0 0
F39;captured;amount=1001;-;400 reverse_exceeds_available;1000 1000 0 0
F39;captured, 300 reversed;amount=701;-;400 reverse_exceeds_available;1000 1000 0 300
F25;captured, 300 reversed;amount=700;-;reversed/approved;1000 1000 0 1000
F25;captured, batch rejected;-;-;reversed/approved;900402 900402 0 900402
F26;captured;amount=999;-;captured/approved;1000 1000 0 999
F35;reversed after capture;-;-;400 invalid_transaction_state;1000 1000 0 1000
""",
    "refund": """
F30;captured;amount=1001;-;400 refund_exceeds_captured;1000 1000 0 0
F30;captured, 300 refunded;amount=701;-;400 refund_exceeds_captured;1000 1000 300 0
F30;captured, 300 reversed;amount=701;-;400 refund_exceeds_captured;1000 1000 0 300
F30;settled;amount=1001;-;400 refund_exceeds_captured;1000 1000 0 0
F30;settled, 300 refunded;amount=701;-;400 refund_exceeds_captured;1000 1000 300 0
F31;captured;-;refund_declined;declined/declined;1000 1000 0 0
F31;captured;-;invalid_gateway_response;error/invalid_gateway_response;1000 1000 0 0
F31;settled;-;refund_declined;declined/declined;1000 1000 0 0
F31;settled;-;invalid_gateway_response;error/invalid_gateway_response;1000 1000 0 0
F28;captured, 300 refunded;-;-;refunded/approved;1000 1000 1000 0
F28;captured, 300 refunded;amount=700;-;refunded/approved;1000 1000 1000 0
F28;captured, 300 reversed;-;-;refunded/approved;1000 1000 700 300
F28;captured, batch submitted;-;-;refunded/approved;1000 1000 1000 0;opens
F28;settled, 300 refunded;-;-;refunded/approved;1000 1000 1000 0
F29;captured;amount=999;-;captured/approved;1000 1000 999 0
F29;settled;amount=999;-;settled/approved;1000 1000 999 0;opens
F35;reversed after capture;-;-;400 invalid_transaction_state;1000 1000 0 1000
""",
}

_TYPES = {"confirm": "sale", "increment": "incremental_auth", "adjust": "tip_adjust"}
"""The transaction type of an operation, where that has another name."""

_EVENTS = {"confirm": "sale", "adjust": "tip_adjust"}
"""The event of an operation, where that has another name."""


def _body(operation: str, text: str) -> dict[str, Any]:
    words = {"True": True, "False": False}
    pairs = [one.split("=") for one in text.split() if one != "-"]
    body = {name: words[value] if value in words else int(value) for name, value in pairs}
    return {"type": "fixed"} | body if operation == "adjust" else body


def _cases(operation: str, table: str) -> Iterator[Case]:
    for line in table.strip().splitlines():
        row, state, body, force, said, ledger, *opens = line.split(";")
        status, reason = ("", said) if "/" not in said else said.removeprefix("400 ").split("/")
        # What is called off is the sale itself, by whatever operation.
        kind = "sale" if status == "canceled" else _TYPES.get(operation, operation)
        event = "cancel" if status == "canceled" else _EVENTS.get(operation, operation)
        is_failure = status in ("", "declined", "error")
        authorized, captured, refunded, back = map(int, ledger.split())
        yield Case(
            row=row,
            state=state,
            operation=operation,
            body=_body(operation, body),
            force=None if force == "-" else force,
            error=reason.removeprefix("400 ") if said.startswith("400 ") else None,
            shown=f"{kind}/{status}/{reason}" if status else "",
            # A failed confirmation ends the sale; any other failure changes nothing: F2, M9.
            head=state.partition(",")[0].partition(" ")[0]
            if is_failure and row != "F2"
            else status,
            events=(
                *["batch.opened" for _ in opens],
                *([f"transaction.{event}"] if status else []),
            ),
            ledger=(authorized, captured, refunded, back),
        )


CASES = [case for operation, table in _TABLES.items() for case in _cases(operation, table)]

"""Every follow-up operation in every status: assumed 2.3, rows F1 to F35, refusals included.

The tables are written down here a second time, by hand: they do not look at the product's rows.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.payments.transitions import TRANSITIONS
from tests.support.payments import PATHS, kind, ledger

GRID = """
status             capture  increment  adjust  reverse  refund  confirm
pending            F6       F7         F7      F5       F7      F34
surcharge_pending  F6       F7         F7      F5       F7      F1
authorized         F10      F13        F19     F16      F20     F34
captured           F32      F33        F22     F25      F28     F34
settled            F32      F33        F24     F27      F28     F34
refunded           F32      F33        F24     F35      F35     F34
reversed           F32      F33        F24     F35      F35     F34
declined           F32      F33        F24     F35      F35     F34
error              F32      F33        F24     F35      F35     F34
canceled           F32      F33        F24     F35      F35     F34
"""
"""The row that each status has for each operation, asked as BODIES say, or with an empty body."""

BODIES = {"increment": "amount=500", "adjust": "amount=200", "confirm": "confirm=True"}

LEDGERS = {
    "surcharge_pending": "1000 0 0 0",
    "authorized": "1000 0 0 0",
    "captured": "1000 1000 0 0",
    "settled": "1000 1000 0 0",
    "refunded": "1000 1000 1000 0",
    "reversed": "1000 0 0 1000",
}
"""Authorized, captured, refunded and reversed of a payment of 1000 that came to each status."""

REFUSED = {
    **dict.fromkeys(("F7", "F20", "F27", "F33", "F34", "F35"), "400 invalid_transaction_state"),
    **dict.fromkeys(("F6", "F32"), "400 error/invalid_capture_sequence"),
    **dict.fromkeys(("F19", "F24"), "400 error/invalid_tip_adjustment"),
}
"""Refusals: those with a status are attempts all the same, the others leave no trace."""

# Row; status; what it comes to; ledger; the first capture of a terminal opens its batch (B2).
DONE = """
F1;surcharge_pending;captured/approved;1030 1030 0 0;opens
F5;pending;canceled/merchant_canceled;0 0 0 0
F5;surcharge_pending;canceled/merchant_canceled;0 0 0 0
F10;authorized;captured/approved;1000 1000 0 0;opens
F13;authorized;authorized/approved;1500 0 0 0
F16;authorized;reversed/approved;1000 0 0 1000
F22;captured;captured/approved;1000 1200 0 0
F25;captured;reversed/approved;1000 1000 0 1000
F28;captured;refunded/approved;1000 1000 1000 0
F28;settled;refunded/approved;1000 1000 1000 0;opens
"""

# Rows that depend on more than a status: on amounts, answers and batches.
# row; state; body; forced outcome; what it comes to; ledger; whether it opens a batch
CONDITIONS = {
    "confirm": """
F3;surcharge_pending;confirm=False;-;canceled/surcharge_declined_by_payer;0 0 0 0
F2;surcharge_pending;confirm=True;do_not_honor;declined/declined;0 0 0 0
""",
    "capture": """
F11;authorized;amount=1001;-;400 error/exceeds_original_auth;1000 0 0 0
F11;authorized, 300 reversed;amount=701;-;400 error/exceeds_original_auth;1000 0 0 300
F12;authorized;-;capture_declined;declined/declined;1000 0 0 0
F10;authorized;amount=400;-;captured/approved;1000 400 0 0;opens
F10;authorized, 300 reversed;-;-;captured/approved;1000 700 0 300;opens
""",
    "increment": """
F14;authorized;amount=500;incremental_auth_declined;declined/incremental_auth_declined;1000 0 0 0
F14;authorized;amount=500;insufficient_funds;declined/incremental_auth_declined;1000 0 0 0
F15;authorized;amount=500;issuer_unavailable;error/payment_failed;1000 0 0 0
F13;authorized, 300 reversed;amount=50;-;authorized/approved;1050 0 0 300
""",
    "adjust": """
F24;captured, 300 refunded;amount=100;-;400 error/invalid_tip_adjustment;1000 1000 300 0
F24;captured, 300 reversed;amount=100;-;400 error/invalid_tip_adjustment;1000 1000 0 300
F24;captured, batch submitted;amount=100;-;400 error/invalid_tip_adjustment;1000 1000 0 0
F23;captured;amount=1001;-;400 error/exceeds_original_auth;1000 1000 0 0
F41;captured;amount=100;invalid_amount;declined/declined;1000 1000 0 0
F22;captured, batch rejected;amount=100;-;captured/approved;900402 900502 0 0
""",
    "reverse": """
F7;pending;amount=999;-;400 invalid_transaction_state;0 0 0 0
F7;surcharge_pending;amount=999;-;400 invalid_transaction_state;1000 0 0 0
F5;pending, kept;amount=1000;-;canceled/merchant_canceled;0 0 0 0
F18;authorized;amount=1001;-;400 reverse_exceeds_available;1000 0 0 0
F18;authorized, 300 reversed;amount=701;-;400 reverse_exceeds_available;1000 0 0 300
F40;authorized;-;invalid_transaction;declined/declined;1000 0 0 0
F40;captured;-;invalid_transaction;declined/declined;1000 1000 0 0
F16;authorized, 300 reversed;amount=700;-;reversed/approved;1000 0 0 1000
F17;authorized;amount=999;-;authorized/approved;1000 0 0 999
F27;captured, 300 refunded;-;-;400 invalid_transaction_state;1000 1000 300 0
F27;captured, batch submitted;-;-;400 invalid_transaction_state;1000 1000 0 0
F27;captured, 300 refunded;amount=5000;-;400 invalid_transaction_state;1000 1000 300 0
F39;captured;amount=1001;-;400 reverse_exceeds_available;1000 1000 0 0
F39;captured, 300 reversed;amount=701;-;400 reverse_exceeds_available;1000 1000 0 300
F25;captured, 300 reversed;amount=700;-;reversed/approved;1000 1000 0 1000
F25;captured, batch rejected;-;-;reversed/approved;900402 900402 0 900402
F26;captured;amount=999;-;captured/approved;1000 1000 0 999
""",
    "refund": """
F30;captured;amount=1001;-;400 refund_exceeds_captured;1000 1000 0 0
F30;captured, 300 refunded;amount=701;-;400 refund_exceeds_captured;1000 1000 300 0
F30;captured, 300 reversed;amount=701;-;400 refund_exceeds_captured;1000 1000 0 300
F30;settled;amount=1001;-;400 refund_exceeds_captured;1000 1000 0 0
F31;captured;-;refund_declined;declined/declined;1000 1000 0 0
F31;settled;-;refund_declined;declined/declined;1000 1000 0 0
F28;captured, 300 refunded;-;-;refunded/approved;1000 1000 1000 0
F28;captured, 300 refunded;amount=700;-;refunded/approved;1000 1000 1000 0
F28;captured, 300 reversed;-;-;refunded/approved;1000 1000 700 300
F28;captured, batch submitted;-;-;refunded/approved;1000 1000 1000 0;opens
F29;captured;amount=999;-;captured/approved;1000 1000 999 0
F29;settled;amount=999;-;settled/approved;1000 1000 999 0;opens
""",
}


REASONS = {
    "capture;F11;authorized;amount=1001": "captured above the limit: it asks for 1001.",
    "reverse;F7;pending;amount=999": "A pending payment cannot be reversed in part.",
    "reverse;F27;captured, 300 refunded;-": "reversed once it was refunded in part.",
    "reverse;F27;captured, batch submitted;-": "reversed once its batch was closed.",
    "adjust;F24;captured, 300 reversed;amount=100": "adjusted once it was reversed in part.",
}
"""Operation, row, state and body of some refusals, and how the journal's reason ends."""

TYPES = {"confirm": "sale", "increment": "incremental_auth", "adjust": "tip_adjust"}
"""The transaction type of an operation, where that has another name."""

EVENTS = {"confirm": "sale", "adjust": "tip_adjust"}
"""The event of an operation, where that has another name."""


def list_grid() -> Iterator[str]:
    """Each operation in each status: what it comes to, or why it is refused."""
    done = {tuple(line.split(";")[:2]): line for line in DONE.strip().splitlines()}
    header, *lines = (line.split() for line in GRID.strip().splitlines())
    for status, *rows in lines:
        for operation, row in zip(header[1:], rows, strict=True):
            refused = f"{row};{status};{REFUSED.get(row)};{LEDGERS.get(status, '0 0 0 0')}"
            result = done.get((row, status), refused).split(";", 2)[2]
            yield f"{operation};{row};{status};{BODIES.get(operation, '-')};-;{result}"


CASES = [
    *list_grid(),
    *(
        f"{operation};{line}"
        for operation, table in CONDITIONS.items()
        for line in table.strip().splitlines()
    ),
]
"""Operation, row, state, body, forced outcome, result, ledger, and whether it opens a batch."""


def body_of(operation: str, text: str) -> dict[str, Any]:
    pairs = [one.split("=") for one in text.split() if one != "-"]
    body = {name: json.loads(value.lower()) for name, value in pairs}
    return {"type": "fixed"} | body if operation == "adjust" else body


@pytest.mark.proves(
    "assumed F1, F2, F3, F5, F6, F7, F10, F11, F12, F13, F14, F15, F16, F17, F18, F19, F20, F22",
    "assumed F23, F24, F25, F26, F27, F28, F29, F30, F31, F32, F33, F34, F35, F39, F40, F41",
    "assumed Q1, Q2, Q3, Q4, Q6, Q7, D18, B14, 2.1, 2.1-rule, 2.1-silent, 2.1-failed",
    "assumed 2.1-outcome, 1.8-capture",
    "assumed 1.8-increment, 1.8-reverse, 1.8-adjust, 1.8-refund, 1.8-confirm",
    "spec 2.4-invalid_capture_sequence, 2.4-invalid_tip_adjustment, 3.2-transitions, 3.2",
    "spec 3.2-authorized, 3.2-captured, 3.2-refunded, 3.2-reversed",
    "spec 2.4-exceeds_original_auth, 2.4-incremental_auth_declined",
    "spec 2.4-surcharge_declined_by_payer",
)
@pytest.mark.parametrize("case", CASES)
def test_every_operation_in_every_state_does_what_its_row_says(sandbox, case):
    operation, row, state, body, force, result, money, *opens = case.split(";")
    is_refused, said = result.startswith("400 "), result.removeprefix("400 ")
    status, _, reason = said.rpartition("/")
    before, seen = sandbox.in_state(state), sandbox.message_count()
    forced = None if force == "-" else force

    answer = sandbox.act(before, operation, **body_of(operation, body), outcome=forced)

    after, told = sandbox.read(before), sandbox.messages(offset=seen)
    assert answer.status == (400 if is_refused else 200), answer.body
    assert not is_refused or answer.json()["error"] == reason
    why = sandbox.journal(answer)["decisions"][-1]["reason"]
    assert why.endswith(REASONS.get(f"{operation};{row};{state};{body}", ""))
    # What is called off is the sale itself, by whatever operation.
    event = "cancel" if status == "canceled" else EVENTS.get(operation, operation)
    events = ["batch.opened"] * bool(opens) + [f"transaction.{event}"] * bool(status)
    assert [message["event_type"] for message in told] == events
    if status in ("", "declined", "error") and row != "F2":
        assert after | {"history": []} == before | {"history": []}, "M9"
    else:
        # A failed confirmation ends the sale.
        assert (after["status"], told[-1]["body"]) == (status, after)
    assert ledger(after) == tuple(map(int, money.split()))
    # The history grows by the attempt, and by nothing where nothing was attempted: 2.1, 2.10.
    old, new = before["history"], after["history"]
    type = "sale" if status == "canceled" else TYPES.get(operation, operation)
    assert new[: len(old)] == old
    assert [kind(attempt) for attempt in new[len(old) :]] == [f"{type}/{said}"] * bool(status)
    if status:
        # test_outcomes has what else an answer and an event show of an attempt.
        last = told[-1]["body"]
        assert kind(last) == f"{type}/{said}"
        assert is_refused or answer.json() == last
    assert sandbox.rows_taken(answer) == {f"assumed {row}"}


# operation; body; what the history tells: type, status, amount, total, refunded, reversed
STEPS = [
    ("increment", {"amount": 500}, ("incremental_auth", "authorized", 500, 1500, 0, 0)),
    ("reverse", {"amount": 100}, ("reverse", "authorized", 100, 1500, 0, 100)),
    ("capture", {"outcome": "capture_declined"}, ("capture", "declined", 1400, 1500, 0, 100)),
    ("adjust", {"type": "fixed", "amount": 1}, ("tip_adjust", "error", 1, 1500, 0, 100)),
    ("refund", {}, None),
    ("capture", {"amount": 1200}, ("capture", "captured", 1200, 1200, 0, 100)),
    ("adjust", {"type": "fixed", "amount": 50}, ("tip_adjust", "captured", 50, 1250, 0, 100)),
    ("refund", {"amount": 70}, ("refund", "captured", 70, 1250, 70, 100)),
]
TOLD = ("transaction_type", "status", "amount", "total_amount", "refunded", "reversed")


@pytest.mark.proves(
    "spec 2.4-history, 2.10-shapes, 4.3-search-v1, 6.1.10",
    "assumed 1.7-history, 2.10, 2.10-order, M11",
)
def test_the_history_has_every_attempt_in_strict_order_of_time_and_only_grows(sandbox):
    tx = sandbox.held(1000)
    path = f"/v1/transactions/{tx['transaction_id']}/history"
    expected = [("auth", status, 1000, 1000, 0, 0) for status in ("pending", "authorized")]

    for operation, body, told in STEPS:
        sandbox.act(tx, operation, **body)
        expected += [told] if told else []
        history = sandbox.get(path).json()
        assert [tuple(one[name] for name in TOLD) for one in history] == expected
        assert history == sandbox.read(tx)["history"]
        assert history[:2] == tx["history"]

    # While the clock stands still each step is a millisecond later than the one before.
    times = [one["created_at"] for one in history]
    assert times == [tx["created_at"] + number for number in range(len(expected))]
    bodies = [one["body"] for one in sandbox.messages() if one["subject"] == tx["transaction_id"]]
    assert [body["history"][-1]["created_at"] for body in bodies] == times
    assert [len(body["history"]) for body in bodies] == list(range(1, len(times) + 1))
    # A step after the clock was set back is later than the one before too.
    sandbox.set_clock("2026-02-01T00:00:00Z")
    times = [one["created_at"] for one in sandbox.acted(tx, "refund", amount=1)["history"]]
    assert times == sorted(set(times))


@pytest.mark.proves("assumed D9")
def test_every_row_that_an_operation_takes_has_a_case_and_every_case_a_row():
    names = {"increment": Operation.INCREMENT, "adjust": Operation.ADJUST}
    rows = {
        (row.id, row.trigger, state)
        for row in TRANSITIONS
        if row.trigger in list(Operation)
        for state in row.states
        if not row.id.startswith("I")
    }

    # "reversed after capture" is another way to be reversed.
    cases = [case.split(";")[:3] for case in CASES]
    assert {
        (row, names.get(operation, operation), state.replace(",", "").split()[0])
        for operation, row, state in cases
    } == rows
    assert {(status, operation) for operation, _, status in cases} >= {
        (status, operation) for status in STATUSES for operation in PATHS
    }
    # F38, the duplicate event_id, is asked before any row: assumed D9.
    assert {row.id for row in TRANSITIONS} == {
        *(f"F{number}" for number in range(1, 43) if number != 38),
        *(f"I{number}" for number in range(1, 12)),
        *("D24", "D24-late"),
    }

"""Every follow-up operation in every status: assumed 2.3, rows F1 to F35, refusals included.

The tables are written down here a second time, by hand: they do not look at the product's rows.
"""

from typing import Any, NamedTuple

import pytest

from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.payments.transitions import TRANSITIONS
from tests.driving import InProcess
from tests.support.payments import (
    PATHS,
    act,
    in_state,
    kind,
    ledger,
    message_count,
    messages_since,
    read,
    rows_taken,
)

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
"""The row that each status has for each operation, asked as BODIES say."""

BODIES = {
    "capture": {},
    "increment": {"amount": 500},
    "adjust": {"type": "fixed", "amount": 200},
    "reverse": {},
    "refund": {},
    "confirm": {"confirm": True},
}

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


TYPES = {"confirm": "sale", "increment": "incremental_auth", "adjust": "tip_adjust"}
"""The transaction type of an operation, where that has another name."""

EVENTS = {"confirm": "sale", "adjust": "tip_adjust"}
"""The event of an operation, where that has another name."""


class Case(NamedTuple):
    """What an operation on a payment in a state must come to.

    `error` is the code of a 400. `shown` is type/status/reason in the answer, or, where that is a
    refusal, in the event; "" where nothing is shown. `head` is the stored status afterwards,
    `ledger` authorized, captured, refunded, reversed.
    """

    row: str
    state: str
    operation: str
    body: dict[str, Any]
    force: str | None
    error: str | None
    shown: str
    head: str
    events: list[str]
    ledger: tuple[int, ...]

    @property
    def name(self) -> str:
        asked = ",".join(f"{key}={value}" for key, value in self.body.items())
        forced = f" with {self.force}" if self.force else ""
        return f"{self.row}: {self.operation}({asked}) from {self.state}{forced}"

    @property
    def leaves_the_record(self) -> bool:
        """Whether the attempt must not change the record, but for its history: assumed M9."""
        if self.row == "F2":  # the one failure that is the payment's own
            return False
        return self.error is not None or self.shown.split("/")[1] in ("declined", "error")


def body_of(operation: str, text: str) -> dict[str, Any]:
    words = {"True": True, "False": False}
    pairs = [one.split("=") for one in text.split() if one != "-"]
    body = {name: words[value] if value in words else int(value) for name, value in pairs}
    return {"type": "fixed"} | body if operation == "adjust" else body


def case_of(operation: str, body: dict[str, Any], line: str) -> Case:
    row, state, force, said, ledger, *opens = line.split(";")
    status, reason = ("", said) if "/" not in said else said.removeprefix("400 ").split("/")
    # What is called off is the sale itself, by whatever operation.
    kind = "sale" if status == "canceled" else TYPES.get(operation, operation)
    event = "cancel" if status == "canceled" else EVENTS.get(operation, operation)
    is_failure = status in ("", "declined", "error")
    return Case(
        row=row,
        state=state,
        operation=operation,
        body=body,
        force=None if force == "-" else force,
        error=reason.removeprefix("400 ") if said.startswith("400 ") else None,
        shown=f"{kind}/{status}/{reason}" if status else "",
        # A failed confirmation ends the sale; any other failure changes nothing: F2, M9.
        head=state.partition(",")[0].partition(" ")[0] if is_failure and row != "F2" else status,
        events=["batch.opened"] * bool(opens) + [f"transaction.{event}"] * bool(status),
        ledger=tuple(map(int, ledger.split())),
    )


def grid() -> list[Case]:
    """Each operation in each status: what it comes to, or why it is refused."""
    done = {
        (row, status): f"{row};{status};-;{rest}"
        for row, status, rest in (line.split(";", 2) for line in DONE.strip().splitlines())
    }
    header, *lines = (line.split() for line in GRID.strip().splitlines())
    cases = []
    for status, *rows in lines:
        for operation, row in zip(header[1:], rows, strict=True):
            unchanged = LEDGERS.get(status, "0 0 0 0")
            line = done.get((row, status)) or f"{row};{status};-;{REFUSED[row]};{unchanged}"
            cases.append(case_of(operation, BODIES[operation], line))
    return cases


def conditional() -> list[Case]:
    cases = []
    for operation, table in CONDITIONS.items():
        for line in table.strip().splitlines():
            row, state, body, rest = line.split(";", 3)
            cases.append(case_of(operation, body_of(operation, body), f"{row};{state};{rest}"))
    return cases


CASES, CONDITIONAL = grid(), conditional()


def try_out(sandbox: InProcess, case: Case) -> None:
    """Arranges the state, acts, and holds everything that can be seen against the case."""
    before = in_state(sandbox, case.state)
    seen = message_count(sandbox)

    answer = act(sandbox, before, case.operation, **case.body, outcome=case.force)

    after = read(sandbox, before)
    messages = messages_since(sandbox, seen)
    assert answer.status == (400 if case.error else 200), answer.body
    if case.error:
        assert answer.json()["error"] == case.error
    assert [message["event_type"] for message in messages] == case.events
    assert (after["status"], ledger(after)) == (case.head, case.ledger)
    # The history grows by the attempt, and by nothing where nothing was attempted: 2.1, 2.10.
    old, new = before["history"], after["history"]
    assert new[: len(old)] == old
    assert [kind(attempt) for attempt in new[len(old) :]] == ([case.shown] if case.shown else [])
    if case.leaves_the_record:
        assert after | {"history": []} == before | {"history": []}
    if case.shown:
        # test_outcomes has what else an answer and an event show of an attempt.
        told = messages[-1]["body"]
        assert kind(told) == case.shown
        assert case.error or answer.json() == told
    assert rows_taken(sandbox, answer) == {f"assumed {case.row}"}


@pytest.mark.proves(
    "assumed F1, F5, F6, F7, F10, F13, F16, F19, F20, F22, F24, F25, F27, F28, F32, F33",
    "assumed F34, F35, Q6, Q7, D18, Q3, Q4, 2.1, 2.1-rule, 2.1-silent, 1.8-capture",
    "assumed 1.8-increment, 1.8-reverse, 1.8-adjust, 1.8-refund, 1.8-confirm",
    "spec 2.4-invalid_capture_sequence, 2.4-invalid_tip_adjustment, 3.2-transitions, 3.2",
    "spec 3.2-authorized, 3.2-captured, 3.2-refunded, 3.2-reversed",
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_operation_in_every_status_does_what_its_row_says(sandbox, case):
    try_out(sandbox, case)


@pytest.mark.proves(
    "spec 2.4-exceeds_original_auth, 2.4-incremental_auth_declined",
    "spec 2.4-surcharge_declined_by_payer",
    "assumed F2, F3, F5, F7, F10, F11, F12, F13, F14, F15, F16, F17, F18, F22, F23, F24",
    "assumed F25, F26, F27, F28, F29, F30, F31, F35, F39, F40, F41, 2.1-failed, 2.1-rule",
    "assumed 2.1-outcome, B14, Q1, Q2",
)
@pytest.mark.parametrize("case", CONDITIONAL, ids=lambda case: case.name)
def test_every_condition_of_a_row_decides_as_it_says(sandbox, case):
    try_out(sandbox, case)


@pytest.mark.parametrize("status", ["declined", "refunded", "canceled"])
def test_a_forced_outcome_does_not_open_a_state_that_refuses(sandbox, status):
    before = in_state(sandbox, status)

    for operation, body in BODIES.items():
        answer = act(sandbox, before, operation, **body, outcome="approved")

        assert answer.status == 400
        assert read(sandbox, before) | {"history": []} == before | {"history": []}


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
    tried = {
        (one.row, names.get(one.operation, one.operation), one.state.replace(",", "").split()[0])
        for one in (*CASES, *CONDITIONAL)
    }

    assert tried == rows
    assert {(one.state, one.operation) for one in CASES} == {
        (status, operation) for status in STATUSES for operation in PATHS
    }
    # F38, the duplicate event_id, is asked before any row: assumed D9.
    assert {row.id for row in TRANSITIONS} == {
        *(f"F{number}" for number in range(1, 43) if number != 38),
        *(f"I{number}" for number in range(1, 12)),
        *("D24", "D24-late"),
    }

"""Every follow-up operation in every status: assumed 2.3, rows F1 to F35, refusals included.

The tables are written down here a second time, by hand: they do not look at the product's rows.
"""

import pytest

from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import STATUSES
from sandbox.domain.payments.transitions import TRANSITIONS
from tests.payments.condition_rows import CASES as CONDITIONAL
from tests.payments.driving_moves import ROWS_BY_THEMSELVES, ROWS_THAT_FOLLOW, Case, try_out
from tests.support.payments import PATHS

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
    "pending": (0, 0, 0, 0),
    "surcharge_pending": (1000, 0, 0, 0),
    "authorized": (1000, 0, 0, 0),
    "captured": (1000, 1000, 0, 0),
    "settled": (1000, 1000, 0, 0),
    "refunded": (1000, 1000, 1000, 0),
    "reversed": (1000, 0, 0, 1000),
    "declined": (0, 0, 0, 0),
    "error": (0, 0, 0, 0),
    "canceled": (0, 0, 0, 0),
}
"""Authorized, captured, refunded and reversed of a payment of 1000 that came to each status."""

SILENT = {"F7", "F20", "F27", "F33", "F34", "F35"}
"""Refusals that leave no trace."""

ANNOUNCED = {
    "F6": ("invalid_capture_sequence", "capture", "transaction.capture"),
    "F32": ("invalid_capture_sequence", "capture", "transaction.capture"),
    "F19": ("invalid_tip_adjustment", "tip_adjust", "transaction.tip_adjust"),
    "F24": ("invalid_tip_adjustment", "tip_adjust", "transaction.tip_adjust"),
}
"""Refusals that are attempts all the same: the code and status reason, the type, the event."""

# Row; status; what it comes to; ledger; the events, of which the first capture of a terminal
# opens its batch: assumed B2.
DONE_TABLE = """
F1;surcharge_pending;sale/captured/approved;1030 1030 0 0;batch.opened transaction.sale
F5;pending;sale/canceled/merchant_canceled;0 0 0 0;transaction.cancel
F5;surcharge_pending;sale/canceled/merchant_canceled;0 0 0 0;transaction.cancel
F10;authorized;capture/captured/approved;1000 1000 0 0;batch.opened transaction.capture
F13;authorized;incremental_auth/authorized/approved;1500 0 0 0;transaction.increment
F16;authorized;reverse/reversed/approved;1000 0 0 1000;transaction.reverse
F22;captured;tip_adjust/captured/approved;1000 1200 0 0;transaction.tip_adjust
F25;captured;reverse/reversed/approved;1000 1000 0 1000;transaction.reverse
F28;captured;refund/refunded/approved;1000 1000 1000 0;transaction.refund
F28;settled;refund/refunded/approved;1000 1000 1000 0;batch.opened transaction.refund
"""
DONE = {
    (row, status): more
    for row, status, *more in (line.split(";") for line in DONE_TABLE.strip().splitlines())
}


def case_of(row, status, operation):
    about = {"row": row, "state": status, "operation": operation, "body": BODIES[operation]}
    if row in SILENT:
        unchanged = {"head": status, "ledger": LEDGERS[status]}
        return Case(**about, **unchanged, error="invalid_transaction_state")
    if row in ANNOUNCED:
        code, shown_type, event = ANNOUNCED[row]
        unchanged = {"head": status, "ledger": LEDGERS[status]}
        shown = f"{shown_type}/error/{code}"
        return Case(**about, **unchanged, error=code, shown=shown, events=(event,))
    shown, ledger, events = DONE[row, status]
    return Case(
        **about,
        head=shown.split("/")[1],
        shown=shown,
        events=tuple(events.split()),
        ledger=tuple(map(int, ledger.split())),
    )


def grid():
    header, *lines = (line.split() for line in GRID.strip().splitlines())
    return [
        case_of(row, status, operation)
        for status, *rows in lines
        for operation, row in zip(header[1:], rows, strict=True)
    ]


CASES = grid()

TRIGGERS = {
    "capture": Operation.CAPTURE,
    "increment": Operation.INCREMENT,
    "adjust": Operation.ADJUST,
    "reverse": Operation.REVERSE,
    "refund": Operation.REFUND,
    "confirm": Operation.CONFIRM,
}


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


def test_the_grid_is_the_whole_product_of_statuses_and_operations():
    pairs = [(case.state, case.operation) for case in CASES]

    assert sorted(pairs) == sorted((status, one) for status in STATUSES for one in PATHS)
    assert len(pairs) == 60


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


def test_every_row_of_a_follow_up_has_a_case_and_every_case_a_row():
    rows = {
        (row.id, str(row.trigger), state)
        for row in TRANSITIONS
        for state in row.states
        if not row.id.startswith("I")
    }

    tried = {
        (case.row, str(TRIGGERS[case.operation]), case.state.partition(",")[0])
        for case in (*CASES, *CONDITIONAL)
    }

    # "reversed after capture" is another way to be reversed.
    tried = {(id, trigger, state.partition(" ")[0]) for id, trigger, state in tried}
    assert tried | ROWS_BY_THEMSELVES | ROWS_THAT_FOLLOW == rows


@pytest.mark.proves("assumed D9")
def test_the_rows_have_the_ids_that_the_table_has():
    follow_ups = {row.id for row in TRANSITIONS if row.id.startswith("F")}

    # F38, the duplicate event_id, is asked before any row: assumed D9.
    assert follow_ups == {f"F{number}" for number in range(1, 43)} - {"F38"}
    assert {row.id for row in TRANSITIONS} - follow_ups == {
        *(f"I{number}" for number in range(1, 12)),
        *("D24", "D24-late"),
    }

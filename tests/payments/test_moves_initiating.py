"""How payments begin: assumed 2.3, rows I1 to I10. The table is written down here by hand."""

from dataclasses import dataclass

import pytest

from sandbox.domain.payments.transitions import TRANSITIONS
from tests.directory.making import shown
from tests.support.payments import (
    block_location,
    block_terminal,
    kind,
    ledger,
    message_count,
    messages_since,
    paid,
    pay,
    read,
    rows_taken,
)


@dataclass(frozen=True, kw_only=True)
class Case:
    """What an initiation of 1000 must come to.

    `second` is the event after transaction.create and, where `opens` says so, batch.opened; ""
    where there is none.
    """

    row: str
    operation: str
    at: str = "merchant"
    force: str | None = None
    shown: str
    second: str
    opens: bool = False
    ledger: tuple[int, int, int, int] = (0, 0, 0, 0)
    response: str | None

    @property
    def name(self):
        return f"{self.row}: {self.operation} at {self.at} {self.force or ''}"


# row; operation; where; forced outcome; what it comes to; ledger; response; if a batch is opened
# A preauthorization is never surcharged by itself, so that nobody is asked: assumed Q15.
TABLE = """
I1;sale;merchant;-;captured/approved;1000 1000 0 0;A00;opens
I1;sale;merchant;no_reason_to_decline;captured/approved;1000 1000 0 0;A85;opens
I1;sale;quiet_surcharge_merchant;-;captured/approved;1030 1030 0 0;A00;opens
I2;sale;surcharge_merchant;-;surcharge_pending/approved;1000 0 0 0;A00
I2;sale;merchant;surcharge_prompt;surcharge_pending/approved;1000 0 0 0;A00
I3;sale;merchant;partial_approval;captured/partial_approval;500 500 0 0;P10;opens
I4;sale;merchant;do_not_honor;declined/declined;0 0 0 0;D05
I4;sale;merchant;insufficient_funds;declined/insufficient_funds;0 0 0 0;D51
I4;sale;merchant;expired_card;declined/invalid_card;0 0 0 0;D54
I4;sale;merchant;stolen_card;declined/invalid_card;0 0 0 0;C43
I4;sale;merchant;refer_to_issuer;declined/declined;0 0 0 0;R01
I4;auth;merchant;do_not_honor;declined/declined;0 0 0 0;D05
I4;auth;merchant;insufficient_funds;declined/insufficient_funds;0 0 0 0;D51
I4;auth;merchant;expired_card;declined/invalid_card;0 0 0 0;D54
I4;auth;merchant;stolen_card;declined/invalid_card;0 0 0 0;C43
I4;auth;merchant;refer_to_issuer;declined/declined;0 0 0 0;R01
I5;sale;merchant;processor_timeout;error/processor_timeout;0 0 0 0;-
I5;sale;merchant;timed_out;error/timed_out;0 0 0 0;-
I5;sale;merchant;network_connectivity_error;error/network_connectivity_error;0 0 0 0;-
I5;sale;merchant;invalid_gateway_response;error/invalid_gateway_response;0 0 0 0;-
I5;sale;merchant;format_error;error/format_error;0 0 0 0;D30
I5;sale;merchant;issuer_unavailable;error/payment_failed;0 0 0 0;D91
I5;sale;merchant;duplicate_event;error/duplicate_event;0 0 0 0;D94
I5;sale;merchant;invalid_merchant;error/invalid_terminal;0 0 0 0;D03
I5;auth;merchant;processor_timeout;error/processor_timeout;0 0 0 0;-
I5;auth;merchant;timed_out;error/timed_out;0 0 0 0;-
I5;auth;merchant;network_connectivity_error;error/network_connectivity_error;0 0 0 0;-
I5;auth;merchant;invalid_gateway_response;error/invalid_gateway_response;0 0 0 0;-
I5;auth;merchant;format_error;error/format_error;0 0 0 0;D30
I5;auth;merchant;issuer_unavailable;error/payment_failed;0 0 0 0;D91
I5;auth;merchant;duplicate_event;error/duplicate_event;0 0 0 0;D94
I5;auth;merchant;invalid_merchant;error/invalid_terminal;0 0 0 0;D03
I11;sale;merchant;timed_out_held;error/processor_timeout;1000 0 0 0;-
I11;auth;merchant;timed_out_held;error/processor_timeout;1000 0 0 0;-
I6;sale;merchant;user_canceled;canceled/user_canceled;0 0 0 0;-
I6;sale;merchant;merchant_canceled;canceled/merchant_canceled;0 0 0 0;-
I6;auth;merchant;user_canceled;canceled/user_canceled;0 0 0 0;-
I6;auth;merchant;merchant_canceled;canceled/merchant_canceled;0 0 0 0;-
I7;sale;passthrough_merchant;-;pending/pending;0 0 0 0;-
I7;sale;merchant;pending_forever;pending/pending;0 0 0 0;E
I7;auth;passthrough_merchant;-;pending/pending;0 0 0 0;-
I7;auth;merchant;pending_forever;pending/pending;0 0 0 0;E
I8;auth;merchant;-;authorized/approved;1000 0 0 0;A00
I8;auth;surcharge_merchant;-;authorized/approved;1000 0 0 0;A00
I9;auth;merchant;partial_approval;authorized/partial_approval;500 0 0 0;P10
"""

MISCONFIGURED_TABLE = """
I10;sale;merchant;-;error/invalid_terminal;0 0 0 0;D03
I10;auth;merchant;-;error/invalid_terminal;0 0 0 0;D03
"""

EVENTS = {"sale": "transaction.sale", "auth": "transaction.authorize"}


def case_of(line):
    row, operation, at, force, came_to, ledger, response, *opens = line.split(";")
    later = {"pending": "", "canceled": "transaction.cancel"}
    return Case(
        row=row,
        operation=operation,
        at=at,
        force=None if force == "-" else force,
        shown=f"{operation}/{came_to}",
        second=later.get(came_to.partition("/")[0], EVENTS[operation]),
        opens=bool(opens),
        ledger=tuple(map(int, ledger.split())),
        response=None if response == "-" else response,
    )


CASES = [case_of(line) for line in TABLE.strip().splitlines()]
MISCONFIGURED = [case_of(line) for line in MISCONFIGURED_TABLE.strip().splitlines()]


def try_out(sandbox, case):
    seen = message_count(sandbox)

    answer = pay(
        sandbox,
        at=case.at,
        operation=case.operation,
        outcome=case.force,
    )

    after, messages = shown(answer), messages_since(sandbox, seen)
    names = ["transaction.create", "batch.opened" if case.opens else "", case.second]
    assert [one["event_type"] for one in messages] == [name for name in names if name]
    assert (kind(after), ledger(after)) == (case.shown, case.ledger)
    assert read(sandbox, after["transaction_id"]) == after
    assert rows_taken(sandbox, answer) == {f"assumed {case.row}"}
    # spec 6.3-transaction.create: pending, pending, in no batch
    first = messages[0]["body"]
    assert kind(first) == f"{case.operation}/pending/pending"
    assert (first["batch_id"], first["transaction_id"]) == (None, after["transaction_id"])
    assert ledger(first) == (0, 0, 0, 0)
    # assumed D11: the creation and the outcome are one attempt
    kinds = [kind(first), case.shown] if case.second else [kind(first)]
    assert [kind(attempt) for attempt in after["history"]] == kinds
    assert {attempt["event_id"] for attempt in after["history"]} == {after["event_id"]}
    assert after["history"][0] == first["history"][0]
    if case.second:
        assert messages[-1]["body"] == after
    assert (after["batch_id"] is not None) == case.opens
    check_response(after, case.response)


def check_response(after, expected):
    response = after["gateway_transaction_response"]
    if expected is None:
        assert (response, after["processor_response_code"]) == (None, None)
        return
    assert (response["responseCode"] + (response["processorResponseCode"] or "")) == expected
    assert after["processor_response_code"] == expected[0]
    assert after["processor_response_message"] == response["responseMessage"]
    assert (response["approvalCode"] is not None) == (expected[0] in "AP")


@pytest.mark.proves(
    "spec 2.4-approved, 2.4-declined, 2.4-insufficient_funds, 2.4-invalid_card",
    "spec 2.4-payment_failed, 2.4-processor_timeout, 2.4-timed_out",
    "spec 2.4-network_connectivity_error, 2.4-invalid_gateway_response, 2.4-format_error",
    "spec 2.4-invalid_terminal, 2.4-partial_approval, 2.4-user_canceled",
    "spec 2.4-merchant_canceled, 2.4-duplicate_event, 2.4-pending, 3.2-surcharge_pending",
    "spec 3.2-declined, 3.2-error, 3.2-canceled, 3.2-pending, 2.4-batch-id, 4.4-paths-gap",
    "spec 2.4-event-id, 3.2-authorized, 3.2-captured",
    "assumed I1, I2, I3, I4, I5, I6, I7, I8, I9, 5.1-silence, 5.2-cards, D11, Q15, Q16",
    "assumed Q17, 2.1-outcome, 2.2, 2.6-processor, 5.2-timeouts, D17, C11, Q25, Q19",
)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_every_initiation_does_what_its_row_says(sandbox, case):
    try_out(sandbox, case)


@pytest.mark.proves("spec 2.4-invalid_terminal", "assumed I10, 4.7-blocked-terminal")
@pytest.mark.parametrize("block", [block_terminal, block_location])
@pytest.mark.parametrize("case", MISCONFIGURED, ids=lambda case: case.name)
def test_a_blocked_terminal_or_location_takes_no_payment(sandbox, case, block):
    block(sandbox, "merchant")

    # Nobody is asked, so that nothing can be forced either.
    try_out(sandbox, case)


def test_every_row_of_an_initiation_has_a_case_and_every_case_a_row():
    rows = {(row.id, str(row.trigger)) for row in TRANSITIONS if row.id.startswith("I")}

    assert {(case.row, case.operation) for case in (*CASES, *MISCONFIGURED)} == rows
    assert all(row.states == ("-",) for row in TRANSITIONS if row.id.startswith("I"))


@pytest.mark.proves("assumed 1.8-start", "spec 4.4-paths-payments")
def test_an_auth_can_be_asked_of_either_path(sandbox):
    # assumed 1.8-start
    by_type = paid(sandbox, type="auth")
    by_path = paid(sandbox, operation="auth", type="sale")

    assert kind(by_type) == kind(by_path) == "auth/authorized/approved"


@pytest.mark.proves("assumed 1.8-where")
def test_a_payment_is_taken_at_the_terminal_of_a_location_or_of_an_account(sandbox):
    # assumed 1.8-where
    sale = paid(sandbox)

    by_location = paid(sandbox, location_id=sale["location_id"])
    by_account = paid(sandbox, account_id=sale["account_id"])

    assert {sale["tid"], by_location["tid"], by_account["tid"]} == {sale["tid"]}

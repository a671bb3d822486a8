"""How payments begin: assumed 2.3, rows I1 to I11. The table is written down here by hand."""

import pytest

from sandbox.domain.payments.transitions import TRANSITIONS
from tests.support.payments import EVENTS, kind, ledger

# row; operation; where; forced outcome; what it comes to; ledger; whether it opens a batch
# A preauthorization is never surcharged by itself, so that nobody is asked: assumed Q15.
# test_outcomes has every other outcome.
TABLE = """
I1;sale;merchant;-;captured/approved;1000 1000 0 0;opens
I1;sale;quiet_surcharge_merchant;-;captured/approved;1030 1030 0 0;opens
I2;sale;surcharge_merchant;-;surcharge_pending/approved;1000 0 0 0
I2;sale;merchant;surcharge_prompt;surcharge_pending/approved;1000 0 0 0
I3;sale;merchant;partial_approval;captured/partial_approval;500 500 0 0;opens
I4;sale;merchant;do_not_honor;declined/declined;0 0 0 0
I4;auth;merchant;stolen_card;declined/invalid_card;0 0 0 0
I5;sale;merchant;processor_timeout;error/processor_timeout;0 0 0 0
I5;auth;merchant;issuer_unavailable;error/payment_failed;0 0 0 0
I6;sale;merchant;user_canceled;canceled/user_canceled;0 0 0 0
I6;auth;merchant;merchant_canceled;canceled/merchant_canceled;0 0 0 0
I7;sale;passthrough_merchant;-;pending/pending;0 0 0 0
I7;sale;merchant;pending_forever;pending/pending;0 0 0 0
I7;auth;passthrough_merchant;-;pending/pending;0 0 0 0
I7;auth;merchant;pending_forever;pending/pending;0 0 0 0
I8;auth;merchant;-;authorized/approved;1000 0 0 0
I8;auth;surcharge_merchant;-;authorized/approved;1000 0 0 0
I9;auth;merchant;partial_approval;authorized/partial_approval;500 0 0 0
I11;sale;merchant;timed_out_held;error/processor_timeout;1000 0 0 0
I11;auth;merchant;timed_out_held;error/processor_timeout;1000 0 0 0
""".strip().splitlines()

MISCONFIGURED = [
    "I10;sale;merchant;-;error/invalid_terminal;0 0 0 0",
    "I10;auth;merchant;-;error/invalid_terminal;0 0 0 0",
]


def try_out(sandbox, line):
    row, operation, at, force, came_to, money, *opens = line.split(";")

    answer = sandbox.pay(at=at, operation=operation, outcome=None if force == "-" else force)

    after, messages = answer.expect(200), sandbox.events_of(answer)
    status = after["status"]
    second = {"pending": [], "canceled": ["transaction.cancel"]}.get(status, [EVENTS[operation]])
    names = ["transaction.create", *["batch.opened"] * len(opens), *second]
    assert [one["event_type"] for one in messages] == names
    assert sandbox.journal(answer)["events"] == [one["id"] for one in messages]
    assert kind(after) == f"{operation}/{came_to}"
    assert ledger(after) == tuple(map(int, money.split()))
    assert sandbox.read(after) == after
    assert sandbox.rows_taken(answer) == {f"assumed {row}"}
    assert (after["batch_id"] is not None) == bool(opens)
    check_creation(messages[0]["body"], after)
    # The creation and the outcome are one attempt (assumed D11).
    kinds = [f"{operation}/pending/pending", *[kind(after)] * len(second)]
    assert [kind(attempt) for attempt in after["history"]] == kinds
    assert {attempt["event_id"] for attempt in after["history"]} == {after["event_id"]}
    if second:
        assert messages[-1]["body"] == after


def check_creation(first, after):
    """It is announced as it was before any answer: spec 6.3-transaction.create."""
    # test_fields has what is not yet known.
    assert (first["status"], first["status_reason"]) == ("pending", "pending")
    assert (ledger(first), first["batch_id"]) == ((0, 0, 0, 0), None)
    assert first["history"] == after["history"][:1]
    for name in ("transaction_id", "event_id", "created_at", "transaction_type", "subtotal"):
        assert first[name] == after[name]
    assert set(first) == set(after)


@pytest.mark.proves(
    "spec 2.4-approved, 2.4-declined, 2.4-invalid_card, 2.4-payment_failed",
    "spec 2.4-processor_timeout, 2.4-partial_approval, 2.4-user_canceled, 2.4-merchant_canceled",
    "spec 2.4-pending, 3.2-surcharge_pending, 3.2-declined, 3.2-error, 3.2-canceled, 3.2-pending",
    "spec 2.4-batch-id, 4.4-paths-gap, 2.4-event-id, 3.2-authorized, 3.2-captured",
    "spec 6.3-transaction.create",
    "assumed I1, I2, I3, I4, I5, I6, I7, I8, I9, 5.1-silence, 5.2-cards, D11, Q15, Q16",
    "assumed Q17, 2.1-outcome, 2.2, 2.6-processor, 5.2-timeouts, D17, C11, Q25, Q19",
)
@pytest.mark.parametrize("line", TABLE)
def test_every_initiation_does_what_its_row_says(sandbox, line):
    try_out(sandbox, line)


@pytest.mark.proves("spec 2.4-invalid_terminal", "assumed I10, 4.7-blocked-terminal")
@pytest.mark.parametrize("place", ["terminal", "location"])
@pytest.mark.parametrize("line", MISCONFIGURED)
def test_a_blocked_terminal_or_location_takes_no_payment(sandbox, line, place):
    sandbox.set_status(place, "merchant")

    # Nobody is asked, so that nothing can be forced either.
    try_out(sandbox, line)
    forced = [sandbox.pay(outcome="approved"), sandbox.pay(900051), sandbox.pay(900303)]
    assert [one.expect(200)["status_reason"] for one in forced] == ["invalid_terminal"] * 3


def test_every_row_of_an_initiation_has_a_case_and_every_case_a_row():
    rows = {(row.id, row.trigger, row.states) for row in TRANSITIONS if row.id.startswith("I")}

    tried = {tuple(line.split(";")[:2]) for line in (*TABLE, *MISCONFIGURED)}

    assert {(*case, ("-",)) for case in tried} == rows


@pytest.mark.proves("assumed 1.8-start, 1.8-where", "spec 4.4-paths-payments")
def test_an_auth_can_be_asked_of_either_path_and_a_terminal_named_by_its_place(sandbox):
    by_type = sandbox.paid(type="auth")
    by_path = sandbox.paid(operation="auth", type="sale")
    by_location = sandbox.paid(location_id=by_type["location_id"])
    by_account = sandbox.paid(account_id=by_type["account_id"])

    assert kind(by_type) == kind(by_path) == "auth/authorized/approved"
    assert {one["tid"] for one in (by_path, by_location, by_account)} == {by_type["tid"]}

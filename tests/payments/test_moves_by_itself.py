"""What changes a payment without a request: the clock. Source: assumed 2.3, F4, F21, F42; 8.1, 8.2.

Untapped payments (F9) are in test_taps, settlement (F36, F37) in test_batch_results, edits (F8) in
test_edits, late answers (D24) in test_following and test_late_answers.
"""

from datetime import timedelta

import pytest

from sandbox.domain.instants import parse_rfc3339, to_wire
from tests.support.payments import kind, ledger, parts

START = parse_rfc3339("2026-03-01T12:00:00.000Z")
PROMPT, UNKNOWN_HOLD = timedelta(minutes=5), timedelta(minutes=1)

EXPIRED = ("auth/canceled/timed_out", (0, 0, 0, 0), "transaction.cancel")
PROMPTED = ("sale/canceled/surcharge_expired", (0, 0, 0, 0), "transaction.cancel")
REVERSED = ("reverse/reversed/processor_timeout", (1000, 0, 0, 1000), "transaction.reverse")
HELD = {"outcome": "timed_out_held"}

DEADLINES = {
    "a surcharge prompt": ({"at": "surcharge_merchant"}, PROMPT, *PROMPTED),
    "an unknown hold of a sale": (HELD, UNKNOWN_HOLD, *REVERSED),
    "an unknown hold": (HELD | {"operation": "auth"}, UNKNOWN_HOLD, *REVERSED),
    **{
        f"a hold on {card}": ({"operation": "auth", "card": card}, timedelta(days=days), *EXPIRED)
        for card, days in {
            "tok_visa_credit": 5,
            "tok_visa_debit": 5,
            "tok_mc_credit": 30,
            "tok_amex": 7,
            "tok_discover": 10,
            "tok_jcb": 7,
            "tok_unionpay": 7,
        }.items()
    },
}
"""The request, its time, and what it comes to: assumed 8.1, 8.2."""


@pytest.mark.proves(
    "spec 2.4-surcharge_expired, 2.4-timed_out, 6.3-transaction.reverse",
    "assumed F4, F21, F42, I11, 8.1, 8.2-surcharge, D12, Q18",
)
@pytest.mark.parametrize("name", DEADLINES)
def test_a_payment_changes_at_its_deadline_and_not_a_millisecond_earlier(sandbox, name):
    request, wait, expected, money, event = DEADLINES[name]
    before = sandbox.paid(**request)
    seen = sandbox.message_count()

    sandbox.set_clock(to_wire(START + wait - timedelta(milliseconds=1)))
    just_before = sandbox.read(before)
    sandbox.set_clock(to_wire(START + wait))

    after = sandbox.read(before)
    assert just_before == before
    assert (kind(after), ledger(after)) == (expected, money)
    # A proposed surcharge is taken back.
    assert (parts(after), after["surcharge_applied"]) == ((1000, 0, 0, 0, 1000), False)
    assert after["batch_id"] is None
    assert after["history"][:-1] == before["history"]
    due = before["created_at"] + wait // timedelta(milliseconds=1)
    assert after["history"][-1]["created_at"] == due
    (told,) = sandbox.messages(offset=seen)
    assert (told["event_type"], told["body"]) == (event, after)
    # What is told of later attempts holds nothing either.
    assert sandbox.act(after, "capture").error() == (400, "invalid_capture_sequence")
    refused = sandbox.messages(offset=seen + 1)[-1]["body"]
    assert refused["additional_details"] == after["additional_details"]


@pytest.mark.proves("assumed 8.1, D16, F21, D23")
def test_lodging_and_car_rental_have_thirty_days_whatever_the_brand(sandbox):
    holds = []
    for of_account, of_terminal in (("7011", None), ("7513", None), ("5812", "7512")):
        account = f"/v1/accounts/{sandbox.account_id('merchant')}"
        sandbox.put(account, {"mcc": of_account}).expect(200)
        till = sandbox.a_terminal(tid=of_account, merchant_category_code=of_terminal)
        holds.append(sandbox.paid(operation="auth", terminal_id=till["terminal_id"]))

    sandbox.set_clock("2026-03-31T11:59:59.999Z")
    assert [sandbox.read(hold) for hold in holds] == holds
    sandbox.set_clock("2026-07-01T00:00:00.000Z")

    for hold in holds:
        after = sandbox.read(hold)
        assert kind(after) == "auth/canceled/timed_out"
        # One that is found late is dated at its deadline.
        assert after["history"][-1]["created_at"] == hold["created_at"] + 30 * 86_400_000


@pytest.mark.proves("spec 6.1.10", "assumed 8.1, F21, D24")
def test_a_hold_that_is_approved_after_its_window_ends_then_and_not_before(sandbox):
    tx = sandbox.paid(operation="auth", outcome="processor_timeout")
    sandbox.advance("6d")

    sandbox.answer_payment(tx).expect(200)

    assert sandbox.read(tx)["status"] == "canceled"
    told = [(one["event_type"], one["created_at"]) for one in sandbox.messages()[-2:]]
    now = to_wire(START + timedelta(days=6))
    assert told == [("transaction.authorize", now), ("transaction.cancel", now)]


@pytest.mark.proves("assumed 8.1, F21, D11, M6")
def test_an_increment_restarts_no_window_and_a_capture_ends_it(sandbox):
    captured = sandbox.acted(sandbox.in_state("authorized"), "capture")
    in_part, grown = (sandbox.in_state(one) for one in ("authorized, 300 reversed", "authorized"))
    sandbox.set_clock("2026-03-06T11:59:00.000Z")
    sandbox.acted(grown, "increment", amount=500)

    sandbox.set_clock("2026-03-06T12:00:00.000Z")

    assert sandbox.read(captured) == captured
    assert sandbox.read(grown)["status"] == "canceled"
    # What was reversed before it expired stays reversed (assumed D11).
    assert ledger(sandbox.read(in_part)) == (0, 0, 0, 300)

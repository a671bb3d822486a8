"""Rows that no action takes: the clock, the settlement of a batch, the edit of a passthrough.

Source: assumed 2.3, rows F4, F8, F9, F21, F36, F37, F42; times assumed 8.1, 8.2.
"""

import pytest

from sandbox.domain.clock import TAP_EXPIRES
from sandbox.domain.payments import follow_ups
from sandbox.domain.payments.amounts import EMPTY
from sandbox.domain.payments.transitions import transitions_from
from tests.directory.making import a_terminal, set_clock, shown
from tests.payments.driving_moves import ROWS_BY_THEMSELVES
from tests.support.payments import (
    acted,
    ask,
    batch,
    close_batch,
    edited,
    in_state,
    kind,
    ledger,
    message_count,
    messages_since,
    paid,
    parts,
    read,
    record_of,
)


def kind_of(payment):
    tx = payment.transaction
    return f"{tx.transaction_type}/{tx.status}/{tx.status_reason}"


def told_since(sandbox, seen):
    """Name and kind of every transaction event."""
    return [
        (one["event_type"], kind(one["body"]))
        for one in messages_since(sandbox, seen)
        if one["event_type"] != "batch.opened"
    ]


# --- F4, F9, F21: the clock -------------------------------------------------------------------


@pytest.mark.proves("spec 2.4-surcharge_expired", "assumed F4, 8.2-surcharge, D12")
def test_f4_a_surcharge_prompt_expires_after_five_minutes(sandbox):
    waiting = paid(sandbox, at="surcharge_merchant")
    seen = message_count(sandbox)
    assert parts(waiting) == (1000, 0, 0, 30, 1030)

    set_clock(sandbox, "2026-03-01T12:04:59.999Z")
    just_before = read(sandbox, waiting["transaction_id"])
    set_clock(sandbox, "2026-03-01T12:05:00.000Z")

    after = read(sandbox, waiting["transaction_id"])
    assert just_before["status"] == "surcharge_pending"
    assert kind(after) == "sale/canceled/surcharge_expired"
    assert (ledger(after), parts(after)) == ((0, 0, 0, 0), (1000, 0, 0, 0, 1000))
    assert after["surcharge_applied"] is False
    assert told_since(sandbox, seen) == [("transaction.cancel", kind(after))]
    assert len(after["history"]) == 3
    assert after["history"][:2] == waiting["history"]


@pytest.mark.proves("spec 6.3-transaction.reverse", "assumed I11, F42")
@pytest.mark.parametrize("operation", ["sale", "auth"])
def test_f42_a_hold_that_the_client_does_not_know_of_is_reversed_after_a_minute(sandbox, operation):
    lost = paid(sandbox, operation=operation, outcome="timed_out_held")
    seen = message_count(sandbox)
    assert kind(lost) == f"{operation}/error/processor_timeout"
    assert ledger(lost) == (1000, 0, 0, 0)
    assert lost["gateway_transaction_response"] is None

    set_clock(sandbox, "2026-03-01T12:00:59.999Z")
    just_before = read(sandbox, lost["transaction_id"])
    set_clock(sandbox, "2026-03-01T12:01:00.000Z")

    after = read(sandbox, lost["transaction_id"])
    assert just_before == lost
    assert kind(after) == "reverse/reversed/processor_timeout"
    assert after["reversed"] == 1000
    assert told_since(sandbox, seen) == [("transaction.reverse", kind(after))]
    assert after["batch_id"] is None


EXPIRIES = [
    # Brand and deadline: assumed 8.1.
    ("tok_visa_credit", "2026-03-06T12:00:00.000Z", 5),
    ("tok_visa_debit", "2026-03-06T12:00:00.000Z", 5),
    ("tok_mc_credit", "2026-03-31T12:00:00.000Z", 30),
    ("tok_amex", "2026-03-08T12:00:00.000Z", 7),
    ("tok_discover", "2026-03-11T12:00:00.000Z", 10),
    ("tok_jcb", "2026-03-08T12:00:00.000Z", 7),
    ("tok_unionpay", "2026-03-08T12:00:00.000Z", 7),
]


@pytest.mark.proves("spec 2.4-timed_out", "assumed F21, 8.1, Q18")
@pytest.mark.parametrize(("card", "deadline", "days"), EXPIRIES)
def test_f21_an_authorization_expires_when_its_brand_says(sandbox, card, deadline, days):
    held = paid(sandbox, operation="auth", card=card)
    seen = message_count(sandbox)

    set_clock(sandbox, deadline.replace("12:00:00.000", "11:59:59.999"))
    just_before = read(sandbox, held["transaction_id"])
    set_clock(sandbox, deadline)

    after = read(sandbox, held["transaction_id"])
    assert just_before == held
    assert kind(after) == "auth/canceled/timed_out"
    assert (ledger(after), parts(after)) == ((0, 0, 0, 0), (1000, 0, 0, 0, 1000))
    assert told_since(sandbox, seen) == [("transaction.cancel", kind(after))]
    assert after["history"][-1]["created_at"] == held["created_at"] + days * 86_400_000


@pytest.mark.proves("assumed 8.1, D16")
@pytest.mark.parametrize(
    ("of_account", "of_terminal"), [("7011", None), ("7513", None), ("5812", "7512")]
)
def test_f21_lodging_and_car_rental_have_thirty_days_whatever_the_brand(
    sandbox, of_account, of_terminal
):
    account = f"/v1/accounts/{sandbox.account('merchant')}"
    shown(ask(sandbox, "PUT", account, {"mcc": of_account}))
    more = {"merchant_category_code": of_terminal} if of_terminal else {}
    till = a_terminal(sandbox, **more)["terminal_id"]
    held = paid(sandbox, operation="auth", terminal_id=till)

    set_clock(sandbox, "2026-03-31T11:59:59.999Z")
    just_before = read(sandbox, held["transaction_id"])
    set_clock(sandbox, "2026-03-31T12:00:00.000Z")

    assert (just_before, held["tid"]) == (held, till)
    assert kind(read(sandbox, held["transaction_id"])) == "auth/canceled/timed_out"


@pytest.mark.proves("assumed F21, D23")
def test_f21_an_expiry_that_is_found_late_is_dated_at_its_deadline(sandbox):
    held = paid(sandbox, operation="auth")

    set_clock(sandbox, "2026-07-01T00:00:00.000Z")

    attempt = read(sandbox, held["transaction_id"])["history"][-1]
    assert attempt["created_at"] == held["created_at"] + 5 * 86_400_000


@pytest.mark.proves("assumed 8.1")
def test_f21_an_increment_does_not_restart_the_window(sandbox):
    held = paid(sandbox, operation="auth")
    set_clock(sandbox, "2026-03-06T11:59:00.000Z")
    acted(sandbox, held["transaction_id"], "increment", amount=500)

    set_clock(sandbox, "2026-03-06T12:00:00.000Z")

    assert read(sandbox, held["transaction_id"])["status"] == "canceled"


@pytest.mark.proves("assumed F21, D11, M6")
def test_f21_keeps_what_was_reversed_of_an_authorization_that_expires(sandbox):
    # assumed D11: canceled with reversed = R0
    held = in_state(sandbox, "authorized, 300 reversed")

    set_clock(sandbox, "2026-03-06T12:00:00.000Z")

    after = read(sandbox, held["transaction_id"])
    assert (kind(after), ledger(after)) == ("auth/canceled/timed_out", (0, 0, 0, 300))


@pytest.mark.proves("assumed F21")
def test_f21_leaves_alone_what_was_captured_in_time(sandbox):
    held = paid(sandbox, operation="auth")
    captured = acted(sandbox, held["transaction_id"], "capture")
    seen = message_count(sandbox)

    set_clock(sandbox, "2026-07-01T00:00:00.000Z")

    assert read(sandbox, held["transaction_id"]) == captured
    assert told_since(sandbox, seen) == []


@pytest.mark.proves("assumed F9, 8.2-pending")
@pytest.mark.parametrize(
    ("preauth", "event", "shown_type"),
    [(False, "transaction.sale", "sale"), (True, "transaction.authorize", "auth")],
)
def test_f9_a_payment_that_waited_too_long_ends_in_error(sandbox, preauth, event, shown_type):
    # What makes it happen in a world is a tap that nobody makes: see test_taps.
    made = paid(sandbox, at="passthrough_merchant", operation="auth" if preauth else "sale")
    record = record_of(sandbox, made["transaction_id"])

    (row,) = transitions_from(TAP_EXPIRES, "pending")
    concluded = follow_ups.expire(record, row, event_id="E-1", at=1_772_370_000_000)

    after = concluded.record
    assert kind_of(after) == f"{shown_type}/error/timed_out"
    assert (after.transaction.event_id, after.ledger, len(after.history)) == ("E-1", EMPTY, 2)
    assert [(name, kind_of(told)) for name, told in concluded.events] == [(event, kind_of(after))]


@pytest.mark.proves("assumed F9, I7, 8.2-pending")
def test_f9_a_passthrough_payment_waits_for_good(sandbox):
    waiting = paid(sandbox, at="passthrough_merchant")

    set_clock(sandbox, "2030-01-01T00:00:00.000Z")

    assert read(sandbox, waiting["transaction_id"]) == waiting


# --- F8: the edit -----------------------------------------------------------------------------

EDITS = [
    ("captured", False, "sale/captured/approved", "transaction.sale", (1000, 1000, 0, 0)),
    ("captured", True, "capture/captured/approved", "transaction.capture", (1000, 1000, 0, 0)),
    ("authorized", True, "auth/authorized/approved", "transaction.authorize", (1000, 0, 0, 0)),
    ("refunded", False, "refund/refunded/approved", "transaction.refund", (1000, 1000, 1000, 0)),
    ("reversed", True, "reverse/reversed/approved", "transaction.reverse", (1000, 0, 0, 1000)),
    ("canceled", False, "sale/canceled/merchant_canceled", "transaction.cancel", (0, 0, 0, 0)),
    ("canceled", True, "auth/canceled/merchant_canceled", "transaction.cancel", (0, 0, 0, 0)),
    ("declined", False, "sale/declined/declined", "transaction.sale", (0, 0, 0, 0)),
    ("declined", True, "auth/declined/declined", "transaction.authorize", (0, 0, 0, 0)),
    ("error", False, "sale/error/payment_failed", "transaction.sale", (0, 0, 0, 0)),
    ("error", True, "auth/error/payment_failed", "transaction.authorize", (0, 0, 0, 0)),
]


@pytest.mark.proves("spec 3.2-pending", "assumed F8, 1.7-edit, D17")
@pytest.mark.parametrize(("status", "preauth", "expected", "event", "money"), EDITS)
def test_f8_the_processor_of_a_passthrough_payment_tells_its_status(
    sandbox, status, preauth, expected, event, money
):
    waiting = paid(sandbox, at="passthrough_merchant", operation="auth" if preauth else "sale")
    seen = message_count(sandbox)

    answer = edited(sandbox, waiting["transaction_id"], status=status)

    after = read(sandbox, waiting["transaction_id"])
    assert after == answer
    assert (kind(after), ledger(after)) == (expected, money)
    assert told_since(sandbox, seen) == [(event, expected)]
    assert after["history"][:1] == waiting["history"]
    assert [kind(attempt) for attempt in after["history"][1:]] == [expected]


@pytest.mark.proves("assumed F8")
@pytest.mark.parametrize(
    ("first", "then", "expected", "money"),
    [
        ("authorized", "captured", "capture/captured/approved", (1000, 1000, 0, 0)),
        ("authorized", "reversed", "reverse/reversed/approved", (1000, 0, 0, 1000)),
        ("captured", "refunded", "refund/refunded/approved", (1000, 1000, 1000, 0)),
        ("captured", "reversed", "reverse/reversed/approved", (1000, 1000, 0, 1000)),
    ],
)
def test_f8_what_was_told_is_told_again_until_it_is_settled(sandbox, first, then, expected, money):
    id = paid(sandbox, at="passthrough_merchant", operation="auth")["transaction_id"]
    edited(sandbox, id, status=first)
    seen = message_count(sandbox)

    edited(sandbox, id, status=then)

    after = read(sandbox, id)
    assert (kind(after), ledger(after)) == (expected, money)
    assert told_since(sandbox, seen) == [(f"transaction.{expected.partition('/')[0]}", expected)]


@pytest.mark.proves("assumed 1.7-edit")
def test_f8_takes_reason_and_money_as_they_are_given(sandbox):
    waiting = paid(sandbox, at="passthrough_merchant")

    after = edited(
        sandbox,
        waiting["transaction_id"],
        status="captured",
        status_reason="partial_approval",
        authorized_amount=600,
    )

    assert kind(after) == "sale/captured/partial_approval"
    assert (ledger(after), after["total_amount"]) == ((600, 600, 0, 0), 1000)
    assert after["additional_details"]["remaining_amount"] == 400


@pytest.mark.proves("assumed 1.7-edit")
def test_f8_a_breakdown_replaces_all_of_the_old_one(sandbox):
    waiting = paid(sandbox, at="passthrough_merchant")
    breakdown = {"subtotal": 1500, "taxAmount": 100, "tipAmount": 300}

    after = edited(sandbox, waiting["transaction_id"], status="captured", breakdown=breakdown)

    assert parts(after) == (1500, 100, 300, 0, 1900)
    assert ledger(after) == (1900, 1900, 0, 0)


@pytest.mark.proves("assumed M6")
def test_f8_a_part_that_was_refunded_does_not_make_the_payment_refunded(sandbox):
    id = paid(sandbox, at="passthrough_merchant")["transaction_id"]
    before = edited(sandbox, id, status="captured")

    answer = ask(sandbox, "PUT", f"/v1/transactions/{id}", {"status": "refunded", "refunded": 300})

    assert answer.status == 400
    assert "300 is a part of 1000" in answer.json()["detail"]
    assert read(sandbox, id) == before
    whole = edited(sandbox, id, status="refunded", refunded=1000)
    assert (whole["status"], ledger(whole)) == ("refunded", (1000, 1000, 1000, 0))


@pytest.mark.proves("assumed F8, D17")
def test_f8_what_was_told_is_captured_like_any_other(sandbox):
    waiting = paid(sandbox, at="passthrough_merchant", operation="auth")
    id = waiting["transaction_id"]
    edited(sandbox, id, status="authorized")

    captured = acted(sandbox, id, "capture", amount=900)
    shown(close_batch(sandbox, captured["batch_id"]))

    assert (read(sandbox, id)["status"], ledger(captured)) == ("settled", (1000, 900, 0, 0))


# --- F36, F37: settlement ---------------------------------------------------------------------


@pytest.mark.proves("spec 3.2-settled", "assumed F36, F37, B10, 8.4")
def test_f36_and_f37_an_accepted_batch_settles_what_is_captured_and_tells_of_itself_only(sandbox):
    # spec 6.3 has no event for the settlement of a transaction.
    sale = in_state(sandbox, "captured")
    in_part = in_state(sandbox, "captured, 300 refunded")
    refunded = in_state(sandbox, "refunded")
    seen = message_count(sandbox)

    answer = shown(close_batch(sandbox, sale["batch_id"]))

    names = [one["event_type"] for one in messages_since(sandbox, seen)]
    assert (answer["status"], names) == ("submitted", ["batch.submitted", "batch.accepted"])
    assert batch(sandbox, sale["batch_id"])["status"] == "accepted"
    for before, status in ((sale, "settled"), (in_part, "settled"), (refunded, "refunded")):
        # Only the status: settling is no attempt.
        assert read(sandbox, before["transaction_id"]) == before | {"status": status}


def test_the_rows_by_themselves_are_tested_by_name():
    words = {word for name in globals() if name.startswith("test_f") for word in name.split("_")}

    assert {id.lower() for id, _, _ in ROWS_BY_THEMSELVES} <= words

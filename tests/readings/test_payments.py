"""Readings of payments and batches: every value of each."""

import pytest

from sandbox.domain.payments.edits import broken


def events(sandbox):
    """The events so far, each with status and reason."""
    return [
        (one["event_type"], one["body"]["status"], one["body"]["status_reason"])
        for one in sandbox.messages()
        if one["event_type"].startswith("transaction.")
    ]


@pytest.mark.proves("assumed D35-partial-approval")
def test_a_partial_approval_shows_the_approved_total(sandbox):
    sandbox.choose(total_of_partial_approval="approved")
    parts = {"subtotal": 800, "taxAmount": 200}

    tx = sandbox.paid(breakdown=parts, outcome="partial_approval")
    half = sandbox.paid(operation="auth", outcome="partial_approval")
    limited = sandbox.paid(9000, card="tok_mc_prepaid")

    assert (tx["total_amount"], tx["status_reason"]) == (500, "partial_approval")
    assert (tx["additional_details"]["remaining_amount"], tx["tax_amount"]) == (500, 100)
    assert limited["total_amount"] == 5000
    # An attempt that fails leaves the rest as it is.
    assert sandbox.act(half, "capture", amount=9000).error() == (400, "exceeds_original_auth")
    assert sandbox.read(half)["additional_details"] == half["additional_details"]
    captured = sandbox.acted(half, "capture")
    assert captured["total_amount"] == 500
    assert captured["additional_details"]["captured_amount"] == 500
    assert sandbox.acted(tx, "refund")["refunded"] == 500


TIMED_OUT = [("sale", "processor_timeout"), ("auth", "timed_out"), ("sale", "timed_out_held")]


@pytest.mark.proves("assumed D35-timeout")
@pytest.mark.parametrize(("operation", "outcome"), TIMED_OUT)
def test_a_payment_that_timed_out_can_be_reversed(sandbox, operation, outcome):
    sandbox.choose(reversal_of_a_timeout="allowed")
    tx = sandbox.paid(operation=operation, outcome=outcome)

    part = sandbox.act(tx, "reverse", amount=400)
    more = sandbox.act(tx, "reverse", amount=1001)
    reversed_ = sandbox.acted(tx, "reverse", amount=1000)
    late = sandbox.answer_payment(tx)
    sandbox.advance("1h")

    assert part.error() == (400, "validation_error")
    assert more.error() == (400, "reverse_exceeds_available")
    assert (reversed_["status"], reversed_["status_reason"]) == ("reversed", "approved")
    # spec 6.3-transaction.reverse: it holds the reversed amount
    assert reversed_["reversed"] == reversed_["history"][-1]["amount"] == 1000
    assert late.error() == (409, "not_waiting")
    assert sandbox.read(tx) == reversed_
    assert events(sandbox)[-1] == ("transaction.reverse", "reversed", "approved")
    assert broken(sandbox.record_of(tx["transaction_id"])) == []
    assert sandbox.act(tx, "reverse").status == 400


@pytest.mark.proves("assumed D35-timeout")
def test_a_reversal_of_a_time_out_can_fail_and_be_carried_out_late(sandbox):
    sandbox.choose(reversal_of_a_timeout="allowed")
    tx = sandbox.paid(outcome="timed_out")

    declined = sandbox.acted(tx, "reverse", outcome="do_not_honor")
    timed_out = sandbox.acted(tx, "reverse", outcome="timed_out")
    late = sandbox.answer_payment(tx)

    assert (declined["status"], timed_out["status"]) == ("declined", "error")
    assert late.json()["unanswered"] == []
    assert (late.status, sandbox.read(tx)["status"]) == (200, "reversed")


@pytest.mark.proves("assumed D35-timeout")
def test_by_default_a_payment_that_ended_in_an_error_cannot_be_reversed(sandbox):
    for value, outcome in (("refused", "timed_out_held"), ("allowed", "general_error")):
        sandbox.choose(reversal_of_a_timeout=value)
        tx = sandbox.paid(outcome=outcome)
        refused = sandbox.act(tx, "reverse")
        assert refused.error() == (400, "invalid_transaction_state")
        assert sandbox.read(tx)["status"] == "error"


@pytest.mark.proves("assumed D35-lost")
def test_lost_and_stolen_cards_are_declined(sandbox):
    sandbox.choose(lost_cards="declined")

    for outcome in ("lost_card", "stolen_card", "pick_up_card", "pick_up_fraud", "restricted_card"):
        tx = sandbox.paid(outcome=outcome)
        assert (tx["status"], tx["status_reason"]) == ("declined", "declined")
    assert sandbox.paid(outcome="expired_card")["status_reason"] == "invalid_card"


@pytest.mark.proves("assumed D35-batch-edit")
def test_a_rejected_batch_cannot_be_edited(sandbox):
    sandbox.choose(edit_of_closed_batch="open_only")
    sale = sandbox.sold()
    assert sandbox.edit_batch(sale["batch_id"], processor_batch_id="077").status == 200
    sandbox.set_switch("batch.settlement", "manual")
    assert sandbox.close_batch(sale["batch_id"]).status == 200
    sandbox.answer_batch(sale["batch_id"], "rejected").expect(200)

    assert sandbox.edit_batch(sale["batch_id"], processor_batch_id="078").status == 400

    assert sandbox.batch(sale["batch_id"])["status"] == "rejected"


@pytest.mark.proves("assumed D35-receipt")
def test_a_payment_has_receipt_data(sandbox):
    sandbox.choose(receipt_data="emv")
    own = {"note": "mine", "stan": "of the client"}

    tx = sandbox.sold(card="tok_mc_credit", event_id="order-96", additional_details=own)
    unread = sandbox.paid(outcome="user_canceled")

    details = tx["additional_details"]
    assert (details["note"], details["stan"]) == ("mine", "of the client")
    assert "emv" not in unread["additional_details"]
    assert details["emv"]["application_label"] == "MASTERCARD"
    assert len(details["emv"]["cryptogram"]) == 16
    assert len(details["rrn"]) == 12
    assert sandbox.acted(tx, "refund")["additional_details"]["rrn"] == details["rrn"]
    assert sandbox.read(tx)["additional_details"]["emv"] == details["emv"]
    # The cryptogram of this event_id was 2628726253972457 once: a card number, which is refused.
    sandbox.load(sandbox.saved()).expect(200)


@pytest.mark.proves("assumed D35-response")
def test_the_response_of_the_processor_has_amounts_too(sandbox):
    sandbox.choose(response_fields="amounts")
    more = {"authorizedAmount", "type", "status", "currency"}

    half = sandbox.paid(1000, outcome="partial_approval")
    declined = sandbox.paid(1000, outcome="do_not_honor")
    refunded = sandbox.acted(sandbox.sold(), "refund", amount=100)

    for tx in (half, declined, refunded, sandbox.read(half)):
        assert set(tx["gateway_transaction_response"]) - RESPONSE == more
        assert set(tx["history"][-1]["gateway_transaction_response"]) == RESPONSE
    response = half["gateway_transaction_response"]
    assert (response["authorizedAmount"], response["currency"]) == (500, "USD")
    assert (response["type"], response["status"]) == ("sale", "captured")
    assert declined["gateway_transaction_response"]["authorizedAmount"] == 0


RESPONSE = {"responseCode", "responseMessage", "approvalCode", "processorResponseCode"}


@pytest.mark.proves("assumed D35-duplicate")
def test_a_repeated_event_id_is_a_failed_attempt_with_its_event(sandbox):
    sandbox.choose(duplicate_event_id="failed_attempt")
    hold = sandbox.held(event_id="one")

    again = sandbox.paid(event_id="one")
    action = sandbox.acted(hold, "increment", amount=10, event_id="one")

    assert (again["status"], again["status_reason"]) == ("error", "duplicate_event")
    assert again["event_id"] != "one"
    assert again["transaction_id"] != hold["transaction_id"]
    assert (action["status"], action["status_reason"]) == ("error", "duplicate_event")
    assert sandbox.read(hold)["total_amount"] == 1000
    assert events(sandbox)[-2:] == [
        ("transaction.sale", "error", "duplicate_event"),
        ("transaction.increment", "error", "duplicate_event"),
    ]
    assert sandbox.all_transactions() == 2
    # What the state forbids stays refused.
    assert sandbox.act(hold, "refund", event_id="one").status == 400
    assert sandbox.pay(event_id="two").json()["status"] == "captured"


@pytest.mark.proves("assumed D35-partial-reverse")
def test_a_partial_reverse_says_reversed(sandbox):
    sandbox.choose(status_of_partial_reverse="reversed")
    hold, sale = sandbox.held(), sandbox.sold()

    for tx in (hold, sale):
        answered = sandbox.acted(tx, "reverse", amount=300)
        assert (answered["status"], answered["reversed"]) == ("reversed", 300)
        assert events(sandbox)[-1] == ("transaction.reverse", "reversed", "approved")
        kept = sandbox.read(tx)
        assert (kept["status"], kept["reversed"]) == (tx["status"], 300)
        assert kept["history"][-1]["status"] == "reversed"
    assert sandbox.acted(hold, "capture")["status"] == "captured"
    assert sandbox.acted(sale, "reverse")["status"] == "reversed"
    assert sandbox.read(sale)["status"] == "reversed"


@pytest.mark.proves("assumed D35-tip")
def test_the_tip_of_a_hold_can_be_adjusted(sandbox):
    sandbox.choose(tip_on_a_hold="allowed")
    hold = sandbox.held()

    tipped = sandbox.acted(hold, "adjust", type="fixed", amount=200)

    assert (tipped["status"], tipped["tip_amount"]) == ("authorized", 200)
    assert tipped["total_amount"] == 1200
    less = sandbox.acted(hold, "adjust", type="percentage", percentage=10)
    assert (less["tip_amount"], less["tip_type"]) == (100, "percentage")
    assert sandbox.act(hold, "adjust", type="fixed", amount=1001).status == 400
    captured = sandbox.acted(hold, "capture")
    assert (captured["total_amount"], captured["tip_amount"]) == (1100, 100)
    assert captured["additional_details"]["authorized_amount"] == 1100


PARTS = {
    "tip": {"tipAmount": 300},
    "small tip": {"tipAmount": 200},
    "surcharge": {"surcharge": {"amount": 30}},
    "tax": {"taxAmount": 88},
    "both": {"taxAmount": 88, "tipAmount": 1000},
}
"""What is captured beside the 1000 that are held."""
ABOVE = {
    "tip_and_surcharge": {"tip": 200, "small tip": 200, "surcharge": 200, "tax": 400, "both": 400},
    "nothing": dict.fromkeys(PARTS, 400),
    "small_tip": {"tip": 400, "small tip": 200, "surcharge": 200, "tax": 400, "both": 400},
    "tip_tax_and_surcharge": dict.fromkeys(PARTS, 200),
}


@pytest.mark.proves("assumed D35-above")
@pytest.mark.parametrize("value", ABOVE)
def test_the_parts_that_may_exceed_the_hold_follow_the_reading(sandbox, value):
    sandbox.choose(above_the_hold=value)

    for part, more in PARTS.items():
        hold = sandbox.held()
        answer = sandbox.act(hold, "capture", breakdown={"subtotal": 1000, **more})
        assert (part, answer.status) == (part, ABOVE[value][part])
        assert sandbox.read(hold)["status"] == {200: "captured", 400: "authorized"}[answer.status]
        assert broken(sandbox.record_of(hold["transaction_id"])) == [], part
    assert sandbox.act(sandbox.held(), "capture", amount=1300).status == 400
    bare = sandbox.act(sandbox.held(), "capture", amount=1300, tip_amount=300)
    adjusted = sandbox.act(sandbox.sold(), "adjust", type="fixed", amount=300)
    assert bare.status == adjusted.status == ABOVE[value]["tip"]
    assert sandbox.act(sandbox.held(), "capture", amount=1000, tip_amount=100).status == 200


@pytest.mark.proves("assumed D35-attempts")
def test_refused_actions_fire_the_event_of_a_failed_attempt(sandbox):
    sandbox.choose(refused_attempts="all", refund_before_settlement="refused")
    sale, hold = sandbox.sold(), sandbox.held()
    before = len(events(sandbox))
    actions = {
        "increment": (sale, {"amount": 10}),
        "reverse": (hold, {"amount": 2000}),
        "confirm": (sale, {"confirm": True}),
        "refund": (sale, {}),
    }

    statuses = [sandbox.act(tx, one, **body).status for one, (tx, body) in actions.items()]

    assert statuses == [400] * 4
    fired = events(sandbox)[before:]
    names = ["increment", "reverse", "sale", "refund"]
    assert fired == [(f"transaction.{name}", "error", "payment_failed") for name in names]
    assert sandbox.read(sale)["status"] == "captured"
    assert len(sandbox.read(sale)["history"]) == len(sale["history"]) + 3
    # An attempt against a named rule fires its own event either way.
    assert sandbox.act(sale, "capture").status == 400
    assert events(sandbox)[-1][2] == "invalid_capture_sequence"


@pytest.mark.proves("assumed D35-rates")
def test_a_rate_below_one_is_a_fraction(sandbox):
    sandbox.choose(rates_below_one="fraction")
    both = {"amount": 35, "percentage": 0.035}
    tx = sandbox.sold(1088, breakdown={"subtotal": 1000, "taxRate": 0.0875})
    whole = sandbox.sold(1088, breakdown={"subtotal": 1000, "taxRate": 8.75})
    agreed = sandbox.sold(1035, breakdown={"subtotal": 1000, "surcharge": both})
    tipped = sandbox.acted(whole, "adjust", type="percentage", percentage=0.18)
    waiting = sandbox.paid(at="passthrough_merchant")["transaction_id"]
    one_percent = sandbox.sold(1010, breakdown={"subtotal": 1000, "taxRate": 1})
    parts = {"subtotal": 1000, "taxRate": 0.0875}
    told = sandbox.edited(waiting, status="captured", breakdown=parts)

    for one in (tx, whole, told):
        assert (one["tax_rate"], one["tax_amount"]) == (8.75, 88)
    assert (agreed["surcharge_rate"], agreed["surcharge_amount"]) == (3.5, 35)
    assert (tipped["tip_amount"], one_percent["tax_rate"]) == (180, 1)


@pytest.mark.proves("assumed D35-terminal")
def test_a_terminal_lists_its_latest_payments(sandbox):
    terminal = sandbox.terminal_id("merchant")
    ids = [sandbox.sold(amount)["transaction_id"] for amount in range(100, 121)]
    narrow = sandbox.mint(["terminals:read"], by="partner")["key"]

    path = f"/v2/terminals/{terminal}"
    assert sandbox.get(path).json()["transactions"] == []
    sandbox.choose(payments_of_a_terminal="latest")
    listed = sandbox.get(path).json()["transactions"]
    unread = sandbox.get(path, by=narrow).json()["transactions"]

    assert unread == []
    assert [one["transaction_id"] for one in listed] == ids[:0:-1]
    assert listed[0] == sandbox.read(ids[-1])

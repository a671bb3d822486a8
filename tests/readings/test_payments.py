"""Readings of payments and batches: every value of each."""

import pytest

from tests.directory.making import messages
from tests.readings.choosing import choose
from tests.support.payments import (
    act,
    acted,
    all_transactions,
    batch,
    close_batch,
    edit_batch,
    held,
    paid,
    pay,
    read,
    sold,
)


def events(sandbox):
    """The events so far, each with status and reason."""
    return [
        (one["event_type"], one["body"]["status"], one["body"]["status_reason"])
        for one in messages(sandbox)
        if one["event_type"].startswith("transaction.")
    ]


@pytest.mark.proves("assumed D35-partial-approval")
@pytest.mark.parametrize(("value", "total"), [("requested", 1000), ("approved", 500)])
def test_a_partial_approval_shows_the_requested_or_the_approved_total(sandbox, value, total):
    choose(sandbox, total_of_partial_approval=value)
    parts = {"subtotal": 800, "taxAmount": 200}

    tx = paid(sandbox, breakdown=parts, outcome="partial_approval")
    half = paid(sandbox, operation="auth", outcome="partial_approval")
    limited = paid(sandbox, 9000, card="tok_mc_prepaid")

    assert (tx["total_amount"], tx["status_reason"]) == (total, "partial_approval")
    assert tx["additional_details"]["remaining_amount"] == 500
    assert tx["tax_amount"] == (200 if value == "requested" else 100)
    assert limited["total_amount"] == (9000 if value == "requested" else 5000)
    captured = acted(sandbox, half, "capture")
    assert captured["total_amount"] == total
    assert captured["additional_details"]["captured_amount"] == 500
    assert acted(sandbox, tx, "refund")["refunded"] == 500


@pytest.mark.proves("assumed D35-lost")
@pytest.mark.parametrize("value", ["invalid_card", "declined"])
def test_lost_and_stolen_cards_are_invalid_or_declined(sandbox, value):
    choose(sandbox, lost_cards=value)

    for outcome in ("lost_card", "stolen_card", "pick_up_card", "pick_up_fraud", "restricted_card"):
        tx = paid(sandbox, outcome=outcome)
        assert (tx["status"], tx["status_reason"]) == ("declined", value)
    assert paid(sandbox, outcome="expired_card")["status_reason"] == "invalid_card"


@pytest.mark.proves("assumed D35-batch-edit")
@pytest.mark.parametrize(("value", "status"), [("rejected_too", 200), ("open_only", 400)])
def test_a_rejected_batch_can_be_edited_or_not(sandbox, value, status):
    choose(sandbox, edit_of_closed_batch=value)
    sale = sold(sandbox)
    assert edit_batch(sandbox, sale["batch_id"], processor_batch_id="077").status == 200
    sandbox.control("PUT", "/worlds/default/switches", {"batch.settlement": "manual"})
    assert close_batch(sandbox, sale["batch_id"]).status == 200
    told = sandbox.control(
        "POST", f"/worlds/default/batches/{sale['batch_id']}/answer", {"answer": "rejected"}
    )
    assert told.status == 200, told.body

    answer = edit_batch(sandbox, sale["batch_id"], processor_batch_id="078")

    assert answer.status == status
    shown = batch(sandbox, sale["batch_id"])["status"]
    assert shown == ("open" if status == 200 else "rejected")


@pytest.mark.proves("assumed D35-receipt")
@pytest.mark.parametrize("value", ["none", "emv"])
def test_a_payment_has_receipt_data_or_none(sandbox, value):
    choose(sandbox, receipt_data=value)
    own = {"note": "mine", "stan": "of the client"}

    tx = sold(sandbox, card="tok_mc_credit", additional_details=own)
    unread = paid(sandbox, outcome="user_canceled")

    details = tx["additional_details"]
    assert (details["note"], details["stan"]) == ("mine", "of the client")
    assert "emv" not in unread["additional_details"]
    assert ("emv" in details) == (value == "emv")
    if value == "emv":
        assert details["emv"]["application_label"] == "MASTERCARD"
        assert len(details["emv"]["cryptogram"]) == 16
        assert len(details["rrn"]) == 12
        assert acted(sandbox, tx, "refund")["additional_details"]["rrn"] == details["rrn"]
        assert read(sandbox, tx)["additional_details"]["emv"] == details["emv"]


@pytest.mark.proves("assumed D35-duplicate")
@pytest.mark.parametrize("value", ["failed_attempt"])
def test_a_repeated_event_id_is_a_failed_attempt_with_its_event(sandbox, value):
    choose(sandbox, duplicate_event_id=value)
    hold = held(sandbox, event_id="one")

    again = paid(sandbox, event_id="one")
    action = acted(sandbox, hold, "increment", amount=10, event_id="one")

    assert (again["status"], again["status_reason"]) == ("error", "duplicate_event")
    assert again["event_id"] != "one"
    assert again["transaction_id"] != hold["transaction_id"]
    assert (action["status"], action["status_reason"]) == ("error", "duplicate_event")
    assert read(sandbox, hold)["total_amount"] == 1000
    assert events(sandbox)[-2:] == [
        ("transaction.sale", "error", "duplicate_event"),
        ("transaction.increment", "error", "duplicate_event"),
    ]
    assert all_transactions(sandbox) == 2
    # What the state forbids stays refused.
    assert act(sandbox, hold, "refund", event_id="one").status == 400
    assert pay(sandbox, event_id="two").json()["status"] == "captured"

"""Payments that wait for their processor, for how long, and what happens meanwhile.

Source: assumed 2.6, 5.1-latency, D2, D23.
"""

from time import monotonic

import pytest

from sandbox.domain.payments.outcomes import Queued
from tests.support.open_requests import action, delay, sale
from tests.support.payments import ACTIONS, EVENTS, kind


@pytest.mark.proves("assumed 8.3-order")
def test_a_waiting_payment_does_not_hold_up_other_requests(sandbox, requests):
    delay(sandbox, ms=500)
    task = requests.open(sale(sandbox))
    announced = [one.event_type for one in sandbox.get_world().store.messages()]

    other = requests.ask(*sale(sandbox))
    listed = requests.ask("GET", "/v2/transactions").json()["transactions"]
    # The key of another client may be lost meanwhile.
    LOST["revoked"](sandbox, sandbox.mint(["all"], by="partner")["id"])

    assert requests.is_open(task)
    answer = requests.end(task)
    assert (other.status, answer.status) == (200, 200)
    # The record is there from the beginning, and pending until the answer (spec 6.3).
    assert {one["transaction_id"]: one["status"] for one in listed} == {
        answer.json()["transaction_id"]: "pending",
        other.json()["transaction_id"]: "captured",
    }
    assert answer.json()["status"] == "captured"
    assert announced == ["transaction.create"]
    assert sandbox.event_types(answer) == ["transaction.create", "transaction.sale"]


LOST = {
    "revoked": lambda sandbox, key: sandbox.change_key(key, by="psp", status="revoked").expect(200),
    "deleted": lambda sandbox, key: sandbox.delete_key(key, by="psp").expect(200),
    "expired": lambda sandbox, key: sandbox.set_clock("2026-03-01T12:01:00Z"),
}


def after_losing_the_key(sandbox, requests, request, how="revoked"):
    """The answer to a request whose key is lost while it waits."""
    key = sandbox.mint(["all"], by="partner", expires_at="2026-03-01T12:00:10Z")
    task = requests.open(request, by=key["key"])
    LOST[how](sandbox, key["id"])
    return requests.end(task)


@pytest.mark.proves("assumed D2, 8.2-revoke")
@pytest.mark.parametrize("how", LOST)
def test_a_key_lost_during_a_sale_is_a_401_and_the_payment_failed(sandbox, requests, how):
    delay(sandbox)

    answer = after_losing_the_key(sandbox, requests, sale(sandbox, event_id="E-1"), how)

    assert answer.error() == (401, "authentication_failed")
    announced = sandbox.events_of(answer)
    kept = sandbox.read(announced[0]["subject"])
    assert (kind(kept), kept["event_id"]) == ("sale/error/payment_failed", "E-1")
    assert [one["event_type"] for one in announced] == ["transaction.create", "transaction.sale"]
    assert announced[-1]["body"] == kept
    last = sandbox.journal(answer)["decisions"][-1]
    assert (last["verdict"], last["clause"]) == ("401", "assumed D2")


@pytest.mark.proves("assumed D45, C4")
@pytest.mark.parametrize(("by", "status"), [("partner", 404), ("merchant", 401)])
def test_an_account_deleted_during_a_sale_has_captured_nothing(sandbox, requests, by, status):
    delay(sandbox)
    task = requests.open(sale(sandbox), by=by)
    sandbox.drop("account", "merchant")

    answer = requests.end(task)

    body = sandbox.events_of(answer)[-1]["body"]
    assert answer.status == status
    assert (kind(body), body["batch_id"]) == ("sale/error/payment_failed", None)


@pytest.mark.proves("assumed D2")
def test_a_key_lost_during_an_action_is_a_401_and_a_failed_attempt(sandbox, requests):
    for operation in ACTIONS:
        id = sandbox.ready_for(operation)
        before = sandbox.read(id)
        delay(sandbox)

        answer = after_losing_the_key(sandbox, requests, action(id, operation))

        (announced,) = sandbox.events_of(answer)
        body, after = announced["body"], sandbox.read(id)
        assert (answer.status, announced["event_type"]) == (401, EVENTS[operation])
        assert (body["status"], body["status_reason"]) == ("error", "payment_failed")
        assert after["history"] == body["history"]
        expected = "error" if operation == "confirm" else before["status"]
        assert (after["status"], after["refunded"], after["reversed"]) == (expected, 0, 0)


@pytest.mark.proves("assumed D2, F27")
def test_a_lost_key_does_not_learn_what_forbids_its_action_by_now(sandbox, requests):
    tx = sandbox.sold()
    key = sandbox.mint(["all"], by="partner")
    delay(sandbox)
    task = requests.open(action(tx["transaction_id"], "reverse"), by=key["key"])
    sandbox.close_batch(tx["batch_id"])
    LOST["revoked"](sandbox, key["id"])

    assert requests.end(task).error() == (401, "authentication_failed")
    # A refusal without an event leaves no attempt either.
    assert len(sandbox.read(tx)["history"]) == len(tx["history"])


@pytest.mark.proves("spec 5.10", "assumed 2.6-serial")
@pytest.mark.parametrize("how", LOST)
def test_a_key_lost_while_its_request_waits_its_turn_is_a_401(sandbox, requests, how):
    id = sandbox.paid_id(operation="auth")
    key = sandbox.mint(["all"], by="partner", expires_at="2026-03-01T12:00:10Z")
    delay(sandbox)
    requests.open(action(id, "capture"))
    task = requests.open_behind(action(id, "refund", amount=10), by=key["key"])

    LOST[how](sandbox, key["id"])

    assert requests.end(task).error() == (401, "authentication_failed")
    assert sandbox.read(id)["refunded"] == 0


@pytest.mark.parametrize("operation", ["sale", "capture"])
def test_a_reset_ends_what_waits_at_once_and_without_a_trace(sandbox, requests, operation):
    request = sale(sandbox)
    if operation != "sale":
        request = action(sandbox.ready_for(operation), operation)
    delay(sandbox, ms=60_000)
    task = requests.open(request)

    sandbox.reset()

    # A reset world draws the same ids again: the same transaction_id, another payment.
    delay(sandbox, "lost_card", ms=60)
    after = requests.open(sale(sandbox, amount=700))
    assert requests.end(task).error() == (404, "not_found")
    later = requests.end(after).json()
    assert (later["status_reason"], later["total_amount"]) == ("invalid_card", 700)
    # The first of them would have an id of the journal that began anew.
    assert [one["status"] for one in sandbox.look("requests")["requests"]] == [200]
    kinds = [one.event_type for one in sandbox.get_world().store.messages()]
    assert (kinds, sandbox.get_world().busy) == (["transaction.create", "transaction.sale"], {})


def test_a_reset_ends_what_waits_its_turn(sandbox, requests):
    id = sandbox.paid_id()
    delay(sandbox)
    requests.open(action(id, "refund", amount=10))
    task = requests.open_behind(action(id, "refund", amount=20))

    sandbox.reset()
    sandbox.paid()

    assert requests.end(task).error() == (404, "not_found")
    # The payment after the reset has the same id.
    assert sandbox.read(id)["refunded"] == 0


def test_a_prompt_that_expires_while_its_confirmation_waits_stays_expired(sandbox, requests):
    id = sandbox.ready_for("confirm")
    delay(sandbox)
    task = requests.open(action(id, "confirm"))

    sandbox.set_clock("2026-03-01T12:06:00Z")

    # assumed F4, F34.
    assert requests.end(task).error() == (400, "invalid_transaction_state")
    assert sandbox.read(id)["status_reason"] == "surcharge_expired"


@pytest.mark.proves("assumed 5.1-latency, D23")
def test_the_nominal_latency_is_waited_for_as_far_as_the_switch_says(sandbox, requests):
    refund = action(sandbox.paid_id(), "refund")
    for request, key, scale, queued_ms, least_ms in (
        (sale(sandbox), "approved", 0.05, 0, 45),
        (sale(sandbox), "invalid_terminal", 0.1, 0, 20),
        (refund, "refund_declined", 0.05, 0, 50),
        # A queued delay is waited for in full and comes on top.
        (sale(sandbox), None, 0.05, 30, 75),
    ):
        sandbox.set_switch("latency.scale", scale)
        if queued_ms:
            delay(sandbox, ms=queued_ms)

        started_s = monotonic()
        answer = requests.ask(*request, outcome=key)
        took_ms = (monotonic() - started_s) * 1000

        assert answer.outcome == (
            f"{key}; source=header; rule=header" if key else "approved; source=queue; rule=queue"
        )
        # Nothing waits longer than asked for but by the machine's own delay.
        assert least_ms - 2 <= took_ms < least_ms + 2_000


@pytest.mark.proves("assumed 5.1-latency")
def test_a_payment_without_a_delay_is_answered_at_once(sandbox):
    # What waited at all would fail here, without an event loop: thirty nominal seconds.
    assert sandbox.pay(outcome="processor_timeout").json()["status"] == "error"
    id = sandbox.paid_id()
    sandbox.set_switch("latency.scale", 10)
    assert sandbox.pay(outcome="surcharge_expired").json()["status"] == "canceled"
    assert sandbox.pay(at="passthrough_merchant").json()["status"] == "pending"
    sandbox.get_world().queue.add(Queued(outcome="approved", delay_ms=60_000))
    refused = sandbox.post(f"/v3/payments/{id}/capture", {})
    assert refused.error() == (400, "invalid_capture_sequence")

"""Requests that are all under way at once: money moves once, and never too much of it.

The processor takes its time, so that each request goes on while others wait. Source: assumed
2.6-serial, M4, M11, B1, B2.
"""

from collections import Counter

import pytest

from tests.support.open_requests import action, sale
from tests.support.payments import ledger

AT_ONCE = 50


@pytest.fixture
def at_once(sandbox, requests):
    """The answers to so many requests, or to these."""

    def ask(*asked):
        sandbox.set_switch("latency.scale", 0.001)
        return requests.together(*(asked if len(asked) > 1 else asked * AT_ONCE))

    return ask


def statuses(answers):
    """Status and code of each answer; no code where it is no refusal."""
    return Counter((one.status, one.json().get("error", "")) for one in answers)


@pytest.mark.proves("assumed 2.6-serial, F32")
def test_exactly_one_of_many_captures_succeeds(sandbox, at_once):
    id = sandbox.paid_id(operation="auth")

    answers = at_once(action(id, "capture"))

    assert statuses(answers) == {(200, ""): 1, (400, "invalid_capture_sequence"): AT_ONCE - 1}
    after = sandbox.read(id)
    assert (after["status"], ledger(after)) == ("captured", (1000, 1000, 0, 0))
    assert sandbox.sums(after["batch_id"]) == (1000, 0, 1)
    # A rule failure is announced as well (assumed 2.1-rule, Q4).
    assert sandbox.fired().count("transaction.capture") == AT_ONCE


@pytest.mark.proves("assumed 2.6-serial, M4")
def test_many_refunds_at_once_never_give_back_more_than_was_captured(sandbox, at_once):
    tx = sandbox.sold()
    id = tx["transaction_id"]
    standalone = ("POST", "/v3/refund", {"transaction_id": id, "amount": 70})

    answers = at_once(*[action(id, "refund", amount=70), standalone] * (AT_ONCE // 2))

    # 14 times 70 is 980; a fifteenth would be 1050.
    assert statuses(answers) == {(200, ""): 14, (400, "refund_exceeds_captured"): AT_ONCE - 14}
    after = sandbox.read(tx)
    assert (after["refunded"], after["status"]) == (980, "captured")
    assert sandbox.sums(after["batch_id"]) == (1000, 980, 15)
    assert sandbox.fired().count("transaction.refund") == 14
    assert len({attempt["event_id"] for attempt in after["history"]}) == 15
    # A request that waited its turn has every step in the journal once.
    steps = [one["step"] for one in sandbox.journal(answers[2])["decisions"]]
    assert steps == ["route", "authenticate", "visibility", "target", "apply"]


@pytest.mark.proves("assumed 2.6-serial, M11")
def test_many_sales_with_one_event_id_make_one_sale_and_others_continue(sandbox, at_once):
    once, other = sale(sandbox, event_id="once"), sale(sandbox)
    holds = [sandbox.paid_id(operation="auth") for _ in range(2)]

    answers = at_once(*[once, other] * (AT_ONCE // 2))

    made = AT_ONCE // 2 + 1
    assert statuses(answers) == {(200, ""): made, (400, "duplicate_event"): AT_ONCE - made}
    assert sandbox.all_transactions() == made + len(holds)
    # The first sales at once open one batch, and all count in it: assumed B2, M12.
    (one,) = sandbox.batches()
    assert (one["transaction_count"], one["captured_amount"]) == (made, 1000 * made)
    assert sandbox.fired().count("batch.opened") == 1
    # The scope of an event_id is the merchant account, whatever the operation (assumed 2.6).
    answers = at_once(
        *[action(id, "capture", event_id="E-1") for id in holds], sale(sandbox, event_id="E-1")
    )
    assert statuses(answers) == {(200, ""): 1, (400, "duplicate_event"): 2}
    assert sorted(sandbox.read(id)["status"] for id in holds) == ["authorized", "captured"]


@pytest.mark.proves("assumed B1, B2, M12")
def test_batches_that_are_opened_or_closed_at_once_are_opened_and_settle_once(sandbox, at_once):
    body = {"terminal_id": sale(sandbox)[2]["terminal_id"]}
    answers = at_once(("POST", "/v1/batches/open", body))
    assert statuses(answers) == {(201, ""): 1, (409, "conflict"): AT_ONCE - 1}
    id = sandbox.batches()[0]["id"]

    answers = at_once(("POST", f"/v1/batches/{id}/close", None))

    assert statuses(answers) == {(200, ""): 1, (400, "validation_error"): AT_ONCE - 1}
    assert sandbox.batch(id)["status"] == "accepted"
    assert sandbox.fired()[-2:] == ["batch.submitted", "batch.accepted"]

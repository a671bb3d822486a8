"""What payments and batches announce: names, order, and bodies of their own moment.

Source: spec 6.2, 6.3; order assumed 8.3-order, 8.4.
"""

import pytest

from tests.platform.minting import messages, set_clock
from tests.support.payments import (
    acted,
    event_types,
    events_of,
    held,
    operate,
    paid_id,
    pay,
    read,
)


def close(sandbox, id):
    return sandbox.ask("POST", f"/v1/batches/{id}/close", key="partner", json_body={})


# --- order and bodies within one request ------------------------------------------------------


def test_the_journal_lists_them_in_the_same_order(sandbox):
    answer = pay(sandbox)

    ids = [one["id"] for one in events_of(sandbox, answer)]
    assert sandbox.journal(answer)["events"] == ids


@pytest.mark.proves("spec 6.3-transaction.create, 2.4-pending", "assumed D11")
def test_a_creation_is_announced_as_it_was_before_any_answer(sandbox):
    answer = pay(sandbox, 1250)

    created, _, sold = (one["body"] for one in events_of(sandbox, answer))
    # spec 6.3-transaction.create, and nothing of the answer yet.
    assert (created["status"], created["status_reason"], created["batch_id"]) == (
        "pending",
        "pending",
        None,
    )
    assert (created["gateway_transaction_id"], created["gateway_transaction_response"]) == (
        None,
        None,
    )
    assert (created["processor_response_code"], created["processor_response_message"]) == (
        None,
        None,
    )
    assert created["additional_details"] == {"authorized_amount": 0, "captured_amount": 0}
    assert len(created["history"]) == 1
    # assumed D11: one attempt, one event_id, one payment.
    for name in ("transaction_id", "event_id", "created_at", "total_amount", "transaction_type"):
        assert created[name] == sold[name]
    assert set(created) == set(sold)


@pytest.mark.proves("assumed 8.3")
def test_a_later_change_does_not_reach_what_was_announced(sandbox):
    answer = pay(sandbox)
    before = events_of(sandbox, answer)

    operate(sandbox, answer.json()["transaction_id"], "refund")

    assert events_of(sandbox, answer) == before


# --- every batch event of spec 6.3 ------------------------------------------------------------


@pytest.mark.proves("assumed D21, B9, 8.2-settlement")
def test_the_result_is_of_no_request_and_comes_after_the_answer(sandbox):
    batch_id = read(sandbox, paid_id(sandbox))["batch_id"]

    answer = close(sandbox, batch_id)

    assert answer.json()["status"] == "submitted"
    assert event_types(sandbox, answer) == ["batch.submitted"]
    assert messages(sandbox, subject=batch_id)[-1]["request_id"] is None


# --- nothing where nothing happened -----------------------------------------------------------


@pytest.mark.proves("spec 6.1.10", "assumed 2.10-order")
def test_the_bodies_of_a_payment_are_in_strict_order_of_time_while_the_clock_stands_still(sandbox):
    tx = held(sandbox, 1000)
    for action, body in (
        ("increment", {"amount": 500}),
        ("capture", {}),
        ("adjust", {"type": "fixed", "amount": 200}),
        ("refund", {"amount": 100}),
        ("refund", {}),
    ):
        acted(sandbox, tx, action, **body)

    bodies = [one["body"] for one in messages(sandbox) if one["subject"] == tx["transaction_id"]]

    assert [len(body["history"]) for body in bodies] == [1, 2, 3, 4, 5, 6, 7]
    steps = [body["history"][-1]["created_at"] for body in bodies]
    begun = tx["created_at"]
    assert steps == [begun + number for number in range(7)]
    assert [one["created_at"] for one in bodies[-1]["history"]] == steps


@pytest.mark.proves("assumed 2.10-order")
def test_a_step_after_the_clock_was_set_back_is_later_than_the_one_before(sandbox):
    tx = held(sandbox, 1000)
    set_clock(sandbox, "2026-02-01T00:00:00Z")

    after = acted(sandbox, tx, "capture")

    times = [one["created_at"] for one in after["history"]]
    assert times == sorted(set(times))

"""What payments and batches announce: names, order, and bodies of their own moment.

Source: spec 6.2, 6.3; order assumed 8.3-order, 8.4.
"""

import pytest

from tests.platform.minting import messages, set_clock
from tests.support.payments import (
    acted,
    attempt,
    event_types,
    events_of,
    held,
    operate,
    paid_id,
    pay,
    read,
    ready_for,
)


def moments(sandbox, answer):
    """Event, status, reason and batch of everything that a request announced."""
    return [
        (
            one["event_type"],
            one["body"]["status"],
            one["body"].get("status_reason"),
            one["body"].get("batch_id"),
        )
        for one in events_of(sandbox, answer)
    ]


def batch_of(sandbox, id):
    return sandbox.ask("GET", f"/v1/batches/{id}", key="partner").json()


def close(sandbox, id):
    return sandbox.ask("POST", f"/v1/batches/{id}/close", key="partner", json_body={})


# --- order and bodies within one request ------------------------------------------------------


@pytest.mark.proves("spec 6.3-transaction.create, 6.3-transaction.sale", "assumed 8.3-order, 8.4")
def test_a_first_sale_creates_opens_a_batch_and_sells_in_that_order(sandbox):
    answer = pay(sandbox, 1250)

    shown = answer.json()
    batch_id = shown["batch_id"]
    assert batch_id is not None
    assert moments(sandbox, answer) == [
        ("transaction.create", "pending", "pending", None),
        ("batch.opened", "open", None, None),
        ("transaction.sale", "captured", "approved", batch_id),
    ]


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


@pytest.mark.proves("spec 2.4")
def test_an_outcome_is_announced_as_it_is_answered_and_kept(sandbox):
    answer = pay(sandbox, 1250)

    sold = events_of(sandbox, answer)[-1]["body"]
    assert sold == answer.json() == read(sandbox, sold["transaction_id"])


@pytest.mark.proves("assumed 8.3")
def test_a_later_change_does_not_reach_what_was_announced(sandbox):
    answer = pay(sandbox)
    before = events_of(sandbox, answer)

    operate(sandbox, answer.json()["transaction_id"], "refund")

    assert events_of(sandbox, answer) == before


@pytest.mark.proves("assumed B3, 8.3-order")
def test_a_refund_opens_a_batch_where_there_is_none_before_it_refunds(sandbox):
    id = paid_id(sandbox)
    close(sandbox, read(sandbox, id)["batch_id"])

    answer = operate(sandbox, id, "refund")

    assert event_types(sandbox, answer) == ["batch.opened", "transaction.refund"]


# --- every transaction event of spec 6.3, by the operation that it names -----------------------

EXPECTED = {
    "auth": ("transaction.authorize", {"transaction_type": "auth", "status": "authorized"}),
    "sale": ("transaction.sale", {"transaction_type": "sale", "status": "captured"}),
    "capture": ("transaction.capture", {"transaction_type": "capture", "status": "captured"}),
    "reverse": (
        "transaction.reverse",
        {"transaction_type": "reverse", "status": "reversed", "reversed": 1000},
    ),
    "refund": (
        "transaction.refund",
        {"transaction_type": "refund", "status": "refunded", "refunded": 1000},
    ),
    "incremental_auth": (
        "transaction.increment",
        {
            "transaction_type": "incremental_auth",
            "status": "authorized",
            "subtotal": 1500,
            "total_amount": 1500,
        },
    ),
    "tip_adjust": (
        "transaction.tip_adjust",
        {
            "transaction_type": "tip_adjust",
            "status": "captured",
            "tip_amount": 200,
            "total_amount": 1200,
        },
    ),
}


@pytest.mark.proves(
    "spec 6.2, 6.3-transaction.authorize, 6.3-transaction.sale, 6.3-transaction.capture",
    "spec 6.3-transaction.reverse, 6.3-transaction.refund, 6.3-transaction.increment",
    "spec 6.3-transaction.tip_adjust, 3.2-authorized, 3.2-captured, 3.2-reversed",
    "spec 3.2-refunded, 2.4-type",
    "assumed 8.4",
)
@pytest.mark.parametrize("operation", EXPECTED)
def test_an_operation_announces_what_the_spec_names_after_it(sandbox, operation):
    event, body = EXPECTED[operation]

    seen = attempt(sandbox, operation)

    last = events_of(sandbox, seen.answer)[-1]
    assert last["event_type"] == event
    assert {name: last["body"][name] for name in body} == body


def test_the_reversal_of_an_authorization_is_announced_as_one_of_a_capture_is(sandbox):
    id = paid_id(sandbox, operation="auth")

    answer = operate(sandbox, id, "reverse")

    assert moments(sandbox, answer) == [("transaction.reverse", "reversed", "approved", None)]


@pytest.mark.proves(
    "spec 6.3-transaction.cancel, 3.2-canceled, 2.4-user_canceled, 2.4-merchant_canceled",
    "assumed I6",
)
@pytest.mark.parametrize("operation", ["sale", "auth"])
def test_a_cancellation_at_the_reader_is_announced_as_one(sandbox, operation):
    answer = pay(sandbox, operation=operation, outcome="user_canceled")

    assert moments(sandbox, answer) == [
        ("transaction.create", "pending", "pending", None),
        ("transaction.cancel", "canceled", "user_canceled", None),
    ]


@pytest.mark.proves("spec 6.3-transaction.cancel", "assumed F3")
def test_what_the_cardholder_declines_is_announced_as_a_cancellation(sandbox):
    id = ready_for(sandbox, "confirm")

    answer = operate(sandbox, id, "confirm", confirm=False)

    assert moments(sandbox, answer) == [
        ("transaction.cancel", "canceled", "surcharge_declined_by_payer", None)
    ]


@pytest.mark.proves("spec 6.3-transaction.cancel", "assumed F5, D17")
def test_calling_off_what_is_pending_is_announced_as_a_cancellation(sandbox):
    id = ready_for(sandbox, "confirm")

    answer = operate(sandbox, id, "reverse")

    # assumed F5.
    assert moments(sandbox, answer) == [
        ("transaction.cancel", "canceled", "merchant_canceled", None)
    ]


@pytest.mark.proves("spec 6.3-transaction.cancel", "assumed F4, F21")
@pytest.mark.parametrize(
    ("operation", "later", "reason"),
    [
        ("confirm", "2026-03-01T12:05:01Z", "surcharge_expired"),
        ("capture", "2026-03-06T12:00:01Z", "timed_out"),
    ],
)
def test_what_time_ends_is_announced_as_a_cancellation_without_a_request(
    sandbox, operation, later, reason
):
    id = ready_for(sandbox, operation)

    set_clock(sandbox, later)

    # assumed F4, F21; D23: when due, not when somebody looks.
    last = messages(sandbox, subject=id)[-1]
    assert (last["event_type"], last["request_id"]) == ("transaction.cancel", None)
    assert (last["body"]["status"], last["body"]["status_reason"]) == ("canceled", reason)


@pytest.mark.proves("spec 3.2-pending", "assumed I7")
@pytest.mark.parametrize("operation", ["sale", "auth"])
def test_a_payment_that_stays_pending_announces_its_creation_alone(sandbox, operation):
    kept = pay(sandbox, operation=operation, outcome="pending_forever")
    passed = pay(sandbox, operation=operation, at="passthrough_merchant")

    # assumed I7, D17.
    for answer in (kept, passed):
        assert event_types(sandbox, answer) == ["transaction.create"]
        assert answer.json()["status"] == "pending"


# --- every batch event of spec 6.3 ------------------------------------------------------------

RESULTS = {
    1000: ("batch.accepted", "accepted", None),
    900401: ("batch.partially_accepted", "partially_accepted", {"accepted": 1, "rejected": 1}),
    900402: (
        "batch.rejected",
        "rejected",
        {"rejection_reason": "RB T09 - BATCH AMOUNT HASHING TOTAL MISMATCH"},
    ),
}


@pytest.mark.proves(
    "spec 6.3-batch.opened, 6.3-batch.submitted, 6.3-batch.accepted, 6.3-batch.rejected",
    "spec 6.3-batch.partially_accepted",
    "assumed 8.3-order, 3.2, 8.2-settlement",
)
@pytest.mark.parametrize("amount", RESULTS)
def test_a_batch_is_opened_submitted_and_answered_in_that_order(sandbox, amount):
    event, status, response = RESULTS[amount]
    paid_id(sandbox, 1000)
    batch_id = read(sandbox, paid_id(sandbox, amount))["batch_id"]

    submitted = close(sandbox, batch_id)

    announced = messages(sandbox, subject=batch_id)
    bodies = [one["body"] for one in announced]
    assert [one["event_type"] for one in announced] == ["batch.opened", "batch.submitted", event]
    assert [body["status"] for body in bodies] == ["open", "submitted", status]
    assert bodies[1] == submitted.json()
    assert (bodies[1]["closed_at"], bodies[1]["transaction_count"]) == (None, 2)
    assert (bodies[2]["response"], bodies[2]) == (response, batch_of(sandbox, batch_id))
    # spec 6.3: a rejected batch is not closed.
    assert (bodies[2]["closed_at"] is None) is (status == "rejected")


@pytest.mark.proves("assumed D21, B9, 8.2-settlement")
def test_the_result_is_of_no_request_and_comes_after_the_answer(sandbox):
    batch_id = read(sandbox, paid_id(sandbox))["batch_id"]

    answer = close(sandbox, batch_id)

    assert answer.json()["status"] == "submitted"
    assert event_types(sandbox, answer) == ["batch.submitted"]
    assert messages(sandbox, subject=batch_id)[-1]["request_id"] is None


# --- nothing where nothing happened -----------------------------------------------------------


@pytest.mark.proves("assumed 2.1-silent")
@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("refund", {"amount": 1001}),
        ("reverse", {"amount": 1001}),
        ("incremental_auth", {}),
        ("confirm", {}),
        ("refund", {"amount": 0}),
    ],
)
def test_a_silent_refusal_announces_nothing(sandbox, operation, body):
    id = paid_id(sandbox)
    before = read(sandbox, id)

    answer = operate(sandbox, id, operation, **body)

    assert answer.status == 400
    assert events_of(sandbox, answer) == []
    assert read(sandbox, id) == before


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

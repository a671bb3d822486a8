"""What a passthrough processor reports of money that went back. Source: assumed D37."""

import pytest

from tests.support.payments import (
    ask,
    batch,
    kind,
    ledger,
    message_count,
    messages_since,
    pay,
    read,
    refused,
)


def sale(sandbox, *, status="captured", **more):
    """A payment of 500 whose processor has told its outcome."""
    id = pay(sandbox, 500, at="passthrough_merchant", **more).json()["transaction_id"]
    assert edit(sandbox, id, status=status).status == 200
    return id


def edit(sandbox, id, *, by="partner", **body):
    return ask(sandbox, "PUT", f"/v1/transactions/{id}", body, by=by)


def told_since(sandbox, seen):
    return [
        (one["event_type"], kind(one["body"]))
        for one in messages_since(sandbox, seen)
        if one["event_type"] != "batch.opened"
    ]


def sums(sandbox, id):
    found = batch(sandbox, read(sandbox, id)["batch_id"])
    return found["captured_amount"], found["refunded_amount"], found["transaction_count"]


@pytest.mark.proves("assumed D37")
def test_a_refund_in_part_fires_its_event_enters_the_history_and_the_batch(sandbox):
    id = sale(sandbox)
    seen = message_count(sandbox)

    answer = edit(sandbox, id, refunded=200)

    assert (answer.status, answer.json()["refunded"]) == (200, 200)
    assert told_since(sandbox, seen) == [("transaction.refund", "refund/captured/approved")]
    last = read(sandbox, id)["history"][-1]
    assert (last["transaction_type"], last["amount"]) == ("refund", 200)
    assert sums(sandbox, id) == (500, 200, 2)


@pytest.mark.proves("assumed D37")
def test_a_refund_in_parts_up_to_the_whole_is_refunded_and_the_batch_has_all_of_it(sandbox):
    id = sale(sandbox)
    edit(sandbox, id, refunded=200)
    seen = message_count(sandbox)

    after = edit(sandbox, id, refunded=500).json()

    assert kind(after) == "refund/refunded/approved"
    assert told_since(sandbox, seen) == [("transaction.refund", "refund/refunded/approved")]
    assert sums(sandbox, id) == (500, 500, 3)


@pytest.mark.proves("assumed D37")
def test_the_rest_told_as_refunded_comes_into_the_batch_too(sandbox):
    id = sale(sandbox)
    edit(sandbox, id, refunded=200)

    after = edit(sandbox, id, status="refunded").json()

    assert (after["refunded"], after["history"][-1]["amount"]) == (500, 300)
    assert sums(sandbox, id) == (500, 500, 3)


@pytest.mark.proves("assumed D37")
@pytest.mark.parametrize(
    ("status", "amount", "shown", "money"),
    [
        ("authorized", 100, "reverse/authorized/approved", (500, 0, 0, 100)),
        ("authorized", 500, "reverse/reversed/approved", (500, 0, 0, 500)),
        ("captured", 100, "reverse/captured/approved", (500, 500, 0, 100)),
        ("captured", 500, "reverse/reversed/approved", (500, 500, 0, 500)),
    ],
)
def test_a_reversal_fires_its_event_and_enters_the_history(sandbox, status, amount, shown, money):
    id = sale(sandbox, status=status, operation="auth" if status == "authorized" else "sale")
    seen = message_count(sandbox)

    after = edit(sandbox, id, reversed=amount).json()

    assert (kind(after), ledger(after)) == (shown, money)
    assert told_since(sandbox, seen) == [("transaction.reverse", shown)]
    assert read(sandbox, id)["history"][-1]["amount"] == amount


@pytest.mark.proves("assumed D37")
def test_a_reversal_moves_the_sums_of_the_batch_and_a_whole_one_leaves_it(sandbox):
    id = sale(sandbox)
    in_batch = read(sandbox, id)["batch_id"]

    edit(sandbox, id, reversed=100)
    assert sums(sandbox, id) == (400, 0, 1)
    edit(sandbox, id, reversed=500)

    found = batch(sandbox, in_batch)
    assert (found["captured_amount"], found["transaction_count"]) == (0, 0)


@pytest.mark.proves("assumed D37")
def test_an_outcome_and_a_refund_in_one_edit_are_two_attempts(sandbox):
    id = pay(sandbox, 500, at="passthrough_merchant").json()["transaction_id"]
    seen = message_count(sandbox)

    after = edit(sandbox, id, status="captured", refunded=200).json()

    assert (kind(after), ledger(after)) == ("refund/captured/approved", (500, 500, 200, 0))
    events = [event for event, _ in told_since(sandbox, seen)]
    assert events == ["transaction.sale", "transaction.refund"]
    assert sums(sandbox, id) == (500, 200, 2)


@pytest.mark.proves("assumed D37")
@pytest.mark.parametrize("field", ["refunded", "reversed"])
def test_what_went_back_is_not_taken_back(sandbox, field):
    id = sale(sandbox)
    edit(sandbox, id, **{field: 200})
    before = sandbox.state()

    answer = edit(sandbox, id, **{field: 100})

    refused(sandbox, answer)
    assert f"{field}: 100 is less than the 200 reported before" in answer.json()["detail"]
    assert sandbox.state() == before


@pytest.mark.proves("assumed D37")
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        *(("declined", reason) for reason in ("approved", "partial_approval", "pending")),
        *(("error", reason) for reason in ("approved", "partial_approval", "pending")),
        *(("canceled", reason) for reason in ("approved", "partial_approval", "pending")),
        *(("captured", reason) for reason in ("declined", "pending", "payment_failed")),
        *(("refunded", reason) for reason in ("declined", "pending", "timed_out")),
        *(("reversed", reason) for reason in ("declined", "pending", "invalid_card")),
        ("pending", "approved"),
    ],
)
def test_a_reason_that_contradicts_the_status_is_a_400(sandbox, status, reason):
    id = pay(sandbox, 500, at="passthrough_merchant").json()["transaction_id"]
    before = sandbox.state()

    answer = edit(sandbox, id, status=status, status_reason=reason)

    refused(sandbox, answer)
    said = f"status_reason: {reason} contradicts the status {status}"
    assert said in answer.json()["detail"]
    assert sandbox.state() == before


@pytest.mark.proves("assumed D37")
def test_a_reason_alone_is_compared_with_the_status_that_there_is(sandbox):
    id = sale(sandbox)

    answer = edit(sandbox, id, status_reason="declined")

    refused(sandbox, answer)
    assert "declined contradicts the status captured" in answer.json()["detail"]


@pytest.mark.proves("assumed D37")
def test_an_edit_that_repeats_what_is_known_changes_nothing(sandbox):
    id = sale(sandbox)
    edit(sandbox, id, refunded=200)
    before = sandbox.state()

    answer = edit(
        sandbox, id, status="captured", status_reason="approved", refunded=200, reversed=0
    )

    assert answer.status == 200
    assert sandbox.state() == before

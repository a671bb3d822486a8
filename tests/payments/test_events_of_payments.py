"""What payments announce and what their history keeps: order, amounts, times.

Source: spec 6.2, 6.3; order assumed 8.3-order, 8.4.
"""

import pytest

from tests.directory.making import messages, set_clock
from tests.support.payments import (
    act,
    acted,
    ask,
    close_batch,
    event_types,
    events_of,
    held,
    operate,
    pay,
    read,
)


@pytest.mark.proves("assumed 8.3, D21, B9, 8.2-settlement")
def test_a_later_change_does_not_reach_what_was_announced(sandbox):
    answer = pay(sandbox)
    before = events_of(sandbox, answer)

    operate(sandbox, answer.json()["transaction_id"], "refund")

    assert events_of(sandbox, answer) == before
    closing = close_batch(sandbox, answer.json()["batch_id"])
    assert closing.json()["status"] == "submitted"
    # The result is of no request and comes after the answer.
    assert event_types(sandbox, closing) == ["batch.submitted"]
    last = messages(sandbox)[-1]
    assert (last["event_type"], last["request_id"]) == ("batch.accepted", None)


# operation; body; what the history tells: type, status, amount, total, refunded, reversed
STEPS = [
    ("increment", {"amount": 500}, ("incremental_auth", "authorized", 500, 1500, 0, 0)),
    ("reverse", {"amount": 100}, ("reverse", "authorized", 100, 1500, 0, 100)),
    ("capture", {"outcome": "capture_declined"}, ("capture", "declined", 1400, 1500, 0, 100)),
    ("adjust", {"type": "fixed", "amount": 1}, ("tip_adjust", "error", 1, 1500, 0, 100)),
    ("refund", {}, None),
    ("capture", {"amount": 1200}, ("capture", "captured", 1200, 1200, 0, 100)),
    ("adjust", {"type": "fixed", "amount": 50}, ("tip_adjust", "captured", 50, 1250, 0, 100)),
    ("refund", {"amount": 70}, ("refund", "captured", 70, 1250, 70, 100)),
]
TOLD = ("transaction_type", "status", "amount", "total_amount", "refunded", "reversed")


@pytest.mark.proves(
    "spec 2.4-history, 2.10-shapes, 4.3-search-v1, 6.1.10",
    "assumed 1.7-history, 2.10, 2.10-order, M11",
)
def test_the_history_has_every_attempt_in_strict_order_of_time_and_only_grows(sandbox):
    tx = held(sandbox, 1000)
    path = f"/v1/transactions/{tx['transaction_id']}/history"
    expected = [("auth", status, 1000, 1000, 0, 0) for status in ("pending", "authorized")]

    for action, body, told in STEPS:
        act(sandbox, tx, action, **body)
        expected += [told] if told else []
        history = ask(sandbox, "GET", path).json()
        assert [tuple(one[name] for name in TOLD) for one in history] == expected
        assert history == read(sandbox, tx)["history"]
        assert history[:2] == tx["history"]

    # While the clock stands still each step is a millisecond later than the one before.
    times = [one["created_at"] for one in history]
    assert times == [tx["created_at"] + number for number in range(len(expected))]
    bodies = [one["body"] for one in messages(sandbox) if one["subject"] == tx["transaction_id"]]
    assert [body["history"][-1]["created_at"] for body in bodies] == times
    assert [len(body["history"]) for body in bodies] == list(range(1, len(times) + 1))


@pytest.mark.proves("assumed 2.10-order")
def test_a_step_after_the_clock_was_set_back_is_later_than_the_one_before(sandbox):
    tx = held(sandbox, 1000)
    set_clock(sandbox, "2026-02-01T00:00:00Z")

    after = acted(sandbox, tx, "capture")

    times = [one["created_at"] for one in after["history"]]
    assert times == sorted(set(times))

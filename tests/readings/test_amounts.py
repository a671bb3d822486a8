"""Readings of the amounts of increments and captures, and of the status of a decline."""

import pytest

from tests.readings.choosing import choose
from tests.support.payments import (
    OPERATIONS,
    act,
    acted,
    ask,
    held,
    paid,
    pay,
    prompted,
    read,
    sold,
)


@pytest.mark.proves("assumed D35-increment")
@pytest.mark.parametrize(("value", "total"), [("addition", 2500), ("new_total", 1500)])
def test_the_amount_of_an_increment_comes_on_top_or_is_the_new_total(sandbox, value, total):
    choose(sandbox, increment_amount=value, duplicate_event_id="replay")
    hold = held(sandbox, breakdown={"subtotal": 900, "tipAmount": 100})

    more = acted(sandbox, hold, "increment", amount=1500, event_id="once")

    assert (more["total_amount"], more["subtotal"]) == (total, total - 100)
    assert more["additional_details"]["authorized_amount"] == total
    assert acted(sandbox, hold, "increment", amount=1500, event_id="once") == more
    parts = {"subtotal": 2700, "taxAmount": 300}
    again = acted(sandbox, hold, "increment", amount=3000, breakdown=parts)
    assert again["total_amount"] == (5500 if value == "addition" else 3000)
    assert (again["tip_amount"], again["tax_amount"]) == (100 if value == "addition" else 0, 300)
    assert acted(sandbox, hold, "capture")["total_amount"] == again["total_amount"]


@pytest.mark.proves("assumed D35-increment")
def test_a_new_total_must_be_more_than_what_is_held(sandbox):
    choose(sandbox, increment_amount="new_total")
    hold = held(sandbox)

    for amount in (1, 999, 1000):
        refused = act(sandbox, hold, "increment", amount=amount)
        assert refused.status == 400
        assert "must be more than the 1000 held" in refused.body.decode()
    acted(sandbox, hold, "reverse", amount=400)
    more = acted(sandbox, hold, "increment", amount=700)

    # 400 of the total stay reversed.
    assert (more["total_amount"], more["reversed"]) == (1100, 400)
    assert acted(sandbox, hold, "capture")["additional_details"]["captured_amount"] == 700


@pytest.mark.proves("assumed D35-capture")
@pytest.mark.parametrize(("value", "total"), [("with_tip", 1000), ("without_tip", 1150)])
def test_the_amount_of_a_capture_has_the_tip_or_leaves_it_out(sandbox, value, total):
    choose(sandbox, capture_amount=value)

    bare = acted(sandbox, held(sandbox), "capture", amount=1000, tip_amount=150)
    parts = {"subtotal": total - 150, "tipAmount": 150}
    stated = acted(sandbox, held(sandbox), "capture", amount=1000, breakdown=parts)
    tip_alone = acted(sandbox, held(sandbox), "capture", tip_amount=150)
    no_tip = acted(sandbox, held(sandbox), "capture", amount=900)

    assert (bare["total_amount"], bare["tip_amount"]) == (total, 150)
    assert (stated["total_amount"], stated["tip_amount"]) == (total, 150)
    assert tip_alone["total_amount"] == 1150
    assert no_tip["total_amount"] == 900
    assert act(sandbox, held(sandbox), "capture", amount=1001, tip_amount=0).status == 400


DECLINES = {
    "sale": "do_not_honor",
    "auth": "insufficient_funds",
    "confirm": "do_not_honor",
    "capture": "capture_declined",
    "incremental_auth": "incremental_auth_declined",
    "tip_adjust": "invalid_transaction",
    "reverse": "invalid_transaction",
    "refund": "refund_declined",
}
"""A decline of each operation."""


def _attempt(sandbox, operation, outcome):
    """The operation on a payment that it suits, with this outcome."""
    verb, body = OPERATIONS[operation]
    if not verb:
        return pay(sandbox, operation=operation, outcome=outcome)
    begin = {"confirm": prompted, "refund": sold, "tip_adjust": sold}.get(operation, held)
    return act(sandbox, begin(sandbox), verb, outcome=outcome, **body)


@pytest.mark.proves("assumed D35-decline")
@pytest.mark.parametrize(
    ("value", "status"),
    [("http_200", 200), ("http_400", 400), ("http_402", 402), ("http_422", 422)],
)
def test_a_declined_attempt_has_the_status_of_the_reading(sandbox, value, status):
    choose(sandbox, decline_status=value)

    for operation, outcome in DECLINES.items():
        answer = _attempt(sandbox, operation, outcome)
        body = answer.json()
        assert (operation, answer.status, body["status"]) == (operation, status, "declined")
        if not OPERATIONS[operation][0]:
            assert read(sandbox, body) == body
        assert _attempt(sandbox, operation, None).status == 200
        failed = _attempt(sandbox, operation, "payment_failed")
        assert (failed.status, failed.json()["status"]) == (200, "error")
    by_id = {"transaction_id": sold(sandbox)["transaction_id"]}
    refused = ask(sandbox, "POST", "/v3/refund", by_id, outcome="refund_declined")
    assert (refused.status, refused.json()["status"]) == (status, "declined")
    assert paid(sandbox)["status"] == "captured"

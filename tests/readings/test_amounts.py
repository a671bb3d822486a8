"""Readings of the amounts of increments and captures, and of the status of a decline."""

import pytest


@pytest.mark.proves("assumed D35-increment")
@pytest.mark.parametrize(("value", "total"), [("addition", 2500), ("new_total", 1500)])
def test_the_amount_of_an_increment_comes_on_top_or_is_the_new_total(sandbox, value, total):
    sandbox.choose(increment_amount=value, duplicate_event_id="replay")
    hold = sandbox.held(breakdown={"subtotal": 900, "tipAmount": 100})

    more = sandbox.acted(hold, "increment", amount=1500, event_id="once")

    assert (more["total_amount"], more["subtotal"]) == (total, total - 100)
    assert more["additional_details"]["authorized_amount"] == total
    assert sandbox.acted(hold, "increment", amount=1500, event_id="once") == more
    parts = {"subtotal": 2700, "taxAmount": 300}
    again = sandbox.acted(hold, "increment", amount=3000, breakdown=parts)
    assert again["total_amount"] == (5500 if value == "addition" else 3000)
    assert (again["tip_amount"], again["tax_amount"]) == (100 if value == "addition" else 0, 300)
    assert sandbox.acted(hold, "capture")["total_amount"] == again["total_amount"]


@pytest.mark.proves("assumed D35-increment")
def test_a_new_total_must_be_more_than_what_is_held(sandbox):
    sandbox.choose(increment_amount="new_total")
    hold = sandbox.held()

    for amount in (1, 999, 1000):
        refused = sandbox.act(hold, "increment", amount=amount)
        assert refused.status == 400
        assert "must be more than the 1000 held" in refused.body.decode()
    sandbox.acted(hold, "reverse", amount=400)
    more = sandbox.acted(hold, "increment", amount=700)

    # 400 of the total stay reversed.
    assert (more["total_amount"], more["reversed"]) == (1100, 400)
    assert sandbox.acted(hold, "capture")["additional_details"]["captured_amount"] == 700


@pytest.mark.proves("assumed D35-capture")
@pytest.mark.parametrize(("value", "total"), [("with_tip", 1000), ("without_tip", 1150)])
def test_the_amount_of_a_capture_has_the_tip_or_leaves_it_out(sandbox, value, total):
    sandbox.choose(capture_amount=value)

    bare = sandbox.acted(sandbox.held(), "capture", amount=1000, tip_amount=150)
    parts = {"subtotal": total - 150, "tipAmount": 150}
    stated = sandbox.acted(sandbox.held(), "capture", amount=1000, breakdown=parts)
    tip_alone = sandbox.acted(sandbox.held(), "capture", tip_amount=150)
    no_tip = sandbox.acted(sandbox.held(), "capture", amount=900)

    assert (bare["total_amount"], bare["tip_amount"]) == (total, 150)
    assert (stated["total_amount"], stated["tip_amount"]) == (total, 150)
    assert tip_alone["total_amount"] == 1150
    assert no_tip["total_amount"] == 900
    assert sandbox.act(sandbox.held(), "capture", amount=1001, tip_amount=0).status == 400


@pytest.mark.proves("assumed D35-decline")
@pytest.mark.parametrize(
    ("value", "status"),
    [("http_200", 200), ("http_400", 400), ("http_402", 402), ("http_422", 422)],
)
def test_a_declined_attempt_has_the_status_of_the_reading(sandbox, value, status):
    # tests/openapi/test_platform has every operation.
    sandbox.choose(decline_status=value)
    sale = sandbox.sold()

    declined = sandbox.pay(outcome="do_not_honor")
    failed = sandbox.pay(outcome="payment_failed")
    refund = sandbox.act(sale, "refund", outcome="refund_declined")

    assert [one.status for one in (declined, failed, refund)] == [status, 200, status]
    shown = [one.json()["status"] for one in (declined, failed, refund)]
    assert shown == ["declined", "error", "declined"]
    assert sandbox.read(declined.json()) == declined.json()

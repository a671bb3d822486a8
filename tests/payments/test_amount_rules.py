"""How much may be captured, added, adjusted, reversed and refunded: assumed 2.5, 2.7."""

import pytest

from sandbox.domain.payments.edits import broken
from tests.support.payments import kind, ledger, parts

DINNER = {"subtotal": 10_000, "taxAmount": 875, "tipAmount": 3_000}
"""13875 in all."""
ADDED = {"surcharge": {"amount": 3}}


# --- capture ----------------------------------------------------------------------------------

# what was held; the body of the capture; the parts of what is captured
CAPTURES = [
    (DINNER, {}, (10_000, 875, 3_000, 0)),
    (DINNER, {"amount": 13_875}, (10_000, 875, 3_000, 0)),
    # 875 x 7000 / 13875 = 441.4; 3000 x 7000 / 13875 = 1513.5, half up
    (DINNER, {"amount": 7_000}, (5_045, 441, 1_514, 0)),
    (DINNER, {"amount": 1}, (1, 0, 0, 0)),
    # 5 x 5 / 10 = 2.5, half up
    ({"subtotal": 5, "taxAmount": 5}, {"amount": 5}, (2, 3, 0, 0)),
    # Where 1.5 of each, half up, are more than there is, the last shrinks.
    ({"subtotal": 1, "taxAmount": 3, "tipAmount": 3, **ADDED}, {"amount": 5}, (0, 2, 2, 1)),
    # The tip adds to the tip; on top of the whole hold where no amount is given: assumed D15.
    (DINNER, {"tip_amount": 500}, (10_000, 875, 3_500, 0)),
    (DINNER, {"amount": 14_375, "tip_amount": 500}, (10_000, 875, 3_500, 0)),
    (DINNER, {"amount": 7_500, "tip_amount": 500}, (5_045, 441, 2_014, 0)),
    (DINNER, {"tip_amount": 0}, (10_000, 875, 3_000, 0)),
    # Up to the hold and the headroom, which is 100 % of the subtotal: assumed 2.5-headroom.
    ({"subtotal": 1000}, {"amount": 1200, "tip_amount": 200}, (1000, 0, 200, 0)),
    ({"subtotal": 1000}, {"tip_amount": 1000}, (1000, 0, 1000, 0)),
    # Below the hold a tip of any size exceeds nothing: spec 2.4-exceeds_original_auth.
    ({"subtotal": 1000}, {"amount": 300, "tip_amount": 200}, (100, 0, 200, 0)),
    ({"subtotal": 1000}, {"breakdown": {"subtotal": 0, "tipAmount": 10}}, (0, 0, 10, 0)),
    (
        {"subtotal": 1000},
        *({"breakdown": {"subtotal": 950, "taxAmount": 50}}, (950, 50, 0, 0)),
    ),
    (
        {"subtotal": 1000},
        *({"breakdown": {"subtotal": 500, "tipAmount": 500}}, (500, 0, 500, 0)),
    ),
    # 8.25 % of 600 is 49.5
    (
        *({"subtotal": 1000}, {"breakdown": {"subtotal": 600, "taxRate": 8.25, "tipAmount": 50}}),
        (600, 50, 50, 0),
    ),
    # A breakdown may add tip and surcharge to the goods: 3.5 % of 13875 is 485.625.
    (
        {"subtotal": 10_000, "taxAmount": 875},
        {"amount": 14_361, "breakdown": DINNER | {"surcharge": {"percentage": 3.5}}},
        (10_000, 875, 3_000, 486),
    ),
    (
        {"subtotal": 10_000, "taxAmount": 875},
        {"amount": 14_361, "breakdown": DINNER | {"surcharge": {"amount": 486}}},
        (10_000, 875, 3_000, 486),
    ),
    # A surcharge may be a cent above the rate beside it: assumed 2.5-surcharge-rate.
    (
        {"subtotal": 1000},
        {"breakdown": {"subtotal": 1000, "surchargeAmount": 31, "surchargeRate": 3}},
        (1000, 0, 0, 31),
    ),
]


def total_of(breakdown):
    surcharge = (breakdown.get("surcharge") or {}).get("amount", 0)
    return sum(value for value in breakdown.values() if isinstance(value, int)) + surcharge


@pytest.mark.proves(
    "assumed 2.5-capture, F10, D15, 1.8-capture, 2.5-headroom, M1, M3, 2.5-breakdown",
    "assumed 2.5-surcharge-rate",
)
def test_a_capture_scales_what_was_authorized_or_takes_the_parts_it_states(sandbox):
    for breakdown, body, expected in CAPTURES:
        tx = sandbox.held(total_of(breakdown), breakdown=breakdown)

        after = sandbox.acted(tx, "capture", **body)

        captured = sum(expected)
        assert parts(after) == (*expected, captured), body
        assert ledger(after) == (total_of(breakdown), captured, 0, 0)
        assert after["surcharge_applied"] is (expected[3] > 0)
        assert not expected[1] or after["tax_basis"] == "subtotal", body
    tx = sandbox.held(13_875, breakdown=DINNER)
    sandbox.acted(tx, "reverse", amount=6_875)
    # What was reversed before scales a capture without an amount.
    after = sandbox.acted(tx, "capture")
    assert parts(after) == (5_045, 441, 1_514, 0, 7_000)
    assert ledger(after) == (13_875, 7_000, 0, 6_875)


@pytest.mark.proves("assumed F11, M3, 2.5-headroom")
def test_a_capture_beyond_hold_and_headroom_is_refused(sandbox):
    tx = sandbox.held()
    for body in (
        {"amount": 1001},
        {"amount": 1201, "tip_amount": 200},
        {"amount": 2001, "tip_amount": 1001},
        {"tip_amount": 1001},
        {"amount": 1100, "breakdown": {"subtotal": 1100}},
        {"breakdown": {"subtotal": 950, "taxAmount": 51}},
        {"breakdown": {"subtotal": 500, "tipAmount": 501}},
    ):
        assert sandbox.act(tx, "capture", **body).error() == (400, "exceeds_original_auth"), body
        after = sandbox.read(tx)
        assert (ledger(after), parts(after)) == ((1000, 0, 0, 0), (1000, 0, 0, 0, 1000))


@pytest.mark.proves("assumed 2.5-surcharge-rate, 2.5-breakdown, 2.5-increment, 2.8-never, D12")
def test_a_follow_up_that_makes_no_sense_is_refused_without_a_trace(sandbox):
    tx, debit = sandbox.held(), sandbox.held(card="tok_visa_debit")
    # The first is a mistake in the request, even if the whole is below the hold.
    for goods in (500, 1000):
        breakdown = {"subtotal": goods, "surchargeAmount": 32, "surchargeRate": 3}
        with sandbox.unchanged():
            said = sandbox.refused(sandbox.act(tx, "capture", breakdown=breakdown))
        assert "surchargeAmount: 32 is more than its rate of 3 %" in said
    stated = {"subtotal": 1000, "surcharge": {"amount": 30}}
    for on, operation, body in (
        (tx, "capture", {"tip_amount": -1}),
        (tx, "capture", {"breakdown": {"subtotal": 0}}),
        (tx, "capture", {"breakdown": {"tipAmount": 10}}),
        (debit, "capture", {"breakdown": stated}),
        (tx, "increment", {}),
        (tx, "increment", {"amount": None}),
        (tx, "increment", {"amount": 99_999_999}),
    ):
        with sandbox.unchanged():
            assert sandbox.act(on, operation, **body).error() == (400, "validation_error"), body


# --- increment --------------------------------------------------------------------------------


@pytest.mark.proves("assumed 2.5-increment, F13")
def test_increments_add_up_to_every_component_and_all_of_it_can_be_captured(sandbox):
    tx = sandbox.held(13_875, breakdown=DINNER)
    more = {"subtotal": 1_000, "taxAmount": 88, "tipAmount": 200, "surcharge": {"amount": 12}}
    sandbox.acted(tx, "increment", amount=1_300, breakdown=more)
    grown = sandbox.acted(tx, "increment", amount=1)

    too_much = sandbox.act(tx, "capture", amount=15_177)
    after = sandbox.acted(tx, "capture", amount=15_176)

    assert parts(grown) == (11_001, 963, 3_200, 12, 15_176)
    assert ledger(grown) == (15_176, 0, 0, 0)
    assert too_much.error() == (400, "exceeds_original_auth")
    assert ledger(after) == (15_176, 15_176, 0, 0)


# --- confirm ----------------------------------------------------------------------------------

TIPPED = {"subtotal": 1000, "tipAmount": 100, "surcharge": {"amount": 20}}
CONFIRMED = [
    ({}, (1000, 0, 0, 30, 1030)),
    ({"amount": 1030}, (1000, 0, 0, 30, 1030)),
    ({"amount": 1120, "breakdown": TIPPED}, (1000, 0, 100, 20, 1120)),
    ({"breakdown": {"subtotal": 1000, "surcharge": {"percentage": 2}}}, (1000, 0, 0, 20, 1020)),
    ({"breakdown": {"subtotal": 1000, "surcharge": {"bypass": True}}}, (1000, 0, 0, 0, 1000)),
]
UNCONFIRMED = [
    {"amount": 1031, "breakdown": {"subtotal": 1000, "surcharge": {"amount": 30}}},
    {"amount": 999},
    {"confirm": "yes"},
    {"confirm": None},
]


@pytest.mark.proves("assumed F1, F5, D12, 2.1-silent")
def test_a_confirmation_takes_the_proposal_or_an_override(sandbox):
    for body, expected in CONFIRMED:
        tx = sandbox.in_state("surcharge_pending")
        after = sandbox.acted(tx, "confirm", **({"confirm": True} | body))
        assert (parts(after), ledger(after)) == (expected, (expected[4], expected[4], 0, 0))
        # assumed M8
        assert after["surcharge_applied"] is (expected[3] > 0)
    # One that the rate does not give has no rate.
    tx = sandbox.acted(sandbox.in_state("surcharge_pending"), "confirm", confirm=True, amount=1010)
    assert (tx["surcharge_rate"], tx["surcharge_source"]) == (0, "transaction")
    tx = sandbox.in_state("surcharge_pending")
    with sandbox.unchanged():
        for body in UNCONFIRMED:
            answer = sandbox.act(tx, "confirm", **({"confirm": True} | body))
            assert answer.error() == (400, "validation_error")
    # One that is called off takes its proposal back.
    for amount in (None, 1000, 1030):
        tx = sandbox.in_state("surcharge_pending")
        after = sandbox.acted(tx, "reverse", amount=amount)
        assert (after["status"], parts(after)) == ("canceled", (1000, 0, 0, 0, 1000))


@pytest.mark.proves("assumed F1, 2.7, 5.2-declines, D35-partial-approval")
@pytest.mark.parametrize(
    ("reading", "total", "left"), [("requested", 1030, 530), ("approved", 500, 530)]
)
def test_a_confirmation_can_be_approved_in_part(sandbox, reading, total, left):
    sandbox.choose(total_of_partial_approval=reading)
    tx = sandbox.in_state("surcharge_pending")
    part = {"outcome": "partial_approval", "operation": "confirm", "approved_amount": 500}
    sandbox.manage("POST", "/scenario/next", part)

    after = sandbox.acted(tx, "confirm", confirm=True)

    assert (kind(after), after["total_amount"]) == ("sale/captured/partial_approval", total)
    assert ledger(after) == (500, 500, 0, 0)
    assert after["additional_details"]["remaining_amount"] == left
    assert sandbox.sums(after["batch_id"]) == (500, 0, 1)
    assert broken(sandbox.record_of(tx["transaction_id"])) == []
    # A part that is all of it approves it.
    other = sandbox.in_state("surcharge_pending")["transaction_id"]
    sandbox.manage("POST", "/scenario/next", part | {"approved_amount": 5000})
    answer = sandbox.operate(other, "confirm", confirm=True)
    assert kind(answer.json()) == "sale/captured/approved"
    assert answer.outcome == "approved; source=queue; rule=queue"


# --- adjust -----------------------------------------------------------------------------------


def fixed(amount):
    return {"type": "fixed", "amount": amount}


def percent(percentage):
    return {"type": "percentage", "percentage": percentage}


# The new tip replaces the old one, and a percentage is of the subtotal: assumed 2.5-adjust.
TIPS = [
    (1000, fixed(200), 200),
    (1000, {"type": "amount", "amount": 200}, 200),
    (1000, fixed(1), 1),
    (1000, fixed(0), 0),
    *((1000, percent(one), tip) for one, tip in ((18, 180), (12.5, 125), (100, 1000), (0, 0))),
    *((1000, percent(one), tip) for one, tip in ((0.05, 1), (0.04, 0), (1.15, 12))),
    *((100, percent(one), tip) for one, tip in ((12.5, 13), (12.4, 12))),
    (700, percent(0.5), 4),
    (15, percent(10), 2),
]


@pytest.mark.proves("assumed 2.5-adjust, F22, 1.8-adjust")
def test_an_adjustment_replaces_the_tip_and_counts_no_surcharge_again(sandbox):
    for subtotal, body, tip in TIPS:
        breakdown = {"subtotal": subtotal, "taxAmount": 80, "tipAmount": 15}
        sale = sandbox.paid(subtotal + 95, breakdown=breakdown)
        before = sandbox.batch(sale["batch_id"])["captured_amount"]

        after = sandbox.acted(sale, "adjust", **body)

        total = subtotal + 80 + tip
        assert parts(after) == (subtotal, 80, tip, 0, total), body
        assert ledger(after) == (subtotal + 95, total, 0, 0)
        mode = "adjust" if tip else None
        is_percentage = body["type"] == "percentage"
        assert after["tip_type"] == ("percentage" if is_percentage else "fixed")
        assert after["tip_capture_mode"] == mode
        assert sandbox.batch(after["batch_id"])["captured_amount"] - before == tip - 15
    sale = sandbox.paid(at="quiet_surcharge_merchant")
    for tip in (300, 1000, 0, 70):
        assert parts(sandbox.acted(sale, "adjust", **fixed(tip)))[2:] == (tip, 30, 1030 + tip)


@pytest.mark.proves("assumed F23, D11, 2.5-headroom")
def test_an_adjustment_is_limited_by_what_was_held_and_the_headroom(sandbox):
    # assumed D11: captured afterwards at most A - R0 and 100 % of the subtotal
    tx = sandbox.held()
    sandbox.acted(tx, "capture", amount=400)

    too_much = sandbox.act(tx, "adjust", **fixed(1001))
    after = sandbox.acted(tx, "adjust", **fixed(1000))

    assert too_much.error() == (400, "exceeds_original_auth")
    assert (parts(after), ledger(after)) == ((400, 0, 1000, 0, 1400), (1000, 1400, 0, 0))
    all_tip = sandbox.paid(300, breakdown={"subtotal": 0, "tipAmount": 300})
    assert sandbox.act(all_tip, "adjust", **fixed(0)).error() == (400, "validation_error")
    tip_alone = sandbox.held()
    sandbox.acted(tip_alone, "capture", breakdown={"subtotal": 0, "tipAmount": 10})
    assert "leaves nothing" in sandbox.refused(sandbox.act(tip_alone, "adjust", **fixed(0)))
    sandbox.acted(tip_alone, "adjust", **fixed(1))
    # assumed M3: the headroom is that of the subtotal that is captured
    for tip in (100, 101, 1000):
        tx = sandbox.held()
        sandbox.acted(tx, "reverse", amount=900)
        sandbox.act(tx, "capture", tip_amount=tip)
        after = sandbox.read(tx)
        assert ledger(after)[1] <= 100 + after["subtotal"]
        assert broken(sandbox.record_of(tx["transaction_id"])) == []


# --- reverse and refund -----------------------------------------------------------------------


@pytest.mark.proves("assumed 2.5-refund")
def test_a_reversal_voids_the_surcharge_too_and_a_refund_takes_its_share_of_it(sandbox):
    reversed_one, refunded_one = (sandbox.paid(at="quiet_surcharge_merchant") for _ in range(2))

    after = sandbox.acted(reversed_one, "reverse")
    half = sandbox.acted(refunded_one, "refund", amount=515)

    assert (ledger(after), after["batch_id"]) == ((1030, 1030, 0, 1030), None)
    assert (ledger(half), parts(half)) == ((1030, 1030, 515, 0), (1000, 0, 0, 30, 1030))


# --- approvals in part ------------------------------------------------------------------------


@pytest.mark.proves("spec 2.4-partial_approval", "assumed 2.7, Q19, 0.4-gateway-response")
def test_half_is_approved_rounded_down_by_default(sandbox):
    for amount, approved in ((1000, 500), (1001, 500), (2, 1), (3, 1)):
        for operation in ("sale", "auth"):
            tx = sandbox.paid(amount, operation=operation, outcome="partial_approval")

            assert ledger(tx) == (approved, approved if operation == "sale" else 0, 0, 0)
            assert parts(tx) == (amount, 0, 0, 0, amount)
            assert tx["additional_details"]["remaining_amount"] == amount - approved


# state; operation; body; refused with or the ledger after; total and what remains
IN_PART = [
    ("auth", "capture", {"amount": 501}, "exceeds_original_auth", 1000, 500),
    ("auth", "capture", {}, (500, 500, 0, 0), 1000, 500),
    ("auth", "capture", {"amount": 200}, (500, 200, 0, 0), 1000, 800),
    ("auth", "increment", {"amount": 100}, (600, 0, 0, 0), 1100, 500),
    ("sale", "adjust", fixed(100), (500, 600, 0, 0), 1100, 500),
    ("sale", "refund", {"amount": 501}, "refund_exceeds_captured", 1000, 500),
    ("sale", "refund", {}, (500, 500, 500, 0), 1000, 500),
    ("sale", "reverse", {"amount": 501}, "reverse_exceeds_available", 1000, 500),
    ("sale", "reverse", {}, (500, 500, 0, 500), 1000, 500),
]


@pytest.mark.proves("assumed 2.7, M2, M7")
def test_only_the_approved_part_can_be_captured_refunded_or_reversed(sandbox):
    for state, operation, body, expected, total, remaining in IN_PART:
        tx = sandbox.paid(operation=state, outcome="partial_approval")
        answer = sandbox.act(tx, operation, **body)
        after = sandbox.read(tx)
        if isinstance(expected, str):
            assert answer.error() == (400, expected)
            assert ledger(after) == ledger(tx)
        else:
            assert (answer.status, ledger(after)) == (200, expected)
        assert after["total_amount"] == total
        assert after["additional_details"]["remaining_amount"] == remaining, (operation, body)
    # Nothing remains below zero with a smaller tip.
    for tip in (0, 50, 99, 100):
        breakdown = {"subtotal": 4_950, "tipAmount": 150}
        tx = sandbox.paid(5_100, card="tok_mc_prepaid", breakdown=breakdown)
        sandbox.act(tx, "adjust", **fixed(tip))
        assert sandbox.read(tx)["additional_details"].get("remaining_amount", 0) >= 0
        assert broken(sandbox.record_of(tx["transaction_id"])) == []

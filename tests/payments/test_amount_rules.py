"""How much may be captured, added, adjusted, reversed and refunded: assumed 2.5."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.domain.payments.edits import broken
from tests.platform.minting import messages
from tests.properties import examples
from tests.readings.choosing import choose
from tests.support.payments import (
    act,
    acted,
    chosen,
    fresh_sandbox,
    in_state,
    kind,
    ledger,
    operate,
    paid,
    parts,
    read,
    record_of,
    refused,
    sums,
)

DINNER = {"subtotal": 10_000, "taxAmount": 875, "tipAmount": 3_000}
"""13875 in all."""


def held(sandbox, amount=1000, **more):
    return paid(sandbox, amount, operation="auth", **more)["transaction_id"]


def error(answer):
    return answer.status, answer.json()["error"]


# --- capture ----------------------------------------------------------------------------------


@pytest.mark.proves("assumed 2.5-capture, F10, D15, 1.8-capture")
@pytest.mark.parametrize(
    ("body", "expected", "captured"),
    [
        ({}, (10_000, 875, 3_000, 0, 13_875), 13_875),
        ({"amount": 13_875}, (10_000, 875, 3_000, 0, 13_875), 13_875),
        # 875 x 7000 / 13875 = 441.4; 3000 x 7000 / 13875 = 1513.5, half up
        ({"amount": 7_000}, (5_045, 441, 1_514, 0, 7_000), 7_000),
        ({"amount": 1}, (1, 0, 0, 0, 1), 1),
        # The tip adds to the tip; on top of the whole hold where no amount is given: assumed D15.
        ({"tip_amount": 500}, (10_000, 875, 3_500, 0, 14_375), 14_375),
        ({"amount": 14_375, "tip_amount": 500}, (10_000, 875, 3_500, 0, 14_375), 14_375),
        ({"amount": 7_500, "tip_amount": 500}, (5_045, 441, 2_014, 0, 7_500), 7_500),
        ({"tip_amount": 0}, (10_000, 875, 3_000, 0, 13_875), 13_875),
    ],
)
def test_a_capture_scales_what_was_authorized(sandbox, body, expected, captured):
    id = held(sandbox, 13_875, breakdown=DINNER)

    after = acted(sandbox, id, "capture", **body)

    assert (parts(after), ledger(after)) == (expected, (13_875, captured, 0, 0))


@pytest.mark.proves("assumed 2.5-capture")
@pytest.mark.parametrize(
    ("tax", "tip", "amount", "expected"),
    [
        # 1.5 is 2, 2.5 is 3: half up, and not to the even one
        (3, 0, 50, (48, 2, 0, 0, 50)),
        (5, 0, 50, (47, 3, 0, 0, 50)),
        (0, 3, 50, (48, 0, 2, 0, 50)),
        # 1.49 is 1
        (3, 1, 49, (48, 1, 0, 0, 49)),
    ],
)
def test_scaling_rounds_half_up_and_the_subtotal_takes_the_rest(
    sandbox, tax, tip, amount, expected
):
    breakdown = {"subtotal": 100 - tax - tip, "taxAmount": tax, "tipAmount": tip}
    id = held(sandbox, 100, breakdown=breakdown)

    assert parts(acted(sandbox, id, "capture", amount=amount)) == expected


@pytest.mark.proves("assumed 2.5-capture")
def test_a_surcharge_that_was_held_is_scaled_too(sandbox):
    breakdown = {"subtotal": 1000, "surcharge": {"amount": 35}}
    id = held(sandbox, 1035, breakdown=breakdown)

    # 35 x 500 / 1035 = 16.9
    assert parts(acted(sandbox, id, "capture", amount=500)) == (483, 0, 0, 17, 500)


@pytest.mark.proves("assumed 2.5-capture")
def test_what_was_reversed_before_scales_a_capture_without_an_amount(sandbox):
    id = held(sandbox, 13_875, breakdown=DINNER)
    acted(sandbox, id, "reverse", amount=6_875)

    after = acted(sandbox, id, "capture")

    assert parts(after) == (5_045, 441, 1_514, 0, 7_000)
    assert ledger(after) == (13_875, 7_000, 0, 6_875)


@pytest.mark.proves("assumed F11, M3, 2.5-headroom")
@pytest.mark.parametrize(
    "body",
    [
        {"amount": 1001},
        {"amount": 1201, "tip_amount": 200},
        {"amount": 2001, "tip_amount": 1001},
        # The headroom is 100 % of the subtotal: assumed 2.5-headroom.
        {"tip_amount": 1001},
        {"amount": 1100, "breakdown": {"subtotal": 1100}},
        {"breakdown": {"subtotal": 950, "taxAmount": 51}},
        {"breakdown": {"subtotal": 500, "tipAmount": 501}},
    ],
)
def test_a_capture_beyond_hold_and_headroom_is_refused(sandbox, body):
    id = held(sandbox)

    answer = act(sandbox, id, "capture", **body)

    after = read(sandbox, id)
    assert error(answer) == (400, "exceeds_original_auth")
    assert (ledger(after), parts(after)) == ((1000, 0, 0, 0), (1000, 0, 0, 0, 1000))


@pytest.mark.proves("assumed 2.5-headroom, M3, 2.5-breakdown")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({"amount": 1200, "tip_amount": 200}, (1000, 0, 200, 0, 1200)),
        ({"tip_amount": 1000}, (1000, 0, 1000, 0, 2000)),
        ({"breakdown": {"subtotal": 950, "taxAmount": 50}}, (950, 50, 0, 0, 1000)),
        ({"breakdown": {"subtotal": 500, "tipAmount": 500}}, (500, 0, 500, 0, 1000)),
        # 8.25 % of 600 is 49.5
        (
            {"amount": 700, "breakdown": {"subtotal": 600, "taxRate": 8.25, "tipAmount": 50}},
            (600, 50, 50, 0, 700),
        ),
    ],
)
def test_a_capture_up_to_hold_and_headroom_is_taken(sandbox, body, expected):
    id = held(sandbox)

    after = acted(sandbox, id, "capture", **body)

    assert (parts(after), ledger(after)) == (expected, (1000, expected[4], 0, 0))


@pytest.mark.proves("assumed 2.5-breakdown")
@pytest.mark.parametrize(
    "surcharge", [{"surcharge": {"percentage": 3.5}}, {"surcharge": {"amount": 486}}]
)
def test_a_capture_with_a_breakdown_may_add_tip_and_surcharge_to_the_goods(sandbox, surcharge):
    # 10000 + 875 + 3000 at 3.5 % is 485.625: assumed 2.5-breakdown, 2.8-examples
    id = held(sandbox, 10_875, breakdown={"subtotal": 10_000, "taxAmount": 875})

    after = acted(*(sandbox, id, "capture"), amount=14_361, breakdown=DINNER | surcharge)

    assert parts(after) == (10_000, 875, 3_000, 486, 14_361)
    assert ledger(after) == (10_875, 14_361, 0, 0)
    assert (after["surcharge_applied"], after["tip_capture_mode"]) == (True, "capture")


@pytest.mark.proves("assumed 2.5-surcharge-rate")
def test_a_surcharge_may_be_a_cent_above_the_rate_beside_it(sandbox):
    id = held(sandbox)
    breakdown = {"subtotal": 1000, "surchargeAmount": 31, "surchargeRate": 3}

    after = acted(sandbox, id, "capture", breakdown=breakdown)

    assert (after["status"], after["surcharge_amount"]) == ("captured", 31)


@pytest.mark.proves("assumed 2.5-surcharge-rate")
@pytest.mark.parametrize("goods", [500, 1000])
def test_a_surcharge_above_its_own_rate_is_invalid_and_no_attempt(sandbox, goods):
    # It is a mistake in the request, even if the whole is below the hold.
    id = held(sandbox)
    before, fired_before = read(sandbox, id), len(messages(sandbox))
    breakdown = {"subtotal": goods, "surchargeAmount": 32, "surchargeRate": 3}

    answer = act(sandbox, id, "capture", breakdown=breakdown)

    assert "surchargeAmount: 32 is more than its rate of 3 %" in refused(sandbox, answer)
    assert read(sandbox, id) == before
    assert len(messages(sandbox)) == fired_before


@pytest.mark.proves("assumed 2.5-breakdown, 2.5-increment")
@pytest.mark.parametrize(
    ("operation", "body"),
    [
        ("capture", {"tip_amount": -1}),
        ("capture", {"breakdown": {"subtotal": 0}}),
        ("capture", {"breakdown": {"tipAmount": 10}}),
        ("increment", {}),
        ("increment", {"amount": None}),
        ("increment", {"amount": 99_999_999}),
    ],
)
def test_a_follow_up_that_makes_no_sense_is_refused_without_a_trace(sandbox, operation, body):
    before = in_state(sandbox, "authorized")

    answer = act(sandbox, before["transaction_id"], operation, **body)

    assert error(answer) == (400, "validation_error")
    assert read(sandbox, before["transaction_id"]) == before


@pytest.mark.proves("assumed 2.8-never")
def test_a_capture_never_surcharges_a_debit_card(sandbox):
    # assumed D12
    id = held(sandbox, card="tok_visa_debit")
    breakdown = {"subtotal": 1000, "surcharge": {"amount": 30}}

    answer = act(sandbox, id, "capture", breakdown=breakdown)

    assert error(answer) == (400, "validation_error")


SMALL = st.integers(min_value=0, max_value=3_000)


@pytest.mark.proves("assumed 2.5-capture, M1")
@given(
    subtotal=st.integers(min_value=1, max_value=20_000),
    tax=SMALL,
    tip=SMALL,
    surcharge=SMALL,
    data=st.data(),
)
@settings(max_examples=examples(150))
def test_scaled_components_are_their_shares_rounded_half_up(subtotal, tax, tip, surcharge, data):
    sandbox = CAPTURING
    total = subtotal + tax + tip + surcharge
    amount = data.draw(st.integers(min_value=1, max_value=total))
    breakdown = {
        "subtotal": subtotal,
        "taxAmount": tax,
        "tipAmount": tip,
        "surcharge": {"amount": surcharge},
    }
    id = held(sandbox, total, breakdown=breakdown)

    after = parts(acted(sandbox, id, "capture", amount=amount))

    shares = [(2 * part * amount + total) // (2 * total) for part in (tax, tip, surcharge)]
    assert after[4] == amount == sum(after[:4])
    assert min(after) >= 0
    if sum(shares) <= amount:
        assert after == (amount - sum(shares), *shares, amount)


CAPTURING = fresh_sandbox()


# --- increment --------------------------------------------------------------------------------


@pytest.mark.proves("assumed 2.5-increment, F13")
def test_increments_add_up_and_all_of_them_can_be_captured(sandbox):
    id = held(sandbox)
    acted(sandbox, id, "increment", amount=250)
    grown = acted(sandbox, id, "increment", amount=1)
    too_much = act(sandbox, id, "capture", amount=1252)

    after = acted(sandbox, id, "capture", amount=1251)

    assert (parts(grown), ledger(grown)) == ((1251, 0, 0, 0, 1251), (1251, 0, 0, 0))
    assert error(too_much) == (400, "exceeds_original_auth")
    assert ledger(after) == (1251, 1251, 0, 0)


@pytest.mark.proves("assumed 2.5-increment")
def test_an_increment_with_a_breakdown_adds_to_every_component(sandbox):
    id = held(sandbox, 13_875, breakdown=DINNER)
    more = {"subtotal": 1_000, "taxAmount": 88, "tipAmount": 200, "surcharge": {"amount": 12}}

    after = acted(sandbox, id, "increment", amount=1_300, breakdown=more)

    assert parts(after) == (11_000, 963, 3_200, 12, 15_175)
    assert ledger(after) == (15_175, 0, 0, 0)


# --- confirm ----------------------------------------------------------------------------------


@pytest.mark.proves("assumed F1, D12")
@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, (1000, 0, 0, 30, 1030)),
        ({"amount": 1030}, (1000, 0, 0, 30, 1030)),
        (
            {
                "amount": 1120,
                "breakdown": {"subtotal": 1000, "tipAmount": 100, "surcharge": {"amount": 20}},
            },
            (1000, 0, 100, 20, 1120),
        ),
        ({"breakdown": {"subtotal": 1000, "surcharge": {"percentage": 2}}}, (1000, 0, 0, 20, 1020)),
        ({"breakdown": {"subtotal": 1000, "surcharge": {"bypass": True}}}, (1000, 0, 0, 0, 1000)),
    ],
)
def test_a_confirmation_takes_the_proposal_or_what_overrides_it(sandbox, body, expected):
    id = in_state(sandbox, "surcharge_pending")["transaction_id"]

    after = acted(sandbox, id, "confirm", **({"confirm": True} | body))

    assert (parts(after), ledger(after)) == (expected, (expected[4], expected[4], 0, 0))
    # assumed M8
    assert after["surcharge_applied"] is (expected[3] > 0)


@pytest.mark.proves("assumed F1, 2.7, 5.2-declines, D35-partial-approval")
@pytest.mark.parametrize(
    ("reading", "total", "left"), [("requested", 1030, 530), ("approved", 500, 530)]
)
def test_a_confirmation_can_be_approved_in_part(sandbox, reading, total, left):
    choose(sandbox, total_of_partial_approval=reading)
    id = in_state(sandbox, "surcharge_pending")["transaction_id"]
    part = {"outcome": "partial_approval", "operation": "confirm", "approved_amount": 500}
    sandbox.control("POST", "/worlds/default/scenario/next", part)

    after = acted(sandbox, id, "confirm", confirm=True)

    assert (kind(after), after["total_amount"]) == ("sale/captured/partial_approval", total)
    assert ledger(after) == (500, 500, 0, 0)
    assert after["additional_details"]["remaining_amount"] == left
    assert sums(sandbox, after["batch_id"]) == (500, 0, 1)
    assert broken(record_of(sandbox, id)) == []


def test_a_part_that_is_all_of_a_confirmation_approves_it(sandbox):
    id = in_state(sandbox, "surcharge_pending")["transaction_id"]
    part = {"outcome": "partial_approval", "operation": "confirm", "approved_amount": 5000}
    sandbox.control("POST", "/worlds/default/scenario/next", part)

    answer = operate(sandbox, id, "confirm", confirm=True)

    assert kind(answer.json()) == "sale/captured/approved"
    assert chosen(answer) == "approved; source=queue; rule=queue"


@pytest.mark.proves("assumed 2.1-silent")
@pytest.mark.parametrize(
    "body",
    [
        {"amount": 1031, "breakdown": {"subtotal": 1000, "surcharge": {"amount": 30}}},
        {"amount": 999},
        {"confirm": "yes"},
        {"confirm": None},
    ],
)
def test_a_confirmation_that_does_not_add_up_changes_nothing(sandbox, body):
    before = in_state(sandbox, "surcharge_pending")

    answer = act(sandbox, before["transaction_id"], "confirm", **({"confirm": True} | body))

    assert error(answer) == (400, "validation_error")
    assert read(sandbox, before["transaction_id"]) == before

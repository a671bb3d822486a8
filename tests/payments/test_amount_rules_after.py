"""Tips, reversals and refunds after the money moved, and approvals in part: assumed 2.5, 2.7."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.domain.payments.edits import broken
from tests.properties import examples
from tests.support.payments import (
    act,
    acted,
    batch,
    fresh_sandbox,
    in_state,
    kind,
    ledger,
    paid,
    parts,
    read,
    record_of,
)


def fixed(amount):
    return {"type": "fixed", "amount": amount}


def percent(percentage):
    return {"type": "percentage", "percentage": percentage}


def error(answer):
    return answer.status, answer.json()["error"]


# --- adjust -----------------------------------------------------------------------------------

TIPPED = {"subtotal": 1000, "taxAmount": 80, "tipAmount": 150}


@pytest.mark.proves("assumed 2.5-adjust, F22, 1.8-adjust")
@pytest.mark.parametrize(
    ("body", "tip", "tip_type", "mode"),
    [
        # The new tip replaces the old one: assumed 2.5-adjust.
        (fixed(200), 200, "fixed", "adjust"),
        ({"type": "amount", "amount": 200}, 200, "fixed", "adjust"),
        (fixed(1), 1, "fixed", "adjust"),
        (fixed(0), 0, "fixed", None),
        # Of the subtotal, not of the total.
        (percent(18), 180, "percentage", "adjust"),
        (percent(12.5), 125, "percentage", "adjust"),
        (percent(0.05), 1, "percentage", "adjust"),
        (percent(0.04), 0, "percentage", None),
        (percent(100), 1000, "percentage", "adjust"),
        (percent(0), 0, "percentage", None),
    ],
)
def test_an_adjustment_replaces_the_tip(sandbox, body, tip, tip_type, mode):
    sale = paid(sandbox, 1230, breakdown=TIPPED)

    after = acted(sandbox, sale["transaction_id"], "adjust", **body)

    assert parts(after) == (1000, 80, tip, 0, 1080 + tip)
    assert ledger(after) == (1230, 1080 + tip, 0, 0)
    assert (after["tip_type"], after["tip_capture_mode"]) == (tip_type, mode)
    assert batch(sandbox, after["batch_id"])["captured_amount"] == 1080 + tip


@pytest.mark.proves("assumed 2.5-adjust")
@pytest.mark.parametrize(
    ("subtotal", "percentage", "tip"),
    [(100, 12.5, 13), (100, 12.4, 12), (1000, 1.15, 12), (700, 0.5, 4), (15, 10, 2)],
)
def test_a_percentage_is_rounded_half_up(sandbox, subtotal, percentage, tip):
    sale = paid(sandbox, subtotal)

    after = acted(sandbox, sale["transaction_id"], "adjust", **percent(percentage))

    assert after["tip_amount"] == tip


def test_the_last_of_several_adjustments_stands(sandbox):
    id = paid(sandbox)["transaction_id"]
    for tip in (300, 1000, 0, 70):
        acted(sandbox, id, "adjust", **fixed(tip))

    after = read(sandbox, id)

    assert (parts(after), ledger(after)) == ((1000, 0, 70, 0, 1070), (1000, 1070, 0, 0))


@pytest.mark.proves("assumed 2.5-adjust")
def test_a_surcharge_is_not_counted_again(sandbox):
    sale = paid(sandbox, at="quiet_surcharge_merchant")

    after = acted(sandbox, sale["transaction_id"], "adjust", **fixed(500))

    assert parts(after) == (1000, 0, 500, 30, 1530)


@pytest.mark.proves("assumed F23, D11, 2.5-headroom")
def test_an_adjustment_is_limited_by_what_was_held_and_the_headroom(sandbox):
    # assumed D11: captured afterwards at most A - R0 and 100 % of the subtotal
    id = paid(sandbox, operation="auth")["transaction_id"]
    acted(sandbox, id, "capture", amount=400)

    too_much = act(sandbox, id, "adjust", **fixed(1001))
    after = acted(sandbox, id, "adjust", **fixed(1000))

    assert error(too_much) == (400, "exceeds_original_auth")
    assert (parts(after), ledger(after)) == ((400, 0, 1000, 0, 1400), (1000, 1400, 0, 0))


# --- reverse and refund -----------------------------------------------------------------------


@pytest.mark.proves("assumed F5, D12")
@pytest.mark.parametrize("amount", [None, 1000, 1030])
def test_a_prompt_that_is_called_off_takes_its_proposal_back(sandbox, amount):
    waiting = paid(sandbox, at="surcharge_merchant")

    after = acted(sandbox, waiting["transaction_id"], "reverse", amount=amount)

    assert parts(waiting) == (1000, 0, 0, 30, 1030)
    assert (after["status"], parts(after)) == ("canceled", (1000, 0, 0, 0, 1000))


@pytest.mark.proves("assumed 2.5-refund")
def test_a_reversal_voids_the_surcharge_too_and_a_refund_takes_its_share_of_it(sandbox):
    reversed_one = paid(sandbox, at="quiet_surcharge_merchant")
    refunded_one = paid(sandbox, at="quiet_surcharge_merchant")

    after = acted(sandbox, reversed_one["transaction_id"], "reverse")
    half = acted(sandbox, refunded_one["transaction_id"], "refund", amount=515)

    assert (ledger(after), after["batch_id"]) == ((1030, 1030, 0, 1030), None)
    assert (ledger(half), half["surcharge_amount"]) == ((1030, 1030, 515, 0), 30)
    assert parts(half) == (1000, 0, 0, 30, 1030)


REPEATED = [
    ("captured", "refund", 2, "refund_exceeds_captured"),
    ("captured", "reverse", 3, "reverse_exceeds_available"),
    ("authorized", "reverse", 3, "reverse_exceeds_available"),
]
MANY = fresh_sandbox()


@pytest.mark.proves("assumed M4, M5, F29")
@pytest.mark.parametrize(("state", "operation", "entry", "code"), REPEATED)
@given(amounts=st.lists(st.integers(min_value=1, max_value=700), min_size=1, max_size=8))
@settings(max_examples=examples(40))
def test_any_number_of_times_as_long_as_something_is_left(state, operation, entry, code, amounts):
    # assumed M4, M5
    id = in_state(MANY, state)["transaction_id"]
    left = 1000

    for amount in amounts:
        answer = act(MANY, id, operation, amount=amount)

        if left == 0:
            assert error(answer) == (400, "invalid_transaction_state")
        elif amount > left:
            assert error(answer) == (400, code)
        else:
            left -= amount
            assert answer.status == 200
    assert ledger(read(MANY, id))[entry] == 1000 - left


# --- approvals in part ------------------------------------------------------------------------


@pytest.mark.proves("spec 2.4-partial_approval", "assumed 2.7, Q19, 0.4-gateway-response")
@pytest.mark.parametrize(("amount", "approved"), [(1000, 500), (1001, 500), (2, 1), (3, 1)])
@pytest.mark.parametrize("preauth", [False, True])
def test_half_is_approved_rounded_down_by_default(sandbox, preauth, amount, approved):
    # assumed 2.7
    after = paid(
        sandbox, amount, operation="auth" if preauth else "sale", outcome="partial_approval"
    )

    assert ledger(after) == (approved, 0 if preauth else approved, 0, 0)
    assert parts(after) == (amount, 0, 0, 0, amount)
    assert after["additional_details"]["remaining_amount"] == amount - approved
    assert after["status_reason"] == "partial_approval"
    assert after["gateway_transaction_response"]["responseCode"] == "P"
    assert after["gateway_transaction_response"]["processorResponseCode"] == "10"


@pytest.mark.proves("assumed 2.7")
@pytest.mark.parametrize(
    ("body", "status", "captured"),
    [
        ({}, 200, 500),
        ({"amount": 500}, 200, 500),
        ({"amount": 200}, 200, 200),
        ({"amount": 501}, 400, 0),
    ],
)
def test_only_the_approved_part_can_be_captured(sandbox, body, status, captured):
    id = paid(sandbox, operation="auth", outcome="partial_approval")["transaction_id"]

    answer = act(sandbox, id, "capture", **body)

    after = read(sandbox, id)
    assert (answer.status, ledger(after)) == (status, (500, captured, 0, 0))
    assert after["total_amount"] == 1000
    if captured:
        assert batch(sandbox, after["batch_id"])["captured_amount"] == captured


@pytest.mark.proves("assumed 2.7")
def test_only_the_approved_part_can_be_refunded_or_reversed(sandbox):
    first, second = (paid(sandbox, outcome="partial_approval")["transaction_id"] for _ in range(2))

    too_much = [
        error(act(sandbox, first, "refund", amount=501)),
        error(act(sandbox, second, "reverse", amount=501)),
    ]
    refunded = acted(sandbox, first, "refund")
    reversed_one = acted(sandbox, second, "reverse")

    assert too_much == [(400, "refund_exceeds_captured"), (400, "reverse_exceeds_available")]
    assert (kind(refunded), ledger(refunded)) == (
        *("refund/refunded/approved", (500, 500, 500, 0)),
    )
    assert (kind(reversed_one), ledger(reversed_one)) == (
        *("reverse/reversed/approved", (500, 500, 0, 500)),
    )


def test_a_tip_comes_on_top_of_the_approved_part(sandbox):
    id = paid(sandbox, outcome="partial_approval")["transaction_id"]

    after = acted(sandbox, id, "adjust", **fixed(100))

    assert (parts(after), ledger(after)) == ((1000, 0, 100, 0, 1100), (500, 600, 0, 0))
    assert after["additional_details"]["remaining_amount"] == 500


@pytest.mark.proves("assumed 2.7")
def test_an_increment_of_an_approval_in_part_grows_both(sandbox):
    id = paid(sandbox, operation="auth", outcome="partial_approval")["transaction_id"]

    after = acted(sandbox, id, "increment", amount=100)

    assert (after["total_amount"], ledger(after)) == (1100, (600, 0, 0, 0))
    assert after["additional_details"]["remaining_amount"] == 500


# --- where two rules meet ---------------------------------------------------------------------


@pytest.mark.parametrize("tip", [0, 50, 99, 100])
def test_a_smaller_tip_on_an_approval_in_part_leaves_money_that_adds_up(sandbox, tip):
    # assumed 2.7, M2, M7: nothing remains below zero
    breakdown = {"subtotal": 4_950, "tipAmount": 150}
    id = paid(sandbox, 5_100, card="tok_mc_prepaid", breakdown=breakdown)["transaction_id"]

    act(sandbox, id, "adjust", **fixed(tip))

    after = read(sandbox, id)
    assert after["additional_details"].get("remaining_amount", 0) >= 0
    assert broken(record_of(sandbox, id)) == []


@pytest.mark.proves("assumed 2.5-headroom")
@pytest.mark.parametrize("tip", [100, 101, 1000])
def test_the_headroom_is_that_of_the_subtotal_that_is_captured(sandbox, tip):
    # assumed M3: H is at most the headroom of the record
    id = paid(sandbox, operation="auth")["transaction_id"]
    acted(sandbox, id, "reverse", amount=900)

    act(sandbox, id, "capture", tip_amount=tip)

    after = read(sandbox, id)
    _, captured, _, _ = ledger(after)
    assert captured <= 100 + after["subtotal"]
    assert broken(record_of(sandbox, id)) == []

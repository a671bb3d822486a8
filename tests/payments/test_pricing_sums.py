"""A breakdown that must add up, and the tip in it: assumed 1.8-sum, 2.9."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.properties import examples
from tests.support.payments import acted, fresh_sandbox, paid, parts, pay

# --- the sum rule -----------------------------------------------------------------------------


def test_null_says_nothing(sandbox):
    names = ("taxAmount", "taxRate", "tipAmount", "tipRate", "tipType", "surcharge")
    breakdown = {"subtotal": 1000} | dict.fromkeys(names)

    assert parts(paid(sandbox, breakdown=breakdown)) == (1000, 0, 0, 0, 1000)
    assert parts(paid(sandbox, breakdown=None)) == (1000, 0, 0, 0, 1000)


@pytest.mark.proves("assumed 1.8-sum")
def test_a_configured_tax_is_not_in_the_amount_that_is_asked_for(sandbox):
    # The client cannot know it: assumed 2.8-tax.
    breakdown = {"subtotal": 1000, "tipAmount": 200}

    sale = paid(sandbox, 1200, at="tax_merchant", breakdown=breakdown)

    assert parts(sale) == (1000, 83, 200, 0, 1283)


CENTS = st.integers(min_value=0, max_value=50_000)
SELLING = fresh_sandbox()


@pytest.mark.proves("assumed 1.8-sum")
@given(
    subtotal=st.integers(min_value=1, max_value=50_000),
    tax=CENTS,
    tip=CENTS,
    surcharge=CENTS,
    off=st.integers(min_value=-3, max_value=3),
)
@settings(max_examples=examples(100))
def test_stated_components_are_taken_exactly_when_they_add_up(subtotal, tax, tip, surcharge, off):
    total = subtotal + tax + tip + surcharge
    breakdown = {
        "subtotal": subtotal,
        "taxAmount": tax,
        "tipAmount": tip,
        "surcharge": {"amount": surcharge},
    }

    answer = pay(SELLING, max(1, total + off), breakdown=breakdown)

    if max(1, total + off) == total:
        assert parts(answer.json()) == (subtotal, tax, tip, surcharge, total)
    else:
        assert (answer.status, answer.json()["error"]) == (400, "validation_error")


@pytest.mark.proves("assumed 2.8-rounding")
@given(
    subtotal=st.integers(min_value=1, max_value=2_000_000),
    hundredths=st.integers(min_value=1, max_value=2_000),
)
@settings(max_examples=examples(100))
def test_a_computed_tax_is_its_percentage_rounded_half_up(subtotal, hundredths):
    # In whole numbers: subtotal x rate / 10000, with a half of it added first.
    expected = (2 * subtotal * hundredths + 10_000) // 20_000
    rate = hundredths / 100
    breakdown = {"subtotal": subtotal, "taxRate": rate}

    sale = paid(SELLING, subtotal + expected, breakdown=breakdown)

    assert parts(sale) == (subtotal, expected, 0, 0, subtotal + expected)
    assert sale["tax_rate"] == rate


# --- the tip ----------------------------------------------------------------------------------


@pytest.mark.proves("spec 2.10-values", "assumed 2.9, Q29")
@pytest.mark.parametrize(
    ("amount", "more", "tip", "tip_type", "mode"),
    [
        (1000, {}, 0, "fixed", None),
        (1000, {"tipAmount": 0}, 0, "fixed", None),
        (1200, {"tipAmount": 200}, 200, "fixed", "sale"),
        (1200, {"tipAmount": 200, "tipType": "fixed"}, 200, "fixed", "sale"),
        (
            *(1200, {"tipAmount": 200, "tipType": "percentage", "tipRate": 20}),
            *(200, "percentage", "sale"),
        ),
        (1180, {"tipRate": 18}, 180, "percentage", "sale"),
    ],
)
@pytest.mark.parametrize("preauth", [False, True])
def test_a_tip_shows_how_and_when_it_was_stated(
    sandbox, preauth, amount, more, tip, tip_type, mode
):
    after = paid(
        sandbox,
        amount,
        operation="auth" if preauth else "sale",
        breakdown={"subtotal": 1000, **more},
    )

    assert after["tip_amount"] == tip
    assert (after["tip_type"], after["tip_capture_mode"]) == (tip_type, mode)


@pytest.mark.proves("assumed 2.9")
@pytest.mark.parametrize(
    ("body", "mode"),
    [
        ({}, None),
        ({"tip_amount": 100}, "capture"),
        ({"breakdown": {"subtotal": 1000, "tipAmount": 100}}, "capture"),
        ({"breakdown": {"subtotal": 1000}}, None),
    ],
)
def test_a_tip_that_comes_with_the_capture_says_so(sandbox, body, mode):
    id = paid(sandbox, operation="auth")["transaction_id"]

    after = acted(sandbox, id, "capture", **body)

    assert after["tip_capture_mode"] == mode


@pytest.mark.proves("assumed 2.9")
def test_a_tip_that_was_held_keeps_its_mode_at_the_capture(sandbox):
    breakdown = {"subtotal": 1000, "tipAmount": 200}
    id = paid(sandbox, 1200, operation="auth", breakdown=breakdown)["transaction_id"]

    assert acted(sandbox, id, "capture")["tip_capture_mode"] == "sale"


@pytest.mark.proves("assumed 2.5-increment, 2.9")
def test_a_tip_that_an_increment_brings_is_not_shown_as_none(sandbox):
    # assumed 2.9: null means that there is no tip
    id = paid(sandbox, operation="auth")["transaction_id"]
    breakdown = {"subtotal": 100, "tipAmount": 50}

    after = acted(sandbox, id, "increment", amount=150, breakdown=breakdown)

    assert after["tip_amount"] == 50
    assert after["tip_capture_mode"] is not None


@pytest.mark.proves("assumed 2.8-values, 2.5-increment")
@pytest.mark.parametrize("part", [{"taxAmount": 50}, {"surcharge": {"amount": 50}}])
def test_what_an_increment_brings_has_a_source(sandbox, part):
    # assumed 2.8-values: null means that nothing applied
    id = paid(sandbox, operation="auth")["transaction_id"]

    after = acted(*(sandbox, id, "increment"), amount=150, breakdown={"subtotal": 100, **part})

    name = "tax" if "taxAmount" in part else "surcharge"
    assert (after[f"{name}_amount"], after[f"{name}_source"]) == (50, "transaction")

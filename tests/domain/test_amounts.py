"""Money: what is rounded, how, and in which order. Source: assumed 2.5, 2.8-rounding, M1, M2."""

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from sandbox.domain.payments.amounts import (
    AMOUNT_MAX,
    EMPTY,
    Amounts,
    Ledger,
    first_of,
    percent_of,
    share_of,
)

components = st.integers(min_value=0, max_value=20_000_000)
breakdowns = st.builds(
    Amounts, subtotal=components, tax=components, tip=components, surcharge=components
)


def test_the_largest_amount_has_eight_digits():
    assert AMOUNT_MAX == 99_999_999


@pytest.mark.proves("assumed 2.8-rounding")
@pytest.mark.parametrize(
    ("amount", "percent", "expected"),
    [
        # The examples of assumed 2.8: half up, on the decimal that was sent.
        (13875, 3.5, 486),
        (1246, 3.0, 37),
        (1000, 8.75, 88),
        (1000, 8.25, 83),
        # The halves themselves, and what binary fractions make of them.
        (10, 5, 1),
        (30, 5, 2),
        (50, 5, 3),
        (50, 1, 1),
        (150, 1, 2),
        (250, 1, 3),
        (115, 10, 12),
        (1000, 0.05, 1),
        (700, 0.07, 0),
        (100, 1.5, 2),
        (1005, 10, 101),
        (33, 50, 17),
        (0, 8.25, 0),
        (1, 49.9, 0),
        (1, 50, 1),
        (99_999_999, 100, 99_999_999),
        (99_999_999, 3, 3_000_000),
        (1000, 0, 0),
    ],
)
def test_a_percentage_is_rounded_half_up_once(amount, percent, expected):
    assert percent_of(amount, percent) == expected


@pytest.mark.proves("assumed 2.5-capture")
@pytest.mark.parametrize(
    ("component", "part", "whole", "expected"),
    [
        (88, 644, 1288, 44),
        (1, 1, 2, 1),
        (1, 1, 3, 0),
        (5, 3, 10, 2),
        (875, 1, 2, 438),
        (0, 1, 2, 0),
        (99_999_999, 1, 1, 99_999_999),
    ],
)
def test_a_share_is_rounded_half_up(component, part, whole, expected):
    assert share_of(component, part, whole) == expected


@pytest.mark.proves("assumed M1")
def test_a_total_is_the_sum_of_its_components():
    amounts = Amounts(subtotal=1000, tax=88, tip=200, surcharge=30)

    assert (amounts.total, amounts.goods) == (1318, 1088)


def test_nothing_is_nothing():
    assert (Amounts(subtotal=0).total, EMPTY.held, EMPTY.kept, EMPTY.refundable) == (0, 0, 0, 0)


def test_one_component_is_replaced_and_the_others_stay():
    amounts = Amounts(subtotal=1000, tax=88, tip=200, surcharge=30)

    assert amounts.with_tip(0) == Amounts(subtotal=1000, tax=88, tip=0, surcharge=30)
    assert amounts.without_surcharge() == Amounts(subtotal=1000, tax=88, tip=200, surcharge=0)
    assert amounts.plus(Amounts(subtotal=1, tax=2, tip=3, surcharge=4)) == Amounts(
        subtotal=1001, tax=90, tip=203, surcharge=34
    )


@pytest.mark.proves("assumed 2.5-capture")
@pytest.mark.parametrize(
    ("amounts", "total", "expected"),
    [
        # assumed 2.5-capture: tax, tip and surcharge half up, the subtotal takes the rest.
        (Amounts(subtotal=1000, tax=88, tip=200), 644, Amounts(subtotal=500, tax=44, tip=100)),
        (
            Amounts(subtotal=1000, tax=88, tip=200, surcharge=39),
            1000,
            Amounts(subtotal=754, tax=66, tip=151, surcharge=29),
        ),
        (Amounts(subtotal=1000), 1, Amounts(subtotal=1)),
        (
            Amounts(subtotal=1, tax=1, tip=1, surcharge=1),
            2,
            Amounts(subtotal=0, tax=1, tip=1, surcharge=0),
        ),
        (
            Amounts(subtotal=1, tax=1, tip=1, surcharge=1),
            1,
            Amounts(subtotal=1, tax=0, tip=0, surcharge=0),
        ),
        (
            Amounts(subtotal=0, tax=1, tip=1, surcharge=0),
            1,
            Amounts(subtotal=0, tax=1, tip=0, surcharge=0),
        ),
    ],
)
def test_a_smaller_total_keeps_the_proportions(amounts, total, expected):
    assert amounts.scaled_to(total) == expected


@pytest.mark.proves("assumed 2.5-capture, M2")
@given(breakdowns, st.data())
@example(Amounts(subtotal=0, tax=1, tip=1, surcharge=1), None)
def test_however_it_is_scaled_the_sum_is_the_total_and_nothing_is_negative(amounts, data):
    assume(amounts.total > 0)
    total = 1 if data is None else data.draw(st.integers(1, amounts.total))

    scaled = amounts.scaled_to(total)

    assert scaled.total == total
    assert min(scaled.subtotal, scaled.tax, scaled.tip, scaled.surcharge) >= 0


@given(breakdowns)
def test_scaled_to_its_own_total_nothing_changes(amounts):
    assume(amounts.total > 0)

    assert amounts.scaled_to(amounts.total) == amounts


def test_a_ledger_says_what_is_held_kept_and_left_to_give_back():
    ledger = Ledger(authorized=1000, voided=100, captured=950, reversed=50, refunded=300, added=50)

    # assumed 2.2: A - R0, C - R1, C - R1 - F.
    assert (ledger.held, ledger.kept, ledger.refundable) == (900, 900, 600)


@pytest.mark.proves("assumed 2.8")
@pytest.mark.parametrize(
    ("levels", "expected"),
    [
        # assumed 2.8: the first that is not null wins; 0 means never, and stops the search.
        ([("location", None), ("terminal", 2.0), ("account", 3.0)], ("terminal", 2.0)),
        ([("location", 1.5), ("terminal", 2.0)], ("location", 1.5)),
        ([("location", 0), ("terminal", 2.0)], None),
        ([("location", None), ("terminal", 0.0), ("account", 3.0)], None),
        ([("location", None), ("terminal", None)], None),
        ([], None),
    ],
)
def test_a_rate_is_that_of_the_first_level_that_states_one(levels, expected):
    assert first_of(levels) == expected

"""Rates: percent, or basis points where a whole number is too large for a percentage."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from sandbox.domain.field_types import Rate, SurchargeBasis, to_percent

RATE: TypeAdapter[float] = TypeAdapter(Rate)
BASIS: TypeAdapter[str] = TypeAdapter(SurchargeBasis)


@pytest.mark.proves("assumed 2.8")
@pytest.mark.parametrize(
    ("given_rate", "percent"),
    [
        ("0", 0.0),
        ("-0", 0.0),
        ("0.0", 0.0),
        ("1", 1.0),
        ("3", 3.0),
        ("3.5", 3.5),
        ("8.25", 8.25),
        ("0.01", 0.01),
        ("99", 99.0),
        ("99.99", 99.99),
        ("100.0", 100.0),
        ("1e2", 100.0),
        ("100", 1.0),
        ("101", 1.01),
        ("350", 3.5),
        ("825", 8.25),
        ("9999", 99.99),
        ("10000", 100.0),
    ],
)
def test_a_whole_number_from_100_is_basis_points_and_anything_else_is_percent(given_rate, percent):
    # assumed 2.8
    read = RATE.validate_json(given_rate)

    assert read == percent
    assert isinstance(read, float)


@pytest.mark.parametrize(
    "given_rate",
    [
        *("-1", "-0.01", "-350", "10001", "100.01", "350.0", "825.0", "1e3", "1e300"),
        *("9223372036854775808", "9" * 40, '"3.5"', '"350"', "true", "false", "null"),
        *("[]", "[3]", "{}", '""', "NaN", "Infinity", "-Infinity", "1e999"),
    ],
)
def test_what_is_neither_a_percentage_nor_basis_points_is_refused(given_rate):
    with pytest.raises(ValidationError):
        RATE.validate_json(given_rate)


@given(st.integers(100, 10_000))
def test_basis_points_are_hundredths_of_a_percent(points):
    percent = to_percent(points)

    assert round(percent * 100) == points
    assert 1 <= percent <= 100


@given(st.floats(0, 100) | st.integers(0, 99))
def test_a_percentage_stays_what_it_is(rate):
    assert to_percent(rate) == rate


@given(
    st.integers(max_value=-1)
    | st.integers(min_value=10_001)
    | st.floats(max_value=0, exclude_max=True)
    | st.floats(min_value=100, exclude_min=True)
    | st.just(float("nan"))
)
def test_a_number_outside_both_ranges_is_refused_with_the_ranges(rate):
    with pytest.raises(ValueError, match="basis points from 100 to 10000"):
        to_percent(rate)


@pytest.mark.proves("spec 2.10-values", "assumed 2.8-values, Q29")
@pytest.mark.parametrize("basis", ["subtotal", "subtotal_plus_tax", "subtotal_plus_tip", "total"])
def test_four_words_say_what_a_rate_is_a_percentage_of(basis):
    assert BASIS.validate_python(basis) == basis


@pytest.mark.proves("assumed 2.8-values")
@pytest.mark.parametrize("basis", ["", "Total", "tip", "subtotal_plus_tax_plus_tip", 1, True])
def test_no_other_word_says_what_a_rate_is_a_percentage_of(basis):
    with pytest.raises(ValidationError):
        BASIS.validate_python(basis)

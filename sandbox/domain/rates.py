"""Surcharge and tax rates as the API takes them. Source: spec 2.6-rates; units assumed 2.8."""

from typing import Annotated, Final, Literal

from pydantic import AfterValidator, Field, StrictFloat, StrictInt, WithJsonSchema

Basis = Literal["subtotal", "subtotal_plus_tax", "subtotal_plus_tip", "total"]
"""What a rate is a percentage of. Source: assumed 2.8-values."""

PERCENT_MAX: Final = 100
BASIS_POINTS_MAX: Final = 10_000


def to_percent(rate: int | float) -> float:
    """The rate in percent: an integer of 100 or more is basis points, so that 350 is 3.5.

    Raises ValueError for what is neither 0 to 100 percent nor 100 to 10000 basis points.
    """
    if isinstance(rate, int) and PERCENT_MAX <= rate <= BASIS_POINTS_MAX:
        return rate / 100
    if not 0 <= rate <= PERCENT_MAX:
        raise ValueError("must be a percentage from 0 to 100, or basis points from 100 to 10000")
    return float(rate)


Rate = Annotated[
    StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)],
    AfterValidator(to_percent),
    WithJsonSchema(
        {
            "description": "Percent; an integer of 100 or more is basis points.",
            "anyOf": [
                {"type": "number", "minimum": 0, "maximum": PERCENT_MAX},
                {"type": "integer", "minimum": PERCENT_MAX, "maximum": BASIS_POINTS_MAX},
            ],
        }
    ),
]
"""A rate in a request body, read as percent."""

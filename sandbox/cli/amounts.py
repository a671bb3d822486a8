"""Amounts of money as people write them: `10`, `10.5` and `10.00` of a currency."""

import re
from typing import Final

import click

from sandbox.cli.choices import ParsedType, shown
from sandbox.domain import currencies
from sandbox.domain.currencies import CURRENCIES

_AMOUNT: Final = re.compile(r"(?P<units>[0-9]{1,12})(?:\.(?P<part>[0-9]+))?", re.ASCII)

_PERCENT: Final = re.compile(r"(?P<rate>[0-9]{1,3}(?:\.[0-9]+)?)%", re.ASCII)

_USUAL_DIGITS: Final = 2


def digits_of(currency: str | None) -> int:
    """How many decimals the currency has; two if it is unknown."""
    known = CURRENCIES.get(currency or "")
    return known.exponent if known else _USUAL_DIGITS


def minor_units(text: str, currency: str | None = None) -> int:
    """The amount in minor units: 1050 for `10.5`. Raises ValueError with the reason."""
    digits = digits_of(currency)
    example = f"{10:.{digits}f}"
    match = _AMOUNT.fullmatch(text)
    if match is None:
        raise ValueError(f"write the amount like 10 or {example}")
    part = match["part"] or ""
    if len(part) > digits:
        has = f"{currency or 'the currency'} has {digits or 'no'} decimals"
        raise ValueError(f"{has}; write the amount like {example}")
    minor: int = int(match["units"] + part.ljust(digits, "0"))
    return minor


def in_units(amount: int, currency: str | None = None) -> str:
    """The amount as people write it: `10.50` for 1050 minor units."""
    return currencies.in_units(amount, currency or "")


def _check_amount(text: str) -> str:
    if _AMOUNT.fullmatch(text) is None:
        raise ValueError(f"{shown(text)}: write the amount like 10 or 10.00")
    return text


def _check_positive_amount(text: str) -> str:
    if not _check_amount(text).strip("0."):
        raise ValueError(f"{text!r}: the amount must be more than zero")
    return text


def _check_tip(text: str) -> str:
    match = _PERCENT.fullmatch(text)
    if match is None:
        return _check_amount(text)
    if float(match["rate"]) > 100:
        raise ValueError(f"{text!r}: a tip is at most 100%")
    return text


# The currency may be known only later, so commands get the text, and `units_of` counts the units.
AMOUNT: Final = ParsedType("AMOUNT", _check_positive_amount)
AMOUNT_OR_ZERO: Final = ParsedType("AMOUNT", _check_amount)
TIP: Final = ParsedType("TIP", _check_tip)
"""An amount, or a percentage like `18%`."""


def units_of(text: str, currency: str | None, name: str) -> int:
    """The amount of the argument `name` in minor units. Ends the command with the reason."""
    try:
        return minor_units(text, currency)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}", param_hint=f"'{name}'") from None

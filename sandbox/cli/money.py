"""Amounts of money as people write them: `10`, `10.5` and `10.00` of a currency."""

import re
from typing import Any, Final

import click

from sandbox.cli.known import shown
from sandbox.domain import currencies
from sandbox.domain.currencies import CURRENCIES

_AMOUNT: Final = re.compile(r"(?P<units>[0-9]{1,12})(?:\.(?P<part>[0-9]+))?", re.ASCII)

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


class MoneyType(click.ParamType[Any]):
    """An amount in units of a currency, such as dollars. The command gets its text.

    The currency may be known only later, so `units_of` counts the minor units.
    """

    name = "AMOUNT"

    def __init__(self, *, may_be_zero: bool = False) -> None:
        self._may_be_zero = may_be_zero

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        """The text as it is, once it is an amount of some currency."""
        match = _AMOUNT.fullmatch(value)
        if match is None:
            self.fail(f"{shown(value)}: write the amount like 10 or 10.00", param, ctx)
        if not self._may_be_zero and not value.strip("0."):
            self.fail(f"{value!r}: the amount must be more than zero", param, ctx)
        return value


def units_of(text: str, currency: str | None, name: str) -> int:
    """The amount of the argument `name` in minor units. Ends the command with the reason."""
    try:
        return minor_units(text, currency)
    except ValueError as error:
        raise click.BadParameter(f"{text!r}: {error}", param_hint=f"'{name}'") from None

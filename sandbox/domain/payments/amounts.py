"""Money in integer minor units; rates are applied with Decimal and rounded half up.

Source: spec 2.4-money; rounding assumed 2.8-rounding.
"""

from decimal import ROUND_HALF_UP, Decimal
from operator import add
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import astuple, replace

AMOUNT_MAX: Final = 99_999_999
"""The largest amount of one operation: eight digits. Source: assumed 1.8-amount."""


def percent_of(amount: int, percent: float) -> int:
    """Return a percentage of an amount, rounded half up: 3.5 % of 13875 is 486."""
    # A float prints as the decimal that was sent; its binary value differs slightly.
    return _round(amount * Decimal(str(percent)) / 100)


def _round(exact: Decimal) -> int:
    return int(exact.to_integral_value(ROUND_HALF_UP))


class Amounts(Struct, frozen=True, gc=False, omit_defaults=True):
    """The components of a total, in minor units, none of them negative.

    They always add up to the total (assumed M1).
    """

    subtotal: int
    tax: int = 0
    tip: int = 0
    surcharge: int = 0

    @classmethod
    def of(cls, shown: Any) -> "Amounts":
        """Return the components that a transaction or an attempt shows."""
        return cls(shown.subtotal, shown.tax_amount, shown.tip_amount, shown.surcharge_amount)

    @property
    def total(self) -> int:
        """The amount that the cardholder pays."""
        return self.subtotal + self.tax + self.tip + self.surcharge

    @property
    def fields(self) -> dict[str, Any]:
        """The amounts under the names of a transaction's fields."""
        return {
            "subtotal": self.subtotal,
            "tax_amount": self.tax,
            "tip_amount": self.tip,
            "surcharge_amount": self.surcharge,
            "total_amount": self.total,
        }

    @property
    def goods(self) -> int:
        """The part that is neither tip nor surcharge."""
        return self.subtotal + self.tax

    def scaled_to(self, total: int) -> "Amounts":
        """Return the same proportions for a smaller total.

        Tax, tip and surcharge are rounded half up one by one, and the subtotal takes the rest
        (assumed 2.5-capture). If that would be negative, first the surcharge and then the tip
        shrink.
        """
        whole = self.total
        if total == whole:
            return self
        rest, scaled = total, []
        for component in (self.tax, self.tip, self.surcharge):
            part = min(_round(Decimal(component) * total / whole), rest)
            scaled.append(part)
            rest -= part
        return Amounts(rest, *scaled)

    def with_tip(self, tip: int) -> "Amounts":
        """Return the same with another tip."""
        return replace(self, tip=tip)

    def without_surcharge(self) -> "Amounts":
        """Return the same with no surcharge."""
        return replace(self, surcharge=0)

    def plus(self, other: "Amounts") -> "Amounts":
        """Return the sum, component by component."""
        return Amounts(*map(add, astuple(self), astuple(other)))


class Ledger(Struct, frozen=True, gc=False, omit_defaults=True):
    """The state of a payment's money, in minor units. Source: assumed 2.2.

    In the order of its letters there: A authorized, R0 `voided` before the capture, C captured,
    R1 `reversed` after it, F refunded, H `added` at capture or adjustment beyond the hold.
    """

    authorized: int = 0
    voided: int = 0
    captured: int = 0
    reversed: int = 0
    refunded: int = 0
    added: int = 0

    @property
    def held(self) -> int:
        """The amount still held, or held when it was captured: A - R0."""
        return self.authorized - self.voided

    @property
    def kept(self) -> int:
        """The captured amount less reversals: C - R1."""
        return self.captured - self.reversed

    @property
    def refundable(self) -> int:
        """The amount that can still be refunded: C - R1 - F."""
        return self.captured - self.reversed - self.refunded

    @property
    def reversed_in_all(self) -> int:
        """The JSON field `reversed`: R0 + R1."""
        return self.voided + self.reversed


EMPTY: Final = Ledger()

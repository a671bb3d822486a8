"""The price of an initiation: subtotal, tax, tip and surcharge, and the source of each rate.

Source: assumed 2.8, 2.9; the fields of a breakdown assumed 1.8. Amounts that do not add up raise
ValueError with a message for the client.
"""

from collections.abc import Sequence
from typing import Any, Final, get_args

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.directory import Account, Location, Terminal
from sandbox.domain.field_types import SurchargeBasis
from sandbox.domain.payments.amounts import Amounts, percent_of

PROHIBITED_STATES: Final = frozenset({"CT", "MA", "ME", "PR"})
"""States without surcharges: data, not legal advice. Source: assumed 2.8-never."""

DEFAULT_BASES: Final = {"tax": "subtotal", "surcharge": "total"}
"""The default base of each rate."""

SURCHARGE_CAPS: Final = {"Visa": 3.0, "MasterCard": 4.0}
"""How much a brand lets a merchant add, in percent: data, not legal advice.

Source: assumed 2.8-caps.
"""
FORCED_SURCHARGE_RATE: Final = 3.0
"""The rate of a requested prompt if none is configured. Source: assumed 6.2."""

Level = Account | Terminal | Location


class Breakdown(Struct, frozen=True, kw_only=True, gc=False):
    """A client's breakdown of an amount, in minor units; rates are percentages.

    None means not stated. With `bypass` there is no surcharge. Only the older, flat form has both
    `surcharge_amount` and `surcharge_rate`.
    """

    subtotal: int
    tax_amount: int | None = None
    tax_rate: float | None = None
    tip_amount: int | None = None
    tip_rate: float | None = None
    tip_type: str | None = None
    surcharge_amount: int | None = None
    surcharge_rate: float | None = None
    bypass: bool = False

    @property
    def tax(self) -> int:
        """The stated tax, or the stated rate applied to the subtotal (assumed 2.8-tax)."""
        return _stated(self.tax_amount, self.tax_rate, self.subtotal)

    @property
    def tip(self) -> int:
        """The stated tip, or the stated rate applied to the subtotal (assumed 2.9)."""
        return _stated(self.tip_amount, self.tip_rate, self.subtotal)

    @property
    def surcharge(self) -> int:
        """The stated surcharge, or the stated percentage of the rest."""
        base = self.subtotal + self.tax + self.tip
        return _stated(self.surcharge_amount, self.surcharge_rate, base)

    @property
    def amounts(self) -> Amounts:
        """The components, as stated or computed from stated rates."""
        return Amounts(self.subtotal, self.tax, self.tip, self.surcharge)

    def must_sum_to(self, amount: int) -> None:
        """Raise ValueError if the parts do not add up to the amount. Source: assumed 1.8-sum.

        A surcharge stated as a percentage is computed, so the amount may also leave it out.
        """
        amounts = self.amounts
        possible = {amounts.total}
        if self.surcharge_amount is None:
            possible.add(amounts.without_surcharge().total)
        if amount not in possible:
            raise ValueError(
                f"amount: is {amount}, but the breakdown adds up to {amounts.total} "
                f"(subtotal {amounts.subtotal}, tax {amounts.tax}, tip {amounts.tip}, "
                f"surcharge {amounts.surcharge})"
            )


def _stated(amount: int | None, rate: float | None, base: int) -> int:
    return percent_of(base, rate or 0) if amount is None else amount


class PointOfSale(Struct, frozen=True, kw_only=True, gc=False):
    """Where a sale happens: the levels at which rates are set, the most specific first."""

    account: Account
    terminal: Terminal
    location: Location | None

    @property
    def levels(self) -> Sequence[tuple[str, Level]]:
        """Location, terminal, account (assumed 2.8)."""
        own: list[tuple[str, Level]] = [("terminal", self.terminal), ("account", self.account)]
        return [("location", self.location), *own] if self.location else own

    def rate(self, field: str) -> tuple[str, float] | None:
        """Return the first level that states this rate, and the rate.

        Null means to look further; 0 means never, and ends the search (assumed 2.8).
        """
        for name, level in self.levels:
            rate = getattr(level, field)
            if rate is not None:
                return (name, rate) if rate else None
        return None

    def first(self, field: str) -> Any:
        """Return the first value that a level states for this field, or None."""
        values = (getattr(level, field) for _, level in self.levels)
        return next((value for value in values if value is not None), None)

    @property
    def state(self) -> str | None:
        """The state of the sale: the location's, else the account's (assumed D16)."""
        return (self.location and self.location.address.state) or self.account.address.state

    @property
    def may_surcharge(self) -> bool:
        """Whether the state allows it (assumed 2.8-never)."""
        return (self.state or "").upper() not in PROHIBITED_STATES


class Price(Struct, frozen=True, kw_only=True, gc=False):
    """The price of a payment. With `needs_prompt` the surcharge is only proposed so far.

    `rates` are the fields of a transaction with the rates that applied, and their sources.
    """

    amounts: Amounts
    rates: dict[str, Any] = {}
    tip_type: str = "fixed"
    needs_prompt: bool = False

    @property
    def amounts_at_first(self) -> Amounts:
        """The amounts without a surcharge that is still to be confirmed (assumed D12)."""
        return self.amounts.without_surcharge() if self.needs_prompt else self.amounts


def price(
    amount: int,
    breakdown: Breakdown | None,
    place: PointOfSale,
    *,
    is_sale: bool,
    is_credit: bool,
    forces_prompt: bool = False,
) -> Price:
    """Return the price of an initiation. Raises ValueError if the breakdown is invalid.

    With `forces_prompt` a surcharge is proposed even if none is configured.
    """
    if breakdown is not None:
        breakdown.must_sum_to(amount)
    elif not forces_prompt and _is_plain(place):
        return Price(amounts=Amounts(subtotal=amount))
    stated = breakdown or Breakdown(subtotal=amount)
    tax, of_tax = _tax(stated, place)
    before = Amounts(subtotal=stated.subtotal, tax=tax, tip=stated.tip)
    surcharge, of_surcharge = 0, dict[str, Any]()
    if stated.bypass:
        of_surcharge["surcharge_source"] = "transaction"
    elif stated.surcharge_amount is not None or stated.surcharge_rate is not None:
        surcharge, of_surcharge = _stated_surcharge(before, stated, place, is_credit=is_credit)
    elif is_sale and is_credit and place.may_surcharge:
        # A preauthorization has only the parts that the request states (assumed Q15).
        surcharge, of_surcharge = _surcharge(before, place, is_forced=forces_prompt)
    return Price(
        amounts=replace(before, surcharge=surcharge),
        rates=of_tax | of_surcharge,
        tip_type=tip_type_of(stated),
        needs_prompt=surcharge > 0 and of_surcharge["surcharge_confirmation_required"],
    )


def tip_type_of(breakdown: Breakdown) -> str:
    """Return `percentage` if the tip is stated as one, else `fixed` (assumed 2.9)."""
    if breakdown.tip_type:
        return breakdown.tip_type
    is_rate = breakdown.tip_amount is None and breakdown.tip_rate is not None
    return "percentage" if is_rate else "fixed"


def _is_plain(place: PointOfSale) -> bool:
    """Whether no level configures any rate, as for most merchants."""
    return all(one.surcharge_rate is None and one.tax_rate is None for _, one in place.levels)


_Part = tuple[int, dict[str, Any]]
"""A part of the price, and the fields with its rate."""


def _configured(
    part: str, before: Amounts, place: PointOfSale, usual: tuple[str, float] | None = None
) -> _Part:
    """Return the part at the rate that a level states, or else at the usual one."""
    found = place.rate(f"{part}_rate") or usual
    if found is None:
        return 0, {}
    source, rate = found
    basis = place.first(f"{part}_basis") or DEFAULT_BASES[part]
    amount = percent_of(based_on(basis, before), rate)
    return amount, {f"{part}_rate": rate, f"{part}_source": source, f"{part}_basis": basis}


def _tax(stated: Breakdown, place: PointOfSale) -> _Part:
    """Return the tax. Source: assumed 2.8-tax."""
    if stated.tax_amount is not None or stated.tax_rate is not None:
        rates: dict[str, Any] = {"tax_rate": stated.tax_rate or 0}
        if stated.tax:
            rates |= {"tax_source": "transaction", "tax_basis": DEFAULT_BASES["tax"]}
        return stated.tax, rates
    return _configured("tax", Amounts(subtotal=stated.subtotal, tip=stated.tip), place)


def _surcharge(before: Amounts, place: PointOfSale, *, is_forced: bool) -> _Part:
    """Return the surcharge on the other parts.

    Source: assumed 2.8-surcharge, 2.8-never, 2.8-prompt.
    """
    usual = ("transaction", FORCED_SURCHARGE_RATE) if is_forced else None
    amount, rates = _configured("surcharge", before, place, usual)
    required = place.first("surcharge_confirmation_required")
    if rates:
        # Unless a level says otherwise, there is a prompt: card brands require disclosure.
        rates["surcharge_confirmation_required"] = is_forced or required is None or required
    return amount, rates


def _stated_surcharge(
    before: Amounts, stated: Breakdown, place: PointOfSale, *, is_credit: bool
) -> _Part:
    if stated.surcharge and not is_credit:
        raise ValueError("breakdown.surcharge: debit and prepaid cards are never surcharged")
    if stated.surcharge and not place.may_surcharge:
        raise ValueError(f"breakdown.surcharge: nothing is surcharged in {place.state}")
    rate, amount = stated.surcharge_rate or 0, stated.surcharge_amount
    if amount is None:
        # The base includes the tax, which may come from a configured rate.
        amount = percent_of(before.total, rate)
    rates: dict[str, Any] = {"surcharge_source": "transaction"}
    if amount:
        rates |= {"surcharge_rate": rate, "surcharge_basis": DEFAULT_BASES["surcharge"]}
        rates["surcharge_confirmation_required"] = False
    return amount, rates


def agreed_rate(before: Amounts, surcharge: int, rate: float) -> float:
    """Return the percentage that gives this surcharge, to a minor unit, on one of the bases.

    `rate` is a percentage, or a fraction of 1 if only that agrees. Raises ValueError if neither
    does. Source: assumed 2.8-stated.
    """
    bases = {based_on(basis, before) for basis in get_args(SurchargeBasis)}
    for percent in (rate, round(rate * 100, 6)):
        if any(abs(percent_of(base, percent) - surcharge) <= 1 for base in bases):
            return percent
    raise ValueError(
        f"surcharge: the amount {surcharge} and the percentage {rate:g} do not agree; "
        f"{rate:g} % of {before.total} is {percent_of(before.total, rate)}"
    )


def above_cap(brand: str, amounts: Amounts) -> float | None:
    """Return the brand's cap in percent if the surcharge exceeds it, else None.

    A rounding difference does not count.
    """
    cap = SURCHARGE_CAPS.get(brand)
    if cap is None:
        return None
    most = percent_of(amounts.without_surcharge().total, cap)
    return cap if amounts.surcharge > most + 1 else None


def based_on(basis: str, amounts: Amounts) -> int:
    """Return the base of a percentage rate. Source: assumed 2.8-values."""
    base = amounts.subtotal
    if basis in ("subtotal_plus_tax", "total"):
        base += amounts.tax
    if basis in ("subtotal_plus_tip", "total"):
        base += amounts.tip
    return base

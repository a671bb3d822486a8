"""Bodies of payments and of the actions on them. Source: assumed 1.8.

Null is the same as leaving a field out (assumed C10).
"""

from typing import Annotated, Any, Literal

from msgspec.structs import replace
from pydantic import (
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)

from sandbox.domain.currencies import PaymentCurrency
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.field_types import Amount, PositiveAmount, Rate, Text
from sandbox.domain.payments.cards import Card, card_of
from sandbox.domain.payments.pricing import Breakdown, agreed_rate
from sandbox.domain.readings import RATES_BELOW_ONE
from sandbox.platform.context import OperationContext
from sandbox.platform.fields import Body

EVENT_ID_CHARS_MAX = 128
EventId = Annotated[StrictStr, Field(min_length=1, max_length=EVENT_ID_CHARS_MAX)]

RESERVED_DETAILS = frozenset({"authorized_amount", "captured_amount", "remaining_amount"})
_Details = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"propertyNames": {"not": {"enum": sorted(RESERVED_DETAILS)}}}),
]


def _unless(*names: str) -> dict[str, Any]:
    """For the schema: at most some of these are set at once."""
    unset = {"not": {"enum": [None, False, 0]}}
    return {"not": {"required": list(names), "properties": dict.fromkeys(names, unset)}}


def _is_given(name: str) -> dict[str, Any]:
    """For the schema: the field is there, and is not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def example_of_sale(terminal: str = "merchant") -> dict[str, Any]:
    """Return a body that succeeds at this terminal of the demo world."""
    return {
        "amount": 2500,
        "terminal_id": f"{{terminals.{terminal}}}",
        "card_reader_data": {"paymentCardData": "tok_visa_credit"},
    }


class SurchargeBody(Body):
    """The client's surcharge: an amount, a percentage, both if they agree, or none.

    `rate` is another name for `percentage`. Source: assumed 2.8-stated.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"not": {"allOf": [_is_given("percentage"), _is_given("rate")]}},
                _unless("bypass", "amount"),
                _unless("bypass", "percentage"),
                _unless("bypass", "rate"),
            ]
        }
    )

    amount: Amount | None = None
    percentage: Rate | None = None
    rate: Rate | None = None
    bypass: StrictBool | None = None

    @property
    def percent(self) -> float | None:
        """The percentage, under either name."""
        return self.rate if self.percentage is None else self.percentage

    @model_validator(mode="after")
    def _says_one_thing(self) -> "SurchargeBody":
        if self.percentage is not None and self.rate is not None:
            raise ValueError("a percentage or a rate, not both")
        if self.bypass and (self.amount or self.percent):
            raise ValueError("bypass excludes an amount and a percentage")
        return self


class BreakdownBody(Body):
    """How an amount is split. Source: assumed 1.8-sum."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                _unless("surcharge", "surchargeAmount"),
                _unless("surcharge", "surchargeRate"),
            ]
        }
    )

    subtotal: Amount
    tax_amount: Amount | None = Field(default=None, validation_alias="taxAmount")
    tax_rate: Rate | None = Field(default=None, validation_alias="taxRate")
    tip_amount: Amount | None = Field(default=None, validation_alias="tipAmount")
    tip_rate: Rate | None = Field(default=None, validation_alias="tipRate")
    tip_type: Literal["fixed", "percentage"] | None = Field(
        default=None, validation_alias="tipType"
    )
    surcharge: SurchargeBody | None = None
    flat_amount: Amount | None = Field(default=None, validation_alias="surchargeAmount")
    flat_rate: Rate | None = Field(default=None, validation_alias="surchargeRate")

    @model_validator(mode="after")
    def _has_one_surcharge(self) -> "BreakdownBody":
        if self.surcharge is not None and (self.flat_amount or self.flat_rate):
            raise ValueError("surcharge: in one form, not in two")
        if self.surcharge is not None:
            self._agreed_rate(self.surcharge)
        return self

    def _agreed_rate(self, surcharge: SurchargeBody) -> float | None:
        """Return the percentage that gives the stated amount, or the one that was stated alone.

        Raises ValueError if both are stated and do not agree.
        """
        if surcharge.amount is None or surcharge.percent is None:
            return surcharge.percent
        return agreed_rate(self._without_surcharge.amounts, surcharge.amount, surcharge.percent)

    @property
    def _without_surcharge(self) -> Breakdown:
        return Breakdown(
            subtotal=self.subtotal,
            tax_amount=self.tax_amount,
            tax_rate=self.tax_rate,
            tip_amount=self.tip_amount,
            tip_rate=self.tip_rate,
            tip_type=self.tip_type,
        )

    def parts(self) -> Breakdown:
        """Return the breakdown as the domain takes it."""
        amount, rate, bypass = self.flat_amount, self.flat_rate, False
        if (one := self.surcharge) is not None:
            amount, rate, bypass = one.amount, self._agreed_rate(one), bool(one.bypass)
        return replace(
            self._without_surcharge, surcharge_amount=amount, surcharge_rate=rate, bypass=bypass
        )


class ReaderBody(Body):
    """The data of a card reader. Only `paymentCardData` identifies the card (assumed 6.4)."""

    id: StrictStr | None = None
    payment_card_data: StrictStr | None = Field(default=None, validation_alias="paymentCardData")
    general_card_data: StrictStr | None = Field(default=None, validation_alias="generalCardData")
    outcome: StrictInt | None = None
    pin_bypassed: StrictBool | None = Field(default=None, validation_alias="pinBypassed")
    is_pin_fallback: StrictBool | None = Field(default=None, validation_alias="isPINFallback")
    location_id: Text | None = Field(default=None, validation_alias="locationID")


class _WithReader(Body):
    """A body with a reader's data, in an object of its own or flat beside the rest."""

    card_reader_data: ReaderBody | None = None
    payment_card_data: StrictStr | None = Field(default=None, validation_alias="paymentCardData")
    general_card_data: StrictStr | None = Field(default=None, validation_alias="generalCardData")
    pin_bypassed: StrictBool | None = Field(default=None, validation_alias="pinBypassed")
    is_pin_fallback: StrictBool | None = Field(default=None, validation_alias="isPINFallback")

    @property
    def card_data(self) -> str | None:
        """The reader data, in either form."""
        reader = self.card_reader_data
        return (reader.payment_card_data if reader else None) or self.payment_card_data


class StartPayment(_WithReader):
    """Body of a payment. Without a place it is made at the key's own. Source: assumed 1.8-start."""

    amount: PositiveAmount
    terminal_id: Text | None = None
    location_id: Text | None = None
    account_id: Text | None = None
    currency: PaymentCurrency | None = None
    breakdown: BreakdownBody | None = None
    event_id: EventId | None = None
    type: Literal["sale", "auth"] | None = None
    platform: Literal["ios", "android"] | None = None
    device_id: StrictStr | None = None
    reader_identifier: StrictStr | None = None
    apple_transaction_id: StrictStr | None = None
    payment_method: (
        Literal["contactlessIcc", "contactlessMsd", "contact", "swiped", "keyed"] | None
    ) = None
    additional_details: _Details | None = None
    location_beside: Text | None = Field(default=None, validation_alias="locationID")

    @property
    def place(self) -> tuple[str | None, str | None, str | None]:
        """The terminal, location and account that it names; None where it names none."""
        in_reader = self.card_reader_data.location_id if self.card_reader_data else None
        location_id = self.location_id or self.location_beside or in_reader
        return self.terminal_id, location_id, self.account_id

    @model_validator(mode="after")
    def _names_one_location(self) -> "StartPayment":
        reader = self.card_reader_data
        if reader is None and self.location_beside is None:
            return self
        named = {self.location_id, self.location_beside, reader.location_id if reader else None}
        if len(named - {None}) > 1:
            raise ValueError("locationID: names another location than location_id")
        return self

    @field_validator("additional_details")
    @classmethod
    def _leaves_our_names_alone(cls, details: dict[str, Any] | None) -> dict[str, Any] | None:
        if details and (taken := sorted(RESERVED_DETAILS & set(details))):
            raise ValueError(f"{', '.join(taken)}: reserved for fields that the platform sets")
        return details


class _Action(Body):
    event_id: EventId | None = None


class Capture(_Action):
    """Body of a capture: `amount` is the whole, tip included (assumed D15)."""

    amount: PositiveAmount | None = None
    tip_amount: Amount | None = None
    breakdown: BreakdownBody | None = None


class Increment(_Action):
    """Body of an increment: `amount` comes on top. Source: assumed 1.8-increment."""

    amount: PositiveAmount
    breakdown: BreakdownBody | None = None


class Reverse(_Action):
    """Body of a reversal: no amount means all that remains. Source: assumed 1.8-reverse."""

    amount: PositiveAmount | None = None


class Adjust(_Action):
    """Body of a tip adjustment. Source: assumed 1.8-adjust."""

    model_config = ConfigDict(
        json_schema_extra={
            "if": {"properties": {"type": {"const": "percentage"}}},
            "then": _is_given("percentage"),
            "else": _is_given("amount"),
        }
    )

    type: Literal["fixed", "percentage", "amount"]
    amount: Amount | None = None
    percentage: (
        Annotated[StrictInt | StrictFloat, Field(ge=0, le=100, allow_inf_nan=False)] | None
    ) = None

    @model_validator(mode="after")
    def _says_how_much(self) -> "Adjust":
        needed = "percentage" if self.type == "percentage" else "amount"
        if getattr(self, needed) is None:
            raise ValueError(f"{needed}: is required for this type")
        return self


class Refund(_Action, _WithReader):
    """Body of a refund: no amount means all that remains. Source: assumed 1.8-refund."""

    amount: PositiveAmount | None = None


class StandaloneRefund(Refund):
    """Body of a refund by id. Source: spec 4.4-paths-refunds; assumed 1.8-standalone."""

    transaction_id: Text


class Confirm(_Action):
    """Body of a confirmation. Source: assumed 1.8-confirm."""

    confirm: StrictBool
    amount: PositiveAmount | None = None
    breakdown: BreakdownBody | None = None


# --- as the domain takes them ---


def card_in(body: StartPayment | Refund) -> Card:
    """Return the card of the body's reader data.

    Raises Refusal for one that is not in the table.
    """
    try:
        return card_of(body.card_data)
    except ValueError as error:
        raise Refusal(
            VALIDATION_ERROR, f"card_reader_data: {error}", source="assumed 6.4-unknown"
        ) from None


def parts_of(context: OperationContext, body: BreakdownBody | None) -> Breakdown | None:
    """Return the breakdown as the domain takes it.

    Rates below 1 are noted in the journal, or are fractions of 1 if the reading says so.
    """
    if body is None:
        return None
    parts = body.parts()
    if context.world.readings[RATES_BELOW_ONE] == "fraction":
        # The percentage beside a surcharge's amount is the one that agrees with it.
        is_agreed = body.surcharge is not None and body.surcharge.amount is not None
        return replace(
            parts,
            tax_rate=as_percent(parts.tax_rate),
            tip_rate=as_percent(parts.tip_rate),
            surcharge_rate=parts.surcharge_rate if is_agreed else as_percent(parts.surcharge_rate),
        )
    for name, rate in (
        ("taxRate", parts.tax_rate),
        ("tipRate", parts.tip_rate),
        ("surcharge", parts.surcharge_rate),
    ):
        note_small_rate(context, f"breakdown.{name}", rate)
    return parts


def as_percent(rate: float | None) -> float | None:
    """Return a rate below 1 as a fraction: 0.0875 is 8.75 %. Source: assumed D35-rates."""
    # The product of two floats is not quite the decimal that was meant.
    return round(rate * 100, 6) if rate is not None and 0 < rate < 1 else rate


def note_small_rate(context: OperationContext, name: str, rate: float | None) -> None:
    """Note a rate below one percent: many clients mean a fraction of 1 (assumed 2.8-units)."""
    if rate is not None and 0 < rate < 1:
        reason = f"{name}: {rate:g} is read as {rate:g} %, not as {rate * 100:g} %"
        context.explain("rule", "note", reason, "assumed 2.8-units")

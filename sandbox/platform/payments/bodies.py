"""Bodies of payments and of the actions on them. Source: assumed 1.8.

Null is the same as leaving a field out (assumed C10).
"""

from typing import Annotated, Any, Literal

from msgspec.structs import replace
from pydantic import (
    AliasGenerator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    field_validator,
    model_validator,
)
from pydantic.alias_generators import to_camel

from sandbox.domain.currencies import PaymentCurrency
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.field_types import Amount, PositiveAmount, Rate, Text
from sandbox.domain.payments.cards import Card, card_of
from sandbox.domain.payments.pricing import Breakdown, agreed_rate
from sandbox.domain.payments.transactions import OWN_DETAILS
from sandbox.platform.context import OperationContext
from sandbox.platform.fields import Body

EventId = Annotated[StrictStr, Field(min_length=1, max_length=128)]

_Details = Annotated[
    dict[str, Any],
    Field(json_schema_extra={"propertyNames": {"not": {"enum": sorted(OWN_DETAILS)}}}),
]


def _unless(*names: str) -> dict[str, Any]:
    """Return the schema of an object in which not all of these are set."""
    unset = {"not": {"enum": [None, False, 0]}}
    return {"not": {"required": list(names), "properties": dict.fromkeys(names, unset)}}


def _is_given(name: str) -> dict[str, Any]:
    """Return the schema of an object with this field, which is not null."""
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}}}


def example_of_sale(terminal: str = "merchant") -> dict[str, Any]:
    """Return a body that succeeds at this terminal of the demo world."""
    return {
        "amount": 2500,
        "terminal_id": f"{{terminals.{terminal}}}",
        "card_reader_data": {"paymentCardData": "tok_visa_credit"},
    }


class SurchargeBody(Body):
    """The client's surcharge: an amount, a percentage, both if they agree, or neither.

    `rate` is another name for `percentage`. Source: assumed 2.8-stated.
    """

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"not": {"allOf": [_is_given("percentage"), _is_given("rate")]}},
                *(_unless("bypass", name) for name in ("amount", "percentage", "rate")),
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
        alias_generator=AliasGenerator(validation_alias=to_camel),
        json_schema_extra={
            "allOf": [
                _unless("surcharge", "surchargeAmount"),
                _unless("surcharge", "surchargeRate"),
            ]
        },
    )

    subtotal: Amount
    tax_amount: Amount | None = None
    tax_rate: Rate | None = None
    tip_amount: Amount | None = None
    tip_rate: Rate | None = None
    tip_type: Literal["fixed", "percentage"] | None = None
    surcharge: SurchargeBody | None = None
    surcharge_amount: Amount | None = None
    surcharge_rate: Rate | None = None

    @model_validator(mode="after")
    def _has_one_surcharge(self) -> "BreakdownBody":
        if self.surcharge is not None and (self.surcharge_amount or self.surcharge_rate):
            raise ValueError("surcharge: in one form, not in two")
        self.parts()
        return self

    def parts(self) -> Breakdown:
        """Return the breakdown as the domain takes it.

        The percentage of a surcharge is the one that gives the stated amount. Raises ValueError if
        both are stated and do not agree.
        """
        fields = dict(self)
        one: SurchargeBody | None = fields.pop("surcharge")
        parts = Breakdown(**fields)
        if one is None:
            return parts
        rate = one.percent
        if one.amount is not None and rate is not None:
            rate = agreed_rate(parts.amounts, one.amount, rate)
        return replace(
            parts, surcharge_amount=one.amount, surcharge_rate=rate, bypass=bool(one.bypass)
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
    """A body with a reader's data, in its own object or beside the other fields."""

    card_reader_data: ReaderBody | None = None
    payment_card_data: StrictStr | None = Field(default=None, validation_alias="paymentCardData")
    general_card_data: StrictStr | None = Field(default=None, validation_alias="generalCardData")
    pin_bypassed: StrictBool | None = Field(default=None, validation_alias="pinBypassed")
    is_pin_fallback: StrictBool | None = Field(default=None, validation_alias="isPINFallback")


def platform_of(named: Any, apple_transaction_id: Any) -> Any:
    """Return the platform that a body names; iOS if it has only Apple's id (assumed D16)."""
    return "ios" if named is None and apple_transaction_id else named


class StartPayment(_WithReader):
    """Body of a payment. By default it is at the terminal of the key's account.

    Source: assumed 1.8-start.
    """

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
    def location(self) -> str | None:
        """The location that the body names, in one place or another."""
        reader = self.card_reader_data
        return self.location_id or self.location_beside or (reader.location_id if reader else None)

    @model_validator(mode="after")
    def _names_one_location(self) -> "StartPayment":
        reader = self.card_reader_data
        in_reader = reader.location_id if reader else None
        if len({self.location_id, self.location_beside, in_reader} - {None}) > 1:
            raise ValueError("locationID: names another location than location_id")
        return self

    @field_validator("additional_details")
    @classmethod
    def _leaves_our_names_alone(cls, details: dict[str, Any] | None) -> dict[str, Any] | None:
        if details and (taken := sorted(OWN_DETAILS & set(details))):
            raise ValueError(f"{', '.join(taken)}: reserved for fields that the platform sets")
        return details


class _Action(Body):
    event_id: EventId | None = None


class Capture(_Action):
    """Body of a capture: `amount` includes the tip (assumed D15)."""

    amount: PositiveAmount | None = None
    tip_amount: Amount | None = None
    breakdown: BreakdownBody | None = None


class Increment(_Action):
    """Body of an increment: `amount` is added to the hold. Source: assumed 1.8-increment."""

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
    percentage: Annotated[StrictFloat, Field(ge=0, le=100, allow_inf_nan=False)] | None = None

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


# --- for the domain ---


def card_in(body: StartPayment | Refund) -> Card:
    """Return the card of the body's reader data, in either form.

    Raises Refusal for one that is not in the table.
    """
    reader = body.card_reader_data
    try:
        return card_of((reader.payment_card_data if reader else None) or body.payment_card_data)
    except ValueError as error:
        raise Refusal(
            VALIDATION_ERROR, f"card_reader_data: {error}", source="assumed 6.4-unknown"
        ) from None


def parts_of(context: OperationContext, body: BreakdownBody | None) -> Breakdown | None:
    """Return the breakdown as the domain takes it, with its rates in percent."""
    if body is None:
        return None
    parts, surcharge = body.parts(), body.surcharge
    rates = {
        name: percent_in(context, f"breakdown.{sent}", getattr(parts, name))
        for name, sent in (
            ("tax_rate", "taxRate"),
            ("tip_rate", "tipRate"),
            ("surcharge_rate", "surcharge"),
        )
    }
    if surcharge is not None and surcharge.amount is not None:
        # The percentage beside a surcharge's amount is the one that agrees with it.
        del rates["surcharge_rate"]
    return replace(parts, **rates)


def percent_in(context: OperationContext, name: str, rate: float | None) -> float | None:
    """Return a rate in percent. Below 1, many clients mean a fraction of 1: 0.0875 for 8.75 %.

    A reading decides whether it is read that way; if not, the journal gets a note. Source: assumed
    D35-rates, 2.8-units.
    """
    if rate is None or not 0 < rate < 1:
        return rate
    if context.world.readings["rates_below_one"] == "fraction":
        # The product of two floats is not quite the decimal that was meant.
        return round(rate * 100, 6)
    reason = f"{name}: {rate:g} is read as {rate:g} %, not as {rate * 100:g} %"
    context.explain("rule", "note", reason, "assumed 2.8-units")
    return rate

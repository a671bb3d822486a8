"""Bodies of payments and of the actions on them. Source: assumed 1.8.

Null is the same as leaving a field out (assumed C10).
"""

from typing import Annotated, Any, Literal

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

from sandbox.domain.field_types import Amount, CurrencyCode, PositiveAmount, Rate, Text
from sandbox.domain.payments.pricing import Breakdown
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


class SurchargeBody(Body):
    """The client's surcharge: an amount, a percentage, or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "allOf": [
                {"not": {"allOf": [_is_given("amount"), _is_given("percentage")]}},
                _unless("bypass", "amount"),
                _unless("bypass", "percentage"),
            ]
        }
    )

    amount: Amount | None = None
    percentage: Rate | None = None
    bypass: StrictBool | None = None

    @model_validator(mode="after")
    def _says_one_thing(self) -> "SurchargeBody":
        if self.amount is not None and self.percentage is not None:
            raise ValueError("an amount or a percentage, not both")
        if self.bypass and (self.amount or self.percentage):
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
        return self

    def parts(self) -> Breakdown:
        """The same, as the domain takes it."""
        surcharge = self.surcharge or SurchargeBody.model_construct(
            amount=self.flat_amount, percentage=self.flat_rate, bypass=None
        )
        return Breakdown(
            subtotal=self.subtotal,
            tax_amount=self.tax_amount,
            tax_rate=self.tax_rate,
            tip_amount=self.tip_amount,
            tip_rate=self.tip_rate,
            tip_type=self.tip_type,
            surcharge_amount=surcharge.amount,
            surcharge_rate=surcharge.percentage,
            bypass=bool(surcharge.bypass),
        )


class ReaderBody(Body):
    """The data of a card reader. Only `paymentCardData` identifies the card (assumed 6.4)."""

    id: StrictStr | None = None
    payment_card_data: StrictStr | None = Field(default=None, validation_alias="paymentCardData")
    general_card_data: StrictStr | None = Field(default=None, validation_alias="generalCardData")
    outcome: StrictInt | None = None
    pin_bypassed: StrictBool | None = Field(default=None, validation_alias="pinBypassed")
    is_pin_fallback: StrictBool | None = Field(default=None, validation_alias="isPINFallback")


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
    """Body of a payment. Source: assumed 1.8-start."""

    model_config = ConfigDict(
        json_schema_extra={
            "anyOf": [_is_given("terminal_id"), _is_given("location_id"), _is_given("account_id")]
        }
    )

    amount: PositiveAmount
    terminal_id: Text | None = None
    location_id: Text | None = None
    account_id: Text | None = None
    currency: CurrencyCode | None = None
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

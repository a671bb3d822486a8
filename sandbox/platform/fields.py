"""Fields and base classes that the bodies and queries of several resources share."""

import re
from typing import Annotated, Any, ClassVar, Final

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictStr, model_validator

from sandbox.domain.directory import Address, ResourceStatus
from sandbox.domain.field_types import Flag, Rate, SurchargeBasis, TaxBasis


class Body(BaseModel):
    """A body whose unknown fields are ignored (assumed C8).

    `not_stored` are known fields that no record has.
    """

    model_config = ConfigDict(extra="ignore", frozen=True, strict=True, defer_build=True)
    not_stored: ClassVar[frozenset[str]] = frozenset()

    def read_given(self) -> dict[str, Any]:
        """Return the fields that were sent, as records store them, including explicit nulls."""
        names = self.model_fields_set - self.not_stored
        return {name: _freeze(getattr(self, name)) for name in names}


class CreateBody(Body):
    """The body of a creation, where null is the same as leaving a field out (assumed C10)."""

    @model_validator(mode="before")
    @classmethod
    def _leave_nulls_out(cls, sent: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in sent.items() if value is not None}


class PricedBody(Body):
    """The rates that accounts, terminals and locations carry; null unsets one (assumed 2.8)."""

    surcharge_rate: Rate | None = None
    tax_rate: Rate | None = None
    surcharge_confirmation_required: Flag | None = None
    surcharge_basis: SurchargeBasis | None = None
    tax_basis: TaxBasis | None = None


EXAMPLE_ADDRESS: Final = {
    "street_line1": "907 Congress Ave",
    "city": "Austin",
    "state": "TX",
    "zip": "78701",
    "country": "USA",
}


class AddressBody(Body):
    """A postal address; missing fields are null. Source: spec 2.3."""

    street_line1: StrictStr | None = None
    street_line2: StrictStr | None = None
    city: StrictStr | None = None
    state: StrictStr | None = None
    zip: StrictStr | None = None
    country: StrictStr | None = None


def _freeze(value: Any) -> Any:
    """Return a value of a body as a record stores it, frozen."""
    if isinstance(value, AddressBody):
        return Address(**value.__dict__)
    return tuple(value) if isinstance(value, list) else value


def requires(**fields: Any) -> dict[str, Any]:
    """Return the schema of an object that has these fields."""
    return {"required": list(fields), "properties": fields}


_DIGITS = re.compile(r"0|[1-9]\d{0,17}", re.ASCII)


def _parse_whole_number(value: str) -> int:
    """Query values are text; a whole number consists of digits only (assumed C12)."""
    if not _DIGITS.fullmatch(value):
        raise ValueError("must be a whole number, written in digits only")
    return int(value)


IN_DIGITS: Final = BeforeValidator(_parse_whole_number)
WholeNumber = Annotated[int, Field(ge=0, le=10**18 - 1), IN_DIGITS]

Offset = Annotated[int, Field(ge=0, le=10**12 - 1), IN_DIGITS]
"""The offset of a page. Answers repeat it, so it is too small for a card number (assumed C12)."""


class Query(BaseModel):
    """Query parameters; unknown ones are ignored, as unknown body fields are."""

    model_config = ConfigDict(extra="ignore", frozen=True, defer_build=True)


class PageQuery(Query):
    """A page of a list: 50 rows by default, at most 200 (spec 8-page; assumed C12)."""

    limit: Annotated[int, Field(ge=1, le=200), IN_DIGITS] = 50
    offset: Offset = 0


class AccountsOwnQuery(PageQuery):
    """A listing of what belongs to accounts: of one of them and its descendants, in a status."""

    account_id: str | None = None
    status: ResourceStatus | None = None
    search: str | None = None

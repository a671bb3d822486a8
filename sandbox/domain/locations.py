"""The location record. Source: spec 2.8."""

from dataclasses import dataclass, field

from sandbox.domain.accounts import Address, ResourceStatus
from sandbox.domain.field_types import Flag, Percent, SurchargeBasis, TaxBasis, Text
from sandbox.domain.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A location as stored and as shown: the fields of spec 2.8, in its order.

    `metadata` is null in every answer (spec 2.8).
    """

    id: str
    name: Text
    account_id: str
    address: Address = field(default_factory=Address)
    phone: str | None = None
    email: str | None = None
    status: ResourceStatus = "active"
    processor_config_id: str | None = None
    country_code: str | None = None
    currency: str | None = None
    terminal_id: str | None = None
    metadata: None = None
    surcharge_rate: Percent | None = None
    tax_rate: Percent | None = None
    surcharge_confirmation_required: Flag | None = None
    surcharge_basis: SurchargeBasis | None = None
    tax_basis: TaxBasis | None = None
    created_at: Instant
    updated_at: Instant | None = None
    deleted_at: Instant | None = None

"""The account record and the kinds of account. Source: spec 1, 2.3, 2.6."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from sandbox.domain.field_types import (
    Flag,
    Mcc,
    Percent,
    ProcessorConfigs,
    SurchargeBasis,
    TaxBasis,
    Text,
)
from sandbox.domain.instants import Instant


class AccountType(StrEnum):
    """The kinds of account that affect access (spec 1). Admin and PSP cannot be created by API."""

    ADMIN = "admin"
    PSP = "psp"
    PARTNER = "partner"
    MERCHANT = "merchant"


ResourceStatus = Literal["active", "blocked"]
"""Status of an account, a terminal and a location. Source: spec 3.4."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """A postal address. Source: spec 2.3."""

    street_line1: str | None = None
    street_line2: str | None = None
    city: str | None = None
    state: str | None = None
    zip: str | None = None
    country: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
    """An account as stored and as shown: the fields of spec 2.6, in its order.

    Rates are percentages (3.5 is 3.5 %). `parent_account_ids` runs from the root to the
    immediate parent (assumed 7.1).
    """

    id: str
    organization_id: str | None = None
    available_processor_configs: ProcessorConfigs = ()
    tax_id: str | None = None
    mcc: Mcc | None = None
    type: AccountType
    status: ResourceStatus = "active"
    name: Text
    description: str
    parent_account_ids: tuple[str, ...] = ()
    address: Address = field(default_factory=Address)
    surcharge_rate: Percent | None = None
    tax_rate: Percent | None = None
    surcharge_confirmation_required: Flag | None = None
    surcharge_basis: SurchargeBasis | None = None
    tax_basis: TaxBasis | None = None
    created_at: Instant
    deleted_at: Instant | None = None
    updated_at: Instant | None = None

"""The terminal record. Source: spec 2.7."""

from dataclasses import dataclass
from typing import Any

from sandbox.domain.accounts import ResourceStatus
from sandbox.domain.field_types import Flag, Mcc, Percent, SurchargeBasis, TaxBasis, Text
from sandbox.domain.instants import Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Terminal:
    """A terminal as stored and as shown: the fields of spec 2.7, in its order.

    `mid` and `tid` are the processor's identifiers of the merchant and the terminal.
    `var_sheet` and `batching` never vary (spec 2.7, 2.10). `transactions` is empty in the store; a
    read fills it where the reading says so (assumed D35-terminal).
    """

    terminal_id: str
    name: Text
    description: str | None = None
    account_id: str
    mid: Text | None = None
    tid: Text | None = None
    store_number: str | None = None
    bin: str | None = None
    vid: str | None = None
    agent_bank_number: str | None = None
    merchant_category_code: Mcc | None = None
    terminal_capability: str | None = None
    currency_code: str | None = None
    country_code: str | None = None
    processor_config_id: Text | None = None
    status: ResourceStatus = "active"
    created_at: Instant
    deleted_at: Instant | None = None
    updated_at: Instant | None = None
    merchant_name: str | None = None
    transactions: tuple[dict[str, Any], ...] = ()
    surcharge_rate: Percent | None = None
    tax_rate: Percent | None = None
    surcharge_confirmation_required: Flag | None = None
    surcharge_basis: SurchargeBasis | None = None
    tax_basis: TaxBasis | None = None
    var_sheet: None = None
    batching: None = None

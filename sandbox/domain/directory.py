"""Accounts, terminals, locations and credentials: their records, relations and shared life.

An account is above its descendants; terminals and locations belong to accounts. All four are
created active, blocked and unblocked, and deleted softly, each step with its event (spec 3.4). A
credential has `is_active` instead of `status`, has no `updated` event, and its deletion shows the
whole record (spec 6.3, assumed 1.6). Its PIN is never shown and authenticates nothing here, so it
is not stored at all (assumed Q8, 4.7-credential).

Source: spec 1, 2.3, 2.6 to 2.9; relations fixed by assumed 4.1.
"""

import re
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Final, Literal, TypeVar

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import StringConstraints

from sandbox.domain import field_types
from sandbox.domain.instants import Instant
from sandbox.domain.states import Machine, Step

T = TypeVar("T")

SHOWN_EMPTY: Final = "shown empty"
"""Marks a field that the spec types as a plain string, and that can be unset.

A reading shows it as "" instead of null (spec 2.3, 2.6 to 2.8; assumed D35-unset).
"""

Plain = Annotated[T | None, SHOWN_EMPTY]


class AccountType(StrEnum):
    """The kinds of account that affect access (spec 1). Admin and PSP cannot be created by API."""

    ADMIN = "admin"
    PSP = "psp"
    PARTNER = "partner"
    MERCHANT = "merchant"


ResourceStatus = Literal["active", "blocked"]
"""Status of an account, a terminal and a location. Source: spec 3.4."""


class Address(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A postal address. Source: spec 2.3."""

    street_line1: Plain[str] = None
    street_line2: Plain[str] = None
    city: Plain[str] = None
    state: Plain[str] = None
    zip: Plain[str] = None
    country: Plain[str] = None


class Account(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """An account as stored and as shown: the fields of spec 2.6, in its order.

    Rates are percentages (3.5 is 3.5 %). `parent_account_ids` runs from the root to the
    immediate parent (assumed 7.1).
    """

    id: field_types.Uuid
    organization_id: str | None = None
    available_processor_configs: field_types.ProcessorConfigs = ()
    tax_id: str | None = None
    mcc: Plain[field_types.Mcc] = None
    type: AccountType
    status: ResourceStatus = "active"
    name: field_types.Text
    description: str
    parent_account_ids: tuple[str, ...] = ()
    address: Address = field(default_factory=Address)
    surcharge_rate: field_types.Percent | None = None
    tax_rate: field_types.Percent | None = None
    surcharge_confirmation_required: field_types.Flag | None = None
    surcharge_basis: field_types.SurchargeBasis | None = None
    tax_basis: field_types.TaxBasis | None = None
    created_at: Instant
    deleted_at: Instant | None = None
    updated_at: Instant | None = None

    @property
    def account_id(self) -> str:
        """An account belongs to itself."""
        return self.id

    @property
    def owner_id(self) -> str:
        """The immediate parent, or the account itself if it is a root (assumed 7.1-owner)."""
        return self.parent_account_ids[-1] if self.parent_account_ids else self.id


Relation = Literal["own", "descendant", "outside", "gone"]
"""The relation of the caller's account to the target account."""


def relate(caller: Account, target: Account | None) -> Relation:
    """Return the relation of the target account to the caller's, by the hierarchy alone.

    An account that does not exist or was deleted is `gone` for every caller.
    """
    if target is None or target.deleted_at is not None:
        return "gone"
    if target.id == caller.id:
        return "own"
    if caller.id in target.parent_account_ids:
        return "descendant"
    return "outside"


def relate_to_its_records(caller: Account, target: Account | None) -> Relation:
    """Like `relate_with_admin_reach`, but the records of a deleted account stay visible.

    Source: assumed 4.7-deleted-account, 4.7-admin.
    """
    if target is not None and target.deleted_at is not None:
        target = replace(target, deleted_at=None)
    return relate_with_admin_reach(caller, target)


def relate_with_admin_reach(caller: Account, target: Account | None) -> Relation:
    """Like `relate`, but for an admin every other account counts as a descendant.

    Source: spec 4.2-admin, which is about API keys; applying it here is assumed 4.1.
    """
    relation = relate(caller, target)
    if relation == "outside" and caller.type is AccountType.ADMIN:
        return "descendant"
    return relation


_GATEWAYS: Final = {
    "tsys": "sierra",
    "payroc": "payroc",
    "elavon": "viaconex",
    "worldpay": "worldpay610",
    "fiserv": "rapidconnect",
    "passthrough": "passthrough",
}
_CONFIG_ID: Final = re.compile(r"cfg-([a-z0-9]+)-\w+")

PASSTHROUGH: Final = "passthrough"
"""A processor to which EMV data is only forwarded. Source: spec 4.3-search-edit."""


def processor_of(config_id: str | None) -> str:
    """Return the processor in a processor_config_id such as cfg-tsys-001, or the id itself."""
    match = _CONFIG_ID.fullmatch(config_id or "")
    name = match[1] if match else config_id or ""
    return PASSTHROUGH if name == "pass" else name


def gateway_of(processor: str) -> str:
    """Return the interface through which the processor is reached."""
    return _GATEWAYS.get(processor, processor)


class Terminal(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A terminal as stored and as shown: the fields of spec 2.7, in its order.

    `mid` and `tid` are the processor's identifiers of the merchant and the terminal.
    `var_sheet` and `batching` are always null (spec 2.7, 2.10). `transactions` is empty in the
    store; a read fills it if a reading says so (assumed D35-terminal).
    """

    terminal_id: field_types.Uuid
    name: field_types.Text
    description: Plain[str] = None
    account_id: field_types.Uuid
    mid: Plain[field_types.Text] = None
    tid: Plain[field_types.Text] = None
    store_number: Plain[str] = None
    bin: Plain[str] = None
    vid: str | None = None
    agent_bank_number: str | None = None
    merchant_category_code: Plain[field_types.Mcc] = None
    terminal_capability: Plain[str] = None
    currency_code: Plain[str] = None
    country_code: Plain[str] = None
    processor_config_id: Plain[field_types.Text] = None
    status: ResourceStatus = "active"
    created_at: Instant
    deleted_at: Instant | None = None
    updated_at: Instant | None = None
    merchant_name: Plain[str] = None
    transactions: tuple[dict[str, Any], ...] = ()
    surcharge_rate: field_types.Percent | None = None
    tax_rate: field_types.Percent | None = None
    surcharge_confirmation_required: field_types.Flag | None = None
    surcharge_basis: field_types.SurchargeBasis | None = None
    tax_basis: field_types.TaxBasis | None = None
    var_sheet: None = None
    batching: None = None

    @property
    def id(self) -> str:
        """The same id, under the name that other records use."""
        return self.terminal_id


class Location(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A location as stored and as shown: the fields of spec 2.8, in its order.

    `metadata` is null in every answer (spec 2.8).
    """

    id: field_types.Uuid
    name: field_types.Text
    account_id: field_types.Uuid
    address: Address = field(default_factory=Address)
    phone: Plain[str] = None
    email: Plain[str] = None
    status: ResourceStatus = "active"
    processor_config_id: Plain[str] = None
    country_code: Plain[str] = None
    currency: Plain[str] = None
    terminal_id: Plain[str] = None
    metadata: None = None
    surcharge_rate: field_types.Percent | None = None
    tax_rate: field_types.Percent | None = None
    surcharge_confirmation_required: field_types.Flag | None = None
    surcharge_basis: field_types.SurchargeBasis | None = None
    tax_basis: field_types.TaxBasis | None = None
    created_at: Instant
    updated_at: Instant | None = None
    deleted_at: Instant | None = None


PIN_CHARS: Final = 6
"""Source: assumed 1.6-create."""

MASKED_PIN: Final = "****"
"""The mask of every PIN, in every answer and event. Source: spec 2.9-pin."""


class CredentialView(Struct, frozen=True, kw_only=True, gc=False):
    """A merchant credential as it is shown. Source: spec 2.9."""

    id: field_types.Uuid
    account_id: field_types.Uuid
    code: field_types.CredentialCode
    pin: Annotated[str, StringConstraints(pattern=r"^\*{4}$")] = MASKED_PIN
    is_active: field_types.Flag = True
    created_at: Instant


class Credential(CredentialView, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """A merchant credential as stored."""

    deleted_at: Instant | None = None


DirectoryRecord = Account | Terminal | Location | Credential


def _life(resource: str) -> Machine:
    def step(state: str, trigger: str, target: str, event: str | None) -> Step:
        source = f"spec 6.3-{resource}.{event}" if event else "assumed 1.10"
        name = f"{resource}.{event}" if event else None
        return Step(state, trigger, target, name, source)

    return Machine(
        resource,
        (
            step("active", "block", "blocked", "blocked"),
            step("active", "unblock", "active", None),
            step("active", "delete", "deleted", "deleted"),
            step("blocked", "block", "blocked", None),
            step("blocked", "unblock", "active", "unblocked"),
            step("blocked", "delete", "deleted", "deleted"),
        ),
    )


class Directory(Struct, frozen=True, kw_only=True, gc=False):
    """One kind of directory resource.

    `name` is its category of events. If `has_updates`, a change of other fields fires an event and
    sets the date of the update.
    """

    kind: type[DirectoryRecord]
    name: str
    has_updates: bool = True
    life: Machine

    @property
    def plural(self) -> str:
        """The name of a list of them."""
        return f"{self.name}s"


ACCOUNTS, TERMINALS, LOCATIONS, CREDENTIALS = (
    Directory(kind=kind, name=name, life=_life(name), has_updates=kind is not Credential)
    for kind, name in (
        (Account, "account"),
        (Terminal, "terminal"),
        (Location, "location"),
        (Credential, "credential"),
    )
)
# No credential.updated exists: a change of PIN alone is silent (assumed 1.6-update).

DIRECTORIES: Final = (ACCOUNTS, TERMINALS, LOCATIONS, CREDENTIALS)

TRIGGER_OF_STATUS: Final = {"blocked": "block", "active": "unblock"}
"""The trigger of each `status` in an update. Source: assumed 1.10."""


def state_of(record: DirectoryRecord) -> str:
    """Return the state of the record in its machine."""
    if record.deleted_at is not None:
        return "deleted"
    if isinstance(record, Credential):
        return "active" if record.is_active else "blocked"
    return record.status


def in_state(record: Any, state: str, now: datetime) -> Any:
    """Return the record in that state: blocked, active, or deleted now."""
    is_credential = isinstance(record, Credential)
    if state == "deleted":
        # A deleted credential is shown as inactive (spec 6.3-credential.deleted).
        changes: dict[str, Any] = {"is_active": False} if is_credential else {"updated_at": now}
        return replace(record, deleted_at=now, **changes)
    if is_credential:
        return replace(record, is_active=state == "active")
    return replace(record, status=state, updated_at=now)

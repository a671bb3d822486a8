"""The shape of fixture documents, and the errors of a faulty one.

The whole document is checked before records are made. This module is imported only for a file that
we did not ship, because building these shapes takes some milliseconds.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal, TypeVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    field_validator,
)
from pydantic_core import ErrorDetails

from sandbox.domain.accounts import AccountType, Address, ResourceStatus
from sandbox.domain.instants import Instant
from sandbox.domain.permissions import PERMISSIONS
from sandbox.domain.words import did_you_mean
from sandbox.store.fixtures import Fixture, FixtureError

_CastName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
YEAR_MAX: Final = 9000


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    cast: _CastName
    created_at: Instant

    @field_validator("created_at")
    @classmethod
    def _leaves_room_for_an_expiry(cls, created_at: datetime) -> datetime:
        if created_at.year > YEAR_MAX:
            raise ValueError(f"must not be after the year {YEAR_MAX}")
        return created_at


D = TypeVar("D", bound=_Document)


class _Priced(_Document):
    """Rates in percent; null looks further, 0 means never (assumed 2.8)."""

    surcharge_rate: float | None = None
    tax_rate: float | None = None
    surcharge_confirmation_required: bool | None = None
    surcharge_basis: str | None = None
    tax_basis: str | None = None
    status: ResourceStatus = "active"
    deleted_at: Instant | None = None


class AccountDocument(_Priced):
    """An account; `parent` is the cast name of its immediate parent."""

    parent: _CastName | None = None
    type: AccountType
    name: str
    description: str
    mcc: str | None = None
    tax_id: str | None = None
    available_processor_configs: tuple[str, ...] = ()
    address: Address = Field(default_factory=Address)


class TerminalDocument(_Priced):
    """A terminal of the account with the cast name `account`."""

    account: _CastName
    name: str
    description: str | None = None
    mid: str | None = None
    tid: str | None = None
    store_number: str | None = None
    bin: str | None = None
    vid: str | None = None
    agent_bank_number: str | None = None
    merchant_category_code: str | None = None
    terminal_capability: str | None = None
    currency_code: str | None = None
    country_code: str | None = None
    processor_config_id: str | None = None
    merchant_name: str | None = None


class LocationDocument(_Priced):
    """A location of the account `account`; `terminal` is the cast name of the one it points at."""

    account: _CastName
    terminal: _CastName | None = None
    name: str
    address: Address = Field(default_factory=Address)
    phone: str | None = None
    email: str | None = None
    processor_config_id: str | None = None
    country_code: str | None = None
    currency: str | None = None


class KeyDocument(_Document):
    """A key of the account `account`. `lookup` is its fixed lookup in the world `default`."""

    account: _CastName
    name: str
    permissions: tuple[str, ...]
    lookup: Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]{12}$")]
    status: Literal["active", "revoked"] = "active"
    expires_at: Instant | None = None
    deleted_at: Instant | None = None
    is_legacy: bool = False
    always_retrievable: bool = False


class _Tables(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    accounts: dict[str, AccountDocument]
    terminals: dict[str, TerminalDocument] = Field(default_factory=dict)
    locations: dict[str, LocationDocument] = Field(default_factory=dict)
    api_keys: dict[str, KeyDocument] = Field(default_factory=dict)


_DOCUMENTS: Final[dict[str, type[BaseModel]]] = {
    "accounts": AccountDocument,
    "terminals": TerminalDocument,
    "locations": LocationDocument,
    "api_keys": KeyDocument,
}


def parse_fixture(name: str, document: Any) -> Fixture:
    """Check a fixture document. Raises FixtureError: all mistakes of shape, or the first other."""
    try:
        tables = _Tables.model_validate(document)
    except ValidationError as error:
        raise FixtureError("; ".join(map(_mistake, error.errors()))) from None
    fixture = Fixture(
        name,
        _by_cast("accounts", tables.accounts),
        _by_cast("terminals", tables.terminals),
        _by_cast("locations", tables.locations),
        _by_cast("api_keys", tables.api_keys),
    )
    _check_names(fixture)
    return fixture


def _given(document: _Document) -> dict[str, Any]:
    """The fields that the document gives, read; the others are the record's defaults."""
    return {name: getattr(document, name) for name in document.model_fields_set}


def _mistake(error: ErrorDetails) -> str:
    where = ".".join(map(str, error["loc"]))
    if error["type"] != "extra_forbidden":
        return f"{where}: {error['msg']}"
    *path, unknown = error["loc"]
    shape = _DOCUMENTS.get(str(path[0]), _Tables) if path else _Tables
    return f"{where}: unknown{did_you_mean(str(unknown), shape.model_fields)}"


def _by_cast(table: str, documents: Mapping[str, D]) -> dict[str, dict[str, Any]]:
    by_cast: dict[str, dict[str, Any]] = {}
    for number, document in documents.items():
        if document.cast in by_cast:
            raise FixtureError(f"{table}.{number}.cast: {document.cast!r} is taken")
        by_cast[document.cast] = _given(document)
    return by_cast


def _check_names(fixture: Fixture) -> None:
    """Check that every mentioned cast name exists, and that parents come before their children."""
    before: set[str] = set()
    for name, account in fixture.accounts.items():
        parent = account.get("parent")
        if parent is not None:
            _must_exist(f"accounts.{name}.parent", parent, before, "account before it")
        before.add(name)
    for table in ("terminals", "locations", "api_keys"):
        for name, document in getattr(fixture, table).items():
            _must_exist(f"{table}.{name}.account", document["account"], before, "account")
    for name, location in fixture.locations.items():
        terminal = location.get("terminal")
        if terminal is not None:
            _must_exist(f"locations.{name}.terminal", terminal, fixture.terminals, "terminal")
    _check_keys(fixture)


def _check_keys(fixture: Fixture) -> None:
    lookups: set[str] = set()
    for name, key in fixture.api_keys.items():
        for permission in key["permissions"]:
            _must_exist(f"api_keys.{name}.permissions", permission, PERMISSIONS, "permission")
        if key["lookup"] in lookups:
            raise FixtureError(f"api_keys.{name}.lookup: {key['lookup']!r} is taken")
        lookups.add(key["lookup"])


def _must_exist(where: str, word: str, known: Collection[str], what: str) -> None:
    if word not in known:
        raise FixtureError(f"{where}: there is no {what} {word!r}{did_you_mean(word, known)}")

"""The shape of fixture documents, and the errors of a faulty one.

The whole document is checked before records are made. This module is imported only for a file that
we did not ship, because building these shapes takes some milliseconds.
"""

from collections.abc import Collection, Mapping
from dataclasses import MISSING, fields
from datetime import datetime
from typing import Annotated, Any, Final, get_type_hints

from msgspec import NODEFAULT, Struct, structs
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    create_model,
    field_validator,
)
from pydantic_core import ErrorDetails

from sandbox.domain.directory import Account, Location, Terminal
from sandbox.domain.field_types import FixtureLookup, WebhookSecret, sentence
from sandbox.domain.instants import Instant
from sandbox.domain.keys import ApiKey
from sandbox.domain.text import did_you_mean
from sandbox.domain.webhooks import ENDPOINTS_MAX, Endpoint
from sandbox.store.fixture import Fixture, FixtureError

_CastName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
YEAR_MAX: Final = 9000

_MISSING: Final = (MISSING, NODEFAULT)
"""What dataclasses and values have where a field has no default."""


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


def _document_of(kind: Any, *, without: Collection[str], **own: Any) -> type[_Document]:
    """The documents of one kind of record: its fields with their types, and some of their own.

    `without` are the fields that the world fills. `own` is type and default by name.
    """
    types = get_type_hints(kind, include_extras=True)
    given = {
        field.name: (types[field.name], _default_of(field))
        for field in (structs.fields(kind) if issubclass(kind, Struct) else fields(kind))
        if field.name not in without and field.name not in _Document.model_fields
    }
    return create_model(f"{kind.__name__}Document", __base__=_Document, **{**given, **own})


def _default_of(field: Any) -> Any:
    if field.default_factory not in _MISSING:
        return Field(default_factory=field.default_factory)
    return ... if field.default in _MISSING else field.default


_DOCUMENTS: Final[Mapping[str, type[_Document]]] = {
    # `parent` is the cast name of the immediate parent.
    "accounts": _document_of(
        Account,
        without={"id", "organization_id", "parent_account_ids", "updated_at"},
        parent=(_CastName | None, None),
    ),
    # `account` is the cast name of the account, here and below.
    "terminals": _document_of(
        Terminal,
        without={
            *("terminal_id", "account_id", "updated_at"),
            *("transactions", "var_sheet", "batching"),
        },
        account=(_CastName, ...),
    ),
    # `terminal` is the cast name of the terminal that it points at.
    "locations": _document_of(
        Location,
        without={"id", "account_id", "terminal_id", "metadata", "updated_at"},
        account=(_CastName, ...),
        terminal=(_CastName | None, None),
    ),
    # `lookup` is the fixed lookup of the key in the world `default`.
    "api_keys": _document_of(
        ApiKey,
        without={"id", "account_id", "salt", "digest", "key_last4", "readable_key"},
        account=(_CastName, ...),
        lookup=(FixtureLookup, ...),
        expires_at=(Instant | None, None),
    ),
    # The cast name is the endpoint's id. Without `account` it hears the whole world.
    "endpoints": _document_of(
        Endpoint,
        without={
            *("id", "account_id", "secret", "old_secrets", "replaced_secret"),
            *("disabled_reason", "failing_since"),
        },
        account=(_CastName | None, None),
        secret=(WebhookSecret | None, None),
    ),
}


def _table_of(name: str) -> Any:
    """The type of a table and its default: only accounts must be there."""
    document = _DOCUMENTS[name]
    default: Any = ... if name == "accounts" else Field(default_factory=dict)
    return dict[str, document], default  # type: ignore[valid-type]


_Tables: Final = create_model(
    "_Tables",
    __config__=ConfigDict(extra="forbid", frozen=True),
    **{table: _table_of(table) for table in _DOCUMENTS},
)


def parse_fixture(name: str, document: Any) -> Fixture:
    """Check a fixture document. Raises FixtureError: all mistakes of shape, or the first other."""
    try:
        tables = _Tables.model_validate(document)
    except ValidationError as error:
        raise FixtureError("; ".join(map(_mistake, error.errors()))) from None
    fixture = Fixture(
        name, **{table: _by_cast(table, getattr(tables, table)) for table in _DOCUMENTS}
    )
    _check_names(fixture)
    return fixture


def _given(document: _Document) -> dict[str, Any]:
    """The fields that the document gives, read; the others are the record's defaults."""
    return {name: getattr(document, name) for name in document.model_fields_set}


def _mistake(error: ErrorDetails) -> str:
    where = ".".join(map(str, error["loc"]))
    if error["type"] != "extra_forbidden":
        return f"{where}: {sentence(error['msg'])}"
    *path, unknown = error["loc"]
    shape = _DOCUMENTS.get(str(path[0]), _Tables) if path else _Tables
    return f"{where}: unknown{did_you_mean(str(unknown), shape.model_fields)}"


def _by_cast(table: str, documents: Mapping[str, _Document]) -> dict[str, dict[str, Any]]:
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
    for name, hook in fixture.endpoints.items():
        heard = hook.get("account")
        if heard is not None:
            _must_exist(f"endpoints.{name}.account", heard, before, "account")
    if len(fixture.endpoints) > ENDPOINTS_MAX:
        raise FixtureError(f"endpoints: a world has {ENDPOINTS_MAX} at most")
    _check_keys(fixture)


def _check_keys(fixture: Fixture) -> None:
    lookups: set[str] = set()
    for name, key in fixture.api_keys.items():
        if key["lookup"] in lookups:
            raise FixtureError(f"api_keys.{name}.lookup: {key['lookup']!r} is taken")
        lookups.add(key["lookup"])


def _must_exist(where: str, word: str, known: Collection[str], what: str) -> None:
    if word not in known:
        raise FixtureError(f"{where}: there is no {what} {word!r}{did_you_mean(word, known)}")

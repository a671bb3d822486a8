"""Fixtures, with which worlds begin: what a file of one holds, and its mistakes.

A fixture is JSON in the form of a TinyDB document: table name, then document number, then the
document. Documents refer to each other by cast name ("merchant"), because ids come from the
world's seed. The whole document is checked before records are made.
"""

from collections.abc import Collection, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import (
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
from sandbox.store.documents import DocumentModel, NotJson, model_of, read_json
from sandbox.store.files.port import FILE

Documents = Mapping[str, Mapping[str, Any]]
"""Cast name to the fields that a document gives, with the values that records have."""


class FixtureError(ValueError):
    """A fixture cannot be used; the message names the file, the document, the field, the reason."""


class Fixture(Struct, frozen=True, gc=False):
    """A checked fixture: documents by cast name, in file order, parents before children.

    `document` is the whole of a file that did not come with the sandbox. With a `snapshot` a world
    begins as the one that was saved; the documents are then those that that one began with.
    """

    name: str
    accounts: Documents
    terminals: Documents
    locations: Documents
    api_keys: Documents
    document: Mapping[str, Any] | None = None
    snapshot: Mapping[str, Any] | None = None
    endpoints: Documents = field(default_factory=dict)


_CastName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]
YEAR_MAX: Final = 9000


class _Document(DocumentModel):
    cast: _CastName
    created_at: Instant

    @field_validator("created_at")
    @classmethod
    def _leaves_room_for_an_expiry(cls, created_at: datetime) -> datetime:
        if created_at.year > YEAR_MAX:
            raise ValueError(f"must not be after the year {YEAR_MAX}")
        return created_at


_DOCUMENTS: Final[Mapping[str, type[_Document]]] = {
    # `parent` is the cast name of the immediate parent.
    "accounts": model_of(
        Account,
        _Document,
        without={"id", "organization_id", "parent_account_ids", "updated_at"},
        parent=(_CastName | None, None),
    ),
    # `account` is the cast name of the account, here and below.
    "terminals": model_of(
        Terminal,
        _Document,
        without={
            *("terminal_id", "account_id", "updated_at"),
            *("transactions", "var_sheet", "batching"),
        },
        account=(_CastName, ...),
    ),
    # `terminal` is the cast name of the terminal that it points at.
    "locations": model_of(
        Location,
        _Document,
        without={"id", "account_id", "terminal_id", "metadata", "updated_at"},
        account=(_CastName, ...),
        terminal=(_CastName | None, None),
    ),
    # `lookup` is the fixed lookup of the key in the world `default`.
    "api_keys": model_of(
        ApiKey,
        _Document,
        without={
            *("id", "account_id", "salt", "digest", "key_last4", "readable_key"),
            *("key", "last_used_at"),
        },
        account=(_CastName, ...),
        lookup=(FixtureLookup, ...),
        expires_at=(Instant | None, None),
    ),
    # The cast name is the endpoint's id. Without `account` it hears the whole world.
    "endpoints": model_of(
        Endpoint,
        _Document,
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
    __config__=ConfigDict(extra="forbid", frozen=True, defer_build=True),
    **{table: _table_of(table) for table in _DOCUMENTS},
)


def read_fixture(path: Path) -> Fixture:
    """Read and check a fixture file. Raises FixtureError for a faulty file."""
    try:
        document = read_json(path.read_bytes())
        if isinstance(document, dict) and FILE in document:
            return Fixture(path.stem, {}, {}, {}, {}, document=document, snapshot=document)
        return replace(parse_fixture(path.stem, document), document=document)
    except OSError as error:
        raise FixtureError(f"{path}: cannot be read: {error}") from error
    except (FixtureError, NotJson) as error:
        raise FixtureError(f"{path}: {error}") from None


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

"""Fixtures, from which worlds begin: reading and checking their files, and filling a store.

A fixture is JSON in the form of a TinyDB document: table name, then document number, then the
document. Documents refer to each other by cast name ("merchant"), because ids come from the
world's seed. The whole fixture is checked before records are created.

Ids depend on the world's seed and the cast name, so worlds with the same seed have equal ids even
if their fixtures differ. Key material also depends on the world's id, so worlds never share a key.
Fixed keys (in the world `default`) depend on the fixture alone.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Final

from msgspec import Struct, field
from msgspec.structs import replace
from pydantic import StringConstraints, ValidationError, create_model, field_validator
from pydantic_core import ErrorDetails

from sandbox.domain import keys
from sandbox.domain.directory import Account, Location, Terminal
from sandbox.domain.field_types import FixtureLookup, WebhookSecret, sentence
from sandbox.domain.instants import Instant
from sandbox.domain.keys import ApiKey, KeyFormat
from sandbox.domain.text import did_you_mean
from sandbox.domain.webhooks import ENDPOINTS_MAX, Endpoint
from sandbox.store.documents import DocumentModel, NotJson, model_of, read_json
from sandbox.store.files.port import FILE
from sandbox.store.ids import Ids
from sandbox.store.store import Store
from sandbox.store.tables import NAMES

Documents = Mapping[str, Mapping[str, Any]]
"""The fields of documents by cast name, with the values that records have."""


class FixtureError(ValueError):
    """A fixture cannot be used; the message names the file, the document, the field, the reason."""


class Fixture(Struct, frozen=True, gc=False):
    """A checked fixture: documents by cast name, in file order, parents before children.

    `document` is the content of a file that is not bundled with the sandbox. With a `snapshot` the
    world begins like the saved one, whose cast has the ids of `cast_seed`.
    """

    name: str
    accounts: Documents = field(default_factory=dict)
    terminals: Documents = field(default_factory=dict)
    locations: Documents = field(default_factory=dict)
    api_keys: Documents = field(default_factory=dict)
    endpoints: Documents = field(default_factory=dict)
    document: Mapping[str, Any] | None = None
    snapshot: Mapping[str, Any] | None = None
    cast_seed: int | None = None


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


_GIVEN_BY_THE_WORLD: Final = {
    *("id", "terminal_id", "account_id", "organization_id", "parent_account_ids", "metadata"),
    *("updated_at", "last_used_at", "transactions", "var_sheet", "batching"),
    *("salt", "digest", "key", "key_last4", "readable_key"),
    *("old_secrets", "replaced_secret", "disabled_reason", "failing_since"),
}
"""The fields of records that documents do not have."""

_ACCOUNT: Final = (_CastName, ...)
"""The cast name of the account that the record belongs to."""

_OWN: Final[Mapping[type, Mapping[str, Any]]] = {
    # The cast name of the immediate parent.
    Account: {"parent": (_CastName | None, None)},
    Terminal: {"account": _ACCOUNT},
    # The cast name of its terminal.
    Location: {"account": _ACCOUNT, "terminal": (_CastName | None, None)},
    # `lookup` is the fixed lookup of the key in the world `default`.
    ApiKey: {
        "account": _ACCOUNT,
        "lookup": (FixtureLookup, ...),
        "expires_at": (Instant | None, None),
    },
    # The cast name is the endpoint's id. Without `account` it receives events of the whole world.
    Endpoint: {"account": (_CastName | None, None), "secret": (WebhookSecret | None, None)},
}
"""The additional fields in the documents of each kind of record."""

_DOCUMENTS: Final[Mapping[str, Any]] = {
    NAMES[kind]: model_of(kind, _Document, without=_GIVEN_BY_THE_WORLD, **own)
    for kind, own in _OWN.items()
}

_FIELDS: Final[Any] = {
    # Only accounts must be there.
    table: (Mapping[str, document], ... if table == "accounts" else {})  # type: ignore[valid-type]
    for table, document in _DOCUMENTS.items()
}

_Tables: Final = create_model("_Tables", __base__=DocumentModel, **_FIELDS)


def read_fixture(path: Path) -> Fixture:
    """Read and check a fixture file. Raises FixtureError for a faulty file."""
    try:
        return fixture_with(path.stem, read_json(path.read_bytes()))
    except OSError as error:
        raise FixtureError(f"{path}: cannot be read: {error}") from error
    except (FixtureError, NotJson) as error:
        raise FixtureError(f"{path}: {error}") from None


def fixture_with(name: str, document: Any) -> Fixture:
    """Return the fixture of a document or a snapshot, with the document. Raises FixtureError."""
    if isinstance(document, dict) and FILE in document:
        return Fixture(name, document=document, snapshot=document)
    return replace(parse_fixture(name, document), document=document)


def parse_fixture(name: str, document: Any) -> Fixture:
    """Check a fixture document. Raises FixtureError: all wrong fields, or the first bad name."""
    try:
        tables = _Tables.model_validate(document)
    except ValidationError as error:
        raise FixtureError("; ".join(map(_mistake, error.errors()))) from None
    checked: dict[str, Any] = {
        table: _by_cast(table, getattr(tables, table)) for table in _DOCUMENTS
    }
    fixture = Fixture(name, **checked)
    _check_names(fixture)
    return fixture


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
        # The other fields have the record's defaults.
        given = document.model_fields_set - {"cast"}
        by_cast[document.cast] = {field: getattr(document, field) for field in given}
    return by_cast


def _check_names(fixture: Fixture) -> None:
    """Check that all cast names exist, that parents come first, and that lookups are unique."""
    before: set[str] = set()
    for name, account in fixture.accounts.items():
        _must_exist(f"accounts.{name}.parent", account.get("parent"), before, "account before it")
        before.add(name)
    for table, what in product(_DOCUMENTS, ("account", "terminal")):
        known = getattr(fixture, f"{what}s")
        for name, document in getattr(fixture, table).items():
            _must_exist(f"{table}.{name}.{what}", document.get(what), known, what)
    if len(fixture.endpoints) > ENDPOINTS_MAX:
        raise FixtureError(f"endpoints: a world can have {ENDPOINTS_MAX} at most")
    lookups: set[str] = set()
    for name, key in fixture.api_keys.items():
        if key["lookup"] in lookups:
            raise FixtureError(f"api_keys.{name}.lookup: {key['lookup']!r} is taken")
        lookups.add(key["lookup"])


def _must_exist(where: str, word: str | None, known: Collection[str], what: str) -> None:
    if word is not None and word not in known:
        raise FixtureError(f"{where}: there is no {what} {word!r}{did_you_mean(word, known)}")


# --- filling a store ----------------------------------------------------------------------------


class Cast(Struct):
    """The named records of a world: ids by cast name, and the plaintexts of the keys.

    Terminals and locations have the cast name of their merchant (assumed D21), unless the fixture
    names them differently.
    """

    accounts: dict[str, str] = field(default_factory=dict)
    terminals: dict[str, str] = field(default_factory=dict)
    locations: dict[str, str] = field(default_factory=dict)
    keys: dict[str, str] = field(default_factory=dict)
    plaintexts: dict[str, str] = field(default_factory=dict)

    def ids_of(self, kind: str) -> dict[str, str]:
        """Return the ids of the accounts, terminals, locations or keys by cast name."""
        ids: dict[str, str] = getattr(self, f"{kind}s")
        return ids

    def resolve(self, document: Mapping[str, Any]) -> dict[str, Any]:
        """Return the fields of a document, with ids in place of cast names."""
        fields = dict(document)
        for name, ids in (("account", self.accounts), ("terminal", self.terminals)):
            if (named := fields.pop(name, None)) is not None:
                fields[f"{name}_id"] = ids[named]
        return fields

    def of_those(self, is_there: Callable[[str, str], bool]) -> "Cast":
        """Return the part of the cast whose records exist.

        `is_there` finds a record by its kind (account, terminal, ...) and id.
        """
        there = {
            f"{kind}s": {name: id for name, id in self.ids_of(kind).items() if is_there(kind, id)}
            for kind in ("account", "terminal", "location", "key")
        }
        plaintexts = {name: self.plaintexts[name] for name in there["keys"]}
        return Cast(**there, plaintexts=plaintexts)


def seed(
    store: Store, fixture: Fixture, draws: Ids, key_format: KeyFormat, *, has_fixed_keys: bool
) -> Cast:
    """Put the fixture's records into a new store, and return the cast.

    Fixed keys have the fixture's lookups, and secrets that depend only on their cast names.
    """
    cast, unit = Cast(), store.begin()
    # The ids from the root down to each account.
    paths: dict[str | None, tuple[str, ...]] = {None: ()}
    for name, document in fixture.accounts.items():
        fields = dict(document)
        above = paths[fields.pop("parent", None)]
        id = cast.accounts[name] = draws.uuid_of(f"account:{name}")
        paths[name] = (*above, id)
        unit.put(Account(id=id, parent_account_ids=above, **fields))
    for name, document in fixture.terminals.items():
        id = cast.terminals[name] = draws.uuid_of(f"terminal:{name}")
        unit.put(Terminal(terminal_id=id, **cast.resolve(document)))
    for name, document in fixture.locations.items():
        id = cast.locations[name] = draws.uuid_of(f"location:{name}")
        unit.put(Location(id=id, **cast.resolve(document)))
    for name, document in fixture.api_keys.items():
        key, plaintext = _key(
            name, cast.resolve(document), draws, key_format, is_fixed=has_fixed_keys
        )
        cast.keys[name], cast.plaintexts[name] = key.id, plaintext
        unit.put(key)
    unit.commit()
    return cast


def _key(
    name: str,
    fields: dict[str, Any],
    draws: Ids,
    key_format: KeyFormat,
    *,
    is_fixed: bool,
) -> tuple[ApiKey, str]:
    lookup, chars = fields.pop("lookup"), draws.fixed_chars if is_fixed else draws.chars_of
    secret = chars(f"secret:{name}", keys.SECRET_CHARS)
    is_readable = fields.get("is_legacy") or fields.get("always_retrievable")
    if fields.get("is_legacy"):
        lookup, plaintext = keys.legacy_lookup(secret), key_format.write_legacy(secret)
        fields["expires_at"] = keys.LEGACY_EXPIRY  # Source: spec 5.5; assumed 8.2-legacy
    else:
        lookup = lookup if is_fixed else chars(f"lookup:{name}", keys.LOOKUP_CHARS)
        plaintext = key_format.write(lookup, secret)
    fields["expires_at"] = fields.get("expires_at") or keys.default_expiry(fields["created_at"])
    salt = draws.chars_of(f"salt:{name}", 16)
    key = ApiKey(
        id=draws.uuid_of(f"key:{name}"),
        lookup=lookup,
        salt=salt,
        digest=keys.digest_of(salt, secret),
        key_last4=secret[-4:],
        readable_key=plaintext if is_readable else None,
        **fields,
    )
    return key, plaintext

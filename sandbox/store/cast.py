"""Fills a store from a fixture: cast names become ids, and keys get their material.

Ids come from the world's seed and the cast name, so two worlds of one seed have equal ids even if
their fixtures differ. Key material also depends on the world's id, so worlds never share a key.
Fixed keys (in the world `default`) come from the fixture alone.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct, field

from sandbox.domain.directory import Account, Location, Terminal
from sandbox.domain.keys import (
    LEGACY_EXPIRY,
    LOOKUP_CHARS,
    SECRET_CHARS,
    ApiKey,
    KeyFormat,
    default_expiry,
    digest_of,
    legacy_lookup,
)
from sandbox.domain.records import Record
from sandbox.store.fixture import Fixture
from sandbox.store.ids import Ids
from sandbox.store.store import Store


class Cast(Struct):
    """The named things of a world: cast name to id, and to the plaintext of each key.

    Terminals and locations have the cast name of their merchant (assumed D21), unless the fixture
    gives them one of their own.
    """

    accounts: dict[str, str] = field(default_factory=dict)
    terminals: dict[str, str] = field(default_factory=dict)
    locations: dict[str, str] = field(default_factory=dict)
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)

    def ids_of(self, kind: str) -> dict[str, str]:
        """Cast name to id, of the accounts, terminals, locations or keys."""
        return {
            "account": self.accounts,
            "terminal": self.terminals,
            "location": self.locations,
            "key": {name: id for name, (id, _) in self.keys.items()},
        }[kind]

    def of_those(self, is_there: Callable[[str, str], bool]) -> "Cast":
        """The cast names whose records exist, looked up by kind (account, terminal, ...) and id."""
        return Cast(
            {name: id for name, id in self.accounts.items() if is_there("account", id)},
            {name: id for name, id in self.terminals.items() if is_there("terminal", id)},
            {name: id for name, id in self.locations.items() if is_there("location", id)},
            {name: one for name, one in self.keys.items() if is_there("key", one[0])},
        )


def seed(
    store: Store,
    fixture: Fixture,
    draws: Ids,
    key_format: KeyFormat,
    fixed_chars: Callable[[str, int], str] | None = None,
) -> Cast:
    """Put the fixture's records into a new store, and return the cast.

    With `fixed_chars` keys have the fixture's lookups, and secrets from that function.
    """
    cast = Cast()
    put_all(store, _records(cast, fixture, draws, key_format, fixed_chars))
    return cast


def put_all(store: Store, records: Iterable[Record]) -> None:
    """Put records into a new store."""
    unit = store.begin()
    for record in records:
        unit.put(record)
    unit.commit()


def _records(
    cast: Cast,
    fixture: Fixture,
    draws: Ids,
    key_format: KeyFormat,
    fixed_chars: Callable[[str, int], str] | None,
) -> Iterator[Record]:
    """The records of a fixture, parents before children; the cast is filled on the way."""
    for name, account in fixture.accounts.items():
        fields = dict(account)
        cast.accounts[name] = draws.named_uuid(f"account:{fields.pop('cast')}")
        fields["parent_account_ids"] = _path(fixture, cast, fields.pop("parent", None))
        yield Account(id=cast.accounts[name], **fields)
    for name, terminal in fixture.terminals.items():
        fields = dict(terminal)
        cast.terminals[name] = draws.named_uuid(f"terminal:{fields.pop('cast')}")
        fields["account_id"] = cast.accounts[fields.pop("account")]
        yield Terminal(terminal_id=cast.terminals[name], **fields)
    for name, location in fixture.locations.items():
        fields = dict(location)
        cast.locations[name] = draws.named_uuid(f"location:{fields.pop('cast')}")
        fields["account_id"] = cast.accounts[fields.pop("account")]
        pointed_at = fields.pop("terminal", None)
        fields["terminal_id"] = cast.terminals[pointed_at] if pointed_at else None
        yield Location(id=cast.locations[name], **fields)
    for name, document in fixture.api_keys.items():
        account_id = cast.accounts[document["account"]]
        key, plaintext = _key(document, account_id, draws, key_format, fixed_chars)
        cast.keys[name] = (key.id, plaintext)
        yield key


def _path(fixture: Fixture, cast: Cast, parent: str | None) -> tuple[str, ...]:
    """Ids of all accounts above one with this parent, the root first."""
    path: list[str] = []
    while parent is not None:
        path.insert(0, cast.accounts[parent])
        parent = fixture.accounts[parent].get("parent")
    return tuple(path)


def _key(
    document: Mapping[str, Any],
    account_id: str,
    draws: Ids,
    key_format: KeyFormat,
    fixed_chars: Callable[[str, int], str] | None,
) -> tuple[ApiKey, str]:
    fields = {name: document[name] for name in document if name not in ("cast", "account")}
    name, lookup = document["cast"], fields.pop("lookup")
    chars = fixed_chars or draws.named_chars
    secret = chars(f"secret:{name}", SECRET_CHARS)
    is_readable = fields.get("is_legacy") or fields.get("always_retrievable")
    if fields.get("is_legacy"):
        lookup, plaintext = legacy_lookup(secret), key_format.write_legacy(secret)
        fields["expires_at"] = LEGACY_EXPIRY  # Source: spec 5.5; assumed 8.2-legacy
    else:
        lookup = lookup if fixed_chars else chars(f"lookup:{name}", LOOKUP_CHARS)
        plaintext = key_format.write(lookup, secret)
    fields["expires_at"] = fields.get("expires_at") or default_expiry(fields["created_at"])
    salt = draws.named_chars(f"salt:{name}", 16)
    key = ApiKey(
        id=draws.named_uuid(f"key:{name}"),
        account_id=account_id,
        lookup=lookup,
        salt=salt,
        digest=digest_of(salt, secret),
        key_last4=secret[-4:],
        readable_key=plaintext if is_readable else None,
        **fields,
    )
    return key, plaintext

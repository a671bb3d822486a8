"""Fills a store from a fixture: cast names become ids, and keys get their material.

Ids come from the world's seed and the cast name, so that two worlds of one seed have equal ids
whatever else is in the fixture. Key material also mixes in the world's id, so that they never
share a key; where the keys are fixed (the world `default`), it comes from the fixture alone.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Protocol

from sandbox.domain.accounts import Account
from sandbox.domain.keys import (
    LEGACY_EXPIRY,
    SECRET_CHARS,
    ApiKey,
    KeyFormat,
    default_expiry,
    digest_of,
    legacy_lookup,
)
from sandbox.domain.locations import Location
from sandbox.domain.terminals import Terminal
from sandbox.store.fixtures import Fixture, KeyDocument
from sandbox.store.port import Store


class SeedDraws(Protocol):
    """What seeding draws: all of it by name, so that the order of the file does not matter."""

    def named_uuid(self, name: str) -> str:
        """An id that depends on the seed and the name."""

    def named_chars(self, name: str, length: int) -> str:
        """Letters and digits that depend on the seed, the world and the name."""


@dataclass(slots=True)
class Cast:
    """The named things of a world: cast name to id, and to the plaintext of each key.

    Terminals and locations stand under the cast name of their merchant (assumed D21) unless the
    fixture gives them one of their own.
    """

    accounts: dict[str, str] = field(default_factory=dict)
    terminals: dict[str, str] = field(default_factory=dict)
    locations: dict[str, str] = field(default_factory=dict)
    keys: dict[str, tuple[str, str]] = field(default_factory=dict)


def seed(
    store: Store,
    fixture: Fixture,
    draws: SeedDraws,
    key_format: KeyFormat,
    fixed_chars: Callable[[str, int], str] | None = None,
) -> Cast:
    """Put the fixture's records into the store, in one commit, and return who is who.

    With `fixed_chars` keys have the fixture's lookups, and secrets from that function instead.
    """
    cast = Cast()
    unit = store.begin()
    paths: dict[str, tuple[str, ...]] = {}
    for name, account in fixture.accounts.items():
        id = cast.accounts[name] = draws.named_uuid(f"account:{name}")
        paths[id] = (
            (*paths[(parent := cast.accounts[account.parent])], parent) if account.parent else ()
        )
        given = account.__dict__.copy()
        del given["cast"], given["parent"]
        unit.put(Account(id=id, parent_account_ids=paths[id], **given))
    for name, terminal in fixture.terminals.items():
        id = cast.terminals[name] = draws.named_uuid(f"terminal:{name}")
        given = terminal.__dict__.copy()
        del given["cast"]
        account_id = cast.accounts[given.pop("account")]
        unit.put(Terminal(terminal_id=id, account_id=account_id, **given))
    for name, location in fixture.locations.items():
        id = cast.locations[name] = draws.named_uuid(f"location:{name}")
        given = location.__dict__.copy()
        del given["cast"]
        account_id = cast.accounts[given.pop("account")]
        pointed_at = given.pop("terminal")
        terminal_id = cast.terminals[pointed_at] if pointed_at else None
        unit.put(Location(id=id, account_id=account_id, terminal_id=terminal_id, **given))
    for name, document in fixture.api_keys.items():
        key, plaintext = _key(
            document, cast.accounts[document.account], draws, key_format, fixed_chars
        )
        cast.keys[name] = (key.id, plaintext)
        unit.put(key)
    unit.commit()
    return cast


def _key(
    document: KeyDocument,
    account_id: str,
    draws: SeedDraws,
    key_format: KeyFormat,
    fixed_chars: Callable[[str, int], str] | None,
) -> tuple[ApiKey, str]:
    name = document.cast
    chars = fixed_chars or draws.named_chars
    secret = chars(f"secret:{name}", SECRET_CHARS)
    if document.is_legacy:
        lookup, plaintext = legacy_lookup(secret), key_format.write_legacy(secret)
        expires_at = LEGACY_EXPIRY  # Source: spec 5.5; assumed 8.2-legacy
    else:
        lookup = document.lookup if fixed_chars else chars(f"lookup:{name}", len(document.lookup))
        plaintext = key_format.write(lookup, secret)
        expires_at = document.expires_at or default_expiry(document.created_at)
    salt = draws.named_chars(f"salt:{name}", 16)
    key = ApiKey(
        id=draws.named_uuid(f"key:{name}"),
        account_id=account_id,
        name=document.name,
        lookup=lookup,
        salt=salt,
        digest=digest_of(salt, secret),
        key_last4=secret[-4:],
        permissions=document.permissions,
        status=document.status,
        expires_at=expires_at,
        created_at=document.created_at,
        deleted_at=document.deleted_at,
        is_legacy=document.is_legacy,
        always_retrievable=document.always_retrievable,
        readable_key=plaintext if document.is_legacy or document.always_retrievable else None,
    )
    return key, plaintext

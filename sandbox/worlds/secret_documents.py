"""Refuses fixtures and saved worlds that hold secrets which the sandbox would never store.

A saved world has masked card numbers, and whole keys only if the spec allows reading them again
(assumed D26). All other text in it is checked like any other text (assumed 6.4-everywhere).
Numbers that the sandbox wrote itself may look like card numbers, and are none.
"""

from collections.abc import Mapping
from typing import Any, Final

from sandbox.domain.keys import KeyFormat, KeyKind
from sandbox.domain.secrets import CARD_NUMBER, find_misplaced, find_secret
from sandbox.store.files.port import FILE, FIXTURE, fields_of
from sandbox.store.saved_world import NotRestored, SavedWorld

_KEYS: Final = "api_keys"
_READABLE: Final = "readable_key"
_OURS: Final = (KeyKind.V5, KeyKind.LEGACY)
_COUNTED: Final = frozenset({"created_at", "captured_amount", "refunded_amount", "drawn"})
"""Fields with numbers of ours that may have as many digits as a card: times, sums, draws."""


def refuse_secrets(saved: SavedWorld, key_format: KeyFormat) -> None:
    """Raises NotRestored if a saved world holds a secret that must never be stored."""
    for table, documents in saved.tables.items():
        for document in documents:
            _check(table, document.id, fields_of(document), key_format)


def refuse_secrets_of_fixture(document: Mapping[str, Any], key_format: KeyFormat) -> None:
    """Raises NotRestored if a fixture file does."""
    for table, entries in document.items():
        # Reading refuses everything that is not a table.
        for number, fields in entries.items() if isinstance(entries, Mapping) else ():
            _check(table, number, fields, key_format)


def _check(table: str, id: str, fields: Any, key_format: KeyFormat) -> None:
    if secret := find_secret(id, key_format):
        raise NotRestored(f"{table[:80]}: _id: {secret.sentence}")
    shown = _without_readable_keys(table, fields, key_format)
    found = find_misplaced(shown, key_format)
    if found is not None and found.secret is CARD_NUMBER:
        found = find_misplaced(_without_our_numbers(shown), key_format)
    if found is not None:
        raise NotRestored(f"{table[:80]}, {id[:80]}: {found}")


def _without_our_numbers(value: Any) -> Any:
    """The value without times, sums and durations, which the sandbox wrote."""
    if isinstance(value, Mapping):
        return {
            name: _without_our_numbers(inner)
            for name, inner in value.items()
            if name not in _COUNTED or not isinstance(inner, int)
        }
    if isinstance(value, list | tuple):
        return [_without_our_numbers(inner) for inner in value]
    return None if isinstance(value, float) and not value.is_integer() else value


def _without_readable_keys(table: str, fields: Any, key_format: KeyFormat) -> Any:
    """The document without the keys of a sandbox, in the one field that may hold one."""
    if not isinstance(fields, Mapping):
        return fields
    if table == _KEYS:
        key = fields.get(_READABLE)
        is_ours = isinstance(key, str) and key_format.parse(key).kind in _OURS
        return {name: value for name, value in fields.items() if name != _READABLE or not is_ours}
    if table == FIXTURE and FILE in fields:
        # It began as a saved world itself.
        return {
            inner: {
                number: _without_readable_keys(inner, one, key_format)
                for number, one in entries.items()
            }
            for inner, entries in fields.items()
            if isinstance(entries, Mapping)
        }
    return fields

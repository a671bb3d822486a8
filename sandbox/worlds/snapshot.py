"""Snapshots: a world as one JSON document in the form of a TinyDB file, and back.

A snapshot has the same tables as a state file, and can be used as a fixture. It contains state,
clock, timers, endpoints, undelivered webhooks, scenario and queue, but no journal (assumed D25).

Fixtures and saved worlds with secrets that the sandbox would never store are refused. A saved
world has masked card numbers, and whole keys only if the spec makes them retrievable (assumed
D26). All other text in it is checked like any input (assumed 6.4-everywhere). Numbers that the
sandbox wrote itself may look like card numbers, and are allowed.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from pydantic_core import to_json

from sandbox import __version__
from sandbox.domain.keys import KeyFormat, KeyKind
from sandbox.domain.secrets import find_misplaced, find_secret
from sandbox.store.documents import NotJson, read_json
from sandbox.store.files import port
from sandbox.store.files.port import Document, UnknownFormat
from sandbox.store.world_documents import Moment, NotRestored, SavedWorld
from sandbox.worlds.world import World

_NUMBER: Final = re.compile("0|[1-9][0-9]{0,39}")


def write_snapshot(moment: Moment) -> list[bytes]:
    """Return the snapshot of a moment in parts: table, then number, then document.

    Equal worlds give equal bytes. This may run in a thread.
    """
    tables: dict[str, dict[int, bytes]] = {}
    for table, document in moment.documents():
        tables.setdefault(table, {})[document.number] = _encode(document)
    head = to_json({"program": port.PROGRAM, "format": port.FORMAT, "version": __version__})
    parts = [b'{"%b":{"1":%b}' % (port.FILE.encode(), head)]
    for table, documents in sorted(tables.items()):
        content = b",".join(documents[number] for number in sorted(documents))
        parts.append(b',"%b":{%b}' % (table.encode(), content))
    return [*parts, b"}"]


def _encode(document: Document) -> bytes:
    text = document.text
    own = b'"_id":%b' % to_json(document.id)
    rest = "," + text[1:] if text != "{}" else "}"
    return b'"%d":{%b%b' % (document.number, own, rest.encode())


def parse_snapshot(document: Any) -> SavedWorld:
    """Return the documents of a snapshot. Raises NotRestored with the mistake."""
    if not isinstance(document, dict):
        raise NotRestored("must be an object of tables")
    _check_head(document)
    tables = {
        table: _documents(table, entries)
        for table, entries in document.items()
        if table != port.FILE
    }
    return SavedWorld(tables)


def _check_head(document: dict[str, Any]) -> None:
    """Raise NotRestored unless this is a snapshot in the format of this version."""
    heads = document.get(port.FILE)
    head = next(iter(heads.values()), None) if isinstance(heads, dict) else None
    if not isinstance(head, dict) or head.get("program") != port.PROGRAM:
        raise NotRestored(f"{port.FILE}: does not say that {port.PROGRAM} wrote this snapshot")
    try:
        port.check_format(head.get("format"))
    except UnknownFormat as error:
        raise NotRestored(f"{port.FILE}: {error}; save the world again with this version") from None


def _documents(table: str, entries: Any) -> list[Document]:
    if not isinstance(entries, dict):
        raise NotRestored(f"{table[:80]}: must be an object of numbered documents")
    found = []
    for number, fields in entries.items():
        if not isinstance(fields, dict) or not isinstance(fields.get("_id"), str):
            raise NotRestored(f"{table[:80]}, {number[:80]}: must be an object with an _id")
        # Only one spelling of each number, or two documents could have the same one.
        if not _NUMBER.fullmatch(number):
            raise NotRestored(f"{table[:80]}: {number[:80]!r} is not a number")
        own = fields.copy()
        found.append(Document(own.pop("_id"), int(number), to_json(own).decode()))
    return sorted(found, key=lambda one: one.number)


def moment_of(world: World) -> Moment:
    """Return the content of a world as it is now."""
    return Moment(world.store, world.spec.fixture.document)


def copy_documents(moment: Moment) -> SavedWorld:
    """Return the documents of a moment, from this server's memory. This may run in a thread."""
    tables: dict[str, list[Document]] = {}
    for table, document in moment.documents():
        tables.setdefault(table, []).append(document)
    return SavedWorld(tables, is_trusted=True)


def read_snapshot(body: bytes, key_format: KeyFormat) -> SavedWorld:
    """Parse a snapshot without secrets. Raises NotRestored. This may run in a thread."""
    try:
        saved = parse_snapshot(read_json(body))
    except NotJson as error:
        raise NotRestored(str(error)) from None
    _refuse_secrets(saved, key_format)
    return saved


# --- secrets in documents -----------------------------------------------------------------------

_KEYS: Final = "api_keys"
_READABLE: Final = "readable_key"
_DIGEST: Final = "digest"
_HEX: Final = re.compile("[0-9a-f]{64}")
_OURS: Final = (KeyKind.V5, KeyKind.LEGACY)
_COUNTED: Final = frozenset({"created_at", "captured_amount", "refunded_amount", "drawn"})
"""Fields with our own numbers that may have as many digits as a card: times, sums, draws."""


def _refuse_secrets(saved: SavedWorld, key_format: KeyFormat) -> None:
    """Raise NotRestored if a saved world holds a secret that must never be stored."""
    for table, documents in saved.tables.items():
        for document in documents:
            _check(table, document.id, port.fields_of(document), key_format)


def refuse_secrets_of_fixture(document: Mapping[str, Any], key_format: KeyFormat) -> None:
    """Raise NotRestored if a fixture file holds a secret that must never be stored."""
    for table, entries in document.items():
        # The reader of fixtures refuses everything that is not a table.
        for number, fields in entries.items() if isinstance(entries, Mapping) else ():
            _check(table, number, fields, key_format)


def _check(table: str, id: str, fields: Any, key_format: KeyFormat) -> None:
    if secret := find_secret(id, key_format):
        raise NotRestored(f"{table[:80]}: _id: {secret.sentence}")
    shown = _without_our_numbers(_without_parts_of_keys(table, fields, key_format))
    if found := find_misplaced(shown, key_format):
        raise NotRestored(f"{table[:80]}, {id[:80]}: {found}")


def _without_our_numbers(value: Any) -> Any:
    """Return the value without the times, sums and durations that the sandbox wrote."""
    if isinstance(value, Mapping):
        return {
            name: _without_our_numbers(inner)
            for name, inner in value.items()
            if name not in _COUNTED or not isinstance(inner, int)
        }
    if isinstance(value, list | tuple):
        return [_without_our_numbers(inner) for inner in value]
    return None if isinstance(value, float) and not value.is_integer() else value


def _without_parts_of_keys(table: str, fields: Any, key_format: KeyFormat) -> Any:
    """Return the document of a key without its digest, and without the one field for its plaintext.

    A digest may have the digits of a card. The plaintext must be a sandbox key.
    """
    if not isinstance(fields, Mapping):
        return fields
    if table == _KEYS:
        digest, key = fields.get(_DIGEST), fields.get(_READABLE)
        parts = {_DIGEST} if isinstance(digest, str) and _HEX.fullmatch(digest) else set()
        if isinstance(key, str) and key_format.parse(key).kind in _OURS:
            parts.add(_READABLE)
        return {name: value for name, value in fields.items() if name not in parts}
    if table == port.FIXTURE and port.FILE in fields:
        # The world itself began as a saved world.
        return {
            inner: {
                number: _without_parts_of_keys(inner, one, key_format)
                for number, one in entries.items()
            }
            for inner, entries in fields.items()
            if isinstance(entries, Mapping)
        }
    return fields

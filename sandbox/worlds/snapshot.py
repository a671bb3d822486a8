"""A whole world as one JSON document, in the form of a TinyDB file, and back.

It has the same tables as a state file, and can be used as a fixture. It holds state, clock, timers,
endpoints, undelivered webhooks, scenario and queue, but no journal (assumed D25).
"""

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, Final

from pydantic_core import to_json

from sandbox import __version__
from sandbox.store import json_pieces
from sandbox.store.files.port import (
    FILE,
    FORMAT,
    MESSAGES,
    PROGRAM,
    RECORDS,
    Document,
    Parsed,
    UnknownFormat,
    check_format,
)
from sandbox.store.moment import write_all
from sandbox.store.saved_world import NotRestored, SavedWorld
from sandbox.store.steps import OFTEN, Steps
from sandbox.worlds.world import World

WRITTEN_MAX: Final = 10_000
"""The number of snapshots written by this process that it recognizes, the newest ones."""

_written_here: Final[dict[str, None]] = {}
"""Their digests, in the order in which they were written. Anybody can write a digest into the head
of a snapshot; only this process can put one here (decision 45)."""
DOCUMENTS_AT_ONCE: Final = 64
"""The number of documents in one part of a snapshot."""

DIGESTED_AT_ONCE: Final = 1_048_576
SPACES_MAX: Final = 16
"""Characters allowed after the last bracket: an editor ends a file with a new line."""

_NUMBER: Final = re.compile("0|[1-9][0-9]{0,39}")


def snapshot(world: World) -> Steps[list[bytes]]:
    """The world as it is at the first step, in parts: table, then number, then document.

    The same world, the same bytes. It is known again when it comes back.
    """
    tables: dict[str, list[tuple[int, bytes]]] = {}

    def take(table: str, document: Document) -> None:
        tables.setdefault(table, []).append((document.number, _written(document)))

    yield from write_all(world.store, world.spec.fixture.document, take)
    parts, digest = [b""], sha256()
    for written in _tables(tables):
        digest.update(written)
        parts.append(written)
        yield
    parts.append(b"}")
    if not world.store.ids_may_repeat:
        # Otherwise its ids have to be looked at when it comes back.
        _remember(digest.hexdigest())
    parts[0] = _head(digest.hexdigest())
    return parts


def _remember(digest: str) -> None:
    _written_here.pop(digest, None)
    _written_here[digest] = None
    if len(_written_here) > WRITTEN_MAX:
        del _written_here[next(iter(_written_here))]


def _tables(tables: dict[str, list[tuple[int, bytes]]]) -> Iterator[bytes]:
    """The tables as JSON without the brackets of the whole, in pieces."""
    for number, table in enumerate(sorted(tables)):
        begin = b'%b"%b":{' % (b"," if number else b"", table.encode())
        documents = sorted(tables.pop(table))
        for first in range(0, len(documents), DOCUMENTS_AT_ONCE):
            some = documents[first : first + DOCUMENTS_AT_ONCE]
            yield begin + b",".join(written for _, written in some)
            begin = b","
        yield b"}"


def _head(digest: str) -> bytes:
    """The beginning of the document: what wrote it, and the digest of all that follows."""
    head = {"program": PROGRAM, "format": FORMAT, "version": __version__, "sha256": digest}
    return b'{"%b":{"1":%b},' % (FILE.encode(), to_json(head))


_HEAD_LENGTH: Final = len(_head(sha256().hexdigest()))


def _is_as_written(body: bytes | bytearray) -> Steps[bool]:
    """Whether this process wrote the document, and it was not edited since."""
    end = len(body)
    while end and body[end - 1] in b" \t\r\n" and end > len(body) - SPACES_MAX:
        end -= 1
    if body[end - 1 : end] != b"}":
        return False
    digest = sha256()
    for start in range(_HEAD_LENGTH, end - 1, DIGESTED_AT_ONCE):
        digest.update(body[start : min(start + DIGESTED_AT_ONCE, end - 1)])
        yield
    written = digest.hexdigest()
    return written in _written_here and bytes(body[:_HEAD_LENGTH]) == _head(written)


def _written(document: Document) -> bytes:
    text = document.text
    own = b'"_id":%b' % to_json(document.id)
    rest = "," + text[1:] if text != "{}" else "}"
    return b'"%d":{%b%b' % (document.number, own, rest.encode())


def parse_snapshot(document: Any, *, is_trusted: bool = False) -> Steps[SavedWorld]:
    """The documents of a snapshot. Raises NotRestored with the mistake.

    Only the records of a trusted snapshot are used without a check.
    """
    if not isinstance(document, dict):
        raise NotRestored("must be an object of tables")
    _check_head(document)
    tables = {}
    for table, entries in document.items():
        if table != FILE:
            tables[table] = yield from _documents(table, entries)
    records = yield from _records(tables)

    def read(table: str, id: str) -> str:
        return records[id].text

    return SavedWorld(tables, read, is_trusted=is_trusted)


def _records(tables: dict[str, list[Parsed]]) -> Steps[dict[str, Parsed]]:
    """The bodies of messages, by their ids; every message has one."""
    records: dict[str, Parsed] = {}
    for one in tables.pop(RECORDS, []):
        records[one.id] = one
        if not len(records) % OFTEN:
            yield
    for taken, one in enumerate(tables.get(MESSAGES, [])):
        if one.id not in records:
            raise NotRestored(f"{RECORDS}: there is nothing of the message {one.id[:80]}")
        if not taken % OFTEN:
            yield
    return records


def _check_head(document: dict[str, Any]) -> None:
    """Raises NotRestored unless this is a snapshot of the format of this version."""
    heads = document.get(FILE)
    head = next(iter(heads.values()), None) if isinstance(heads, dict) else None
    if not isinstance(head, dict) or head.get("program") != PROGRAM:
        raise NotRestored(f"{FILE}: says of itself that it is a snapshot of another program")
    try:
        check_format(head.get("format"))
    except UnknownFormat as error:
        raise NotRestored(f"{FILE}: {error}; save the world anew with this version") from None


def _documents(table: str, entries: Any) -> Steps[list[Parsed]]:
    if not isinstance(entries, dict):
        raise NotRestored(f"{table[:80]}: must be an object of numbered documents")
    found = []
    for number, fields in entries.items():
        if not isinstance(fields, dict) or not isinstance(fields.get("_id"), str):
            raise NotRestored(f"{table[:80]}, {number[:80]}: must be an object with an _id")
        # One spelling for each: two of one number would be two documents in one place.
        if not _NUMBER.fullmatch(number):
            raise NotRestored(f"{table[:80]}: {number[:80]!r} is no number")
        own = fields.copy()
        found.append(Parsed(own.pop("_id"), int(number), own))
        if not len(found) % OFTEN:
            yield
    return sorted(found, key=lambda one: one.number)


def read_snapshot(body: bytes | bytearray) -> Steps[SavedWorld]:
    """Parse a snapshot from bytes. Raises NotRestored.

    A snapshot that this process wrote is trusted: checking the records of all its messages would
    take several times as long as the rest.
    """
    try:
        document = yield from json_pieces.parse(body)
    except json_pieces.NotJson as error:
        raise NotRestored(f"is not JSON: {error}") from None
    is_trusted = yield from _is_as_written(body)
    return (yield from parse_snapshot(document, is_trusted=is_trusted))

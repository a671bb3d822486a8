"""A whole world as one JSON document, in the form of a TinyDB file, and back.

It has the same tables as a state file, and can be used as a fixture. It holds state, clock, timers,
endpoints, undelivered webhooks, scenario and queue, but no journal (assumed D25).
"""

import re
from typing import Any, Final

from pydantic_core import from_json, to_json

from sandbox import __version__
from sandbox.store.files.port import (
    FILE,
    FORMAT,
    PROGRAM,
    Document,
    Parsed,
    UnknownFormat,
    check_format,
)
from sandbox.store.saved_world import NotRestored, SavedWorld
from sandbox.store.world_documents import Moment
from sandbox.worlds.pauses import run_aside
from sandbox.worlds.world import World

BYTES_AT_ONCE_MAX: Final = 500_000
"""Reading a snapshot of this size takes some milliseconds."""

_NUMBER: Final = re.compile("0|[1-9][0-9]{0,39}")


def write_snapshot(moment: Moment) -> list[bytes]:
    """The snapshot of that moment, in parts: table, then number, then document.

    The same world, the same bytes. This may run in a thread.
    """
    tables: dict[str, dict[int, bytes]] = {}
    for table, document in moment.documents():
        tables.setdefault(table, {})[document.number] = _written(document)
    head = to_json({"program": PROGRAM, "format": FORMAT, "version": __version__})
    parts = [b'{"%b":{"1":%b}' % (FILE.encode(), head)]
    for table, documents in sorted(tables.items()):
        content = b",".join(documents[number] for number in sorted(documents))
        parts.append(b',"%b":{%b}' % (table.encode(), content))
    return [*parts, b"}"]


def _written(document: Document) -> bytes:
    text = document.text
    own = b'"_id":%b' % to_json(document.id)
    rest = "," + text[1:] if text != "{}" else "}"
    return b'"%d":{%b%b' % (document.number, own, rest.encode())


def parse_snapshot(document: Any, *, is_trusted: bool = False) -> SavedWorld:
    """The documents of a snapshot. Raises NotRestored with the mistake."""
    if not isinstance(document, dict):
        raise NotRestored("must be an object of tables")
    _check_head(document)
    tables = {
        table: _documents(table, entries) for table, entries in document.items() if table != FILE
    }
    return SavedWorld(tables, is_trusted=is_trusted)


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


def _documents(table: str, entries: Any) -> list[Parsed]:
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
    return sorted(found, key=lambda one: one.number)


async def read_aside(body: bytes | bytearray, *, is_trusted: bool = False) -> SavedWorld:
    """Parse a snapshot as `read_snapshot` does; a large one while other requests are served."""
    is_large = len(body) > BYTES_AT_ONCE_MAX
    return await run_aside(read_snapshot, body, is_trusted, is_large=is_large)


async def write_aside(world: World) -> list[bytes]:
    """The snapshot of a world; a large one while other requests are served."""
    moment = Moment(world.store, world.spec.fixture.document)
    return await run_aside(write_snapshot, moment, is_large=moment.is_large)


def read_snapshot(body: bytes | bytearray, is_trusted: bool = False) -> SavedWorld:
    """Parse a snapshot from bytes; one that this server holds itself is trusted.

    Raises NotRestored.
    """
    try:
        document = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise NotRestored(f"is not JSON: {error}") from None
    return parse_snapshot(document, is_trusted=is_trusted)

"""A whole world as one JSON document, in the form of a TinyDB file, and back.

The form is that of the tables in a state file, and of a fixture that somebody saved. It holds
state, clock, agenda, endpoints, undelivered webhooks, scenario and queue, and no journal (assumed
D25).
"""

import re
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Final

from pydantic_core import from_json, to_json

from sandbox import __version__
from sandbox.store.files import FILE, FORMAT, RECORDS, Document, Parsed
from sandbox.store.state.migrations import (
    MIGRATIONS,
    Migrations,
    Plain,
    UnknownFormat,
    check_format,
    migrate,
)
from sandbox.world.kept import Kept, NotRestored
from sandbox.world.recording import Recorder

if TYPE_CHECKING:
    from sandbox.world.world import World

PROGRAM: Final = "uat-sandbox"

WRITTEN_MAX: Final = 10_000
"""So many snapshots that this process has written are known again, the newest of them."""

_written_here: Final[dict[str, None]] = {}
"""Their digests, in the order in which they were written. Anybody can write a digest into the head
of a snapshot; nobody else can put one here (decision 45)."""

_NUMBER: Final = re.compile("0|[1-9][0-9]{0,39}")


def snapshot(world: "World") -> bytes:
    """The world as it is now: table, then number, then document. The same world, the same bytes.

    It is known again when it comes back.
    """
    recorder = world.recorder or Recorder(world)
    tables: dict[str, list[Document]] = {}
    for table, document in recorder.everything():
        tables.setdefault(table, []).append(document)
    parts = []
    for table in sorted(tables):
        documents = sorted(tables[table], key=lambda one: one.number)
        written = b",".join(_written(document) for document in documents)
        parts.append(b'"%b":{%b}' % (table.encode(), written))
    joined = b",".join(parts)
    digest = sha256(joined).hexdigest()
    _remember(digest)
    return _headed(joined, digest)


def _remember(digest: str) -> None:
    _written_here.pop(digest, None)
    _written_here[digest] = None
    if len(_written_here) > WRITTEN_MAX:
        del _written_here[next(iter(_written_here))]


def _headed(tables: bytes, digest: str) -> bytes:
    """The document of these tables. It says what wrote it, and the digest of all that follows."""
    head = {"program": PROGRAM, "format": FORMAT, "version": __version__, "sha256": digest}
    return b'{"%b":{"1":%b},%b}' % (FILE.encode(), to_json(head), tables)


_HEAD_LENGTH: Final = len(_headed(b"", "0" * 64)) - len("}")


def _is_as_written(body: bytes) -> bool:
    """Whether this very process wrote the document, and nobody has edited it since."""
    document = body.rstrip()
    tables = document[_HEAD_LENGTH:-1]
    digest = sha256(tables).hexdigest()
    return digest in _written_here and document == _headed(tables, digest)


def _written(document: Document) -> bytes:
    text = document.text
    own = b'"_id":%b' % to_json(document.id)
    if document.claims:
        own += b',"_claims":%b' % document.claims.encode()
    rest = "," + text[1:] if text != "{}" else "}"
    return b'"%d":{%b%b' % (document.number, own, rest.encode())


def parse_snapshot(
    document: Any,
    *,
    is_trusted: bool = False,
    newest: int = FORMAT,
    migrations: Migrations = MIGRATIONS,
) -> Kept:
    """What a snapshot holds. Raises NotRestored, saying what is wrong.

    One of an earlier format is brought to the newest. What its records claim is believed only of
    one that is trusted; they are read when somebody asks for them.
    """
    if not isinstance(document, dict):
        raise NotRestored("must be an object of tables")
    found = _format(document, newest, migrations)
    tables = {
        table: _documents(table, entries, is_trusted)
        for table, entries in document.items()
        if table != FILE
    }
    if found < newest:
        tables = _brought_here(tables, found, newest, migrations)
    records = {one.id: one for one in tables.pop(RECORDS, [])}

    def read(table: str, id: str) -> str:
        return records[id].text

    messages = tables.get("messages", [])
    missing = next((one.id for one in messages if one.id not in records), None)
    if missing is not None:
        raise NotRestored(f"{RECORDS}: there is nothing of the message {missing[:80]}")
    return Kept(tables, read, is_trusted=is_trusted)


def _format(document: dict[str, Any], newest: int, migrations: Migrations) -> int:
    """The format of the snapshot. Raises NotRestored where it is none of ours."""
    heads = document.get(FILE)
    head = next(iter(heads.values()), None) if isinstance(heads, dict) else None
    if not isinstance(head, dict) or head.get("program") != PROGRAM:
        raise NotRestored(f"{FILE}: says of itself that it is a snapshot of another program")
    try:
        return check_format(head.get("format"), newest, migrations)
    except UnknownFormat as error:
        raise NotRestored(f"{FILE}: {error}") from None


Written = dict[str, list[Parsed]]


def _brought_here(tables: Written, found: int, newest: int, migrations: Migrations) -> Written:
    """The documents of an earlier format, as they are written today."""
    plain = {
        table: [Plain(one.id, one.number, one.fields) for one in documents]
        for table, documents in tables.items()
    }
    return {
        table: [Parsed(one.id, one.number, one.fields) for one in documents]
        for table, documents in migrate(plain, found, newest, migrations).items()
    }


def _documents(table: str, entries: Any, has_claims: bool) -> list[Parsed]:
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
        id, claims = own.pop("_id"), own.pop("_claims", None)
        believed = to_json(claims).decode() if has_claims and claims else ""
        found.append(Parsed(id, int(number), own, believed))
    return sorted(found, key=lambda one: one.number)


def read_snapshot(body: bytes) -> Kept:
    """The same from bytes. Raises NotRestored.

    What this process has written is trusted: to look at everything that its messages say would
    take several times as long as all the rest.
    """
    try:
        document = from_json(body, allow_inf_nan=False)
    except ValueError as error:
        raise NotRestored(f"is not JSON: {error}") from None
    return parse_snapshot(document, is_trusted=_is_as_written(body))

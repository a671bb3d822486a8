"""Reading fixture files, with which worlds begin.

A fixture is JSON in the form of a TinyDB document: table name, then document number, then the
document. Documents refer to each other by cast name ("merchant"), because ids come from the
world's seed. Our tests have checked the files that we ship; `fixture_check` checks any other file
as a whole before it is used.
"""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from sandbox.domain.directory import AccountType, Address
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.text import NotUtf8, decode_text
from sandbox.store.bundled_digests import DIGESTS
from sandbox.store.files.port import FILE
from sandbox.store.fixture import Fixture, FixtureError


def read_fixture(path: Path) -> Fixture:
    """Read and check a fixture file. Raises FixtureError for a faulty file."""
    try:
        content = path.read_bytes()
        text = decode_text(content)
    except OSError as error:
        raise FixtureError(f"{path}: cannot be read: {error}") from error
    except NotUtf8 as error:
        raise FixtureError(f"{path}: {error}") from error
    if sha256(content).hexdigest() in DIGESTS:
        document = json.loads(text)
        if FILE in document:
            return Fixture(path.stem, {}, {}, {}, {}, snapshot=document)
        return as_shipped(path.stem, document)
    from sandbox.store.fixture_check import parse_fixture

    try:
        document = _parse(text)
        if isinstance(document, dict) and FILE in document:
            return Fixture(path.stem, {}, {}, {}, {}, document=document, snapshot=document)
        return replace(parse_fixture(path.stem, document), document=document)
    except FixtureError as error:
        raise FixtureError(f"{path}: {error}") from None


def as_shipped(name: str, document: Mapping[str, Any]) -> Fixture:
    """The fixture in a document that is known to be right."""
    tables = {
        table: {fields["cast"]: _read(fields) for fields in documents.values()}
        for table, documents in document.items()
    }
    return Fixture(name, **tables)


def _read(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a document with the values that records have."""
    read = dict(fields)
    for name, value in fields.items():
        if name.endswith("_at") and value is not None:
            read[name] = parse_rfc3339(value)
        elif isinstance(value, list):
            read[name] = tuple(value)
    if "address" in read:
        read["address"] = Address(**read["address"])
    if "type" in read:
        read["type"] = AccountType(read["type"])
    return read


def _parse(text: str) -> Any:
    """The JSON value in the text, more strictly than JSON asks. Raises FixtureError."""
    try:
        return json.loads(
            text, object_pairs_hook=_without_repetition, parse_constant=_refuse_constant
        )
    except RecursionError as error:
        raise FixtureError("is nested too deeply") from error
    except ValueError as error:
        raise FixtureError(f"is not JSON: {error}") from error


def _without_repetition(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    document = dict(pairs)
    if len(document) != len(pairs):
        names = [name for name, _ in pairs]
        repeated = next(name for name in names if names.count(name) > 1)
        raise ValueError(f"{repeated!r} appears twice in one object")
    return document


def _refuse_constant(constant: str) -> None:
    raise ValueError(f"{constant} is not a number in JSON")

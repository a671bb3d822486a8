"""Reads a JSON document for TinyDB, more strictly than TinyDB does.

TinyDB accepts everything that Python's parser accepts: duplicate fields, numbers that JSON does
not have, documents that are not objects. People edit these files, so each of these is an error
that names the place.
"""

import json
from typing import Any, NoReturn

from tinydb import Storage


class Contents(ValueError):
    """The content of a file is invalid; the message names the place."""


class StrictStorage(Storage):
    """The content of a file, for TinyDB to read. `read` raises Contents."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._tables: dict[str, dict[str, Any]] | None = None

    def read(self) -> dict[str, dict[str, Any]]:
        if self._tables is None:
            self._tables = _tables(_parse(self._content))
        return self._tables

    def write(self, data: dict[str, dict[str, Any]]) -> NoReturn:
        raise NotImplementedError("files are written by JsonFile")


def _parse(content: bytes) -> Any:
    """The JSON value in the content. Raises Contents."""
    faults: list[tuple[object, str]] = []

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        fields = dict(found)
        if len(fields) != len(found):
            names = [name for name, _ in found]
            twice = next(name for name in names if names.count(name) > 1)
            faults.append((fields, f"{twice!r} appears twice in one object"))
        return fields

    def constant(name: str) -> object:
        fault = object()
        faults.append((fault, f"{name} is not a number in JSON"))
        return fault

    try:
        # Some editors put a mark in front of UTF-8.
        text = content.decode("utf-8-sig")
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=constant)
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Contents(f"it is not UTF-8: line {line}") from error
    except json.JSONDecodeError as error:
        raise Contents(
            f"it is not JSON: {error.msg}: line {error.lineno} column {error.colno}"
        ) from error
    except ValueError as error:  # an integer of thousands of digits
        raise Contents(f"it cannot be read as JSON: {error}") from error
    if faults:
        fault, what = faults[0]
        raise Contents(f"{_place(value, fault)}{what}")
    return value


def _place(value: Any, fault: object) -> str:
    """The place of a mistake: `table 'demo.accounts', document '17': `."""
    if value is fault or not isinstance(value, dict):
        return ""
    for table, documents in value.items():
        if documents is fault or not isinstance(documents, dict):
            if _holds(documents, fault):
                return f"table {table!r}: "
            continue
        for number, document in documents.items():
            if _holds(document, fault):
                return f"table {table!r}, document {number!r}: "
    return ""


def _holds(value: Any, fault: object) -> bool:
    if value is fault:
        return True
    if isinstance(value, dict):
        return any(_holds(inner, fault) for inner in value.values())
    return isinstance(value, list) and any(_holds(inner, fault) for inner in value)


def _tables(value: Any) -> dict[str, dict[str, Any]]:
    """The value, which has the shape of a TinyDB document. Raises Contents."""
    if not isinstance(value, dict):
        raise Contents("it is not an object of tables")
    for table, documents in value.items():
        if not isinstance(documents, dict):
            raise Contents(f"table {table!r} is not an object of documents")
        for number, document in documents.items():
            if not _is_number(number):
                raise Contents(f"table {table!r}: {number!r} is not the number of a document")
            if not isinstance(document, dict):
                raise Contents(f"table {table!r}, document {number!r} is not an object")
    return value


def _is_number(text: str) -> bool:
    """Whether this is a whole number, written as the file writes them."""
    try:
        return str(int(text)) == text
    except ValueError:
        return False

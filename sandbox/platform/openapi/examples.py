"""One request for each operation that succeeds in a fresh demo world.

They are in the document and in the forms of the docs page; a test sends each. Rows say what does
not follow from the kind of operation.
"""

import re
from collections.abc import Mapping
from typing import Any, Final

from msgspec.structs import replace

from sandbox.platform.operation import NOWHERE, Example, Row
from sandbox.platform.routes import OPERATIONS

Cast = Mapping[str, Mapping[str, str]]
"""Kind, such as `terminals`, to cast name to id."""

OF_CAST: Final = re.compile(r"\{(\w+)\.(\w+)\}")
"""How an id of the cast is written: its kind and the name of the member."""
VERSION_OF_NAME: Final = re.compile(r"_v\d$")

_IN_CAST: Final = ("accounts", "terminals", "locations")
_MADE_BY: Final = {
    "payments": "payments.create",
    "refunds": "payments.create",
    "transactions": "payments.create",
    "batches": "batches.open",
}
"""The operation that makes a record of each resource, if it is not its `create`."""


def _completed(row: Row) -> Example:
    """The example of a row, with what follows from its resource.

    The record in the path is that of the merchant. One that is not in the cast is made before, and
    so is one that is deleted.
    """
    resource, _, verb = row.name.partition(".")
    by = row.example.by or ("partner" if resource == "accounts" else "merchant")
    example = replace(row.example, operation=row.name, by=by)
    is_in_path = row.target is not None and row.target.where == "path"
    if example.id or not (is_in_path or example.takes):
        return example
    if resource in _IN_CAST and verb != "delete":
        return replace(example, id=f"{{{resource}.merchant}}")
    maker = example.first or _ROWS[_MADE_BY.get(resource, f"{resource}.create")].example
    name = maker.operation or _MADE_BY.get(resource, f"{resource}.create")
    return replace(example, first=replace(maker, operation=name, by=maker.by or by))


_ROWS: Final = {row.name: row for row in OPERATIONS if row.run is not None}
EXAMPLES: Final[Mapping[str, Example]] = {
    name: _completed(row) for name, row in _ROWS.items() if not VERSION_OF_NAME.search(name)
}


def example_of(row: str) -> Example | None:
    """The example of the row of that name; another version of a path has the same one."""
    return EXAMPLES.get(VERSION_OF_NAME.sub("", row))


def with_ids(value: Any, cast: Cast) -> Any:
    """The value with the ids of the cast in it."""
    if isinstance(value, Mapping):
        return {name: with_ids(one, cast) for name, one in value.items()}
    if isinstance(value, list):
        return [with_ids(one, cast) for one in value]
    if isinstance(value, str):
        return OF_CAST.sub(lambda found: cast.get(found[1], {}).get(found[2], NOWHERE), value)
    return value

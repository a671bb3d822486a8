"""A document as migrations see it."""

from typing import Any, NamedTuple


class Plain(NamedTuple):
    """One document: its id, its place in the table, its fields."""

    id: str
    number: int
    fields: dict[str, Any]

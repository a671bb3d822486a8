"""How values become the bytes that go over the wire, in answers and in webhooks alike."""

from functools import cache
from typing import Any

from pydantic import TypeAdapter
from pydantic_core import to_json


def to_bytes(value: Any) -> bytes:
    """The value as compact JSON.

    A record is written field by field as its annotations say, unset ones as null (spec 6.1.8);
    plain dictionaries and lists hold wire values already.
    """
    if isinstance(value, dict | list):
        return to_json(value)
    # Every class can be hashed; the checker thinks of metaclasses that cannot.
    return _adapter(type(value)).dump_json(value)  # type: ignore[arg-type]


@cache
def _adapter(record_type: type) -> TypeAdapter[Any]:
    # Built when the first record of the type is shown, so that starting does not wait for it.
    return TypeAdapter(record_type)

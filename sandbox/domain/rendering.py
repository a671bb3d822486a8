"""How values become the bytes that go over the wire, in answers and in webhooks alike."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from pydantic_core import to_json

from sandbox.domain.payments.showing import body_of, view
from sandbox.domain.payments.transactions import Transaction

if TYPE_CHECKING:
    from pydantic import TypeAdapter


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A window on a list as the platform answers it: `plural` names the list. Assumed 0.5-lists."""

    plural: str
    rows: Sequence[Any]
    total: int
    limit: int
    offset: int


def to_bytes(value: Any) -> bytes:
    """The value as compact JSON.

    A record is written field by field as its annotations say, unset ones as null (spec 6.1.8),
    or as its own view shows it; plain dictionaries hold wire values already, and bytes are JSON.
    """
    if isinstance(value, Transaction):
        return body_of(value)
    if isinstance(value, bytes):
        return value
    if isinstance(value, dict):
        return to_json(value)
    if isinstance(value, list):
        return b"[%b]" % b",".join(map(to_bytes, value))
    if isinstance(value, Page):
        return _page(value)
    return _adapter_of(value).dump_json(value)


def to_wire_fields(record: Any) -> dict[str, Any]:
    """A record's fields with the values that they have on the wire."""
    if isinstance(record, Transaction):
        return view(record)
    fields: dict[str, Any] = _adapter_of(record).dump_python(record, mode="json")
    return fields


def _page(page: Page) -> bytes:
    return b'{"%b":[%b],"total":%d,"limit":%d,"offset":%d,"page":%d}' % (
        page.plural.encode(),
        b",".join(map(to_bytes, page.rows)),
        page.total,
        page.limit,
        page.offset,
        page.offset // page.limit + 1,
    )


def _adapter_of(record: Any) -> "TypeAdapter[Any]":
    # Every class can be hashed; the checker thinks of metaclasses that cannot.
    return _adapter(type(record))  # type: ignore[arg-type]


@cache
def _adapter(record_type: type) -> "TypeAdapter[Any]":
    # Built when the first record of the type is shown, so that starting does not wait for it.
    from pydantic import TypeAdapter

    return TypeAdapter(record_type)

"""All kinds of record as one type, and their JSON for answers and webhooks.

A reading shows strings without a value as "" instead of null, where the spec types the field as a
plain string (spec 2.3, 2.6, 2.7, 2.8; assumed D35-unset).
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from operator import attrgetter
from typing import Any, Final

from msgspec import Struct, structs
from pydantic import TypeAdapter
from pydantic_core import to_json

from sandbox.domain.batches import Batch
from sandbox.domain.directory import Account, Address, Credential, Location, Terminal
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transaction_view import body_of, view
from sandbox.domain.payments.transactions import Transaction

Record = Account | ApiKey | Batch | Credential | Location | Terminal | Transaction

_ID_OF: Final = {
    Terminal: attrgetter("terminal_id"),
    Transaction: attrgetter("origin.transaction_id"),
}
_ID: Final = attrgetter("id")

_ACCOUNT_ID_OF: Final = {
    Account: attrgetter("id"),
    Transaction: attrgetter("origin.site.account_id"),
}
_ACCOUNT_ID: Final = attrgetter("account_id")


def id_of(record: Record) -> str:
    """The id of the record, whatever its kind calls it."""
    id: str = _ID_OF.get(type(record), _ID)(record)
    return id


def account_id_of(record: Record) -> str:
    """The id of the account that the record belongs to; an account belongs to itself."""
    account_id: str = _ACCOUNT_ID_OF.get(type(record), _ACCOUNT_ID)(record)
    return account_id


PART_BYTES: Final = 64 * 1024
"""A long answer is written and sent in parts of about this size."""


class Page(Struct, frozen=True, kw_only=True, gc=False):
    """A window on a list as the platform answers it: `plural` names the list. Assumed 0.5-lists."""

    plural: str
    rows: Sequence[Any]
    total: int
    limit: int
    offset: int


class WithRows(Struct, frozen=True, kw_only=True, gc=False):
    """The fields of a record with one more, `plural`, which is a list and may be long."""

    fields: dict[str, Any]
    plural: str
    rows: Sequence[Any]


class WithFields(Struct, frozen=True, kw_only=True, gc=False):
    """A record with further fields, which have the values that they have on the wire."""

    record: Any
    fields: dict[str, Any]


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
    if isinstance(value, WithRows):
        return b"".join(_with_rows(value))
    if isinstance(value, WithFields):
        return to_json(to_wire_fields(value.record) | value.fields)
    return _adapter_of(value).dump_json(value)


def rows_of(value: Any) -> int:
    """How many rows an answer has that may be a long list."""
    rows = value.rows if isinstance(value, WithRows) else value
    return len(rows) if isinstance(rows, (list, tuple)) else 0


def to_parts(value: "list[Any] | WithRows") -> Iterator[bytes]:
    """The same bytes as `to_bytes` gives, row by row: most are parts of a part to be sent."""
    return _with_rows(value) if isinstance(value, WithRows) else _list(value)


def _list(rows: Sequence[Any]) -> Iterator[bytes]:
    yield b"["
    for number, row in enumerate(rows):
        yield b"," + to_bytes(row) if number else to_bytes(row)
    yield b"]"


def _with_rows(value: WithRows) -> Iterator[bytes]:
    yield to_json(value.fields)[:-1] + b',"%b":' % value.plural.encode()
    yield from _list(value.rows)
    yield b"}"


def to_wire_fields(record: Any) -> dict[str, Any]:
    """A record's fields with the values that they have on the wire."""
    if isinstance(record, Transaction):
        fields: dict[str, Any] = view(record)
    else:
        fields = _adapter_of(record).dump_python(record, mode="json")
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


def _adapter_of(record: Any) -> TypeAdapter[Any]:
    # Every class can be hashed; the checker thinks of metaclasses that cannot.
    return _adapter(type(record))  # type: ignore[arg-type]


@cache
def _adapter(record_type: type) -> TypeAdapter[Any]:
    return TypeAdapter(record_type)


PLAIN: Final[dict[type, tuple[str, ...]]] = {
    Address: ("street_line1", "street_line2", "city", "state", "zip", "country"),
    Account: ("mcc",),
    Terminal: (
        *("description", "mid", "tid", "store_number", "bin", "merchant_category_code"),
        *("terminal_capability", "currency_code", "country_code", "processor_config_id"),
        "merchant_name",
    ),
    Location: (
        *("phone", "email", "processor_config_id", "country_code", "currency", "terminal_id"),
    ),
}
"""The fields of each kind of record that the spec types as plain strings, and that can be unset."""


def filled(value: Any) -> Any:
    """The result of an operation with empty strings in these fields; anything else as it is."""
    if isinstance(value, Page):
        return structs.replace(value, rows=[filled(row) for row in value.rows])
    if isinstance(value, WithFields):
        return structs.replace(value, record=filled(value.record))
    names = PLAIN.get(type(value))
    if names is None:
        return value
    changes: dict[str, Any] = {name: "" for name in names if getattr(value, name) is None}
    if isinstance(value, Account | Location):
        changes["address"] = filled(value.address)
    return replace(value, **changes)


def filled_body(record: Any) -> Any:
    """The record of an event as its body with empty strings; a record without these as it is."""
    return to_wire_fields(filled(record)) if type(record) in PLAIN else record

"""Strings without a value, as a reading shows them: "" instead of null.

Only fields that the spec types as a plain string are filled. Source: spec 2.3, 2.6, 2.7, 2.8;
assumed D35-unset.
"""

from dataclasses import replace
from typing import Any, Final

from msgspec import structs

from sandbox.domain.accounts import Account, Address
from sandbox.domain.locations import Location
from sandbox.domain.rendering import Page, WithFields, to_wire_fields
from sandbox.domain.terminals import Terminal

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

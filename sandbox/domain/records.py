"""The records, and their JSON in answers and webhooks.

A reading shows unset strings as "" instead of null, if the spec types the field as a plain string
(spec 2.3, 2.6, 2.7, 2.8; assumed D35-unset).
"""

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from types import NoneType
from typing import Any, Final, get_type_hints

import msgspec
from msgspec import Struct
from msgspec.structs import asdict

from sandbox.domain.batches import Batch
from sandbox.domain.directory import SHOWN_EMPTY, Credential, CredentialView, DirectoryRecord
from sandbox.domain.instants import to_wire
from sandbox.domain.keys import ApiKey, ApiKeyView
from sandbox.domain.payments.transactions import Attempt, Payment, Transaction, show

Record = DirectoryRecord | ApiKey | Batch | Payment


class Extended(Struct, frozen=True, gc=False):
    """A record with more fields, or only these fields if the record is None.

    The response of a row has types instead of values.
    """

    record: Any
    fields: dict[str, Any]


_SHOWN_AS: Final[dict[type, type[Struct]]] = {ApiKey: ApiKeyView, Credential: CredentialView}
"""The kinds of record that are shown in part, with the class of that part."""

_AS_IT_IS: Final = frozenset({str, int, float, bool, NoneType, Transaction, Attempt})
"""Types that need no conversion: those of JSON, and objects that are shown whole."""


def show_all(value: Any, *, as_empty: bool = False) -> Any:
    """Return the value as answers and webhooks show it, with everything in it.

    Unset fields are null (spec 6.1.8). If `as_empty`, the fields marked SHOWN_EMPTY are "" instead.
    """
    kind = type(value)
    if kind is Payment:
        return show(value)
    if isinstance(value, datetime):
        # The class is another one under freezegun.
        return to_wire(value)
    if kind is dict:
        return {name: show_all(one, as_empty=as_empty) for name, one in value.items()}
    if kind is list or kind is tuple:
        return [show_all(one, as_empty=as_empty) for one in value]
    if kind is Extended:
        record = show_all(value.record, as_empty=as_empty)
        return {**record, **show_all(value.fields, as_empty=as_empty)}
    if kind in _AS_IT_IS or not isinstance(value, Struct):
        return value
    fields = _get_fields(value)
    for name, one in fields.items():
        # Most fields are shown as they are.
        if one is not None and type(one) not in _AS_IT_IS:
            fields[name] = show_all(one, as_empty=as_empty)
    if as_empty:
        fields |= {name: "" for name in _plain_strings(view_of(kind)) if fields[name] is None}
    return fields


def _get_fields(record: Struct) -> dict[str, Any]:
    fields, kind = asdict(record), type(record)
    view = view_of(kind)
    return fields if view is kind else {name: fields[name] for name in view.__struct_fields__}


def filled_body(record: Any) -> Any:
    """Return the record of an event with empty strings for unset ones, if it has such fields."""
    return show_all(record, as_empty=True) if _plain_strings(view_of(type(record))) else record


def view_of(kind: type) -> type[Struct]:
    """Return the class that shows a record of that kind."""
    return _SHOWN_AS.get(kind, kind)


@cache
def _plain_strings(view: Any) -> Sequence[str]:
    """Return the fields that are marked SHOWN_EMPTY."""
    hints = get_type_hints(view, include_extras=True)
    return [name for name, of in hints.items() if SHOWN_EMPTY in getattr(of, "__metadata__", ())]


_ENCODER: Final = msgspec.json.Encoder()


def to_bytes(value: Any, *, as_empty: bool = False) -> bytes:
    """Return the value as compact JSON, as `show_all` shows it."""
    return _ENCODER.encode(show_all(value, as_empty=as_empty))

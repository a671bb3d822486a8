"""Documents of records in files and snapshots, written and read by the types of their fields.

A document is a JSON object with the field names of the record; fields with their default value are
left out. msgspec reads documents that our own code wrote. Documents that people can edit go through
a pydantic model that is built from the record's annotated field types: it checks every type and
rule, and names the field of a mistake.
"""

from collections.abc import Callable, Collection, Mapping
from datetime import datetime
from functools import cache
from threading import Lock
from types import NoneType, UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
from msgspec import NODEFAULT, Struct, UnsetType, structs
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, create_model
from pydantic.functional_validators import PlainValidator, WrapValidator
from pydantic_core import ErrorDetails

from sandbox.domain import json_text
from sandbox.domain.field_types import sentence
from sandbox.domain.instants import Instant, to_wire
from sandbox.domain.payments.cards import STORED_CARDS, Card
from sandbox.domain.text import NotUtf8, decode_text

_PREPARING: Final = Lock()

Read = Callable[[Any, Any], Any]
"""Makes a record of a kind from a document. Raises Unreadable."""


class NotJson(ValueError):
    """Bytes that are not JSON; the message gives the reason and the place."""


class Unreadable(ValueError):
    """A document that is not a valid record; the message names the field and the reason."""


def read_json(content: bytes) -> Any:
    """Return the JSON value in a file that people may have edited. Raises NotJson.

    A name that appears twice in one object is refused, and so are NaN and infinite numbers.
    """
    try:
        text = decode_text(content).encode()
        return json_text.parse(text)
    except NotUtf8 as error:
        raise NotJson(str(error)) from None
    except ValueError as error:
        raise NotJson(f"is not JSON: {error}") from None


# --- documents of our own code ----------------------------------------------------------------


def to_text(value: Any) -> str:
    """Return the document of a record, or of a value that contains records, as JSON."""
    return msgspec.json.encode(value, enc_hook=_encode_value).decode()


def from_own(kind: Any, document: Any) -> Any:
    """Return the record in a document that our own code wrote. Raises Unreadable."""
    _prepare(kind)
    try:
        return msgspec.convert(document, kind, dec_hook=_value)
    except (msgspec.MsgspecError, ValueError) as error:
        raise Unreadable(str(error)) from None


@cache
def _prepare(kind: Any) -> None:
    """Prepare msgspec for a type before threads use it.

    Worlds are read in threads, and msgspec 0.22 crashes with a segmentation fault if two of them
    use a type for the first time at the same moment.
    """
    with _PREPARING:
        msgspec.json.Decoder(kind, dec_hook=_value)


def _encode_value(value: Any) -> str:
    if isinstance(value, datetime):
        # A subclass, such as freezegun's.
        return to_wire(value)
    if isinstance(value, Card):
        return value.token
    raise NotImplementedError(type(value))


def _value(kind: type, value: Any) -> Any:
    if kind is Card:
        return _card(value)
    raise NotImplementedError(kind)


def _card(value: Any) -> Card:
    card = STORED_CARDS.get(value) if isinstance(value, str) else value
    if not isinstance(card, Card):
        raise ValueError("must be the token of a test card")
    return card


# --- documents that people can edit -----------------------------------------------------------


def from_document(kind: Any, document: Any) -> Any:
    """Return the record or value in a document that people can edit.

    Raises Unreadable with the field.
    """
    try:
        return _adapter(kind).validate_python(document)
    except ValidationError as error:
        raise Unreadable(_mistake(error.errors(include_url=False)[0])) from None


class DocumentModel(BaseModel):
    """The base of document models: unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


def model_of(kind: Any, base: Any, *, without: Collection[str] = (), **own: Any) -> Any:
    """Return the model for documents of a kind of record.

    It has the record's fields with their types and defaults, except those named in `without`, and
    the additional fields `own`, each a pair of type and default.
    """
    hints, fields = get_type_hints(kind, include_extras=True), {}
    for one in structs.fields(kind):
        if one.name not in without and one.name not in base.model_fields:
            default: Any = ... if one.default is NODEFAULT else one.default
            if one.default_factory is not NODEFAULT:
                default = one.default_factory()
            fields[one.name] = _door(hints[one.name]), Field(default, alias=one.encode_name)
    return create_model(f"{kind.__name__}Document", __base__=base, **fields | own)


@cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(_door(kind))


def map_hint(hint: Any, change: Callable[[Any], Any]) -> Any:
    """Return the type with each plain type in it changed, and without UnsetType."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return Annotated[(map_hint(arguments[0], change), *hint.__metadata__)]
    if not arguments or origin is Literal:
        return hint if hint is Ellipsis else change(hint)
    kinds = tuple(map_hint(one, change) for one in arguments if one is not UnsetType)
    return Union[kinds] if origin is UnionType else origin[kinds]  # noqa: UP007 - of any number


@cache
def _door(hint: Any) -> Any:
    """Return the pydantic type that validates values of this type."""
    return map_hint(hint, _plain_door)


def _plain_door(hint: Any) -> Any:
    if hint is datetime:
        return Instant
    if hint is Card:
        return Annotated[Any, PlainValidator(_card)]
    if hint in (str, int, bool, float):
        return Annotated[hint, Field(strict=True)]
    is_record = isinstance(hint, type) and issubclass(hint, Struct)
    return _record_door(hint) if is_record else hint


def _record_door(kind: type) -> Any:
    def read(value: Any, check: Any) -> Any:
        # A nested record may have been read already.
        return value if isinstance(value, kind) else kind(**vars(check(value)))

    return Annotated[model_of(kind, DocumentModel), WrapValidator(read)]


_WANTED: Final[Mapping[str, str]] = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "datetime_type": "a date-time",
    "none_required": "null",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "an object",
    "mapping_type": "an object",
    "model_type": "an object",
}
"""The expected type of a value, by the kind of pydantic's error."""

_JSON_TYPES: Final[Mapping[type, str]] = {
    dict: "an object",
    list: "a list",
    str: "text",
    bool: "true or false",
    NoneType: "null",
}


def _mistake(error: ErrorDetails) -> str:
    """Describe a mistake and its place, without repeating the value, which may be a secret."""
    place = ".".join(part[:80] for part in error["loc"] if isinstance(part, str))
    kind = error["type"]
    if kind in _WANTED:
        given = _JSON_TYPES.get(type(error["input"]), "a number")
        said = f"must be {_WANTED[kind]}, not {given}"
    elif kind in ("literal_error", "enum"):
        said = f"must be one of {error['ctx']['expected']}"
    elif kind == "missing":
        said = "is missing"
    elif kind == "extra_forbidden":
        said = "is not a known field"
    else:
        said = sentence(error["msg"])
    return f"{place}: {said}" if place else said

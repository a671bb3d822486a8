"""Converting records to the documents of files and snapshots, and back.

A document is a JSON object with the field names of the record. Fields with their default value are
left out, so documents stay short, and later versions with more fields can open earlier ones.
Reading checks every type and the rules of `field_types`, because people edit these files; an error
names the field. The types of the fields decide how a record is written, and their valid values.
"""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from datetime import UTC, datetime
from enum import Enum
from functools import cache
from operator import attrgetter
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    NamedTuple,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from msgspec import NODEFAULT, Struct, structs
from pydantic import TypeAdapter, ValidationError

from sandbox.domain.field_types import sentence
from sandbox.domain.instants import parse_rfc3339, to_wire
from sandbox.domain.payments.cards import STORED_CARDS, Card

Write = Callable[[Any], Any]
Read = Callable[[Any], Any]


class Unreadable(ValueError):
    """A document that is not a valid record; the message names the field and the reason.

    `place` is the path to the field, where the reader knows it.
    """

    def __init__(self, why: str, place: str = "") -> None:
        super().__init__(f"{place}: {why}" if place else why)
        self.why, self.place = why, place


def _within(name: str, error: ValueError) -> Unreadable:
    """The same error, of the field with that name or of a field within it."""
    if not isinstance(error, Unreadable):
        return Unreadable(str(error), name)
    return Unreadable(error.why, f"{name}.{error.place}" if error.place else name)


class _Way(NamedTuple):
    """How values of a type are written and read.

    `write` None: as they are. Values of exactly the type `plain` need not be read at all.
    """

    write: Write | None
    read: Read
    plain: type | None = None


_ABSENT: Final = object()


def to_document(record: Any) -> dict[str, Any]:
    """The document of a record: a value or a dataclass of the domain."""
    return _shape(type(record)).write(record)


def from_document(kind: type, document: Any) -> Any:
    """The record of that kind. Raises Unreadable."""
    return _shape(kind).read(document)


def read_value(kind: Any, value: Any) -> Any:
    """The value of a field of that type. Raises ValueError, which does not name the field."""
    return _way(kind).read(value)


class _Shape:
    """How records of one kind are written and read."""

    def __init__(self, kind: type) -> None:
        self._kind = kind
        hints = get_type_hints(kind, include_extras=True)
        # A missing optional field is null.
        defaults = {name: None for name, hint in hints.items() if NoneType in get_args(hint)}
        defaults |= _defaults(kind)
        self._fallbacks = {name: None for name in defaults if name not in _defaults(kind)}
        self._fields = [
            (name, _way(hint), defaults.get(name, _ABSENT)) for name, hint in hints.items()
        ]
        # For writing, one after the other.
        self._columns = [(name, way.write, default) for name, way, default in self._fields]
        self._values = _values_of(*hints)
        self._ways = {name: way for name, way, _ in self._fields}
        self._required = [name for name, _, default in self._fields if default is _ABSENT]

    def write(self, record: Any) -> dict[str, Any]:
        document = {}
        for value, (name, write, default) in zip(self._values(record), self._columns, strict=True):
            if value is default:
                continue
            if value is None or write is None:
                if value != default:
                    document[name] = value
            elif default is _ABSENT or value != default:
                document[name] = write(value)
        return document

    def read(self, document: Any) -> Any:
        if not isinstance(document, dict):
            raise Unreadable(f"must be an object, not {_named(document)}")
        ways, values = self._ways, {}
        for name, value in document.items():
            way = ways.get(name)
            if way is None:
                raise Unreadable("is no field of it", name[:80])
            if type(value) is way.plain:
                values[name] = value
                continue
            try:
                values[name] = way.read(value)
            except ValueError as error:
                raise _within(name, error) from None
        for name in self._required:
            if name not in values:
                raise Unreadable("is missing", name)
        return self._kind(**(self._fallbacks | values if self._fallbacks else values))


def _values_of(*names: str) -> Callable[[Any], tuple[Any, ...]]:
    of = attrgetter(*names)
    # Of one name it gives the value itself.
    return of if len(names) > 1 else lambda record: (of(record),)


_SHAPES: Final[dict[type, "_Shape"]] = {}


def _shape(kind: type) -> _Shape:
    shape = _SHAPES.get(kind)
    if shape is None:
        shape = _SHAPES[kind] = _Shape(kind)
    return shape


def _defaults(kind: Any) -> dict[str, Any]:
    if issubclass(kind, Struct):
        given = [one for one in structs.fields(kind) if not one.required]
        return {
            one.name: one.default if one.default is not NODEFAULT else one.default_factory()
            for one in given
        }
    found = {}
    for one in fields(kind):
        if one.default is not MISSING:
            found[one.name] = one.default
        elif one.default_factory is not MISSING:
            found[one.name] = one.default_factory()
    return found


# --- one way for each type --------------------------------------------------------------------


@cache
def _way(hint: Any) -> _Way:
    origin = get_origin(hint)
    if origin is Annotated:
        return _ruled(*get_args(hint))
    if origin in (Union, UnionType):
        return _optional(hint)
    if origin is Literal:
        return _Way(None, _one_of(get_args(hint)))
    if origin is tuple:
        return _listed(get_args(hint))
    if origin is list:
        of = _listed((*get_args(hint), Ellipsis))
        return _Way(of.write, lambda values: list(of.read(values)))
    if origin in (dict, Mapping):
        return _mapped(*get_args(hint))
    if hint is Any:
        return _Way(None, lambda value: value)
    return _class_way(hint)


def _ruled(plain: Any, *extras: Any) -> _Way:
    """A type with the rules that its values keep."""
    way = _way(plain)
    kind = plain if plain in _PLAIN or plain is datetime else get_origin(plain) or Any
    ruled: Any = Annotated[(kind, *extras)]
    adapter: TypeAdapter[Any] = TypeAdapter(ruled)

    def read(value: Any) -> Any:
        try:
            return adapter.validate_python(way.read(value))
        except ValidationError as error:
            (first, *_) = error.errors(include_url=False, include_input=False)
            raise ValueError(sentence(first["msg"])) from None

    return _Way(way.write, read)


def _class_way(kind: type) -> _Way:
    if kind in _PLAIN:
        return _Way(None, _PLAIN[kind], kind)
    if kind is datetime:
        return _Way(to_wire, read_instant)
    if kind is Card:
        return _Way(lambda card: card.token, _read_card)
    if issubclass(kind, Enum):
        return _Way(lambda member: member.value, _read_member(kind))
    # Shapes are looked up when they are used: a kind may hold itself.
    # A part that was parsed before is used unchanged.
    return _Way(
        to_document,
        lambda value: value if type(value) is kind else from_document(kind, value),
    )


def _plain(kind: type, said: str) -> Read:
    def read(value: Any) -> Any:
        if type(value) is not kind:
            raise Unreadable(f"must be {said}, not {_named(value)}")
        return value

    return read


def _read_number(value: Any) -> Any:
    if type(value) not in (int, float):
        raise Unreadable(f"must be a number, not {_named(value)}")
    return value


def _read_none(value: Any) -> None:
    if value is not None:
        raise Unreadable("must be null")


_PLAIN: Final[dict[Any, Read]] = {
    str: _plain(str, "text"),
    int: _plain(int, "a whole number"),
    bool: _plain(bool, "true or false"),
    float: _read_number,
    NoneType: _read_none,
}


def _optional(hint: Any) -> _Way:
    (inner,) = (_way(part) for part in get_args(hint) if part is not NoneType)
    read = inner.read
    return _Way(inner.write, lambda value: None if value is None else read(value), inner.plain)


def _one_of(words: tuple[Any, ...]) -> Read:
    known = frozenset(words)

    def read(value: Any) -> Any:
        if not isinstance(value, str) or value not in known:
            raise Unreadable(f"must be one of {', '.join(map(str, words))}")
        return value

    return read


def _listed(parts: tuple[Any, ...]) -> _Way:
    """A tuple: of any length and one type, or of certain ones."""
    if len(parts) == 2 and parts[1] is Ellipsis:
        of = _way(parts[0])
        write, read = of.write, of.read
        return _Way(
            list if write is None else lambda values: [write(value) for value in values],
            lambda values: tuple(read(value) for value in _as_list(values)),
        )
    ways = [_way(part) for part in parts]

    def write_each(values: Any) -> list[Any]:
        return [
            way.write(value) if way.write else value
            for way, value in zip(ways, values, strict=True)
        ]

    def read_each(values: Any) -> tuple[Any, ...]:
        if len(_as_list(values)) != len(ways):
            raise Unreadable(f"must be a list of {len(ways)}")
        return tuple(way.read(value) for way, value in zip(ways, values, strict=True))

    return _Way(write_each, read_each)


def _mapped(names: Any, values: Any) -> _Way:
    """An object whose names are all of one type, and its values too."""
    if values is Any:
        return _Way(None, _plain(dict, "an object"))
    name_of, of = _way(names).read, _way(values)
    write, read = of.write or (lambda value: value), of.read
    as_object = _plain(dict, "an object")
    return _Way(
        lambda mapping: {name: write(value) for name, value in mapping.items()},
        lambda mapping: {name_of(name): read(value) for name, value in as_object(mapping).items()},
    )


def _as_list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise Unreadable(f"must be a list, not {_named(value)}")
    return value


def read_instant(value: Any) -> datetime:
    """The instant in a document. Raises Unreadable, or ValueError with a sentence."""
    if not isinstance(value, str):
        raise Unreadable(f"must be a date-time, not {_named(value)}")
    if len(value) == _INSTANT_CHARS and value[-1] == "Z":
        # As it is written here, which is quicker to read than everything that RFC 3339 allows.
        try:
            return datetime.fromisoformat(value[:-1]).replace(tzinfo=UTC)
        except ValueError:
            raise Unreadable("must name a date and time that exist") from None
    return parse_rfc3339(value)


_INSTANT_CHARS: Final = len("2026-11-21T10:37:51.000Z")


def _read_card(value: Any) -> Card:
    card = STORED_CARDS.get(value) if isinstance(value, str) else None
    if card is None:
        raise Unreadable("must be the token of a test card")
    return card


def _read_member(kind: type[Enum]) -> Read:
    members = {member.value: member for member in kind}

    def read(value: Any) -> Enum:
        member = members.get(value) if isinstance(value, str) else None
        if member is None:
            raise Unreadable(f"must be one of {', '.join(members)}")
        return member

    return read


def _named(value: Any) -> str:
    """The type of a JSON value in words; never the value itself, which may be a secret."""
    names = {
        dict: "an object",
        list: "a list",
        str: "text",
        bool: "true or false",
        NoneType: "null",
    }
    return names.get(type(value), "a number")

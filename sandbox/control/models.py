"""The base classes of bodies, queries and answers, and the parts that several of them share."""

import typing
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import datetime
from functools import partial, reduce
from operator import or_
from types import GenericAlias, UnionType
from typing import Annotated, Any, ClassVar, Final, Generic, Self, TypeVar

import pydantic
from msgspec import Struct
from pydantic import AfterValidator, AliasPath, BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import core_schema

from sandbox.domain.instants import check_duration, from_ms, to_wire
from sandbox.platform.openapi.schemas import as_class

T = TypeVar("T")
ViewT = TypeVar("ViewT", bound="View")

Words = Annotated[str, Field(min_length=1, max_length=200)]

LIST_MAX: Final = 1_000
PageLimit = Annotated[int, Field(ge=1, le=500)]
"""How many items an answer may have at most."""


class _Example:
    """Gives the class of a body an `example` that succeeds in a demo world."""

    EXAMPLE: ClassVar[Mapping[str, Any]] = {}

    def __init_subclass__(cls, example: Mapping[str, Any] = EXAMPLE, **more: Any) -> None:
        super().__init_subclass__(**more)
        cls.EXAMPLE = example


class WholeBody(_Example, pydantic.RootModel[T], Generic[T]):
    """The body of a request that is a value of this type."""

    model_config = ConfigDict(defer_build=True)


class Body(_Example, BaseModel):
    """The body of a request. Unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class Query(BaseModel):
    """The query of a request, whose values arrive as text. Unknown parameters are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Listing(Query):
    """A window on a list."""

    limit: Annotated[int, Field(ge=1, le=LIST_MAX)] = LIST_MAX
    offset: Annotated[int, Field(ge=0)] | None = None

    def cut(self, items: Sequence[Any]) -> "ItemPage":
        """Return the items of the window, from a list that is sorted oldest first.

        `offset` counts from the oldest item. Without it, the window has the newest `limit` items.
        """
        start = max(len(items) - self.limit, 0) if self.offset is None else self.offset
        return ItemPage(items[start : start + self.limit], len(items), self.limit, start)


class OlderListing(Listing):
    """A window on a list, or on the part of it before one of its items."""

    before: str | None = None

    @pydantic.model_validator(mode="after")
    def _has_one_place(self) -> Self:
        if self.before is not None and self.offset is not None:
            raise ValueError("before or offset may be given, and not both")
        return self


class PageQuery(Query):
    """A page of records; `before` is the `next` of the previous page."""

    limit: PageLimit = 100
    before: Annotated[int, Field(ge=0)] | None = None


class RecordsQuery(PageQuery):
    """A page of records of an account, at a terminal: ids, or names of the cast.

    `status` is one or several words, separated by commas.
    """

    status: Words | None = None
    account: Words | None = None
    terminal: Words | None = None


class _With:
    """A record, with some attributes added or replaced."""

    def __init__(self, record: Any, more: dict[str, Any]) -> None:
        self.__dict__ = more
        self._record = record

    def __getattr__(self, name: str) -> Any:
        return getattr(self._record, name)


def attribute(path: str, default: Any = ...) -> Any:
    """Take a view's field from this path in the record; the default is for a part that is None."""
    return Field(default, validation_alias=AliasPath(*path.split(".")))


class View(BaseModel):
    """An answer of the control API, or a part of one."""

    model_config = ConfigDict(
        frozen=True,
        from_attributes=True,
        validate_by_name=True,
        serialize_by_alias=True,
        json_schema_serialization_defaults_required=True,
        ser_json_inf_nan="constants",
        defer_build=True,
    )

    @classmethod
    def of(cls, record: Any, **more: Any) -> Self:
        """Show a record by its attributes of the same names; `more` adds or replaces fields."""
        return cls.model_validate(_With(record, more))


def _write(value: Any) -> Any:
    """Write an instant, or a number of milliseconds, as answers show it."""
    value = from_ms(value) if isinstance(value, int) else value
    return to_wire(value) if isinstance(value, datetime) else value


Time = Annotated[str, BeforeValidator(_write)]
"""An instant as text."""


def shows(kind: Any, *, without: Collection[str] = ()) -> Callable[[type[ViewT]], type[ViewT]]:
    """Give a view the fields of a kind of record, except `without`, ahead of its own.

    A field that the view declares replaces the record's.
    """

    def extend(view: type[ViewT]) -> type[ViewT]:
        hints = typing.get_type_hints(kind, include_extras=True)
        fields: Any = {name: _answer_type(of) for name, of in hints.items() if name not in without}
        fields |= {name: (one.rebuild_annotation(), one) for name, one in view.model_fields.items()}
        about: Any = {"__module__": view.__module__, "__doc__": view.__doc__}
        create: Any = pydantic.create_model
        extended: type[ViewT] = create(view.__name__, __base__=view.__bases__, **about, **fields)
        return extended

    return extend


def _answer_type(hint: Any) -> Any:
    """Return the type that a field of a record has in answers."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is datetime or (origin is Annotated and arguments[0] is datetime):
        return Time
    if origin in (typing.Union, UnionType):
        return reduce(or_, map(_answer_type, arguments))
    return GenericAlias(list, arguments[:1]) if origin is tuple else hint


TOTAL: Any = Field(default_factory=lambda shown: len([*shown.values()][-1]))
"""A field of a view: the length of the list in the field before it."""

Milliseconds = Annotated[float, AfterValidator(partial(round, ndigits=3))]
"""A duration, to the microsecond."""


def either(one: str, other: str) -> Any:
    """Return a validator that requires exactly one of two fields of a body."""

    def check(body: Any) -> Any:
        if (getattr(body, one) is None) == (getattr(body, other) is None):
            written = type(body).model_fields[other].alias or other
            raise ValueError(f"{one} or {written} is required, and not both")
        return body

    return pydantic.model_validator(mode="after")(check)


DurationText = Annotated[str, AfterValidator(check_duration)]
"""A duration as text, like 90d."""


class LikeType:
    """Annotates a field that is written as it is, and described by another type."""

    def __init__(self, kind: Any) -> None:
        self._kind = kind

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        described = handler.generate_schema(as_class(self._kind))
        written = core_schema.simple_ser_schema("any")
        check = core_schema.no_info_wrap_validator_function
        return check(lambda value, _: value, described, serialization=written)


_HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}$")]
_HeaderValue = Annotated[str, Field(pattern=r"^[\x20-\x7e]{0,4096}$")]
HeaderFields = Annotated[dict[_HeaderName, _HeaderValue], Field(max_length=50)]
"""Headers of a request: names are tokens, and values printable ASCII."""

KeyWord = Annotated[str, Field(min_length=1, max_length=100)]
"""The id of a key, or its name in the cast."""

Document = dict[str, Any]
"""A document with a shape of its own: a snapshot, a JSON Schema, an OpenAPI document."""


class ItemPage(Struct, frozen=True):
    """A window on a long list: the items in it, and the length of the list.

    `next` is the id of its first item if there are older ones.
    """

    items: Sequence[Any]
    total: int
    limit: int
    offset: int

    @property
    def next(self) -> str | None:
        return self.items[0].id if self.items and self.offset else None

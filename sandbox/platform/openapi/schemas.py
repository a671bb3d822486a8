"""JSON Schemas of bodies and answers, from the types that read and render them."""

import dataclasses
from collections.abc import Iterable, Iterator
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import (
    Any,
    Final,
    Literal,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

import msgspec
from msgspec import Struct, UnsetType
from pydantic import AliasChoices, BaseModel, TypeAdapter
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from sandbox.platform.fields import Body, CreateBody

Schema = dict[str, Any]
Mode = Literal["validation", "serialization"]

TEMPLATE: Final = "#/components/schemas/{model}"
INT64: Final = "int64"
_NULL: Final[Schema] = {"type": "null"}
_LIMITS: Final = {"ge": "minimum", "le": "maximum"}


class _Writer(GenerateJsonSchema):
    """Schemas without generated titles. A rendered type has all of its fields and no others."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def field_is_required(self, field: Any, total: bool) -> bool:
        if self.mode == "serialization" and field["type"] == "dataclass-field":
            return field["schema"].get("default_factory") is not _left_out
        return super().field_is_required(field, total)

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        # Without it, many languages take 32 bits, and times do not fit.
        return {**super().int_schema(schema), "format": INT64}

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        shown = super().dataclass_schema(schema)
        shown.pop("title", None)
        return self._closed(shown)

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        shown = super().model_schema(schema)
        shown.pop("title", None)
        shape = schema["cls"]
        return _as_read(shown, shape) if issubclass(shape, Body) else self._closed(shown)

    def _closed(self, shown: JsonSchemaValue) -> JsonSchemaValue:
        """The schema of an answer: without defaults and further fields."""
        if self.mode == "serialization":
            fields = shown["properties"].items()
            shown["properties"] = {name: _without_limits(field) for name, field in fields}
            shown["additionalProperties"] = False
        return shown

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return or_null(self.generate_inner(schema["schema"]))

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


_ONLY_READ: Final = frozenset(
    {"default", "minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems"}
)


def _without_limits(value: Any) -> Any:
    """A field of an answer with its type alone: limits are for what a client sends."""
    if isinstance(value, dict):
        return {word: _without_limits(one) for word, one in value.items() if word not in _ONLY_READ}
    return [_without_limits(one) for one in value] if isinstance(value, list) else value


class _OfQueries(_Writer):
    """Schemas of parameters: one that is not wanted is left out, since nothing there is null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


def or_null(schema: Schema) -> Schema:
    """The schema, or null."""
    if isinstance(schema.get("type"), str) and not schema.keys() & {"enum", "const"}:
        return {**schema, "type": [schema["type"], "null"]}
    if isinstance(schema.get("type"), list) or _NULL in schema.get("anyOf", ()):
        return schema
    return {"anyOf": [schema, _NULL]}


def _as_read(shown: Schema, shape: type[Body]) -> Schema:
    """A body of the platform: its defaults are ways of keeping things, not of asking for them."""
    # Copies, since pydantic gives the same objects again for the next document.
    fields = {
        name: {word: value for word, value in field.items() if word != "default"}
        for name, field in shown.get("properties", {}).items()
    }
    required = list(shown.get("required", ()))
    if issubclass(shape, CreateBody):
        # Null is the same as leaving a field out (assumed C10).
        fields = {
            name: field if name in required else or_null(field) for name, field in fields.items()
        }
    shown["properties"] = fields
    if "required" in shown:
        shown["required"] = required
    for name, other in _aliases(shape):
        by_itself: Schema = {"properties": {other: fields[name]}}
        fields[other] = {
            "description": f"The same as `{name}`, where that is not given.",
            "x-same-as": name,
        }
        if name in required:
            required.remove(name)
            by_itself["required"] = [other]
        given = {"required": [name], "properties": {name: {"not": _NULL}}}
        shown.setdefault("allOf", []).append({"anyOf": [given, by_itself]})
    return shown


def _aliases(shape: type[BaseModel]) -> Iterator[tuple[str, str]]:
    """The names of fields, each with a further one that it has."""
    for field in shape.model_fields.values():
        if isinstance(field.validation_alias, AliasChoices):
            name, *others = (str(choice) for choice in field.validation_alias.choices)
            yield from ((name, other) for other in others)


def schemas_of(
    types: Iterable[tuple[Any, Mode]],
) -> tuple[dict[tuple[int, Mode], Schema], Schema]:
    """A reference to the schema of each type, by the type's `id`, and the schemas by name."""
    inputs = {(id(one), mode): (one, mode) for one, mode in types}
    found, definitions = TypeAdapter.json_schemas(
        [(key, mode, TypeAdapter(_in_classes(one))) for key, (one, mode) in inputs.items()],
        schema_generator=_Writer,
        ref_template=TEMPLATE,
    )
    shown = {(key[0], mode): schema for (key, mode), schema in found.items()}
    return shown, _with_limits(definitions.get("$defs", {}))


def _with_limits(value: Any) -> Any:
    """The schemas with JSON Schema's words for limits.

    A limit on a validator's result appears under its Python name.
    """
    if isinstance(value, dict):
        return {_LIMITS.get(word, word): _with_limits(one) for word, one in value.items()}
    return [_with_limits(one) for one in value] if isinstance(value, list) else value


def _in_classes(hint: Any) -> Any:
    """The type with a dataclass for every typed dictionary and struct in it.

    Pydantic reads no structs, and before Python 3.12 no typed dictionaries of the standard library.
    """
    if is_typeddict(hint) or (isinstance(hint, type) and issubclass(hint, Struct)):
        return as_class(hint)
    if get_origin(hint) in (UnionType, Union):
        return reduce(or_, map(_in_classes, get_args(hint)))
    if get_origin(hint) in (list, dict, tuple):
        return get_origin(hint)[tuple(map(_in_classes, get_args(hint)))]
    return hint


def _without_absence(hint: Any) -> Any:
    """The type of a field without the marks that it may be left out."""
    if get_origin(hint) is NotRequired:
        return get_args(hint)[0]
    if get_origin(hint) in (UnionType, Union) and UnsetType in get_args(hint):
        return reduce(or_, (one for one in get_args(hint) if one is not UnsetType))
    return hint


def _left_out() -> None:
    """The value of a field that an answer may be without."""


def _field(is_required: bool) -> Any:
    return dataclasses.field() if is_required else dataclasses.field(default_factory=_left_out)


@cache
def as_class(kind: Any) -> type:
    """The typed dictionary or struct as a dataclass."""
    hints = get_type_hints(kind, include_extras=True)
    if is_typeddict(kind):
        required = {name: name in kind.__required_keys__ for name in hints}
        names = {name: name for name in hints}
    else:
        # All fields are shown, with or without a default, but those that may be absent.
        required = {name: UnsetType not in get_args(of) for name, of in hints.items()}
        names = {one.name: one.encode_name for one in msgspec.structs.fields(kind)}
    fields = [
        (names[name], _in_classes(_without_absence(of)), _field(required[name]))
        for name, of in hints.items()
    ]
    made = dataclasses.make_dataclass(kind.__name__, fields, kw_only=True)
    made.__doc__, made.__module__ = kind.__doc__, kind.__module__
    return made


def query_of(shape: type[BaseModel]) -> tuple[Schema, Schema]:
    """The schema of each parameter of a query, and the schemas by name that they refer to."""
    shown = shape.model_json_schema(
        schema_generator=_OfQueries, mode="validation", ref_template=TEMPLATE
    )
    fields = {name: _with_limits(field) for name, field in shown.get("properties", {}).items()}
    return fields, shown.get("$defs", {})


def record(fields: Schema) -> Schema:
    """An object with these fields and no others."""
    return {
        "type": "object",
        "properties": fields,
        "required": list(fields),
        "additionalProperties": False,
    }

"""JSON Schemas of bodies and answers, from the types that read and render them.

The strict ones say all that a schema can say, for fuzzing. The plain ones are for people and for
generators of clients: they have no rules between fields, and answers may have further fields.
"""

import dataclasses
from collections.abc import Iterable
from functools import cache, reduce
from operator import or_
from types import UnionType
from typing import (
    Annotated,
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

from sandbox.domain.payments.transactions import Attempt, GatewayResponse, Transaction
from sandbox.platform.fields import Body, CreateBody

NAMES: Final[dict[type, str]] = {
    Transaction: "TransactionView",
    Attempt: "AttemptView",
    GatewayResponse: "HostAnswerView",
}
"""The names of schemas that differ from those of their classes."""

Schema = dict[str, Any]
Mode = Literal["validation", "serialization"]

TEMPLATE: Final = "#/components/schemas/{model}"
INT64: Final = "int64"
NULL: Final[Schema] = {"type": "null"}
_LIMITS: Final = {"ge": "minimum", "le": "maximum"}


class _Plain(GenerateJsonSchema):
    """Schemas without generated titles. A rendered type has all of its fields."""

    is_strict = False

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
        return self._finished(super().dataclass_schema(schema), schema["cls"])

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        return self._finished(super().model_schema(schema), schema["cls"])

    def _finished(self, shown: JsonSchemaValue, shape: type) -> JsonSchemaValue:
        shown.pop("title", None)
        if issubclass(shape, Body):
            self._finish_body(shown, shape)
        elif self.mode == "serialization":
            fields = shown["properties"].items()
            shown["properties"] = {name: _without_limits(field) for name, field in fields}
            if self.is_strict:
                shown["additionalProperties"] = False
        return shown

    def _finish_body(self, shown: JsonSchemaValue, shape: type[Body]) -> None:
        """A body of the platform: its defaults are ways of keeping things, not of asking for them.

        Null is the same as leaving a field of a creation out (assumed C10).
        """
        required = list(shown.get("required", ()))
        fields: Schema = {}
        for name, field in shown.get("properties", {}).items():
            fields[name] = {word: value for word, value in field.items() if word != "default"}
            if issubclass(shape, CreateBody) and name not in required:
                fields[name] = or_null(fields[name])
        shown["properties"] = fields
        if required:
            shown["required"] = required
        for field in shape.model_fields.values():
            if isinstance(field.validation_alias, AliasChoices):
                name, *others = map(str, field.validation_alias.choices)
                for other in others:
                    self._add_alias(shown, name, other)

    def _add_alias(self, shown: JsonSchemaValue, name: str, other: str) -> None:
        fields, required = shown["properties"], shown.get("required", [])
        about: Schema = {"description": f"The same as `{name}`, where that is not given."}
        fields[other] = about if self.is_strict else fields[name] | about
        by_itself: Schema = {"properties": {other: fields[name]}}
        if name in required:
            required.remove(name)
            by_itself["required"] = [other]
        if self.is_strict:
            given = {"required": [name], "properties": {name: {"not": NULL}}}
            shown.setdefault("allOf", []).append({"anyOf": [given, by_itself]})

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return or_null(self.generate_inner(schema["schema"]))

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)


class _Strict(_Plain):
    """Schemas with the rules between fields, of answers without further fields."""

    is_strict = True


class _OfQueries(_Plain):
    """Schemas of parameters: one that is not wanted is left out, since nothing there is null."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


_ONLY_READ: Final = frozenset(
    {"default", "minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems"}
)


def _without_limits(value: Any) -> Any:
    """A field of an answer with its type alone: limits are for what a client sends."""
    if isinstance(value, dict):
        return {word: _without_limits(one) for word, one in value.items() if word not in _ONLY_READ}
    return [_without_limits(one) for one in value] if isinstance(value, list) else value


def or_null(schema: Schema) -> Schema:
    """The schema, or null."""
    if isinstance(schema.get("type"), str) and not schema.keys() & {"enum", "const"}:
        return {**schema, "type": [schema["type"], "null"]}
    if isinstance(schema.get("type"), list) or NULL in schema.get("anyOf", ()):
        return schema
    return {"anyOf": [schema, NULL]}


def schemas_of(
    types: Iterable[tuple[Any, Mode]], *, is_strict: bool
) -> tuple[dict[tuple[Any, Mode], Schema], Schema]:
    """A reference to the schema of each type as it is read or shown, and the schemas by name."""
    found, definitions = TypeAdapter.json_schemas(
        [((one, mode), mode, TypeAdapter(_in_classes(one))) for one, mode in dict.fromkeys(types)],
        schema_generator=_Strict if is_strict else _Plain,
        ref_template=TEMPLATE,
    )
    shown = {key: _with_limits(schema) for (key, _), schema in found.items()}
    return shown, _with_limits(definitions.get("$defs", {}))


def _with_limits(value: Any) -> Any:
    """A copy of schemas with JSON Schema's words for limits.

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
    if get_origin(hint) is Annotated:
        return Annotated[(_in_classes(hint.__origin__), *hint.__metadata__)]
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
    made = dataclasses.make_dataclass(NAMES.get(kind, kind.__name__), fields, kw_only=True)
    made.__doc__, made.__module__ = kind.__doc__, kind.__module__
    return made


def query_of(shape: type[BaseModel]) -> tuple[Schema, Schema]:
    """The schema of each parameter of a query, and the schemas by name that they refer to."""
    shown = shape.model_json_schema(
        schema_generator=_OfQueries, mode="validation", ref_template=TEMPLATE
    )
    fields = {name: _with_limits(field) for name, field in shown.get("properties", {}).items()}
    return fields, shown.get("$defs", {})

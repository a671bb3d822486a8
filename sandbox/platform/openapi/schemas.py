"""JSON Schemas of bodies and answers, from the types that read and render them.

The strict ones have every rule that schemas can express, for fuzzing. The plain ones are for people
and for client generators: they have no rules between fields, and answers may have more fields.
"""

import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any, Final, Literal, get_args, get_type_hints

from msgspec import Struct, UnsetType, structs
from pydantic import AliasChoices, BaseModel, TypeAdapter, create_model
from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from sandbox.domain.payments.transactions import Attempt, GatewayResponse, Transaction
from sandbox.platform.fields import Body, CreateBody
from sandbox.store.documents import map_hint

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


class _Plain(GenerateJsonSchema):
    """Schemas without generated titles. An answer requires all of its fields."""

    is_strict = False

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def int_schema(self, schema: core_schema.IntSchema) -> JsonSchemaValue:
        # Without it, many languages take 32 bits, and times do not fit.
        return {**super().int_schema(schema), "format": INT64}

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        shown, shape = super().model_schema(schema), schema["cls"]
        shown.pop("title", None)
        if issubclass(shape, Body):
            self._finish_body(shown, shape)
        elif self.mode == "serialization":
            fields = shown["properties"].items()
            shown["properties"] = {name: _as_answered(field) for name, field in fields}
            if self.is_strict:
                shown["additionalProperties"] = False
        return shown

    def _finish_body(self, shown: JsonSchemaValue, shape: type[Body]) -> None:
        """Finish the schema of a body of the platform.

        Leaves out defaults, which concern how records are stored. In a creation, null is the same
        as leaving a field out (assumed C10).
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
                name, other = map(str, field.validation_alias.choices)
                self._add_alias(shown, name, other)

    def _add_alias(self, shown: JsonSchemaValue, name: str, other: str) -> None:
        fields, required = shown["properties"], shown.get("required", [])
        about: Schema = {"description": f"Another name of `{name}`, used if that is not given."}
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
    """Schemas of query parameters, which cannot be null but only left out."""

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])


_ONLY_READ: Final = frozenset(
    ("default", "minLength", "maxLength", "pattern", "minimum", "maximum", "minItems", "maxItems")
)
"""Words for what a client sends, which answers leave out."""


def _as_answered(value: Any) -> Any:
    """Return a copy of a schema without the words for what a client sends."""
    if isinstance(value, dict):
        return {word: _as_answered(one) for word, one in value.items() if word not in _ONLY_READ}
    return [_as_answered(one) for one in value] if isinstance(value, list) else value


def or_null(schema: Schema) -> Schema:
    """Return the schema, or null."""
    if isinstance(schema.get("type"), str) and not schema.keys() & {"enum", "const"}:
        return {**schema, "type": [schema["type"], "null"]}
    if isinstance(schema.get("type"), list) or NULL in schema.get("anyOf", ()):
        return schema
    return {"anyOf": [schema, NULL]}


def schemas_of(
    types: Iterable[tuple[Any, Mode]], *, is_strict: bool
) -> tuple[dict[tuple[Any, Mode], Schema], Schema]:
    """Return a reference to the schema of each type, and the schemas by name.

    The schema is of the type as it is read or as it is shown, by its mode.
    """
    keys = dict.fromkeys(types)
    found, definitions = TypeAdapter.json_schemas(
        [(key, key[1], TypeAdapter(map_hint(key[0], _as_read))) for key in keys],
        schema_generator=_Strict if is_strict else _Plain,
        ref_template=TEMPLATE,
    )
    # Copied, since `finish` changes the schemas, and parts of them belong to the types.
    shown = {key: deepcopy(schema) for (key, _), schema in found.items()}
    return shown, deepcopy(definitions.get("$defs", {}))


def _as_read(hint: Any) -> Any:
    """Return a model for a struct, which pydantic does not read; any other type as it is."""
    return as_class(hint) if isinstance(hint, type) and issubclass(hint, Struct) else hint


@cache
def as_class(kind: type[Struct]) -> type[BaseModel]:
    """Return the struct as a model. All fields are required, except those that may be absent."""
    hints = get_type_hints(kind, include_extras=True)
    fields: dict[str, Any] = {}
    for one in structs.fields(kind):
        of = hints[one.name]
        default = None if UnsetType in get_args(of) else ...
        fields[one.encode_name] = (map_hint(of, _as_read), default)
    name = NAMES.get(kind, kind.__name__)
    return create_model(name, __doc__=kind.__doc__, __module__=kind.__module__, **fields)


def query_of(shape: type[BaseModel]) -> tuple[Schema, Schema]:
    """Return the schema of each parameter of a query, and the schemas that they refer to."""
    shown = shape.model_json_schema(
        schema_generator=_OfQueries, mode="validation", ref_template=TEMPLATE
    )
    return deepcopy(shown.get("properties", {})), shown.get("$defs", {})


ENUMS: Final = {
    "TransactionStatus": ("TransactionView", "status"),
    "StatusReason": ("TransactionView", "status_reason"),
    "TransactionType": ("TransactionView", "transaction_type"),
    "EditableStatus": ("EditTransaction", "status"),
    "Permission": ("CreateKey", "permissions"),
    "RecordStatus": ("Account", "status"),
    "KeyStatus": ("ApiKeyView", "status"),
    "KeyEventStatus": ("ApiKeyEvent", "status"),
    "BatchStatus": ("Batch", "status"),
    "RateBasis": ("TransactionView", "tax_basis"),
    "AdjustmentType": ("Adjust", "type"),
    "PaymentMethod": ("StartPayment", "payment_method"),
    "Platform": ("StartPayment", "platform"),
    "InitiationType": ("StartPayment", "type"),
    "TipType": ("TransactionView", "tip_type"),
    "TipCaptureMode": ("TransactionView", "tip_capture_mode"),
    "EventType": ("MessageView", "event_type"),
    "OperationName": ("QueuedView", "operation"),
    "OutcomeName": ("CatalogueOutcome", "key"),
    "TransportFault": ("FaultView", "key"),
    "DeliveryTrigger": ("DeliveryAttemptView", "trigger"),
    "BatchReply": ("BatchAnswer", "answer"),
    "Weekday": ("BatchScheduleView", "days"),
    "ClockMode": ("ClockBody", "mode"),
    "DeliveryStatus": ("DeliveryView", "status"),
    "FaultMoment": ("FaultView", "when"),
    "Canceler": ("TapBody", "cancel"),
    "VerifyStep": ("VerifyView", "step"),
    "SubjectKind": ("Subject", "kind"),
    "ExportFormat": ("ExportBody", "as"),
    "DifferenceKind": ("DifferenceView", "kind"),
    "RequestMethod": ("SendBody", "method"),
    "RecordKind": ("DirectoryEntry", "kind"),
    "StoryKind": ("StoryStep", "kind"),
    "NeedKind": ("Need", "kind"),
}
"""Name of an enum to the schema and the property whose values it has.

Every other enum with the same values refers to it.
"""

PARAMETERS: Final = {
    "sort_by": "SortBy",
    "sort_order": "SortOrder",
    "order": "PaymentOrder",
    "status_class": "StatusClass",
}
"""Name of a parameter to the name of its enum."""

MINOR_UNITS: Final = re.compile(r"(\w+_)?amount|\w+Amount|subtotal|refunded|reversed")
"""Fields and parameters with an amount of money. Source: spec 2.4."""

MILLISECONDS: Final = frozenset({"created_at", "start_date", "end_date"})
"""Fields and parameters with an instant, where they are integers."""

ABOUT_AMOUNTS: Final = "In minor units of the currency: 1050 is 10.50 USD, 1050 JPY or 1.050 BHD."
ABOUT_INSTANTS: Final = "Unix time in milliseconds."

CROSS_FIELD: Final = (
    *("anyOf", "allOf", "oneOf", "not", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "propertyNames"),
)
"""Keywords that are left out beside `properties`."""

_SCHEMAS: Final = "#/components/schemas/"
_NUMBERS: Final = ({"integer"}, {"number"}, {"integer", "number"})


def finish(document: Schema) -> None:
    """Complete a plain document with descriptions and formats, and simplify its schemas."""
    schemas: Schema = document["components"]["schemas"]
    parameters = list(_parameters(document))
    for schema in schemas.values():
        for field, one in schema.get("properties", {}).items():
            _add_unit(field, one)
    for one in parameters:
        if one["in"] == "query":
            _add_unit(one["name"], one)
    for part in _walk(document):
        _simplify(part)
    _name_enums(document, parameters)


def _walk(value: Any) -> Iterator[Schema]:
    """Yield every object in the value, inner ones first, but no examples or enums."""
    if isinstance(value, dict):
        for word, one in value.items():
            if word not in ("example", "examples", "enum", "x-example"):
                yield from _walk(one)
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _walk(one)


def _parameters(document: Schema) -> Iterator[Schema]:
    for item in document["paths"].values():
        for operation in item.values():
            yield from (one for one in operation.get("parameters", ()) if "in" in one)


def _add_unit(field: str, schema: Schema) -> None:
    if MINOR_UNITS.fullmatch(field) and "description" not in schema:
        schema["description"] = ABOUT_AMOUNTS
    elif field in MILLISECONDS and "integer" in str(schema.get("type", schema.get("schema"))):
        schema.setdefault("description", ABOUT_INSTANTS)


# --- simplifying --------------------------------------------------------------------------------


def _simplify(schema: Schema) -> None:
    """Remove what client generators misread from a schema.

    It still accepts every value that it accepted before.
    """
    if isinstance(schema.get("properties"), dict):
        for word in CROSS_FIELD:
            schema.pop(word, None)
        for field, one in schema["properties"].items():
            if one == NULL:
                # A field that is always null has no type in most languages.
                schema["properties"][field] = {"description": "Always null for now."}
    schema.pop("propertyNames", None)
    if "enum" in schema:
        schema.pop("minLength", None)
    if not isinstance(schema.get("anyOf"), list):
        return
    given = [one for one in schema["anyOf"] if one != NULL]
    types = {one.get("type") if isinstance(one.get("type"), str) else None for one in given}
    if {} in given:
        del schema["anyOf"]
    elif types in _NUMBERS:
        or_null = ["number", "null"] if NULL in schema.pop("anyOf") else "number"
        schema |= _one_number(given) | {"type": or_null}


def _one_number(given: list[Schema]) -> Schema:
    """Return the keywords for a number within the widest of the limits."""
    found: Schema = {}
    for one in given:
        found |= {word: value for word, value in one.items() if word != "format"}
    for word, widest in (("minimum", min), ("maximum", max)):
        if limits := [one[word] for one in given if word in one]:
            found[word] = widest(limits)
    return found


# --- naming -------------------------------------------------------------------------------------


def _name_enums(document: Schema, parameters: list[Schema]) -> None:
    """Replace every enum by a reference to the named one with the same values."""
    schemas = document["components"]["schemas"]
    names = {frozenset(one["enum"]): name for name, one in schemas.items() if "enum" in one}
    tops = {id(one) for one in schemas.values()}
    places = {
        name: schemas.get(schema, {}).get("properties", {}).get(field)
        for name, (schema, field) in ENUMS.items()
    }
    places |= {PARAMETERS[one["name"]]: one for one in parameters if one["name"] in PARAMETERS}
    for name, place in places.items():
        parts = (part["enum"] for part in _walk(place) if isinstance(part.get("enum"), list))
        values = next(parts, None)
        if values is not None and names.setdefault(frozenset(values), name) == name:
            schemas[name] = {"type": "string", "enum": values}
            tops.add(id(schemas[name]))
    for part in list(_walk(document)):
        values = part.get("enum")
        if isinstance(values, list) and id(part) not in tops and frozenset(values) in names:
            part.pop("type", None)
            part["$ref"] = f"{_SCHEMAS}{names[frozenset(part.pop('enum'))]}"

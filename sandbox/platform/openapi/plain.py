"""The document for people and generators of clients, made from the strict one.

The strict document says all that a schema can say, and fuzzing uses it. Generators make types
without fields of rules that stand beside `properties`, and one type for each inlined schema. The
plain document leaves such rules out, and names what is used in several places.
"""

from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any, Final

from sandbox.platform.openapi.words import (
    ABOUT_AMOUNTS,
    ABOUT_INSTANTS,
    ENUMS,
    IDS,
    MILLISECONDS,
    MINOR_UNITS,
    PARAMETERS,
    Schema,
)

CROSS_FIELD: Final = (
    *("anyOf", "allOf", "oneOf", "not", "if", "then", "else"),
    *("dependentRequired", "dependentSchemas", "propertyNames"),
)
"""Keywords that `plain` removes where they stand beside `properties`."""

_SCHEMAS: Final = "#/components/schemas/"
_NULL: Final = {"type": "null"}
_NUMBERS: Final = ({"integer"}, {"number"}, {"integer", "number"})
_PAGE: Final = ("total", "limit", "offset", "page")


def plain(strict: Schema, *, pure: bool = False) -> Schema:
    """The plain document; the strict one stays as it is.

    A `pure` one has nothing that only the sandbox adds to the platform.
    """
    document = deepcopy(strict)
    if pure:
        _leave_out_headers(document)
    schemas: Schema = document["components"]["schemas"]
    read = _read_by(document)
    for name, schema in schemas.items():
        _add_words(name, schema, is_read=name in read)
    _add_words_to_parameters(document)
    for schema in _walk(document):
        _simplify(schema)
    for name, schema in schemas.items():
        if name not in read:
            _open(schema)
    for operation in operations_of(document):
        _name_answers(operation, schemas)
    _name_errors(document)
    _name_enums(document)
    for webhook in document.get("webhooks", {}).values():
        _open(webhook["post"]["requestBody"])
    _name_headers(document)
    return document


def operations_of(document: Schema) -> Iterator[Schema]:
    """Every operation of the document; webhooks are none."""
    for item in document["paths"].values():
        yield from item.values()


def _walk(value: Any) -> Iterator[Schema]:
    """Every object in the value, the inner ones first. Examples and enums are no schemas."""
    if isinstance(value, dict):
        for word, one in value.items():
            if word not in ("example", "examples", "enum", "x-example"):
                yield from _walk(one)
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _walk(one)


def _read_by(document: Schema) -> set[str]:
    """The names of the schemas that bodies of requests use."""
    schemas = document["components"]["schemas"]
    found: set[str] = set()
    waiting = [one["requestBody"] for one in operations_of(document) if "requestBody" in one]
    while waiting:
        for part in _walk(waiting.pop()):
            name = str(part.get("$ref", "")).removeprefix(_SCHEMAS)
            if name in schemas and name not in found:
                found.add(name)
                waiting.append(schemas[name])
    return found


def _open(schema: Schema) -> None:
    """Allow further fields: an answer may have more with time."""
    for part in _walk(schema):
        if part.get("additionalProperties") is False:
            del part["additionalProperties"]


# --- words --------------------------------------------------------------------------------------


def _add_words(name: str, schema: Schema, *, is_read: bool) -> None:
    fields: Schema = schema.get("properties", {})
    for field, one in fields.items():
        if (other := one.pop("x-same-as", None)) is not None:
            fields[field] = {**fields[other], **one}
        _add_unit(field, fields[field])
    if not is_read:
        for field in IDS.get(name, ()):
            fields[field]["format"] = "uuid"


def _add_words_to_parameters(document: Schema) -> None:
    for operation in operations_of(document):
        for one in operation.get("parameters", ()):
            if one["in"] == "query" and one["schema"].get("type") == "integer":
                _add_unit(one["name"], one)


def _add_unit(field: str, schema: Schema) -> None:
    if field in MINOR_UNITS and "description" not in schema:
        schema["description"] = ABOUT_AMOUNTS
    elif field in MILLISECONDS and "integer" in str(schema.get("type", schema.get("schema"))):
        schema.setdefault("description", ABOUT_INSTANTS)


# --- simplifying --------------------------------------------------------------------------------


def _simplify(schema: Schema) -> None:
    """The schema without what generators misread. It accepts at least the same values."""
    if isinstance(schema.get("properties"), dict) and "requestBody" not in schema:
        for word in CROSS_FIELD:
            schema.pop(word, None)
        for field, one in schema["properties"].items():
            if one == _NULL:
                # A field that is always null has no type in most languages.
                schema["properties"][field] = {"description": "Always null for now."}
    if isinstance(schema.get("propertyNames"), dict):
        del schema["propertyNames"]
    if "enum" in schema:
        schema.pop("minLength", None)
    _simplify_any_of(schema)


def _simplify_any_of(schema: Schema) -> None:
    if not isinstance(schema.get("anyOf"), list):
        return
    given = [one for one in schema["anyOf"] if one != _NULL]
    has_null = _NULL in schema["anyOf"]
    types = {one["type"] for one in given if isinstance(one.get("type"), str)}
    if {} in given:
        del schema["anyOf"]
    elif types in _NUMBERS and all("type" in one for one in given):
        del schema["anyOf"]
        schema |= _one_number(given) | ({"type": ["number", "null"]} if has_null else {})


def _one_number(given: list[Schema]) -> Schema:
    """A number within the widest of the limits."""
    found: Schema = {}
    for one in given:
        found |= {word: value for word, value in one.items() if word not in ("format", "type")}
    for word, widest in (("minimum", min), ("maximum", max)):
        limits = [one[word] for one in given if word in one]
        if limits:
            found[word] = widest(limits)
    return {"type": "number", **found}


# --- naming -------------------------------------------------------------------------------------


def _name_answers(operation: Schema, schemas: Schema) -> None:
    for status, response in operation["responses"].items():
        content = response.get("content", {}).get("application/json")
        if content is None:
            continue
        schema = content["schema"]
        if int(status) >= 400 or not isinstance(schema.get("properties"), dict):
            continue
        _open(schema)
        name = "".join(word.title() for word in operation["operationId"].split("_v")[0].split("."))
        if set(_PAGE) < set(schema["properties"]):
            schema = _as_page(schema, schemas)
        schema.setdefault("description", f"The answer of `{operation['operationId']}`.")
        schemas.setdefault(f"{name}Answer", schema)
        content["schema"] = {"$ref": f"{_SCHEMAS}{name}Answer"}


def _name_errors(document: Schema) -> None:
    """One schema for all refusals; that of API keys has a name of its own where it differs."""
    contents = [
        content
        for response in _refusals(document)
        if "$ref" not in (content := response["content"]["application/json"])["schema"]
    ]
    shapes = {tuple(content["schema"]["properties"]) for content in contents}
    for content in contents:
        fields = content["schema"]["properties"]
        name = "ApiKeyError" if "message" in fields and len(shapes) > 1 else "Error"
        document["components"]["schemas"][name] = {
            "type": "object",
            "description": "Why a request was refused; `error` is the code for programs.",
            "properties": {
                field: {"type": "string"} if "enum" in one else one for field, one in fields.items()
            },
            "required": list(fields),
        }
        content["schema"] = {"$ref": f"{_SCHEMAS}{name}"}


def _refusals(document: Schema) -> Iterator[Schema]:
    yield from document["components"].get("responses", {}).values()
    for operation in operations_of(document):
        for status, response in operation["responses"].items():
            if int(status) >= 400 and "content" in response:
                yield response


def _as_page(schema: Schema, schemas: Schema) -> Schema:
    """The list with the counts of the shared `Page`."""
    fields = schema["properties"]
    counts = {name: fields[name] for name in _PAGE}
    schemas.setdefault(
        "Page",
        {
            "type": "object",
            "description": "Which part of a list this is, and how long the list is.",
            "properties": counts,
            "required": list(counts),
        },
    )
    rest = {name: one for name, one in fields.items() if name not in counts}
    own = {"type": "object", "properties": rest, "required": list(rest)}
    return {"allOf": [{"$ref": f"{_SCHEMAS}Page"}, own]}


def _name_enums(document: Schema) -> None:
    """A reference to the named enum wherever its values stand."""
    schemas = document["components"]["schemas"]
    names: dict[frozenset[Any], str] = {}
    for name, one in schemas.items():
        if "enum" in one:
            names[frozenset(one["enum"])] = name
    made: Schema = {}
    for name, (schema, field) in ENUMS.items():
        found = _enum_in(schemas.get(schema, {}).get("properties", {}).get(field))
        if found is not None and names.setdefault(frozenset(found["enum"]), name) == name:
            made[name] = {"type": "string", "enum": found["enum"]}
    for operation in operations_of(document):
        for one in operation.get("parameters", ()):
            if one["name"] in PARAMETERS:
                name = PARAMETERS[one["name"]]
                made[name] = {"type": "string", "enum": one["schema"]["enum"]}
                names[frozenset(one["schema"]["enum"])] = name
    for part in list(_walk({key: value for key, value in document.items() if key != "info"})):
        _refer(part, names, schemas)
    schemas |= made


def _enum_in(schema: Any) -> Schema | None:
    return next((part for part in _walk(schema) if isinstance(part.get("enum"), list)), None)


def _refer(part: Schema, names: Mapping[frozenset[Any], str], schemas: Schema) -> None:
    values = part.get("enum")
    if not isinstance(values, list) or any(part is one for one in schemas.values()):
        return
    name = names.get(frozenset(values))
    if name is not None:
        for word in ("enum", "type"):
            part.pop(word, None)
        part["$ref"] = f"{_SCHEMAS}{name}"


# --- the sandbox's own headers ---


OWN: Final = "x-sandbox-"
"""What the names of the sandbox's headers and of its request headers begin with."""


def _name_headers(document: Schema) -> None:
    """Put each of the sandbox's headers into the components, and refer to it there."""
    components = document["components"]
    for response in _all_responses(document):
        shown = response.get("headers", {})
        for header, described in shown.items():
            if header.startswith(OWN):
                _refer_to_component(components, "headers", header, described, shown, header)
    for operation in _all_operations(document):
        parameters = operation.get("parameters", [])
        for at, one in enumerate(parameters):
            if one["in"] == "header" and one["name"].startswith(OWN):
                _refer_to_component(components, "parameters", one["name"], one, parameters, at)


def _leave_out_headers(document: Schema) -> None:
    """Remove the sandbox's headers, its request headers and its extensions: `?pure=1`."""
    for response in _all_responses(document):
        kept = {
            header: one
            for header, one in response.get("headers", {}).items()
            if not header.startswith(OWN)
        }
        response.pop("headers", None)
        if kept:
            response["headers"] = kept
    for operation in _all_operations(document):
        operation.pop("x-example", None)
        kept_parameters = [
            one
            for one in operation.pop("parameters", [])
            if not (one["in"] == "header" and one["name"].startswith(OWN))
        ]
        if kept_parameters:
            operation["parameters"] = kept_parameters


def _refer_to_component(
    components: Schema, kind: str, header: str, described: Schema, holder: Any, at: Any
) -> None:
    component = header.removeprefix("x-").title().replace("-", "")
    components.setdefault(kind, {}).setdefault(component, described)
    holder[at] = {"$ref": f"#/components/{kind}/{component}"}


def _all_operations(document: Schema) -> Iterator[Schema]:
    for item in document["paths"].values():
        yield from item.values()


def _all_responses(document: Schema) -> Iterator[Schema]:
    yield from document["components"].get("responses", {}).values()
    for operation in _all_operations(document):
        yield from operation["responses"].values()

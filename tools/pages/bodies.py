"""The page of request bodies and queries, from the platform's OpenAPI document."""

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tools.openapi import documents
from tools.pages.markdown import NONE, page, table

Schema = dict[str, Any]

_REF: Final = "#/components/schemas/"
_HEAD: Final = ("field", "value", "required", "about")
_WORDS: Final = re.compile(r"(?<=[a-z])(?=[A-Z])")


def bodies() -> str:
    """Return the page: each body with its fields and an example, then the queries."""
    document = json.loads(documents()["platform.json"])
    named: dict[str, Schema] = document["components"]["schemas"]
    taken: dict[str, list[tuple[str, Any]]] = {}
    queries: dict[str, list[str]] = {}
    for path, item in document["paths"].items():
        for method, operation in item.items():
            query = [one for one in operation["parameters"] if one.get("in") == "query"]
            if query:
                fields = {one["name"]: one["schema"] | one for one in query}
                rows = table(_HEAD, _rows(named, {"properties": fields}, ""))
                queries.setdefault(rows, []).append(f"`{method.upper()} {path}`")
            content = operation.get("requestBody", {}).get("content", {}).get("application/json")
            if content is not None:
                name = content["schema"]["$ref"].removeprefix(_REF)
                endpoint = f"{method.upper()} {path}"
                taken.setdefault(name, []).append((endpoint, content.get("example")))
    return page(
        "Bodies and queries of requests to the platform",
        "Bodies are JSON. A field that is not required may be left out. Lengths are in characters, "
        "amounts in minor units. [Explaining answers](../guides/control-api.md#explaining-answers) "
        "shows how to see why a body was refused.",
        *(_section(named, name, uses) for name, uses in taken.items()),
        *(f"## {', '.join(endpoints)}\n\n{rows}" for rows, endpoints in queries.items()),
    )


def _section(named: dict[str, Schema], name: str, uses: list[tuple[str, Any]]) -> str:
    title = _WORDS.sub(" ", name).lower().capitalize()
    endpoints = ", ".join(f"`{endpoint}`" for endpoint, _ in uses)
    about = named[name].get("description")
    rows = table(_HEAD, _rows(named, named[name], ""))
    example = json.dumps(uses[0][1], indent=2, ensure_ascii=False)
    parts = (f"## {title}\n", f"{endpoints}\n", about and f"{about}\n", rows)
    return "\n".join((*filter(None, parts), f"```json\n{example}\n```\n"))


def _rows(named: dict[str, Schema], schema: Schema, before: str) -> Iterator[tuple[str, ...]]:
    """Yield a row for each field.

    The fields of an object follow it, with its name before theirs.
    """
    for field, shown in schema.get("properties", {}).items():
        found = _resolved(named, shown)
        required = "yes" if field in schema.get("required", ()) else NONE
        about = " ".join((shown.get("description") or found.get("description") or NONE).split())
        value = _value(named, found)
        if "null" in (*(one.get("type") for one in shown.get("anyOf", ())), *_kinds(shown)):
            value += ", or null" if "," in value else " or null"
        yield f"`{before}{field}`", value, required, about
        yield from _rows(named, found, f"{before}{field}.")
        if "array" in _kinds(found):
            items = _resolved(named, found.get("items", {}))
            yield from _rows(named, items, f"{before}{field}[].")


def _resolved(named: dict[str, Schema], schema: Schema) -> Schema:
    """Return the schema behind a reference; of two alternatives, the one that is not null."""
    if "$ref" in schema:
        return named[schema["$ref"].removeprefix(_REF)]
    others = [one for one in schema.get("anyOf", ()) if one.get("type") != "null"]
    return _resolved(named, others[0]) if len(others) == 1 else schema


def _kinds(schema: Schema) -> list[str]:
    kinds = schema.get("type", "any")
    return kinds if isinstance(kinds, list) else [kinds]


def _value(named: dict[str, Schema], schema: Schema) -> str:
    """Describe in words what a field can contain."""
    if "enum" in schema:
        return "one of " + ", ".join(f"`{one}`" for one in schema["enum"] if one is not None)
    if "anyOf" in schema:
        each = [_value(named, _resolved(named, one)) for one in schema["anyOf"]]
        return " or ".join(dict.fromkeys(one for one in each if one != "null"))
    kind = " or ".join(one for one in _kinds(schema) if one != "null")
    if kind == "array":
        items = _value(named, _resolved(named, schema.get("items", {})))
        return f"list: each {items}"
    low = schema.get("minimum", schema.get("minLength"))
    high = schema.get("maximum", schema.get("maxLength"))
    if low is None and high is None:
        return kind
    if high is not None:
        return f"{kind}, {low or 0} to {high}"
    return "string, not empty" if kind == "string" else f"{kind}, {low} or more"

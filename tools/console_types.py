"""The control API for the console's type check, `tools/console/api.d.ts`: `make golden` writes it.

It comes from the OpenAPI document, so a row that changes breaks the scripts that use its old
shape.
"""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from tools import openapi

FILE: Final = Path(__file__).parent / "console" / "api.d.ts"
PATHS: Final = FILE.with_name("paths.d.ts")

_HEAD: Final = """\
// The rows of the control API for the console. `make golden` writes this file; `paths.d.ts` has
// the types that look a row up.

declare namespace Api {
"""
_PLAIN: Final = {
    "string": "string",
    "integer": "number",
    "number": "number",
    "boolean": "boolean",
    "null": "null",
}


def content() -> str:
    """Return the text of the file."""
    document = json.loads(openapi.documents()["control.json"])
    named = document["components"]["schemas"]
    shapes = "\n".join(
        f"  type {name} = {_type(schema, 2)};" for name, schema in sorted(named.items())
    )
    rows = "\n".join(_rows(document["paths"]))
    return f"{_HEAD}{shapes}\n\n  interface Rows {{\n{rows}\n  }}\n}}\n"


def _rows(paths: Mapping[str, Any]) -> Iterator[str]:
    for path, methods in paths.items():
        parts = [_part(part) for part in path.removeprefix("/_sandbox").split("/")[1:]]
        for method, shown in methods.items():
            yield (
                f'    "{shown["operationId"]}": {{\n'
                f'      method: "{method.upper()}";\n'
                f"      path: [{', '.join(parts)}];\n"
                f"      body: {_body(shown)};\n"
                f"      answer: {_answer(shown)};\n"
                "    };"
            )


def _part(part: str) -> str:
    return "string" if part.startswith("{") else json.dumps(part)


def _body(shown: Mapping[str, Any]) -> str:
    if "requestBody" not in shown:
        return "undefined"
    body = shown["requestBody"]
    found = _type(body["content"]["application/json"]["schema"], 6)
    return found if body["required"] else f"{found} | undefined"


def _answer(shown: Mapping[str, Any]) -> str:
    """Return the types of all successes."""
    found = [
        _type(content["schema"], 6) if kind == "application/json" else "string"
        for status, answer in shown["responses"].items()
        if status.startswith("2")
        for kind, content in answer.get("content", {None: None}).items()
        if kind is not None
    ]
    return " | ".join(dict.fromkeys(found)) or "null"


def _type(schema: Any, indent: int) -> str:
    """Return a schema as a type."""
    if not isinstance(schema, dict) or not schema:
        return "any"
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "const" in schema:
        return json.dumps(schema["const"])
    if "enum" in schema:
        return " | ".join(json.dumps(value) for value in schema["enum"])
    for word, sign in (("anyOf", " | "), ("oneOf", " | "), ("allOf", " & ")):
        if word in schema:
            parts = dict.fromkeys(_type(one, indent) for one in schema[word])
            return sign.join(f"({one})" if " " in one and "{" not in one else one for one in parts)
    kinds = schema.get("type", "object")
    if isinstance(kinds, list):
        return " | ".join(_type(schema | {"type": kind}, indent) for kind in kinds)
    if kinds == "array":
        inner = _type(schema.get("items", {}), indent)
        return f"Array<{inner}>"
    return _PLAIN.get(kinds) or _object(schema, indent)


def _object(schema: Mapping[str, Any], indent: int) -> str:
    fields = schema.get("properties")
    if fields is None:
        more = schema.get("additionalProperties", True)
        return f"Record<string, {'any' if more is True else _type(more, indent)}>"
    needed = schema.get("required", [])
    space = " " * (indent + 2)
    lines = "".join(
        f"{space}{_name(name)}{'' if name in needed else '?'}: {_type(one, indent + 2)};\n"
        for name, one in fields.items()
    )
    return f"{{\n{lines}{' ' * indent}}}"


def _name(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z_]\w*", name) else json.dumps(name)

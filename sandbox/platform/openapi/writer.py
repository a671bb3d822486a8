"""The writer of an OpenAPI 3.1 document: the parts that the documents of both surfaces share.

The strict document has every rule that schemas can express, for fuzzing. The plain one is for
people and for client generators, which make one type for each inlined schema: it names what several
places use, and has recorded answers. A pure one leaves out what only the sandbox adds.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import from_json

from sandbox.domain.profile import KeyPrefixes
from sandbox.platform.openapi.examples import Cast, with_ids
from sandbox.platform.openapi.schemas import Mode, Schema, finish, query_of, schemas_of

VERSION: Final = "3.1.1"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
JSON: Final = "application/json"
TEXT: Final[Schema] = {"type": "string"}

_PARAMETER: Final = re.compile(r"\{(\w+)\}")


class Writer:
    """Writes one document. `components` are its named parts, among them `schemas`.

    `types` are those that bodies read and answers show, `cast` has the ids for the examples,
    `answers` is the file with the recorded answers, and `key_prefix` the one that keys have there.
    """

    def __init__(
        self,
        types: Iterable[tuple[Any, Mode]],
        *,
        cast: Cast,
        answers: Path,
        key_prefix: str,
        is_strict: bool,
        is_pure: bool = False,
    ) -> None:
        self.is_strict, self.is_pure = is_strict, is_pure and not is_strict
        self._refs, self.schemas = schemas_of(types, is_strict=is_strict)
        self.components: Schema = {"schemas": self.schemas}
        recorded = answers.read_text(encoding="utf-8")
        recorded = recorded.replace(f"{KeyPrefixes.uat}_", f"{key_prefix}_")
        self._cast, self._answers = cast, from_json(recorded)
        self._paths: dict[str, Schema] = {}

    def read(self, kind: Any) -> Schema:
        """Return the schema of a body."""
        return self._refs[kind, "validation"]

    def describe(self, kind: Any) -> Schema:
        """Return the schema of an answer, or of part of one."""
        return self._refs[kind, "serialization"]

    def reference(self, section: str, name: str, part: Schema) -> Schema:
        """Return a reference to a part that several places use.

        In a strict document, return the part itself.
        """
        if self.is_strict:
            return part
        self.components.setdefault(section, {}).setdefault(name, part)
        return {"$ref": f"#/components/{section}/{name}"}

    def record(self, fields: Schema, **optional: Schema) -> Schema:
        """Return the schema of an object with these fields, some of them `optional`.

        A strict document allows no others.
        """
        shown: Schema = {"type": "object", "properties": fields | optional}
        shown["required"] = list(fields)
        return shown | ({"additionalProperties": False} if self.is_strict else {})

    def fill(self, value: Any) -> Any:
        """Return the example with its placeholders replaced by ids of the cast."""
        return with_ids(value, self._cast)

    def query_fields(self, query: type[BaseModel]) -> Schema:
        """Return the schemas of the parameters of a query, by name."""
        fields, named = query_of(query)
        self.schemas.update(named)
        return fields

    def success(self, name: str, schema: Schema, media_type: str = JSON) -> Schema:
        """Return the content of a success, with the recorded answer."""
        content = {"schema": schema}
        if media_type == JSON and not self.is_strict:
            if schema.keys() & {"properties", "allOf"}:
                words = name.split("_v")[0].split(".")
                schema = {"description": f"The answer of `{name}`.", **schema}
                schema.pop("additionalProperties", None)
                title = "".join(word.title() for word in words) + "Answer"
                content["schema"] = self.reference("schemas", title, schema)
            if name in self._answers:
                content["example"] = self._answers[name]
        return {media_type: content}

    def add(
        self,
        row: Any,
        parameters: list[Schema],
        body: Schema | None,
        responses: Schema,
        **more: Any,
    ) -> None:
        """Add the operation of a row of either surface; `more` are further fields of it."""
        shown: Schema = {
            "operationId": row.name,
            "summary": row.summary,
            "tags": [row.name.partition(".")[0]],
            **more,
        }
        if parameters:
            shown["parameters"] = parameters
        if body is not None:
            shown["requestBody"] = body
        self._paths.setdefault(row.path, {})[row.method.lower()] = shown | {"responses": responses}

    def document(
        self,
        *,
        info: Schema,
        url: str,
        tags: Mapping[str, str],
        scheme: tuple[str, Schema],
        is_open: bool = False,
        **more: Any,
    ) -> dict[str, Any]:
        """Return the document. `info` says what it is about, and `more` are further parts.

        `scheme` is how callers are let in, if it is not open.
        """
        name, described = scheme
        self.components["securitySchemes"] = {name: described}
        shown = {
            "openapi": VERSION,
            "info": info,
            "jsonSchemaDialect": DIALECT,
            "servers": [{"url": url}],
            "security": [{}, {name: []}] if is_open else [{name: []}],
            "tags": [{"name": tag, "description": said} for tag, said in tags.items()],
            "paths": self._paths,
            **more,
            "components": self.components,
        }
        if not self.is_strict:
            finish(shown)
        return shown


def in_path(path: str) -> Iterator[Schema]:
    """Yield the parameters of a path."""
    for name in _PARAMETER.findall(path):
        schema = {"type": "string", "minLength": 1}
        yield {"name": name, "in": "path", "required": True, "schema": schema}


def in_query(fields: Schema) -> Iterator[Schema]:
    """Yield the parameters of a query, by their schemas."""
    for name, schema in fields.items():
        described = {word: value for word, value in schema.items() if word != "description"}
        about = {"description": schema["description"]} if "description" in schema else {}
        yield {"name": name, "in": "query", "schema": described, **about}


def body_of(schema: Schema, example: Any = None, *, is_required: bool = True) -> Schema:
    """Return a body of a request or a webhook."""
    content = {"schema": schema} | ({} if example is None else {"example": example})
    return {"required": is_required, "content": {JSON: content}}

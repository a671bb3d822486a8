"""The JSON Schema of scenario files, for editors. Source: assumed D24.

It is generated from the models that read the files, and describes single fields. Only
`parse_scenario` knows which fields go together.
"""

import ast
import inspect
from functools import cache
from itertools import pairwise
from textwrap import dedent
from typing import Any, Final

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema

from sandbox.scenarios.scenario import Scenario

NAME: Final = "scenario.schema.json"
"""The name of the schema's file, and the last part of its URL."""

DIRECTIVE: Final = f"#:schema {NAME}\n"
"""The line of the library's files that names the schema for TOML language servers."""


class _ForFiles(GenerateJsonSchema):
    """Schemas of the parts of a file: no nulls, no generated titles, every field described.

    TOML has no null, but editors would offer it for most fields.
    """

    def nullable_schema(self, schema: core_schema.NullableSchema) -> JsonSchemaValue:
        return self.generate_inner(schema["schema"])

    def default_schema(self, schema: core_schema.WithDefaultSchema) -> JsonSchemaValue:
        if schema.get("default", ...) is None:
            return self.generate_inner(schema["schema"])
        return super().default_schema(schema)

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        shown = super().model_schema(schema)
        # The docstring of the model is for readers of the code; editors show those of the fields.
        for name in ("title", "description"):
            shown.pop(name, None)
        for name, docstring in _docstrings_of(schema["cls"]).items():
            name = name.rstrip("_")
            shown["properties"][name] = {"description": docstring} | shown["properties"][name]
        return shown


def _docstrings_of(shape: type) -> dict[str, str]:
    """Return the docstrings of the fields.

    Pydantic would read them whenever the module is imported.
    """
    (shown,) = ast.parse(dedent(inspect.getsource(shape))).body
    assert isinstance(shown, ast.ClassDef)
    found = {}
    for pair in pairwise(shown.body):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=text)):
                found[name] = " ".join(str(text).split())
    return found


@cache
def scenario_schema() -> dict[str, Any]:
    """Return the schema as a document, which callers must not change."""
    return {
        "$schema": GenerateJsonSchema.schema_dialect,
        "$id": f"urn:uat-sandbox:{NAME}",
        "title": "Scenario of uat-sandbox",
        "description": "Rules on payments, batches and webhooks, and examples that prove them.",
        **Scenario.model_json_schema(mode="validation", schema_generator=_ForFiles),
    }

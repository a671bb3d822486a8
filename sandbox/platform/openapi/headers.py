"""The sandbox's own headers in a document: each named once, or left out."""

from collections.abc import Iterator
from typing import Any, Final

Schema = dict[str, Any]

OWN: Final = "x-sandbox-"
"""What the names of the sandbox's headers and of its request headers begin with."""


def name(document: Schema) -> None:
    """Put each of the sandbox's headers into the components, and refer to it there."""
    components = document["components"]
    for response in _responses(document):
        shown = response.get("headers", {})
        for header, described in shown.items():
            if header.startswith(OWN):
                _refer(components, "headers", header, described, shown, header)
    for operation in _operations(document):
        parameters = operation.get("parameters", [])
        for at, one in enumerate(parameters):
            if one["in"] == "header" and one["name"].startswith(OWN):
                _refer(components, "parameters", one["name"], one, parameters, at)


def leave_out(document: Schema) -> None:
    """Remove the sandbox's headers, its request headers and its extensions: `?pure=1`."""
    for response in _responses(document):
        kept = {
            header: one
            for header, one in response.get("headers", {}).items()
            if not header.startswith(OWN)
        }
        response.pop("headers", None)
        if kept:
            response["headers"] = kept
    for operation in _operations(document):
        operation.pop("x-example", None)
        kept_parameters = [
            one
            for one in operation.pop("parameters", [])
            if not (one["in"] == "header" and one["name"].startswith(OWN))
        ]
        if kept_parameters:
            operation["parameters"] = kept_parameters


def _refer(
    components: Schema, kind: str, header: str, described: Schema, holder: Any, at: Any
) -> None:
    component = header.removeprefix("x-").title().replace("-", "")
    components.setdefault(kind, {}).setdefault(component, described)
    holder[at] = {"$ref": f"#/components/{kind}/{component}"}


def _operations(document: Schema) -> Iterator[Schema]:
    for item in document["paths"].values():
        yield from item.values()


def _responses(document: Schema) -> Iterator[Schema]:
    yield from document["components"].get("responses", {}).values()
    for operation in _operations(document):
        yield from operation["responses"].values()

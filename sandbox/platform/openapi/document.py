"""The OpenAPI 3.1 document of the platform, written from its rows under a profile.

Source: spec 4.4-paths; the assumptions about an endpoint are in its row.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

from msgspec import Struct, field

from sandbox.domain.payments.outcomes import OUTCOMES, TRANSPORT_FAULTS
from sandbox.domain.profile import Profile
from sandbox.domain.readings import DELETE_ANSWERS, in_force
from sandbox.domain.records import Extended
from sandbox.platform import wire
from sandbox.platform.openapi.examples import (
    PLATFORM_ANSWERS,
    VERSION_OF_NAME,
    Cast,
    Example,
    add_answers,
    add_bodies,
    example_of,
    with_ids,
)
from sandbox.platform.openapi.plain import plain
from sandbox.platform.openapi.refusals import responses_of
from sandbox.platform.openapi.schemas import Mode, Schema, query_of, record, schemas_of
from sandbox.platform.openapi.webhooks import BODIES, webhooks
from sandbox.platform.operation import Row
from sandbox.platform.routes import OPERATIONS

OK: Final = 200
NO_CONTENT: Final = 204
VERSION: Final = "3.1.1"
DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"

_ABOUT: Final = (
    "Every endpoint of the platform, as the sandbox serves it under the profile `{}`. A method "
    "that a path does not serve answers 405, and so does a retired endpoint. With a scenario, a "
    "queued outcome or the header `x-sandbox-outcome`, an answer of a payment can also be late, "
    "cut off or missing. A world that has chosen other readings can answer otherwise than this "
    "document says."
)
_ABOUT_PURE: Final = (
    "Every endpoint of the platform. A method that a path does not serve answers 405, and so does "
    "a retired endpoint."
)
_TAGS: Final = {
    "accounts": "Partners and merchants, and their hierarchy",
    "credentials": "Codes with which a merchant's staff signs in",
    "terminals": "Where cards are read",
    "locations": "Where merchants do business",
    "payments": "Sales and authorizations, and what is done to them",
    "refunds": "Refunds of a payment that the body names",
    "transactions": "What became of payments",
    "batches": "What a terminal settles at once",
    "apikeys": "Keys, and what they may do",
    "webhooks": "What the platform sends by itself",
}
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_HEADERS: Final[Schema] = {
    "x-sandbox-request-id": {
        "description": "Finds the request in the journal. Left out with --no-explain-headers.",
        "schema": {"type": "string"},
    }
}
_OUTCOME: Final[Schema] = {
    "x-sandbox-outcome": {
        "description": "The outcome, what chose it, and by which rule.",
        "schema": {"type": "string"},
    }
}


class _Types(Struct, frozen=True, gc=False):
    """The schemas of all types that the document refers to, and the responses that rows share."""

    refs: dict[tuple[int, Mode], Schema]
    named: Schema
    responses: Schema = field(default_factory=dict)

    def shown(self, one: Any) -> Schema:
        """The schema of a type as rendered."""
        return self.refs[id(one), "serialization"]

    def read(self, shape: Any) -> Schema:
        """The schema of a body or query as read."""
        return self.refs[id(shape), "validation"]

    def response(self, response: Any) -> Schema:
        """The body of a success, as the row has it."""
        if not isinstance(response, Extended):
            return self.shown(response)
        fields = {name: self.shown(one) for name, one in response.fields.items()}
        if response.record is None:
            return record(fields)
        # Its further fields are only present on request.
        shown = self.named[response.record.__name__]
        return {**shown, "properties": {**shown["properties"], **fields}}


def document(
    profile: Profile,
    *,
    version: str,
    url: str,
    cast: Cast,
    sample: Callable[[str], str],
    strict: bool = False,
    pure: bool = False,
) -> dict[str, Any]:
    """The document. `url` is where the platform is served, `cast` the ids for the examples.

    `sample` gives the body of an event. The `strict` one says all that schemas can say, and is for
    fuzzing; the `pure` one has nothing that only the sandbox adds.
    """
    shown = _strict(profile, version=version, url=url, cast=cast)
    if strict:
        return shown
    shown = plain(shown, pure=pure)
    if pure:
        shown["info"]["description"] = _ABOUT_PURE
    add_answers(shown, PLATFORM_ANSWERS)
    add_bodies(shown, sample)
    return shown


def _strict(profile: Profile, *, version: str, url: str, cast: Cast) -> Schema:
    types = _types(profile)
    paths: dict[str, Schema] = {}
    for row in OPERATIONS:
        shown = _operation(row, profile, types, cast)
        paths.setdefault(row.path, {})[row.method.lower()] = shown
    return {
        "openapi": VERSION,
        "info": {
            "title": "Card payment platform",
            "version": version,
            "description": _ABOUT.format(profile.name),
        },
        "jsonSchemaDialect": DIALECT,
        "servers": [{"url": url}],
        "security": [{"apiKey": []}],
        "tags": [{"name": name, "description": about} for name, about in _TAGS.items()],
        "paths": paths,
        "webhooks": webhooks(profile, types.shown),
        "components": {
            "schemas": types.named,
            "responses": types.responses,
            "securitySchemes": {
                "apiKey": {
                    "type": "apiKey",
                    "in": "header",
                    "name": profile.api_key_header,
                    "description": "Decides the account, what is allowed, and the world.",
                }
            },
        },
    }


def _types(profile: Profile) -> _Types:
    read: list[tuple[Any, Mode]] = [
        (row.body(profile), "validation") for row in OPERATIONS if row.body is not None
    ]
    shown: list[tuple[Any, Mode]] = [
        (one, "serialization")
        for row in OPERATIONS
        if row.response is not None
        for one in _parts(row.response)
    ]
    sent: list[tuple[Any, Mode]] = [(one, "serialization") for one in BODIES.values()]
    return _Types(*schemas_of([*read, *shown, *sent]))


def _parts(response: Any) -> Iterator[Any]:
    if isinstance(response, Extended):
        yield from response.fields.values()
        response = response.record
    if response is not None:
        yield response


def _operation(row: Row, profile: Profile, types: _Types, cast: Cast) -> Schema:
    example = example_of(row.name)
    shown: Schema = {
        "operationId": row.name,
        "summary": row.summary,
        "tags": [row.name.partition(".")[0]],
        "description": _description(row),
        "x-source": row.source,
    }
    if row.run is None:
        shown |= {"deprecated": True, "security": []}
    if row.need is not None:
        base, sub = row.need.base, row.need.sub
        shown["x-permissions"] = [*base, sub] if sub else list(base)
    if row.events:
        shown["x-events"] = list(row.events)
    if example is not None:
        shown["x-example"] = _beforehand(example, cast)
    parameters = [*_in_path(row, example, cast), *_in_query(row, profile, types), *_in_header(row)]
    if parameters:
        shown["parameters"] = parameters
    if row.body is not None:
        content: Schema = {"schema": types.read(row.body(profile))}
        if example is not None:
            content["example"] = with_ids(example.body, cast)
        shown["requestBody"] = {"required": True, "content": {"application/json": content}}
    shown["responses"] = {
        **_success(row, profile, types),
        **responses_of(row, profile, types.responses),
    }
    return shown


def _description(row: Row) -> str:
    sentences = []
    if row.need is not None:
        words = " or ".join(f"`{one}`" for one in row.need.base)
        sentences.append(f"Needs {words}.")
        if row.need.sub:
            sentences.append(f"On the account of a descendant it needs `{row.need.sub}` instead.")
    if row.needs_besides:
        sentences.append(row.about_besides)
    if (twin := _twin(row)) is not None:
        which = "older" if row.path < twin.path else "newer"
        sentences.append(f"The {which} path of `{twin.method} {twin.path}`; both are served.")
    if row.run is None:
        sentences.append("Retired: it is answered before the key is looked at.")
    sentences.append(f"Source: {row.source}.")
    return " ".join(sentences)


def _twin(row: Row) -> Row | None:
    """The row of which this one is another version. Source: spec 9.3."""
    name = VERSION_OF_NAME.sub("", row.name)
    return next((one for one in OPERATIONS if one.name == name != row.name), None)


def _beforehand(example: Example, cast: Cast) -> Schema:
    """The caller of the example, and the records that it needs."""
    shown: Schema = {"by": example.by}
    if example.first is not None:
        first = example.first
        shown["first"] = {
            "operation": first.operation,
            "by": first.by,
            "body": with_ids(first.body, cast),
        }
        if example.takes:
            shown["takes"] = example.takes
    return shown


def _in_path(row: Row, example: Example | None, cast: Cast) -> Iterator[Schema]:
    for name in _PARAMETER.findall(row.path):
        shown = {
            "name": name,
            "in": "path",
            "required": True,
            "schema": {"type": "string", "minLength": 1},
        }
        if example is not None and example.id:
            shown["example"] = with_ids(example.id, cast)
        yield shown


def _in_query(row: Row, profile: Profile, types: _Types) -> Iterator[Schema]:
    fields: Schema = {}
    if row.query is not None:
        shape = row.query(profile)
        fields, named = query_of(shape)
        types.named.update(named)
        for name in wire.name_filters(shape).intersection(fields):
            # An empty one is as if it was not sent.
            fields[name].pop("minLength", None)
    target = row.target
    if target is not None and target.where == "query":
        named = fields.get(target.name, {"type": "string"})
        fields[target.name] = {**named, "description": "An account that the caller may see."}
    for name, schema in fields.items():
        described = {word: value for word, value in schema.items() if word != "description"}
        shown: Schema = {"name": name, "in": "query", "schema": described}
        if "description" in schema:
            shown["description"] = schema["description"]
        yield shown


def _in_header(row: Row) -> Iterator[Schema]:
    if row.is_attempt:
        yield {
            "name": "x-sandbox-outcome",
            "in": "header",
            "description": "How the attempt is to end; a word for other operations is refused.",
            "schema": {"type": "string", "enum": [*OUTCOMES, *TRANSPORT_FAULTS]},
        }


def _success(row: Row, profile: Profile, types: _Types) -> dict[str, Schema]:
    if row.run is None:
        return {}
    headers = {**_HEADERS, **(_OUTCOME if row.is_attempt else {})}
    status = row.status
    if status == NO_CONTENT and in_force(profile.readings, {})[DELETE_ANSWERS] == "resource":
        status = OK
    shown: Schema = {"description": _DONE.get(status, "Done."), "headers": headers}
    if row.response is not None and status != NO_CONTENT:
        schema = types.response(row.response)
        shown["content"] = {"application/json": {"schema": schema}}
    return {str(status): shown}


_DONE: Final = {201: "Made.", NO_CONTENT: "Done; there is nothing to show."}

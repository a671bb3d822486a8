"""The OpenAPI 3.1 document of the control API, generated from its rows.

The example bodies succeed in a fresh demo world, except those that name a resource which must be
created first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from sandbox.control.message_wait import NearMiss
from sandbox.control.models import JSON
from sandbox.control.routing import ControlRow
from sandbox.control.switches import Readings, ReadingValues, Switches, SwitchValues
from sandbox.domain.readings import READINGS
from sandbox.domain.switches import SWITCHES, Switch
from sandbox.platform.openapi.document import DIALECT, VERSION
from sandbox.platform.openapi.examples import Cast, add_answers, with_ids
from sandbox.platform.openapi.plain import plain
from sandbox.platform.openapi.schemas import Mode, Schema, query_of, record, schemas_of

_ABOUT: Final = (
    "The control API of uat-sandbox: worlds, clocks, scenarios, webhooks, the journal. "
    "It imitates nothing and explains everything. Unknown fields and parameters are refused."
)
_PARAMETER: Final = re.compile(r"\{(\w+)\}")

ANSWERS: Final = Path(__file__).parent / "answers.json"
"""The answers of a demo world, by row."""

_TEXT: Final[Schema] = {"type": "string"}
_TAGS: Final = {
    "health": "Whether the server is there",
    "servers": "The servers that share worlds, where several do",
    "tokens": "Tokens of teams, each of which reaches its own worlds and no other",
    "worlds": "Isolated worlds, each with accounts, keys and a clock of its own",
    "snapshot": "A world as one document, to keep and to restore",
    "clock": "The time of a world",
    "switches": "Settings that tell a world to do something otherwise",
    "readings": "Sentences of the spec that can be read in several ways",
    "scenarios": "The library of scenarios",
    "scenario": "The scenario that runs in a world",
    "next": "How the next attempts end",
    "taps": "Payments that wait for a card",
    "batches": "Batches, their records, and what the processor answers",
    "schedules": "When batches close by themselves",
    "outcomes": "How an attempt can end",
    "cards": "Test cards",
    "triggers": "Amounts that choose an outcome",
    "overview": "A world at a glance",
    "payments": "Payments of all accounts, their stories, and what can be done with them",
    "lens": "What a key would be answered, without a request",
    "directory": "Accounts, terminals, locations and keys of a world",
    "machines": "The state machines of the platform",
    "fixtures": "What a world can begin with",
    "find": "Anything by its id",
    "messages": "Webhooks: what happened, and where it was delivered",
    "applications": "Webhook applications of accounts, to which endpoints belong",
    "endpoints": "Receivers of webhooks",
    "receivers": "Receivers inside the process, with programmed answers",
    "metrics": "What a server counts and measures of itself, for Prometheus",
    "requests": "The journal: each request with the reasons for its answer",
    "capture": "All that can be seen of a world, to read elsewhere",
    "report": "The console as a file, for the report of a test run",
    "stream": "What happens in a world, as it happens",
    "coverage": "Which parts of the platform were used",
    "ledger": "The clauses of the spec, and what proves them",
    "openapi": "The OpenAPI documents",
    "tls": "The certificate of a server with --tls",
    "docs": "The page in the browser",
    "send": "Requests to the platform, sent by the sandbox itself",
    "agenda": "What falls due in a world",
    "verify": "Signatures of webhooks",
    "marks": "Moments of a world to return to",
    "webhooks": "Faults of the next deliveries",
    "session": "Signing in with a browser",
}
_SAID: Final = {
    400: "The body or the query has a mistake; `nearest` is the known word for a misspelt one.",
    401: "This server asks for its bearer token, which you gave it or it printed at its start.",
    403: "A browser sent this for a page of another origin.",
    404: "There is no such world, or it has nothing with this id.",
    408: "Nothing came in time; `near_misses` came nearest, the newest first.",
    409: "It conflicts with existing state.",
    413: "The body is larger than 1 MiB, that of a snapshot larger than 256 MiB.",
    421: "The Host header names a host that this server does not answer for, see `--allow-host`.",
    429: "Too many requests of this kind are open; one of them has to end first.",
    507: "The state file cannot be written.",
}


def document(
    rows: Sequence[ControlRow],
    *,
    version: str,
    url: str,
    needs_token: bool,
    cast: Cast,
    strict: bool = False,
) -> dict[str, Any]:
    """The document of what programs ask in `rows`; `cast` has the ids for the examples.

    The `strict` one says all that schemas can say, and is for fuzzing.
    """
    for_programs = [row for row in rows if row.is_for_programs]
    shown = _strict(for_programs, version=version, url=url, needs_token=needs_token, cast=cast)
    if not strict:
        shown = plain(shown)
        add_answers(shown, ANSWERS)
    return shown


def _strict(
    rows: Sequence[ControlRow], *, version: str, url: str, needs_token: bool, cast: Cast
) -> Schema:
    refs, named = schemas_of(_types(rows))
    named |= _words_of_readings()
    named["Error"] = _error()
    near_misses = {"type": "array", "items": _ref(refs, NearMiss)}
    named["NothingCame"] = _error(near_misses=near_misses)
    paths: dict[str, Schema] = {}
    for row in rows:
        shown = _operation(row, refs, named, cast, needs_token=needs_token)
        paths.setdefault(row.path, {})[row.method.lower()] = shown
    used = set(map(_tag, rows))
    bearer = {"type": "http", "scheme": "bearer", "description": _SAID[401]}
    return {
        "openapi": VERSION,
        "info": {
            "title": "Control API of uat-sandbox",
            "version": version,
            "description": _ABOUT,
        },
        "jsonSchemaDialect": DIALECT,
        "servers": [{"url": url}],
        "tags": [
            {"name": tag, "description": about} for tag, about in _TAGS.items() if tag in used
        ],
        # Without a token of its own, the server takes requests from this machine as they come.
        "security": [{"token": []}] if needs_token else [{}, {"token": []}],
        "paths": paths,
        "components": {"schemas": named, "securitySchemes": {"token": bearer}},
    }


def _types(rows: Sequence[ControlRow]) -> list[tuple[Any, Mode]]:
    bodies = (row.body for row in rows)
    answers = [one for row in rows if not row.is_stream for one in (row.answer, row.accepted)]
    read: list[tuple[Any, Mode]] = [
        (body, "validation") for body in bodies if body not in (None, Switches, Readings)
    ]
    shown: list[tuple[Any, Mode]] = [
        (answer, "serialization")
        for answer in (NearMiss, *answers)
        if answer not in (None, SwitchValues, ReadingValues)
    ]
    return [*read, *shown]


Refs = Mapping[tuple[int, Mode], Schema]


def _ref(refs: Refs, answer: Any) -> Schema:
    return refs[id(answer), "serialization"]


def _error(**more: Schema) -> Schema:
    """The body of every refusal; `nearest` is only there where a word was misspelt."""
    shown = record({"error": _TEXT, "message": _TEXT, "details": _TEXT, **more})
    return shown | {"properties": {**shown["properties"], "nearest": _TEXT}}


def _tag(row: ControlRow) -> str:
    return row.name.partition(".")[0]


def _operation(
    row: ControlRow, refs: Refs, named: Schema, cast: Cast, *, needs_token: bool
) -> Schema:
    shown: Schema = {"operationId": row.name, "summary": row.summary, "tags": [_tag(row)]}
    if row.is_open and needs_token:
        shown["security"] = []
    parameters = [*_in_path(row), *_in_query(row, named)]
    if parameters:
        shown["parameters"] = parameters
    if row.is_raw:
        content: Schema = {"schema": {"type": "object"}}
        shown["requestBody"] = {"required": True, "content": {"application/json": content}}
    elif (body := row.body) is not None:
        if body is Switches:
            schema = _switches()
        elif body is Readings:
            schema = _readings(or_null=True)
        else:
            schema = refs[id(body), "validation"]
        content = {"schema": schema, "example": with_ids(row.example, cast)}
        # Where all fields may be left out, so may the body.
        is_needed = bool(named.get(body.__name__, {}).get("required"))
        shown["requestBody"] = {"required": is_needed, "content": {"application/json": content}}
    success = _success(row, refs)
    later: Schema = {}
    if row.accepted is not None:
        content = {JSON: {"schema": _ref(refs, row.accepted)}}
        later = {"202": {"description": "It goes on.", "content": content}}
    refusals = {str(status): _refusal(status) for status in _statuses(row, needs_token)}
    shown["responses"] = {str(row.status): success, **later, **refusals}
    return shown


def _in_path(row: ControlRow) -> Iterator[Schema]:
    for name in _PARAMETER.findall(row.path):
        schema = {"type": "string", "minLength": 1}
        shown: Schema = {"name": name, "in": "path", "required": True, "schema": schema}
        if name == "w":
            shown |= {"description": "The id of a world.", "example": "default"}
        yield shown


def _in_query(row: ControlRow, named: Schema) -> Iterator[Schema]:
    fields, needed = query_of(row.query)
    named.update(needed)
    for name, schema in fields.items():
        yield {"name": name, "in": "query", "schema": schema}


def _success(row: ControlRow, refs: Refs) -> Schema:
    shown: Schema = {"description": "Done."}
    if row.is_stream:
        shown["content"] = {"text/event-stream": {"schema": _TEXT}}
    elif (answer := row.answer) is SwitchValues:
        full = _switches() | {"required": list(SWITCHES)}
        shown["content"] = {row.media_type: {"schema": full}}
    elif answer is ReadingValues:
        full = _readings() | {"required": list(READINGS)}
        shown["content"] = {row.media_type: {"schema": full}}
    elif answer is not None:
        shown["content"] = {row.media_type: {"schema": _ref(refs, answer)}}
    return shown


def _statuses(row: ControlRow, needs_token: bool) -> list[int]:
    """The refusals of the row. Every row refuses unknown parameters."""
    found = {400, *row.refuses}
    if not row.is_open:
        found |= {401, 403} if needs_token else {403}
    if not needs_token:
        found.add(421)
    if "{" in row.path:
        found.add(404)
    if row.body is not None or row.is_raw:
        found.add(413)
    if row.method != "GET":
        found.add(507)
    return sorted(found)


def _refusal(status: int) -> Schema:
    name = "NothingCame" if status == 408 else "Error"
    schema = {"$ref": f"#/components/schemas/{name}"}
    return {"description": _SAID[status], "content": {"application/json": {"schema": schema}}}


def _switches() -> Schema:
    """Switches by name, each with the values that it takes."""
    fields = {switch.name: _switch(switch) for switch in SWITCHES.values()}
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _readings(*, or_null: bool = False) -> Schema:
    """Readings by id, each with the values that it takes."""
    fields: Schema = {
        reading.id: {
            "enum": [*reading.names, None] if or_null else list(reading.names),
            "description": f"{reading.sentence} ({reading.clause})",
        }
        for reading in READINGS.values()
    }
    return {"type": "object", "properties": fields, "additionalProperties": False}


def _words_of_readings() -> Schema:
    """A named list of words for each reading with more than two values."""
    return {
        reading.id.title().replace("_", ""): {"type": "string", "enum": list(reading.names)}
        for reading in READINGS.values()
        if len(reading.names) > 2
    }


def _switch(switch: Switch) -> Schema:
    about = {"description": f"{switch.about} ({switch.source})", "default": switch.default}
    if switch.values:
        return {"enum": list(switch.values), **about}
    return {"type": "number", "minimum": 0, "maximum": switch.number_max, **about}

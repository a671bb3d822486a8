"""The OpenAPI 3.1 document of the control API, generated from its rows.

The example bodies succeed in a fresh demo world, except those that name a resource which must be
created first.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from inspect import get_annotations
from pathlib import Path
from typing import Any, Final, get_args, get_origin

from sandbox.control.readings import ReadingValues
from sandbox.control.rows import JSON, Accepted, ControlRow, Written
from sandbox.control.shapes import NoQuery, Readings, Switches
from sandbox.control.waiting import NearMiss
from sandbox.control.worlds import SwitchValues
from sandbox.domain.readings import READINGS
from sandbox.domain.switches import SWITCHES, Switch
from sandbox.platform.openapi.answers import add_answers
from sandbox.platform.openapi.document import DIALECT, VERSION
from sandbox.platform.openapi.examples import Cast, with_ids
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
    "metrics": "What a server counts and measures of itself, for Prometheus",
    "servers": "The servers that share worlds, where several do",
    "tokens": "Tokens of teams, each of which reaches its own worlds and no other",
    "worlds": "Isolated worlds, each with accounts, keys and a clock of its own",
    "overview": "A world at a glance",
    "agenda": "What falls due in a world",
    "clock": "The time of a world",
    "switches": "Settings that tell a world to do something otherwise",
    "readings": "Sentences of the spec that can be read in several ways",
    "marks": "Moments of a world to return to",
    "snapshot": "A world as one document, to keep and to restore",
    "scenario": "The scenario that runs in a world",
    "scenarios": "The library of scenarios",
    "next": "How the next attempts end",
    "taps": "Payments that wait for a card",
    "payments": "Payments of all accounts, their stories, and what can be done with them",
    "lens": "What a key would be answered, without a request",
    "directory": "Accounts, terminals, locations and keys of a world",
    "machines": "The state machines of the platform",
    "fixtures": "What a world can begin with",
    "find": "Anything by its id",
    "cards": "Test cards",
    "outcomes": "How an attempt can end",
    "triggers": "Amounts that choose an outcome",
    "batches": "Batches, their records, and what the processor answers",
    "schedules": "When batches close by themselves",
    "messages": "Webhooks: what happened, and where it was delivered",
    "endpoints": "Receivers of webhooks",
    "receivers": "Receivers inside the process, with programmed answers",
    "webhooks": "Faults of the next deliveries",
    "verify": "Signatures of webhooks",
    "applications": "Webhook applications of accounts, to which endpoints belong",
    "send": "Requests to the platform, sent by the sandbox itself",
    "requests": "The journal: each request with the reasons for its answer",
    "capture": "All that can be seen of a world, to read elsewhere",
    "report": "The console as a file, for the report of a test run",
    "stream": "What happens in a world, as it happens",
    "coverage": "Which parts of the platform were used",
    "ledger": "The clauses of the spec, and what proves them",
    "openapi": "The OpenAPI documents",
    "tls": "The certificate of a server with --tls",
    "docs": "The page in the browser",
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

EXAMPLES: Final[Mapping[str, Mapping[str, Any]]] = {
    "session.begin": {"token": "the-token-of-your-server"},
    "tokens.create": {"team": "mobile", "name": "CI of the mobile team", "expires_in": "90d"},
    "worlds.create": {"seed": 7, "clock": "2026-03-01T12:00:00Z"},
    "clock.set": {"mode": "frozen"},
    "clock.advance": {"by": "3d"},
    "send": {
        "method": "POST",
        "path": "/v3/payment",
        "key": "merchant",
        "body": {
            "amount": 2500,
            "terminal_id": "{terminals.merchant}",
            "card_reader_data": {"paymentCardData": "tok_visa_credit"},
        },
    },
    "requests.replay": {},
    "requests.export": {"as": "curl"},
    "worlds.change": {"name": "Release 7"},
    "worlds.fork": {"name": "A copy"},
    "receivers.create": {"answers": [500, 500, 200]},
    "marks.add": {"name": "before the refund"},
    "scenarios.check": {"toml": 'name = "mine"\n[[rule]]\nthen = { outcme = "lost_card" }\n'},
    "scenario.prove": {},
    "scenario.play": {"example": 1},
    "webhooks.next.add": {
        "then": {"delay_ms": 1500, "contradict": {"status": "declined"}},
        "when": {"event": "transaction.sale"},
    },
    "verify": {
        "secret": "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ=",
        "headers": {"webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,x"},
        "body": "{}",
    },
    "switches.set": {"batch.settlement": "manual"},
    "readings.set": {"stored_transaction_type": "first"},
    "scenario.run": {"name": "batch_partially_accepted"},
    "next.add": {"outcome": "lost_card", "operation": "sale"},
    "taps.tap": {"card": "tok_visa_credit"},
    "lens.simulate": {
        "key": "merchant_read_only",
        "operation": "accounts.read",
        "target": "merchant",
    },
    "batches.answer": {"answer": "rejected", "reason": "hash_mismatch"},
    "schedules.set": {"times": ["23:30"], "zone": "America/New_York"},
    "messages.send": {"event_type": "transaction.sale"},
    "messages.resend": {},
    "endpoints.create": {
        "url": "http://127.0.0.1:9000/hook",
        "account_id": "{accounts.merchant}",
        "event_types": ["transaction.sale"],
    },
    "endpoints.change": {"disabled": True},
    "endpoints.rotate": {"grace_s": 3600},
    "endpoints.recover": {"since": "2026-03-01T12:00:00Z"},
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
            {"name": tag, "description": _TAGS[tag]} for tag in dict.fromkeys(map(_tag, rows))
        ],
        # Without a token of its own, the server takes requests from this machine as they come.
        "security": [{"token": []}] if needs_token else [{}, {"token": []}],
        "paths": paths,
        "components": {"schemas": named, "securitySchemes": {"token": bearer}},
    }


def _types(rows: Sequence[ControlRow]) -> list[tuple[Any, Mode]]:
    read: list[tuple[Any, Mode]] = [
        (body, "validation")
        for row in rows
        if (body := _body(row)) not in (None, Switches, Readings)
    ]
    shown: list[tuple[Any, Mode]] = [
        (answer, "serialization")
        for answer in (NearMiss, *map(_answer, rows), *map(_accepted, rows))
        if answer not in (None, SwitchValues, ReadingValues)
    ]
    return [*read, *shown]


def _body(row: ControlRow) -> Any:
    return None if row.body is None else row.body()


def _answer(row: ControlRow) -> Any:
    """The class of the answer, which is what the function returns; None without one."""
    if row.is_stream:
        return None
    returned = get_annotations(row.run, eval_str=True)["return"]
    if _accepted(row) is not None:
        returned = get_args(returned)[0]
    origin: Any = get_origin(returned)
    return get_args(returned)[0] if origin is Written else returned


def _accepted(row: ControlRow) -> Any:
    """The class of the answer with 202, for a function that may go on after it; or None."""
    returned = get_annotations(row.run, eval_str=True)["return"]
    found = (one for one in get_args(returned) if get_origin(one) is Accepted)
    return next((get_args(one)[0] for one in found), None)


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
    elif (body := _body(row)) is not None:
        if body is Switches:
            schema = _switches()
        elif body is Readings:
            schema = _readings(or_null=True)
        else:
            schema = refs[id(body), "validation"]
        content = {"schema": schema, "example": with_ids(EXAMPLES[row.name], cast)}
        # Where all fields may be left out, so may the body.
        is_needed = bool(named.get(body.__name__, {}).get("required"))
        shown["requestBody"] = {"required": is_needed, "content": {"application/json": content}}
    success = _success(row, refs)
    later: Schema = {}
    if (accepted := _accepted(row)) is not None:
        content = {JSON: {"schema": _ref(refs, accepted)}}
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
    fields, needed = query_of(row.query() if row.query is not None else NoQuery)
    named.update(needed)
    for name, schema in fields.items():
        yield {"name": name, "in": "query", "schema": schema}


def _success(row: ControlRow, refs: Refs) -> Schema:
    shown: Schema = {"description": "Done."}
    if row.is_stream:
        shown["content"] = {"text/event-stream": {"schema": _TEXT}}
    elif (answer := _answer(row)) is SwitchValues:
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

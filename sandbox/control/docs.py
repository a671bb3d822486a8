"""The OpenAPI documents of both surfaces.

The document of the control API is generated from its rows. The example bodies succeed in a fresh
demo world, except those that name a resource which must be created first.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, Final

from pydantic_core import from_json, to_json

from sandbox import library
from sandbox.control.context import ControlRequest, not_found
from sandbox.control.messages import NearMiss
from sandbox.control.models import Document, Query
from sandbox.control.routing import PREFIX, ControlRow, Written, get
from sandbox.domain.profile import KeyPrefixes
from sandbox.domain.readings import READINGS
from sandbox.platform.openapi import document as platform
from sandbox.platform.openapi.examples import Cast
from sandbox.platform.openapi.schemas import Mode, Schema
from sandbox.platform.openapi.writer import JSON, TEXT, Writer, body_of, in_path, in_query
from sandbox.worlds.background import run_in_thread


class ControlDocumentQuery(Query):
    """Which document of the control API: for client generators, or `strict` for fuzzing."""

    strict: bool = False


class PlatformDocumentQuery(ControlDocumentQuery):
    """Which document of the platform; a `pure` one leaves out what only the sandbox adds."""

    pure: bool = False


@get(f"{PREFIX}/platform/openapi.json", "openapi.platform", is_open=True)
async def read_platform_document(
    request: ControlRequest, query: PlatformDocumentQuery
) -> Written[Document]:
    """Return the platform as an OpenAPI document."""
    profile = request.services.worlds.profile
    # It is relative because a proxy may add a prefix that the request does not show.
    url = "../.." if request.services.platform_url == "/" else request.platform_url
    more = {"url": url, "sample": library.sample, **vars(query)}
    return await _write(request, platform.document, profile, **more)


@get(f"{PREFIX}/openapi.json", "openapi.control", is_open=True)
async def read_control_document(
    request: ControlRequest, query: ControlDocumentQuery
) -> Written[Document]:
    """Return the control API as an OpenAPI document."""
    rows, is_needed = request.services.endpoints, request.services.tokens.are_needed
    prefix = request.services.worlds.profile.key_prefixes.uat
    more = {"url": "..", "needs_token": is_needed, "key_prefix": prefix, **vars(query)}
    return await _write(request, document, rows, **more)


async def _write(
    request: ControlRequest, document: Callable[..., Document], about: Any, **more: Any
) -> Written[Document]:
    """Return a document whose examples name the ids of the world `default`."""
    cast, version = request.services.worlds.default.cast, request.services.version
    ids = to_json({f"{kind}s": cast.ids_of(kind) for kind in ("account", "terminal", "location")})
    return await run_in_thread(partial(_render, document, about, ids, version=version, **more))


@lru_cache(maxsize=8)
def _render(
    document: Callable[..., Document], about: Any, cast: bytes, **more: Any
) -> Written[Document]:
    """Return the document, cached by its arguments."""
    return Written(to_json(document(about, cast=from_json(cast), **more)))


@get(
    f"{PREFIX}/ca.pem", "tls.ca", is_open=True, media_type="application/x-pem-file", refuses=(404,)
)
def read_ca(request: ControlRequest) -> Written[str]:
    """Return the certificate of the server's own authority, with --tls."""
    if request.services.ca is None:
        raise not_found("this server has no certificate authority of its own; start it with --tls")
    return Written(request.services.ca)


_ABOUT: Final = (
    "The control API of uat-sandbox: worlds, clocks, scenarios, webhooks, the journal. "
    "It imitates nothing and explains everything. Unknown fields and parameters are refused."
)
ANSWERS: Final = Path(__file__).parent / "answers.json"
"""The recorded answers of a demo world, by row."""

_TAGS: Final = {
    "health": "The health of the server",
    "servers": "The servers that share worlds, if there are several",
    "tokens": "Tokens of teams, each of which reaches only the worlds of its team",
    "worlds": "Isolated worlds, each with its own accounts, keys and clock",
    "snapshot": "A world as one document, to keep and to restore",
    "clock": "The time of a world",
    "maintenance": "A time during which the platform refuses every request",
    "switches": "Settings that change how a world behaves",
    "readings": "Sentences of the spec that can be read in several ways",
    "scenarios": "The library of scenarios",
    "scenario": "The running scenario of a world",
    "next": "Outcomes and faults of the next requests",
    "taps": "Payments that wait for a card",
    "batches": "Batches, their records, and what the processor answers",
    "schedules": "When batches close by themselves",
    "outcomes": "How an attempt can end",
    "cards": "Test cards",
    "triggers": "Amounts that choose an outcome",
    "overview": "A world at a glance",
    "payments": "Payments of all accounts, their stories, and what can be done with them",
    "lens": "The answer that a key would get, without a request",
    "directory": "Accounts, terminals, locations and keys of a world",
    "machines": "The state machines of the platform",
    "fixtures": "What a world can begin with",
    "find": "Anything by its id",
    "messages": "Events, and the deliveries of their webhooks",
    "applications": "Webhook applications of accounts, to which endpoints belong",
    "endpoints": "Receivers of webhooks",
    "receivers": "Receivers inside the process, with programmed answers",
    "metrics": "The metrics of a server, for Prometheus",
    "requests": "The journal: each request with the reasons for its answer",
    "capture": "Everything visible in a world, to read elsewhere",
    "report": "The console as a file, for the report of a test run",
    "stream": "What happens in a world, as it happens",
    "coverage": "Which parts of the platform were used",
    "ledger": "The clauses of the spec, and what proves them",
    "openapi": "The OpenAPI documents",
    "tls": "The certificate of a server with --tls",
    "send": "Requests to the platform, sent by the sandbox itself",
    "agenda": "What falls due in a world",
    "verify": "Signatures of webhooks",
    "marks": "Earlier states of a world to return to",
    "webhooks": "Faults of the next deliveries",
    "session": "Signing in with a browser",
}
_SAID: Final = {
    400: "The body or the query has a mistake; `nearest` is the known word for a misspelt one.",
    401: "This server asks for its bearer token, which you gave it or it printed at its start.",
    403: "A browser sent this for a page of another origin.",
    404: "There is no such world, or it has nothing with this id.",
    408: "No message matched in time; `near_misses` came close, newest first.",
    409: "The request conflicts with the present state.",
    413: "The body is larger than 1 MiB, or a snapshot larger than 256 MiB.",
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
    key_prefix: str = KeyPrefixes.uat,
    strict: bool = False,
) -> dict[str, Any]:
    """Return the document of the rows for programs; `cast` has the ids for the examples.

    The `strict` form has every rule that schemas can express, for fuzzing.
    """
    rows = [row for row in rows if row.is_for_programs]
    writer = Writer(
        _types(rows), cast=cast, answers=ANSWERS, key_prefix=key_prefix, is_strict=strict
    )
    # Only a misspelt word has a `nearest`.
    fields: Schema = {"error": TEXT, "message": TEXT, "details": TEXT}
    misses = {"near_misses": {"type": "array", "items": writer.describe(NearMiss)}}
    for reading in READINGS.values():
        if len(reading.names) > 2:
            words: Schema = {"type": "string", "enum": list(reading.names)}
            writer.schemas[reading.id.title().replace("_", "")] = words
    writer.schemas |= {
        "Error": writer.record(fields, nearest=TEXT),
        "NothingCame": writer.record(fields | misses, nearest=TEXT),
    }
    for row in rows:
        _add_operation(writer, row, needs_token=needs_token)
    return writer.document(
        info={"title": "Control API of uat-sandbox", "version": version, "description": _ABOUT},
        url=url,
        tags=_TAGS,
        scheme=("token", {"type": "http", "scheme": "bearer", "description": _SAID[401]}),
        # A server without a token accepts all requests from this machine.
        is_open=not needs_token,
        **{"x-cast": cast},
    )


def _types(rows: Sequence[ControlRow]) -> Iterator[tuple[Any, Mode]]:
    yield NearMiss, "serialization"
    for row in rows:
        answers = () if row.is_stream else (row.answer, row.accepted)
        yield from ((one, "serialization") for one in answers if one is not None)
        if row.body is not None:
            yield row.body, "validation"


def _add_operation(writer: Writer, row: ControlRow, *, needs_token: bool) -> None:
    body = None
    if row.is_raw:
        body = body_of({"type": "object"})
    elif row.body is not None:
        # If all fields are optional, so is the body.
        is_required = bool(writer.schemas[row.body.__name__].get("required"))
        example = writer.fill(row.body.EXAMPLE)
        body = body_of(writer.read(row.body), example, is_required=is_required)
    writer.add(
        row,
        [
            *(one | (_WORLD if one["name"] == "w" else {}) for one in in_path(row.path)),
            *in_query(writer.query_fields(row.query)),
        ],
        body,
        {**_successes(writer, row), **dict(_refusals(row, needs_token=needs_token))},
        **({"security": []} if row.is_open and needs_token else {}),
    )


_WORLD: Final = {"description": "The id of a world.", "example": "default"}


def _successes(writer: Writer, row: ControlRow) -> Schema:
    shown: Schema = {"description": "Done."}
    if row.is_stream:
        # A fuzzer would apply the schema to single events, whose fields differ by kind.
        shown["content"] = {"text/event-stream": {"schema": {} if writer.is_strict else TEXT}}
    elif row.answer is not None:
        shown["content"] = writer.success(row.name, writer.describe(row.answer), row.media_type)
    found = {str(row.status): shown}
    if row.accepted is not None:
        content = {JSON: {"schema": writer.describe(row.accepted)}}
        found["202"] = {"description": "The work continues after the answer.", "content": content}
    return found


def _refusals(row: ControlRow, *, needs_token: bool) -> Iterator[tuple[str, Schema]]:
    """Yield the refusals of the row. Every row refuses unknown parameters."""
    found = {
        **{400: True, 401: needs_token and not row.is_open, 403: not row.is_open},
        **{404: "{" in row.path, 413: row.body is not None or row.is_raw},
        **{421: not needs_token, 507: row.method != "GET"},
        **dict.fromkeys(row.refuses, True),
    }
    for status in sorted(status for status, refuses in found.items() if refuses):
        schema = {"$ref": f"#/components/schemas/{'NothingCame' if status == 408 else 'Error'}"}
        yield str(status), {"description": _SAID[status], "content": {JSON: {"schema": schema}}}

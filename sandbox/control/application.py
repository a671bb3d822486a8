"""The control API as an ASGI application."""

import logging
import secrets
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from typing import Any, Final

from pydantic import BaseModel
from pydantic_core import ValidationError, to_json
from starlette.types import Receive, Scope, Send

from sandbox.control import identity
from sandbox.control.context import ControlFault, ControlRequest, Services, invalid, not_found
from sandbox.control.identity import Sessions, TooManyTokens
from sandbox.control.models import Query
from sandbox.control.routing import JSON, PREFIX, SNAPSHOT_BYTES_MAX, Accepted, ControlRow, Written
from sandbox.control.servers import forward, unavailable
from sandbox.control.sessions import GIVEN_OR_PRINTED
from sandbox.domain.faults import UNAVAILABLE, Refusal
from sandbox.domain.keys import KeyFormat
from sandbox.domain.readings import UnknownReading
from sandbox.domain.secrets import CARD_NUMBER, find_misplaced
from sandbox.domain.switches import UnknownSwitch
from sandbox.domain.text import UnknownWord, nearest
from sandbox.platform import wire
from sandbox.platform.responses import send_whole
from sandbox.platform.routing import Match, is_written_below, match_of, path_of
from sandbox.platform.security import HEADERS_OF, AnswerKind, RareLog, why_foreign
from sandbox.scenarios.parser import ScenarioError
from sandbox.scenarios.queue import QueueFull, WebhookFaultsFull
from sandbox.store.files.port import StoreError, Unavailable
from sandbox.worlds.background import run_in_thread
from sandbox.worlds.due_timers import catch_up
from sandbox.worlds.elsewhere import WorldLost
from sandbox.worlds.spec import OPERATOR, Protected, TooManyWorlds, WorldTaken

TEXT_CHARS_MAX: Final = 4_096
"""Length limit of an error message, because it repeats words of the request."""

_READ_AT_ONCE_MAX: Final = 65_536
"""A larger body is read in a thread: a hostile one takes a second."""

_MISTAKES_MAX: Final = 1_000
"""More mistakes of a body are counted and not listed, which would hold up other requests."""

log = logging.getLogger("sandbox.control")

_REFUSED: Final[dict[type[Exception], tuple[int, str, str, str]]] = {
    UnknownSwitch: (400, "unknown_switch", "switches: ", ""),
    UnknownReading: (400, "unknown_reading", "readings: ", ""),
    UnknownWord: (400, "validation_error", "", ""),
    ScenarioError: (400, "validation_error", "scenario: ", ""),
    wire.BadInput: (400, "validation_error", "", ""),
    WorldTaken: (409, "world_taken", "", ""),
    TooManyWorlds: (409, "too_many_worlds", "", ""),
    TooManyTokens: (409, "too_many_tokens", "", ""),
    Protected: (409, "protected", "", ""),
    QueueFull: (409, "queue_full", "", "DELETE .../scenario/next forgets them"),
    WebhookFaultsFull: (409, "queue_full", "", "DELETE .../webhooks/next forgets them"),
}
"""The errors of other packages: status, code, prefix of the message, and details."""


class Control:
    """Answers every request under `/_sandbox`.

    If there are `tokens`, all rows but open ones need one as a bearer token (assumed D25). Pages of
    other origins are always refused (assumed D25-origins).
    """

    def __init__(self, services: Services) -> None:
        self._services, worlds = services, services.worlds
        ticks, secret = worlds.ticks, secrets.token_bytes()
        if services.elsewhere is not None:
            ticks, secret = worlds.system_clock, worlds.secret
        self._sessions = Sessions(services.tokens, ticks, secret)
        self._rare_log = RareLog(log)

    async def respond(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whether or not its path leads to an endpoint."""
        name, answering = "none", None
        body: bytes | bytearray | None = None

        async def read() -> bytes | bytearray:
            """Return the body, which can be received only once."""
            nonlocal body
            if body is None:
                body = await self._read(row, scope, receive)
            return body

        try:
            row, request = self._route(scope)
            name, headers = row.name, request.answer_headers
            if await forward(request, row, read, (scope, receive, send)):
                return
            # A body is read only for an endpoint and a world that exist (assumed D25-bodies).
            request.find_world()
            status, shown = row.status, await self._carry_out(row, request, receive, await read())
            if isinstance(shown, Accepted):
                status, shown = 202, shown.content
            answering = row
        except wire.ClientGone:
            return
        except Exception as error:
            fault = self._fault_of(error)
            status, shown, headers = fault.status, self._error(fault), fault.headers
        self._services.worlds.measured.control_requests.labels(name, status).inc()
        if answering is not None and answering.is_stream:
            await shown.deliver(scope, receive, send)
        else:
            await _send(send, status, shown, headers, answering)

    def _fault_of(self, error: Exception) -> ControlFault:
        """Return the refusal of a request that ended with this error."""
        if isinstance(error, ControlFault):
            return error
        if isinstance(error, WorldLost | Unavailable):
            # Another server may have the world.
            return unavailable(error)
        for kind, (status, code, place, details) in _REFUSED.items():
            if isinstance(error, kind):
                near = getattr(error, "nearest", None)
                return ControlFault(status, code, f"{place}{error}", details=details, nearest=near)
        if isinstance(error, StoreError):
            log.error("%s", error)
            why = "a part of the state file cannot be read"
            return ControlFault(500, "not_read", why, details=str(error))
        log.error("a control request failed: a defect of the sandbox", exc_info=error)
        return ControlFault(500, "internal_error", "The sandbox failed; its log says why.")

    def _error(self, fault: ControlFault) -> dict[str, Any]:
        """Return the body of a refusal, with secrets masked (assumed D5) and long texts cut."""
        scrub = self._services.worlds.profile.scrub_start
        message, details = (scrub(one, TEXT_CHARS_MAX) for one in (fault.message, fault.details))
        near = {} if fault.nearest is None else {"nearest": fault.nearest}
        return {"error": fault.error, "message": message, "details": details, **near, **fault.more}

    async def refuse(self, scope: Scope, send: Send, refusal: Refusal) -> None:
        """Answer a request that is refused before it is routed."""
        fault = ControlFault(refusal.fault.status, refusal.fault.code, refusal.reason)
        headers = {"retry-after": "1"} if refusal.fault is UNAVAILABLE else {}
        await _send(send, fault.status, self._error(fault), headers)

    def _route(self, scope: Scope) -> tuple[ControlRow, ControlRequest]:
        """Return the row, and the request with its sender. Raises ControlFault."""
        match: Match[ControlRow] | None = match_of(scope)
        if not is_written_below(scope, PREFIX):
            # A proxy that blocks this path must block every spelling of it.
            match = None
        who = self._who(scope)
        # Authentication comes before any information about what exists.
        if match is None or match.row is None or not match.row.is_open:
            self._check_origin(scope)
            if who is None:
                why = "this server's control API needs its bearer token"
                more: Any = {"details": GIVEN_OR_PRINTED, "headers": {"www-authenticate": "Bearer"}}
                raise ControlFault(401, "unauthorized", why, **more)
        elif match.row.method != "GET":
            self._check_origin(scope)
        if match is None:
            raise not_found(f"no control endpoint has the path {path_of(scope)}")
        if match.row is None:
            served = ", ".join(row.method for row in match.others)
            why, headers = f"this path serves {served}", {"allow": served}
            raise ControlFault(405, "method_not_allowed", why, headers=headers)
        if match.row.is_for_operator and (who is None or who.team != OPERATOR):
            why = "this needs the server operator's token; yours is a team's"
            raise ControlFault(403, "operator_only", why)
        services, sessions, who = self._services, self._sessions, who or identity.ANONYMOUS
        return match.row, ControlRequest(services, match.params, scope, sessions, who)

    def _check_origin(self, scope: Scope) -> None:
        if (why := why_foreign(scope)) is not None:
            self._rare_log.warn("origin", f"a control request was refused (403): {why}")
            raise ControlFault(403, "foreign_origin", why)

    def _who(self, scope: Scope) -> identity.Identity | None:
        """Return who sent the request, by token or session; None if unknown.

        The case of the scheme does not matter (RFC 9110, 11.1; assumed D25-token).
        """
        if (who := self._sessions.who(scope)) is not None:
            return who
        scheme = token = b""
        with suppress(wire.BadInput):
            sent = wire.header(scope["headers"], b"authorization") or b""
            scheme, _, token = sent.partition(b" ")
        if scheme.lower() == b"bearer":
            return self._services.tokens.who(token.lstrip(b" "))
        return None if self._services.tokens.are_needed else identity.THE_OPERATOR

    async def _read(self, row: ControlRow, scope: Scope, receive: Receive) -> bytes | bytearray:
        """Return the body, if the endpoint takes one. A body announced as too large is not read."""
        if row.body is None and not row.is_raw:
            return b""
        bytes_max = SNAPSHOT_BYTES_MAX if row.is_raw else wire.CONTROL_BYTES_MAX
        length = dict(scope["headers"]).get(b"content-length", b"0")
        is_possible = not length.isdigit() or int(length) <= bytes_max
        body = await wire.read_body(receive, bytes_max=bytes_max) if is_possible else None
        if body is None:
            why = f"the body is larger than {bytes_max // 1_048_576} MiB"
            raise ControlFault(413, "body_too_large", why)
        return body

    async def _carry_out(
        self, row: ControlRow, request: ControlRequest, receive: Receive, body: bytes | bytearray
    ) -> Any:
        worlds = self._services.worlds
        request.find_world()
        if request.found_world is not None:
            worlds.touch(request.found_world)
            # Without an event loop, or if a test moved the clock, timers may not have fired yet.
            await catch_up(request.found_world)
        query = _check(row.query, _read_query(request.scope["query_string"]))
        given = {} if row.query is Query else {"query": query}
        if row.is_raw:
            given["body"] = body
        elif row.body is not None:
            read = partial(_read_body, row.body, bytes(body), worlds.profile.key_format)
            given["body"] = read() if len(body) <= _READ_AT_ONCE_MAX else await run_in_thread(read)
            # A thread leaves time for the deletion of the world.
            request.find_world()
        shown = row.run(request, **given)
        if isawaitable(shown):
            shown = await (wire.unless_gone(shown, receive) if row.is_ended_by_client else shown)
        try:
            if worlds.saver is not None:
                found = request.found_world
                # The world may have been replaced under the same id.
                await worlds.saver.saved(found and (worlds.get(found.id) or found))
        except StoreError as error:
            if isinstance(error, Unavailable):
                raise
            # Reads still work.
            if row.method != "GET":
                why = "the state file cannot be written"
                raise ControlFault(507, "not_written", why, details=str(error)) from None
        return shown


def _read_body(shape: type[BaseModel], body: bytes, key_format: KeyFormat) -> Any:
    """Return the body in this shape. It may be omitted if all of its fields are optional.

    Raises ControlFault, also for a key or a card number, which no field accepts. Source: assumed
    6.4-everywhere.
    """
    sent = wire.parse_object(body or b"{}")
    checked = _check(shape, sent)
    if (found := find_misplaced(sent, key_format)) is not None:
        details = "a test card is named by its token" if found.secret is CARD_NUMBER else ""
        raise ControlFault(400, "validation_error", str(found), details=details)
    return checked


def _read_query(text: bytes) -> dict[str, str]:
    sent = wire.parse_query(text)
    for repeated in (name for name, values in sent.items() if len(values) > 1):
        raise invalid(f"{repeated}: must be given once")
    return {name: values[0] for name, values in sent.items()}


def _check(shape: type[BaseModel], sent: dict[str, Any]) -> Any:
    try:
        return shape.model_validate(sent)
    except ValidationError as error:
        raise _refusal(error, shape) from None


def _refusal(error: ValidationError, shape: type[BaseModel]) -> ControlFault:
    """Return the mistakes, and for an unknown field the known one that it resembles."""
    if (count := error.error_count()) > _MISTAKES_MAX:
        return invalid(f"the body has {count:,} mistakes")
    mistakes = error.errors(include_url=False)
    unknown = next((one for one in mistakes if one["type"] == "extra_forbidden"), None)
    if unknown is None:
        return invalid(wire.mistakes(error))
    schema = shape.model_json_schema()
    parts = (schema, *schema.get("$defs", {}).values())
    known = [name for part in parts for name in part.get("properties", ())]
    return invalid(wire.mistakes(error), nearest(str(unknown["loc"][-1]), known))


async def _send(
    send: Send, status: int, shown: Any, headers: Mapping[str, str], row: ControlRow | None = None
) -> None:
    """Send an answer of the row, or a refusal."""
    if not isinstance(shown, Written):
        shown = Written(b"" if status == 204 else to_json(shown))
    if shown.body:
        media_type = shown.media_type or (row.media_type if row else JSON)
        length = str(wire.size_of(shown.body))
        headers = {**headers, "content-type": media_type, "content-length": length}
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    kind = row.kind if row else AnswerKind.CONTROL
    await send_whole(send, status, [*raw, *HEADERS_OF[kind]], shown.body)

"""The control surface as an ASGI application."""

import logging
from collections.abc import Callable
from functools import cache
from hmac import compare_digest
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, get_args

from pydantic_core import ValidationError, to_json
from starlette.types import Receive, Scope, Send

from sandbox.api import wire
from sandbox.api.router import Router
from sandbox.control.routes import CONTROL
from sandbox.control.rows import (
    JSON,
    SNAPSHOT_BYTES_MAX,
    Ask,
    Content,
    ControlFault,
    ControlRow,
    Services,
    shape,
    unknown_world,
)
from sandbox.domain.words import nearest
from sandbox.store.files import StoreError
from sandbox.world.agenda import catch_up
from sandbox.world.world import World

if TYPE_CHECKING:
    from pydantic import BaseModel

log = logging.getLogger("sandbox.control")


@cache
def _router() -> Router[ControlRow]:
    return Router(CONTROL)


class Control:
    """Answers every request under `/_sandbox`.

    With a `token`, all but open rows need it as a bearer token (assumed D25).
    """

    def __init__(self, services: Services, *, token: str | None) -> None:
        self._services = services
        self._router = _router()
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request. Only HTTP is spoken here."""
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1000})
            return
        headers: dict[str, str] = {}
        is_stream, media_type = False, JSON
        try:
            row, params = self._route(scope)
            # A body is read only for an endpoint and a world that exist.
            self._world(params)
            body = await _read(row, scope, receive)
            status, shown = row.status, await self._carry_out(row, params, scope, body)
            is_stream, media_type = row.is_stream, row.media_type
        except wire.ClientGone:
            return
        except ControlFault as fault:
            # What is said of a misspelt word must not repeat a key (assumed D5).
            scrub = self._services.worlds.profile.scrub
            status, shown, headers = fault.status, _error(fault, scrub), fault.headers
        except StoreError as error:
            if self._services.worlds.saver is not None:
                self._services.worlds.saver.note_unread(error)
            damaged = ControlFault(
                500, "not_read", "a part of the state file cannot be read", details=str(error)
            )
            status, shown = damaged.status, _error(damaged, str)
        except Exception:
            log.exception("a control request failed: a defect of the sandbox")
            failed = ControlFault(500, "internal_error", "The sandbox failed; its log says why.")
            status, shown = failed.status, _error(failed, str)
        if is_stream:
            await shown.deliver(scope, receive, send)
        else:
            await _send(send, status, shown, headers, media_type)

    def _route(self, scope: Scope) -> tuple[ControlRow, dict[str, str]]:
        match = self._router.match(scope["method"], scope["path"])
        # The token is asked for before anything is said about what there is.
        if match is None or match.row is None or not match.row.is_open:
            self._check_token(scope)
        if match is None:
            raise ControlFault(
                404, "not_found", f"no control endpoint has the path {scope['path']}"
            )
        if match.row is None:
            served = ", ".join(row.method for row in match.others)
            raise ControlFault(
                405,
                "method_not_allowed",
                f"this path serves {served}",
                headers={"allow": served},
            )
        return match.row, match.params

    def _check_token(self, scope: Scope) -> None:
        if self._token is None:
            return
        try:
            sent = wire.header(scope["headers"], b"authorization") or b""
        except wire.BadInput:
            sent = b""
        if not compare_digest(sent, b"Bearer " + self._token.encode()):
            raise ControlFault(
                401,
                "unauthorized",
                "this server's control surface needs its bearer token",
                details="it is printed when the server starts",
                headers={"www-authenticate": "Bearer"},
            )

    def _world(self, params: dict[str, str]) -> World | None:
        """The world that the path names, if it names one."""
        if "w" not in params:
            return None
        found = self._services.worlds.get(params["w"])
        if found is None:
            raise unknown_world(self._services.worlds, params["w"])
        return found

    async def _carry_out(
        self, row: ControlRow, params: dict[str, str], scope: Scope, body: bytes | bytearray
    ) -> Any:
        ask = Ask(services=self._services, params=params)
        ask.found = self._world(params)
        if ask.found is not None:
            self._services.worlds.touch(ask.found)
            # Without an event loop, or under a clock that a test moves, no alarm has rung.
            await catch_up(ask.found, self._services.worlds.slices)
        if row.query != "NoQuery" or scope["query_string"]:
            ask.query = _query(shape(row.query), scope)
        if row.is_raw:
            ask.body = body
        elif row.body is not None:
            ask.body = _body(shape(row.body), bytes(body))
        shown = row.run(ask)
        shown = await shown if isawaitable(shown) else shown
        if (saver := self._services.worlds.saver) is not None:
            if row.method != "GET" and ask.found is not None:
                # It may have changed what is no record: a switch, the clock, the queue.
                ask.found.note_change()
            try:
                await saver.saved()
            except StoreError as error:
                # Reading goes on.
                if row.method != "GET":
                    raise _not_written(error) from None
        return shown


def _not_written(error: StoreError) -> ControlFault:
    return ControlFault(507, "not_written", "the state file cannot be written", details=str(error))


def _query(shape: "type[BaseModel]", scope: Scope) -> "BaseModel":
    try:
        sent = wire.parse_query(scope["query_string"])
    except wire.BadInput as error:
        raise ControlFault(400, "validation_error", str(error)) from None
    repeated = next((name for name, values in sent.items() if len(values) > 1), None)
    if repeated is not None:
        raise ControlFault(400, "validation_error", f"{repeated}: must be given once")
    try:
        return shape.model_validate({name: values[0] for name, values in sent.items()})
    except ValidationError as error:
        raise _invalid(error, shape) from None


async def _read(row: ControlRow, scope: Scope, receive: Receive) -> bytes | bytearray:
    """The body, where the endpoint takes one. Of one that says it is too large nothing is read."""
    if row.body is None and not row.is_raw:
        return b""
    bytes_max = SNAPSHOT_BYTES_MAX if row.is_raw else wire.BODY_BYTES_MAX
    said = dict(scope["headers"]).get(b"content-length", b"0")
    is_read = not said.isdigit() or int(said) <= bytes_max
    read = wire.read_long_body if row.is_raw else wire.read_body
    body = await read(receive, bytes_max=bytes_max) if is_read else None
    if body is None:
        raise ControlFault(
            413, "body_too_large", f"the body is larger than {bytes_max // 1_048_576} MiB"
        )
    return body


def _body(shape: "type[BaseModel]", body: bytes) -> Any:
    try:
        # An endpoint whose fields are all optional can be asked without a body.
        wire.parse_object(body or b"{}")
        checked = shape.model_validate_json(body or b"{}")
    except wire.BadInput as error:
        raise ControlFault(400, "validation_error", str(error)) from None
    except ValidationError as error:
        raise _invalid(error, shape) from None
    return getattr(checked, "root", checked)


def _invalid(error: ValidationError, shape: "type[BaseModel]") -> ControlFault:
    """What is wrong, and for an unknown field the known one that it resembles."""
    first = error.errors(include_url=False, include_context=False)[0]
    unknown = first["type"] == "extra_forbidden"
    return ControlFault(
        400,
        "validation_error",
        wire.mistakes(error),
        nearest=_meant(shape, first["loc"]) if unknown else None,
    )


def _meant(shape: "type[BaseModel]", loc: tuple[int | str, ...]) -> str | None:
    """The field that an unknown one resembles, in the shape where it stands."""
    from pydantic import BaseModel

    *path, unknown = map(str, loc)
    for part in path:
        inner = shape.model_fields[part].annotation
        shapes = [one for one in (inner, *get_args(inner)) if isinstance(one, type)]
        shape = next(one for one in shapes if issubclass(one, BaseModel))
    return nearest(unknown, shape.model_fields)


def _error(fault: ControlFault, scrub: Callable[[str], str]) -> dict[str, Any]:
    body = {
        "error": fault.error,
        "message": scrub(fault.message),
        "details": scrub(fault.details),
    }
    if fault.nearest is not None:
        body["nearest"] = fault.nearest
    return body | fault.more


async def _send(
    send: Send, status: int, shown: Any, headers: dict[str, str], media_type: str
) -> None:
    if not isinstance(shown, Content):
        is_written = isinstance(shown, bytes | list)
        shown = Content(b"" if status == 204 else shown if is_written else to_json(shown))
    raw = [(name.encode(), value.encode()) for name, value in {**headers, **shown.headers}.items()]
    if body := shown.body:
        length = b"%d" % wire.size_of(body)
        raw += [(b"content-type", media_type.encode()), (b"content-length", length)]
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await wire.send_body(send, body)

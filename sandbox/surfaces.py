"""The platform and the control API behind one ASGI application."""

import logging
from asyncio import CancelledError, create_task
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from pydantic_core import to_json
from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.control.control import Control
from sandbox.control.rows import PREFIX, ControlFault
from sandbox.control.welcome import WELCOME_PATHS, is_welcome, send_welcome
from sandbox.domain.faults import MISDIRECTED, UNAVAILABLE, Refusal
from sandbox.platform.application import Platform
from sandbox.platform.hosts import Hosts, why_refused
from sandbox.platform.rare_log import RareLog
from sandbox.platform.request_context import IncomingRequest
from sandbox.platform.sending import ABORT, Way

requests_log = logging.getLogger("sandbox.requests")

_CONTROL_PATHS: Final = PREFIX + "/"

_STOPPING: Final = "The server is being stopped; the request was not carried out to its end."


class Surfaces:
    """The platform and the control API of one server. Both answer every request, also bad ones.

    On one port the path's prefix decides; with a `control_port` the port of the request does. With
    `hosts` a request for another host reaches neither.
    """

    def __init__(
        self,
        *,
        platform: Platform,
        control: Control,
        control_port: int | None,
        hosts: Hosts | None,
        version: str,
        beside: Callable[[], Coroutine[Any, Any, None]],
        on_begin: Callable[[], Awaitable[None] | None],
        on_end: Sequence[Callable[[], Awaitable[None]]],
    ) -> None:
        self._platform = platform
        self.turns = platform.turns
        self._control = control
        self._control_port = control_port
        self._hosts = hosts
        self._version = version
        self._rare_log = RareLog(requests_log)

        self._beside = beside
        self._on_begin, self._on_end = on_begin, on_end

    @asynccontextmanager
    async def lifespan(self, _: object = None) -> AsyncIterator[None]:
        """Continue the work of an earlier run; at the end write the remaining changes."""
        if (beginning := self._on_begin()) is not None:
            await beginning
        watching = create_task(self._beside())
        yield
        watching.cancel()
        for end in self._on_end:
            await end()

    def mounted(self, prefix: str) -> ASGIApp:
        """Both APIs for a Mount at the prefix, which may be below another Mount."""

        async def answer(scope: Scope, receive: Receive, send: Send) -> None:
            root = scope.get("root_path", "").removesuffix(prefix)
            path = scope["path"].removeprefix(root)
            await self({**scope, "path": path, "root_path": root}, receive, send)

        return answer

    def is_for_control(self, scope: Scope) -> bool:
        """Whether the control API answers this request."""
        if self._control_port is None:
            return bool(scope["path"].startswith(_CONTROL_PATHS))
        server = scope.get("server")
        return server is not None and server[1] == self._control_port

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request to the platform or the control API."""
        try:
            if scope["type"] == "lifespan":
                # A served sandbox never gets here, and starts sooner without this import.
                from starlette.routing import Router

                await Router(lifespan=self.lifespan)(scope, receive, send)
            elif self._hosts is not None and (host := self._hosts.refuses(scope)) is not None:
                await self._refuse(scope, send, host)
            elif scope["path"] in WELCOME_PATHS and is_welcome(scope):
                await self._welcome(scope, send)
            elif self.is_for_control(scope):
                await self._control(scope, receive, send)
            else:
                await self._platform(scope, receive, send)
        except CancelledError:
            # A server cancels a request for one reason. Elsewhere it may have others.
            if ABORT not in scope:
                raise
            await self._say_stopping(scope, receive, send)

    # --- requests that came whole (decision 63)

    def takes(self, path: str, host: bytes, port: int | None) -> bool:
        """Whether this is a request for the platform, from a host that was seen before."""
        if self._control_port is None:
            is_for_control = path.startswith(_CONTROL_PATHS)
        else:
            is_for_control = port == self._control_port
        return (
            not is_for_control
            and path not in WELCOME_PATHS
            and (self._hosts is None or self._hosts.knows(host))
        )

    def serve(self, incoming: IncomingRequest, way: Way) -> Coroutine[Any, Any, None]:
        """Have the platform answer a request that came whole."""
        return self._platform.serve(incoming, way)

    def going_on(self, rest: Coroutine[Any, Any, None]) -> ASGIApp:
        """An application that does the rest of the work of such a request."""

        async def go_on(scope: Scope, receive: Receive, send: Send) -> None:
            try:
                await rest
            except CancelledError:
                # If it was answered before, there is nothing to say.
                if ABORT in scope:
                    await self._say_stopping(scope, receive, send)

        return go_on

    # --- answers of neither

    async def _welcome(self, scope: Scope, send: Send) -> None:
        """Show the way to somebody with a browser."""
        elsewhere = None if self.is_for_control(scope) else self._control_port
        await send_welcome(scope, send, version=self._version, control_port=elsewhere)

    async def _say_stopping(self, scope: Scope, receive: Receive, send: Send) -> None:
        """End a request that the server does not wait for any longer, because it stops."""
        said = {"error": UNAVAILABLE.code}
        if self.is_for_control(scope):
            said |= {"message": _STOPPING, "details": ""}
        else:
            said |= {"detail": _STOPPING}
        body = to_json(said)
        headers = [
            (b"content-type", b"application/json"),
            (b"content-length", b"%d" % len(body)),
            (b"retry-after", b"1"),
        ]
        try:
            status = UNAVAILABLE.status
            await send({"type": "http.response.start", "status": status, "headers": headers})
            await send({"type": "http.response.body", "body": body})
        except RuntimeError:
            # Its answer had begun.
            scope[ABORT]()
            while (await receive())["type"] != "http.disconnect":
                pass

    async def _refuse(self, scope: Scope, send: Send, host: bytes) -> None:
        """Answer a request for another host as its surface does (assumed D25-hosts)."""
        why = why_refused(host)
        self._rare_log.warn("host", f"a request was refused (421): {why}")
        if scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        elif self.is_for_control(scope):
            await self._control.refuse(
                send, ControlFault(MISDIRECTED.status, MISDIRECTED.code, why)
            )
        else:
            await self._platform.refuse(scope, send, Refusal(MISDIRECTED, why))

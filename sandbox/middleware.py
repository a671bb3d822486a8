"""Middleware of the application: pure ASGI, one small class for each task."""

import logging
from asyncio import CancelledError
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.control.console_files import WELCOME_PATHS
from sandbox.control.routing import PREFIX
from sandbox.domain.faults import MISDIRECTED, UNAVAILABLE, VALIDATION_ERROR, Refusal
from sandbox.platform.hosts import Hosts, why_refused
from sandbox.platform.rare_log import RareLog
from sandbox.platform.responses import ABORT
from sandbox.platform.routing import path_of
from sandbox.platform.wire import until_gone

requests_log = logging.getLogger("sandbox.requests")


def surface_of(scope: Scope) -> Any:
    """What answers a request: the control API or the platform."""
    state = scope["app"].state
    if state.control_port is None:
        is_for_control = path_of(scope).startswith(PREFIX + "/")
    else:
        server = scope.get("server")
        is_for_control = server is not None and server[1] == state.control_port
    return state.control if is_for_control else state.platform


class OneHost:
    """Refuse requests of HTTP/1.1 that name no host, or several (RFC 9112, 3.2)."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 400."""
        if scope["type"] == "http" and scope.get("http_version") in ("1.0", "1.1"):
            hosts = [name for name, _ in scope["headers"]].count(b"host")
            if hosts > 1 or (not hosts and scope["http_version"] == "1.1"):
                why = "A request must have one Host header (RFC 9112, 3.2)."
                await surface_of(scope).refuse(scope, send, Refusal(VALIDATION_ERROR, why))
                return
        await self._app(scope, receive, send)


class AllowedHosts:
    """Refuse requests for a host that this server does not answer for (assumed D25-hosts)."""

    def __init__(self, app: ASGIApp, *, hosts: Hosts) -> None:
        self._app, self._hosts = app, hosts
        self._rare_log = RareLog(requests_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 421."""
        if scope["type"] != "http" or (host := self._hosts.refuses(scope)) is None:
            await self._app(scope, receive, send)
            return
        why = why_refused(host)
        self._rare_log.warn("host", f"a request was refused (421): {why}")
        await surface_of(scope).refuse(scope, send, Refusal(MISDIRECTED, why))


class SeparatePorts:
    """Serve the control API on a port of its own, and the platform on all others.

    A path that belongs to the other port is unknown here.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer it as one whose path is unknown."""
        if scope["type"] == "http":
            surface, path = surface_of(scope), path_of(scope)
            is_control_path = path.startswith(PREFIX + "/")
            if path not in WELCOME_PATHS and is_control_path != (
                surface is scope["app"].state.control
            ):
                await surface.respond(scope, receive, send)
                return
        await self._app(scope, receive, send)


class AnswerWhenStopped:
    """Answer 503 to requests that a stopping server does not wait for any longer."""

    MESSAGE = "The server is being stopped; the request was not carried out to its end."

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and answer it if it is cut."""
        has_begun = False

        async def noted(message: Message) -> None:
            nonlocal has_begun
            has_begun = True
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except CancelledError:
            # Our server cancels a request for one reason. Others may have others.
            if ABORT not in scope:
                raise
            if not has_begun:
                await surface_of(scope).refuse(scope, send, Refusal(UNAVAILABLE, self.MESSAGE))
                return
            scope[ABORT]()
            await until_gone(receive)

"""The application's middleware: pure ASGI, one small class for each task."""

import logging
from asyncio import CancelledError
from typing import Any

from starlette.types import ASGIApp, Receive, Scope, Send

from sandbox.control.console_files import WELCOME_PATHS
from sandbox.control.routing import PREFIX
from sandbox.domain.faults import MISDIRECTED, UNAVAILABLE, VALIDATION_ERROR, Refusal
from sandbox.platform.responses import ABORT, close_connection
from sandbox.platform.routing import path_of
from sandbox.platform.security import RareLog, is_answered_for, why_refused

requests_log = logging.getLogger("sandbox.requests")


def surface_of(scope: Scope) -> Any:
    """Return the application that answers a request: the control API or the platform."""
    state = scope["app"].state
    if state.control_port is None:
        is_for_control = path_of(scope).startswith(PREFIX + "/")
    else:
        server = scope.get("server")
        is_for_control = server is not None and server[1] == state.control_port
    return state.control if is_for_control else state.platform


class CheckHost:
    """Refuse requests that name no host, several, or one that is not among `hosts`.

    Source: RFC 9112, 3.2; assumed D25-hosts.
    """

    def __init__(self, app: ASGIApp, *, hosts: frozenset[str] | None) -> None:
        self._app, self._hosts = app, hosts
        self._rare_log = RareLog(requests_log)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, or answer 400 or 421."""
        if scope["type"] == "http" and (refusal := self._refusal(scope)) is not None:
            await surface_of(scope).refuse(scope, send, refusal)
            return
        await self._app(scope, receive, send)

    def _refusal(self, scope: Scope) -> Refusal | None:
        named = [value for name, value in scope["headers"] if name == b"host"]
        # HTTP/2 has no Host header, and in HTTP/1.0 it is optional.
        version = scope.get("http_version")
        if (not named and version == "1.1") or (len(named) > 1 and version in ("1.0", "1.1")):
            why = "A request must have one Host header (RFC 9112, 3.2)."
            return Refusal(VALIDATION_ERROR, why)
        # A request without a Host header does not come from a browser.
        if not named or self._hosts is None or is_answered_for(named[0], self._hosts, scope):
            return None
        why = why_refused(named[0])
        self._rare_log.warn("host", f"a request was refused (421): {why}")
        return Refusal(MISDIRECTED, why)


class SeparatePorts:
    """Serve the control API on its own port, and the platform on all others.

    The paths of one are unknown on the port of the other.
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
    """Answer 503 to requests that a stopping server no longer waits for."""

    MESSAGE = "The server is stopping; the request was not completed."

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass the request on, and answer it if the server cancels it."""
        try:
            await self._app(scope, receive, send)
        except CancelledError:
            # Our server cancels requests only when it stops; other servers may have other reasons.
            if ABORT not in scope:
                raise
            try:
                await surface_of(scope).refuse(scope, send, Refusal(UNAVAILABLE, self.MESSAGE))
            except RuntimeError:
                # The answer has begun already, so the connection is cut.
                await close_connection(scope, receive)

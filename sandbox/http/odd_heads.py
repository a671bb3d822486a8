"""Requests with a head that is out of the ordinary: refused, or answered all the same."""

from typing import Any, cast

from sandbox.http import refusals
from sandbox.http.connections import Connection
from sandbox.http.limits import HEAD_BYTES_MAX, HEADER_FIELDS_MAX
from sandbox.http.refusals import Application, TooLarge, answering
from sandbox.http.whole import WholeProtocol

_NO_HOST = answering(refusals.NO_HOST)
_WEBSOCKET = answering(refusals.WEBSOCKET, closes=True)
_CROWDED = answering(refusals.CROWDED, closes=True)


class OddHeads(WholeProtocol):
    """A connection that looks closely at a head where it has to."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.is_reserved = False
        self._hosts = 0
        self._is_odd = False
        """Whether the head of the request needs a closer check."""
        self._keeps_alive = True

    def have_odd_answered(self) -> None:
        """Have a request answered by the application, or because of its head."""
        self.begin_cycle(self._app_for_head())
        self._keeps_alive = self.cycle.keep_alive and not self.is_reserved
        # A client that waits for 100 Continue, and is refused instead, must not send its body.
        self.cycle.keep_alive = self._keeps_alive and not self.expect_100_continue
        self._is_odd = self.is_reserved

    def _app_for_head(self) -> Application:
        """What answers a request whose head is out of the ordinary. Raises TooLarge."""
        if len(self.headers) > HEADER_FIELDS_MAX or (self._seen and self._is_head_too_large()):
            raise TooLarge
        if self._hosts > 1 or (not self._hosts and self.parser.get_http_version() == "1.1"):
            return _NO_HOST
        if self._get_upgrade() == b"websocket":
            return _WEBSOCKET
        if self.is_reserved:
            self._pool.has_sent_request(cast(Connection, self))
            return self._serve_operator
        return cast(Application, self.app)

    def _is_head_too_large(self) -> bool:
        size = len(self.parser.get_method()) + len(self.url) + len("  HTTP/1.1\r\n\r\n")
        return size + sum(len(name) + len(value) + 4 for name, value in self.headers) > (
            HEAD_BYTES_MAX
        )

    async def _serve_operator(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer on a reserved place: only requests for the control API."""
        app = self.config.loaded_app if self._pool.is_for_control(scope) else _CROWDED
        await app(scope, receive, send)

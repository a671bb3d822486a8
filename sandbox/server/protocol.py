"""uvicorn's HTTP protocol, with additions that a payment sandbox needs.

This is the only module that depends on uvicorn's internals, for five things that are not possible
otherwise: a function in the scope that aborts the connection, the body of a request that offers an
upgrade, a limit for the head, time limits for head and body, and values of headers without trailing
whitespace.
"""

import asyncio
from typing import Any, Final

import httptools
from uvicorn.protocols.http.flow_control import service_unavailable
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from sandbox.platform.responses import ABORT

HEAD_BYTES_MAX: Final = 65_536
"""Limit for the request line and the headers. Source: assumed D25-heads."""

HEAD_S: Final = 10.0
"""Time limit from the connection, or the first byte of a request, to the end of its headers.
Source: assumed D25-times."""

BODY_S: Final = 30.0
"""Time limit between two parts of a body. Source: assumed D25-times."""

_TOO_LARGE: Final = "The request line and the headers are larger than 64 KiB."
_NOT_HTTP: Final = "The request is not valid HTTP."
_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})


class HeadTooLargeError(Exception):
    """The head of a request exceeds the limit."""


class Protocol(HttpToolsProtocol):
    """One connection to a client."""

    head_s, body_s = HEAD_S, BODY_S

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._is_in_head = self._is_in_body = False
        self._is_head_known = False
        self._keeps_alive = True
        self._head_bytes = 0
        self._deadline: asyncio.TimerHandle | None = None
        self._under_way: RequestResponseCycle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the time limit for the first request."""
        super().connection_made(transport)
        self._expect_within(self.head_s)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell the running request, and those that wait for their turn, that the client is gone."""
        self._expect_within(None)
        for cycle in (self._under_way, *(waiting for waiting, _ in self.pipeline)):
            if cycle is not None:
                cycle.disconnected = True
                cycle.message_event.set()
        super().connection_lost(exc)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._under_way = cycle
        if app is service_unavailable:
            cycle.default_headers = [*cycle.default_headers, (b"retry-after", b"1")]
        super()._start_asgi_task(cycle, app)

    def data_received(self, data: bytes) -> None:
        """Parse data, and set the time limit for the rest of its request."""
        self._unset_keepalive_if_required()
        was_in_head = self._is_in_head
        self._head_bytes = self._head_bytes + len(data) if was_in_head else len(data)
        try:
            while data:
                data = self._feed(data)
        except httptools.HttpParserError as error:
            is_too_large = isinstance(error.__context__, HeadTooLargeError)
            self.send_400_response(_TOO_LARGE if is_too_large else _NOT_HTTP)
            return
        if self._is_in_head and self._head_bytes > HEAD_BYTES_MAX:
            self.send_400_response(_TOO_LARGE)
        elif self._is_in_head:
            if not was_in_head:
                self._expect_within(self.head_s)
        elif self._is_in_body:
            self._expect_within(self.body_s)
        elif self.cycle is not None and not self.cycle.response_complete:
            self._expect_within(None)
        elif self._deadline is None:
            # There were only empty lines.
            self._expect_within(self.head_s)

    def _feed(self, data: bytes) -> bytes:
        """Parse data; return the rest of it after a request that offers an upgrade."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            if self.scope["method"] != "CONNECT":
                self._ignore_upgrade()
                return data[offer.args[0] :]
            # What follows is not HTTP (RFC 9110, 9.3.6).
            self.cycle.keep_alive = False
        return b""

    def _expect_within(self, seconds: float | None) -> None:
        """Abort the connection unless more data arrives in time; None for no limit."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = None
        if seconds is not None:
            self._deadline = self.loop.call_later(seconds, self._give_up)

    def _give_up(self) -> None:
        self._deadline = None
        if self._is_in_body and self.flow.read_paused:
            # The server paused reading, so the client is not late.
            self._expect_within(self.body_s)
        else:
            self.transport.abort()

    # --- callbacks of the parser

    def on_message_begin(self) -> None:
        """Begin a request, with the function that aborts its connection in the scope."""
        if self._is_head_known:
            return
        super().on_message_begin()
        self._is_in_head = True
        self.scope[ABORT] = self.transport.abort  # type: ignore[typeddict-unknown-key]

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header, without whitespace around its value (RFC 9110, 5.5); ignore trailers."""
        if self._is_in_head:
            super().on_header(name, value.strip(b" \t"))

    def on_headers_complete(self) -> None:
        """Start to answer the request. Raises HeadTooLargeError."""
        self._is_in_head, self._is_in_body = False, True
        if self._is_head_known:
            return
        if (size := self._head_size()) > HEAD_BYTES_MAX:
            raise HeadTooLargeError
        # What is left may be the beginning of another head.
        self._head_bytes -= size
        super().on_headers_complete()
        if self.config.timeout_keep_alive == 0:
            # The server is stopping.
            self.cycle.keep_alive = False
        self._keeps_alive = self.cycle.keep_alive
        if self.expect_100_continue:
            # A client that is refused instead of getting 100 does not send the body.
            self.cycle.keep_alive = False

    def _head_size(self) -> int:
        fields = sum(len(name) + len(value) + 4 for name, value in self.headers)
        return len(self.parser.get_method()) + len(self.url) + len("  HTTP/1.1\r\n\r\n") + fields

    def on_body(self, body: bytes) -> None:
        """Add a part of a body."""
        self._head_bytes -= len(body)
        if self.expect_100_continue and not self.cycle.response_started:
            self.cycle.keep_alive = self._keeps_alive
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End a request."""
        self._is_in_body = False
        super().on_message_complete()

    def _ignore_upgrade(self) -> None:
        """Continue in HTTP/1.1 and ignore the offer to upgrade (RFC 9110, 7.8).

        The parser ended the request after its head. A new one reads the body, if there is one.
        """
        framing = [b"%b: %b\r\n" % header for header in self.headers if header[0] in _FRAMING]
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        if framing:
            self.cycle.more_body = True
            self.cycle.message_event.clear()
            self._is_head_known = True
            self.parser.feed_data(b"POST / HTTP/1.1\r\n" + b"".join(framing) + b"\r\n")
            self._is_head_known = False

"""Offers to upgrade to another protocol. None is accepted; the request itself is served."""

from collections.abc import Iterable
from typing import Final

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})


def framing_of(headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """A head that makes a parser expect the body of these headers; empty if there is none."""
    lines = [b"%b: %b\r\n" % header for header in headers if header[0] in _FRAMING]
    return b"POST / HTTP/1.1\r\n" + b"".join(lines) + b"\r\n" if lines else b""


class BodyOnly:
    """The callbacks of a parser for the body of a request whose head was parsed before."""

    def __init__(self, protocol: HttpToolsProtocol) -> None:
        self._protocol = protocol
        self.is_over = False
        self.on_body = protocol.on_body
        self.on_message_complete = protocol.on_message_complete

    def on_message_begin(self) -> None:
        """Pass it on once the head is over."""
        if self.is_over:
            self._protocol.on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Pass it on once the head is over."""
        if self.is_over:
            self._protocol.on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Pass it on once the head is over."""
        if self.is_over:
            self._protocol.on_header(name, value)

    def on_headers_complete(self) -> None:
        """Pass it on once the head is over."""
        if self.is_over:
            self._protocol.on_headers_complete()

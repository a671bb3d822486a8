"""Receivers that do what a proper HTTP server cannot: they speak to the bare socket."""

import contextlib
import socket
import socketserver
import struct
import threading
from collections.abc import Callable, Iterator
from typing import Any

Behaviour = Callable[[socket.socket, threading.Event], None]
"""What is done with a connection on which a request came, until the event says to stop."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


# --- behaviours -------------------------------------------------------------------------------


def hang_up(connection: socket.socket, stop: threading.Event) -> None:
    """Close without a word."""


def reset(connection: socket.socket, stop: threading.Event) -> None:
    """Close with a RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def endless(connection: socket.socket, stop: threading.Event) -> None:
    """Answer with 200 and a body that never ends."""
    connection.sendall(HEAD + b"connection: close\r\n\r\n")
    while not stop.is_set():
        connection.sendall(b"and on " * 1_000)


def hang(connection: socket.socket, stop: threading.Event) -> None:
    """Never answer."""
    stop.wait()


def drip(connection: socket.socket, stop: threading.Event) -> None:
    """Answer with 200 and a body that comes byte by byte."""
    connection.sendall(HEAD + b"content-length: 4000\r\n\r\n")
    while not stop.wait(0.01):
        connection.sendall(b".")


def raw(answer: bytes) -> Behaviour:
    """Answer with exactly these bytes."""
    return lambda connection, stop: connection.sendall(answer)


garbage = raw(b"\x00\xff\x17 no answer at all\r\n\r\n")
"""What is not HTTP."""

break_off = raw(HEAD + b"content-length: 100\r\n\r\nonly this")
"""More of a body is promised than comes."""

close_unsaid = raw(HEAD + b"content-length: 0\r\n\r\n")
"""A proper answer, and the end of the connection without having said so."""


# --- the receiver -----------------------------------------------------------------------------


class Misbehaving(socketserver.ThreadingTCPServer):
    """Reads requests and misbehaves; each connection sees one request."""

    def __init__(self, behave: Behaviour) -> None:
        self.behave = behave
        self.stop = threading.Event()
        self.connections: list[socket.socket] = []
        super().__init__(("127.0.0.1", 0), _Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/hooks"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Connections break here."""


class _Handler(socketserver.BaseRequestHandler):
    server: Misbehaving

    def handle(self) -> None:
        self.server.connections.append(self.request)
        read_request(self.request)
        self.server.behave(self.request, self.server.stop)

    def finish(self) -> None:
        # The server would shut the connection down first, and say goodbye before a RST.
        self.request.close()


def read_request(connection: socket.socket) -> bytes:
    """The body of a whole request."""
    with connection.makefile("rb") as stream:
        size = 0
        while (line := stream.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                size = int(value)
        return stream.read(size)


@contextlib.contextmanager
def misbehaving(behave: Behaviour) -> Iterator[Misbehaving]:
    """A receiver on a free port, until the block ends."""
    with Misbehaving(behave) as receiver:
        thread = threading.Thread(target=receiver.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield receiver
        finally:
            receiver.stop.set()
            receiver.shutdown()
            thread.join()
            for connection in receiver.connections:
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def refusing() -> Iterator[str]:
    """A URL whose port is taken, and where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/hooks"

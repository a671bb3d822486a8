"""Answers that a proper HTTP server cannot give: they speak to the bare socket."""

import contextlib
import socket
import struct
import threading
from collections.abc import Iterator

from tests.webhooks.receiving import Answer

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"transfer-encoding: chunked\r\n\r\n"
HINTS = b"HTTP/1.1 103 Early Hints\r\n\r\n"


def raw(answer: bytes) -> Answer:
    """Answer with exactly these bytes."""
    return Answer(act=lambda connection, stop: connection.sendall(answer))


def endless(beginning: bytes, rest: bytes) -> Answer:
    """Answer like this and never stop."""

    def act(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(beginning)
        burst = rest * (100_000 // len(rest))
        while not stop.is_set():
            connection.sendall(burst)

    return Answer(act=act)


def _reset(connection: socket.socket, stop: threading.Event) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def _drip(connection: socket.socket, stop: threading.Event) -> None:
    connection.sendall(OK + b"content-length: 4000\r\n\r\n")
    while not stop.wait(0.01):
        connection.sendall(b".")


hang_up = raw(b"")
reset = Answer(act=_reset)
hang = Answer(gate=threading.Event())
drip = Answer(act=_drip)
forever = endless(OK + b"connection: close\r\n\r\n", b"and on ")
garbage = raw(b"\x00\xff\x17 no answer at all\r\n\r\n")
break_off = raw(OK + b"content-length: 100\r\n\r\nonly this")
# A proper answer, and the end of the connection without having said so.
close_unsaid = raw(OK + b"content-length: 0\r\n\r\n")


@contextlib.contextmanager
def refusing() -> Iterator[str]:
    """A URL whose port is taken, and where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/hooks"

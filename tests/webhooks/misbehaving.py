"""Receivers that do what a proper HTTP server cannot: they speak to the bare socket."""

import contextlib
import socket
import struct
import threading
from collections.abc import Callable, Iterator

Behaviour = Callable[[socket.socket, threading.Event], None]
"""What is done with a connection on which a request came, until the event says to stop."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"


# --- behaviours -------------------------------------------------------------------------------


def hang_up(connection: socket.socket, stop: threading.Event) -> None:
    """Close without a word."""


def reset(connection: socket.socket, stop: threading.Event) -> None:
    """Close with a RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def garbage(connection: socket.socket, stop: threading.Event) -> None:
    """Answer what is not HTTP."""
    connection.sendall(b"\x00\xff\x17 no answer at all\r\n\r\n")


def break_off(connection: socket.socket, stop: threading.Event) -> None:
    """Promise more of a body than comes."""
    connection.sendall(HEAD + b"content-length: 100\r\n\r\nonly this")


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


def close_unsaid(connection: socket.socket, stop: threading.Event) -> None:
    """Answer properly, and close without having said so."""
    connection.sendall(HEAD + b"content-length: 0\r\n\r\n")


def raw(answer: bytes) -> Behaviour:
    """Answer with exactly these bytes."""
    return lambda connection, stop: connection.sendall(answer)


# --- the receiver -----------------------------------------------------------------------------


class Misbehaving:
    """Reads requests and misbehaves; each connection sees one request."""

    def __init__(self, behave: Behaviour) -> None:
        self._behave = behave
        self._stop = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._connections: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self.count = 0
        self._threads[0].start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listener.getsockname()[1]}/hooks"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            if self._stop.is_set():
                connection.close()
                return
            self._connections.append(connection)
            thread = threading.Thread(target=self._serve, args=(connection,))
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection: socket.socket) -> None:
        with contextlib.suppress(OSError), connection:
            read_request(connection)
            self.count += 1
            self._behave(connection, self._stop)

    def close(self) -> None:
        self._stop.set()
        # A listener that somebody waits on is not woken by being closed.
        with socket.create_connection(self._listener.getsockname()):
            self._threads[0].join()
        self._listener.close()
        for connection in self._connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join()


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
    receiver = Misbehaving(behave)
    try:
        yield receiver
    finally:
        receiver.close()


@contextlib.contextmanager
def refusing() -> Iterator[str]:
    """A URL whose port is taken, and where nobody listens."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{taken.getsockname()[1]}/hooks"

"""A receiver of webhooks on a real socket, which keeps what it gets and answers as it is told."""

import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from time import time
from typing import Any

import standardwebhooks

from sandbox.webhooks.worker import PATIENCE_S

WAIT_S = 60.0
"""So long a test waits at most for something to arrive."""


@dataclass(frozen=True)
class Received:
    """One request as it came: headers by lower-case name, the raw bytes of its body.

    `at` is the real time at which it was complete; `number` counts the receiver's requests from 0.
    """

    number: int
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    at: float

    @property
    def id(self) -> str:
        """The message's id, by which receivers tell a repetition."""
        return self.headers["webhook-id"]

    def json(self) -> Any:
        return json.loads(self.body)

    def verify(self, secret: str) -> None:
        """Raises unless the official library accepts the signature for exactly these bytes."""
        standardwebhooks.Webhook(secret).verify(self.body, self.headers)

    def is_signed_by(self, secret: str) -> bool:
        try:
            self.verify(secret)
        except standardwebhooks.WebhookVerificationError:
            return False
        return True


def overtakers(tried: Iterable[tuple[str, float]], arrived: Sequence[str]) -> list[str]:
    """The ids that came before the one tried before them, though that was not slow.

    `tried` has ids in the order of their events, each with the milliseconds of its first attempt.
    One that takes longer than PATIENCE_S does not hold up the next.
    """
    place = {id: number for number, id in enumerate(arrived)}
    return [
        later
        for (id, took_ms), (later, _) in pairwise(tried)
        if took_ms < PATIENCE_S * 1000 and place[later] < place[id]
    ]


@dataclass(frozen=True)
class Answer:
    """How a request is answered.

    `gate` is waited for first, then `delay_s`; both end with the receiver. What `act` does with
    the connection takes the place of an answer, until the event says to stop.
    """

    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    delay_s: float = 0
    gate: threading.Event | None = None
    act: Callable[[socket.socket, threading.Event], None] | None = None


Behaviour = int | Answer | Iterable[int | Answer] | Callable[[Received], int | Answer]
"""A status, an answer, one after the other of a list (its last for the rest), or a function."""


def _as_function(behaviour: Behaviour) -> Callable[[Received], int | Answer]:
    if callable(behaviour):
        return behaviour
    if isinstance(behaviour, int | Answer):
        return lambda _: behaviour
    answers = list(behaviour)
    return lambda _: answers.pop(0) if len(answers) > 1 else answers[0]


class Receiver:
    """What came in, and how it is answered; `behave` changes that.

    `accepted` counts the connections, `most_open` those at one time. `tls` is for https.
    """

    def __init__(self, behaviour: Behaviour = 200, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Received] = []
        self._changed = threading.Condition()
        self.closing = threading.Event()
        self._connections: set[socket.socket] = set()
        self.accepted = self.most_open = 0
        self.behave(behaviour)
        self._server = _Server(self)
        self._origin = f"http://127.0.0.1:{self.port}"
        if tls is not None:
            self._origin = f"https://localhost:{self.port}"
            self._server.socket = tls.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()

    @property
    def url(self) -> str:
        return f"{self._origin}/hooks"

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    def behave(self, behaviour: Behaviour) -> None:
        """Answer like this from the next request on."""
        self._behaviour = _as_function(behaviour)

    def close(self) -> None:
        """Stop, with all that is still waited for or connected."""
        self.closing.set()
        self._server.shutdown()
        self._server.server_close()
        with self._changed:
            open_now = list(self._connections)
        for connection in open_now:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
        with self._changed:
            assert self._changed.wait_for(lambda: not self._connections, WAIT_S)
        self._thread.join()

    def ids(self) -> list[str]:
        return [one.id for one in self.requests]

    def wait_for(self, count: int = 1) -> list[Received]:
        """All requests, once there are so many."""
        with self._changed:
            came = self._changed.wait_for(lambda: len(self.requests) >= count, WAIT_S)
            assert came, f"only {len(self.requests)} requests came within {WAIT_S:g} s"
            return list(self.requests)

    def connected(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.add(connection)
            self.accepted += 1
            self.most_open = max(self.most_open, len(self._connections))

    def disconnected(self, connection: socket.socket) -> None:
        with self._changed:
            self._connections.discard(connection)
            self._changed.notify_all()

    def take(self, method: str, path: str, headers: dict[str, str], body: bytes) -> Answer:
        """Keep the request, and say how it is answered, when that is due."""
        with self._changed:
            received = Received(len(self.requests), method, path, headers, body, time())
            self.requests.append(received)
            answer = self._behaviour(received)
            self._changed.notify_all()
        if isinstance(answer, int):
            answer = Answer(answer)
        if answer.gate is not None:
            while not self.closing.is_set() and not answer.gate.wait(0.02):
                pass
        if answer.delay_s:
            self.closing.wait(answer.delay_s)
        return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128

    def __init__(self, receiver: Receiver) -> None:
        self.receiver = receiver
        super().__init__(("127.0.0.1", 0), _Handler)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A sender that went away is nobody's fault."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Head and body of an answer go out together.
    wbufsize = -1
    server: _Server

    def setup(self) -> None:
        super().setup()
        self.server.receiver.connected(self.connection)

    def finish(self) -> None:
        with contextlib.suppress(OSError):
            super().finish()
        self.connection.close()
        self.server.receiver.disconnected(self.connection)

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            super().handle()

    def do_POST(self) -> None:
        size = int(self.headers.get("content-length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(size)
        receiver = self.server.receiver
        answer = receiver.take(self.command, self.path, headers, body)
        if answer.act is not None:
            self.close_connection = True
            answer.act(self.connection, receiver.closing)
            return
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        if "content-length" not in {name.lower() for name in answer.headers}:
            self.send_header("content-length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)
        self.wfile.flush()

    # The names are http.server's.
    do_GET = do_PUT = do_PATCH = do_DELETE = do_POST  # noqa: N815

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: tests look at what was received."""


@contextlib.contextmanager
def receiving(behaviour: Behaviour = 200, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """A receiver on a free port, until the block ends."""
    receiver = Receiver(behaviour, tls)
    try:
        yield receiver
    finally:
        receiver.close()

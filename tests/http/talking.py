"""Plain sockets to a server, and servers whose limits a test chooses."""

import contextlib
import json
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, replace

from sandbox.app import Sandbox, build
from sandbox.server import run
from sandbox.server.embedded import serve_in_thread
from sandbox.server.protocol import Protocol
from sandbox.settings import Settings
from tests.in_process import Response

HOST = "127.0.0.1"
WAIT_S = 60.0
PLENTY_S = 60.0
JSON = "content-type: application/json"

HEALTH = b"GET /_sandbox/health HTTP/1.1\r\nhost: localhost\r\n\r\n"
LAST_HEALTH = HEALTH.replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n")


class Client:
    """A connection on which a test sends any bytes, and reads answers one by one."""

    def __init__(self, port: int) -> None:
        self.socket = socket.create_connection((HOST, port), timeout=WAIT_S)
        self._reader = self.socket.makefile("rb")

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *raised: object) -> None:
        self._reader.close()
        self.socket.close()

    def send(self, *parts: bytes) -> None:
        for part in parts:
            self.socket.sendall(part)

    def answer(self) -> Response:
        """The next answer. Raises EOFError where the connection is closed without one."""
        line = self._reader.readline()
        if not line:
            raise EOFError
        headers: dict[str, str] = {}
        while (field := self._reader.readline().decode("latin-1").strip()) != "":
            name, _, value = field.partition(": ")
            headers[name.lower()] = value
        body = self._reader.read(int(headers.get("content-length", 0)))
        return Response(int(line.split()[1]), headers, body)

    def ask(self, *parts: bytes) -> Response:
        self.send(*parts)
        return self.answer()

    def is_closed(self) -> bool:
        """Whether the server closes the connection, without another byte, before long."""
        try:
            return self._reader.read(1) == b""
        except ConnectionResetError:
            return True

    def is_broken_by(self, part: bytes) -> bool:
        """Send this; whether the server has given the connection up."""
        try:
            self.socket.sendall(part)
        except OSError:
            return True
        return False

    def send_until_refused(self, part: bytes, parts_max: int) -> int:
        """Send the same again and again until an answer comes; how many bytes that were."""
        self.socket.settimeout(0)
        sent = 0
        try:
            for _ in range(parts_max):
                with contextlib.suppress(BlockingIOError):
                    if self.socket.recv(1, socket.MSG_PEEK):
                        return sent
                with contextlib.suppress(BlockingIOError):
                    sent += self.socket.send(part)
                # What was sent is taken in by another thread or process.
                time.sleep(0.0005)
        finally:
            self.socket.settimeout(WAIT_S)
        raise AssertionError(f"no answer after {sent} bytes")


@dataclass(frozen=True)
class Serving:
    """A sandbox in this process, on real sockets."""

    sandbox: Sandbox
    port: int

    def key(self) -> str:
        return self.sandbox.worlds.default.cast.plaintexts["merchant"]


@contextlib.contextmanager
def serving(
    *,
    head_s: float = PLENTY_S,
    body_s: float = PLENTY_S,
    idle_s: float = PLENTY_S,
    token: str | None = None,
    leave: Callable[[], Awaitable[None]] | None = None,
) -> Iterator[Serving]:
    """A sandbox on free ports, with these limits of time, until the block ends."""
    wanted = Settings(port=0, token=token)
    with run.bound(wanted) as (settings, sockets):
        sandbox = replace(build(settings), leave=leave)
        server = run.Server(sandbox, settings)
        server.config.http = type("Timed", (Protocol,), {"head_s": head_s, "body_s": body_s})
        server.config.timeout_keep_alive = idle_s  # type: ignore[assignment]
        with serve_in_thread(run.serving(server, sockets)):
            yield Serving(sandbox, settings.port)


def head_of(line: str, *fields: str, key: str = "") -> bytes:
    """The head of a request of whoever has the key."""
    named = [f"x-service-apikey: {key}"] if key else []
    lines = [f"{line} HTTP/1.1", "host: localhost", *named, *fields, "", ""]
    return "\r\n".join(lines).encode()


def request(served: Serving, line: str, *fields: str, body: bytes = b"") -> bytes:
    """A request of the merchant, as a client sends it."""
    if body:
        fields = (*fields, JSON, f"content-length: {len(body)}")
    return head_of(line, *fields, key=served.key()) + body


def payment(served: Serving, amount: int) -> bytes:
    """A sale of the merchant's terminal, asked for by the merchant."""
    terminal = served.sandbox.worlds.default.cast.ids_of("terminal")["merchant"]
    body = json.dumps({"amount": amount, "terminal_id": terminal}).encode()
    return request(served, "POST /v3/payment", body=body)

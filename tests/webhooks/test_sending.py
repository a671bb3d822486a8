"""The requests that webhooks are, and the connections on which they go out."""

import asyncio
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from sandbox.domain.webhooks import Sent
from sandbox.server import tls as certificates
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.client import WebhookClient
from tests.webhooks import misbehaving as bad
from tests.webhooks.hooked import until
from tests.webhooks.misbehaving import misbehaving

LIMIT_S = 10.0


class Counting(ThreadingHTTPServer):
    """Answers 200 over connections that stay open, and knows them."""

    daemon_threads = True

    def __init__(self, context: ssl.SSLContext | None = None) -> None:
        self.accepted = self.open = self.most_open = 0
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.headers: dict[str, str] = {}
        self.gate: threading.Event | None = None
        self._lock = threading.Lock()
        super().__init__(("127.0.0.1", 0), _Handler)
        if context is not None:
            self.socket = context.wrap_socket(self.socket, server_side=True)

    def count(self, change: int) -> None:
        with self._lock:
            self.open += change
            self.accepted += change == 1
            self.most_open = max(self.most_open, self.open)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that gives up is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Counting

    def setup(self) -> None:
        super().setup()
        self.server.count(1)

    def finish(self) -> None:
        super().finish()
        self.server.count(-1)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.requests.append((self.path, headers, body))
        if self.server.gate is not None:
            self.server.gate.wait(LIMIT_S)
        self.send_response_only(200)
        for name, value in {"content-length": "4", **self.server.headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"fine")

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def counting(context: ssl.SSLContext | None = None) -> Iterator[Counting]:
    server = Counting(context)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,))
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


async def send(
    url: str, headers: dict[str, str] | None = None, *, times: int = 1, at_once: bool = False
) -> list[Sent]:
    client = WebhookClient(
        Guard(is_open=True), "test/1", mask=str, timeout_s=LIMIT_S, connections_max=3
    )
    try:
        attempts = [client.send(url, b'{"a": 1}', headers or {}) for _ in range(times)]
        if at_once:
            return list(await asyncio.gather(*attempts))
        return [await one for one in attempts]
    finally:
        await client.close()


def is_fine(sent: Sent) -> bool:
    return (sent.status_code, sent.error, sent.response) == (200, None, "fine")


# --- requests ---------------------------------------------------------------------------------


def test_a_webhook_is_a_post_with_its_headers_and_exactly_its_bytes():
    with counting() as server:
        (sent,) = asyncio.run(send(f"http://127.0.0.1:{server.server_port}/hooks", {"x-a": "b"}))

    assert is_fine(sent)
    path, headers, body = server.requests[0]
    assert (path, body) == ("/hooks", b'{"a": 1}')
    assert headers == {
        "host": f"127.0.0.1:{server.server_port}",
        "user-agent": "test/1",
        "accept": "*/*",
        "content-type": "application/json",
        "x-a": "b",
        "content-length": "8",
    }


@pytest.mark.parametrize(
    ("path", "target"),
    [("", "/"), ("/a?b=c#d", "/a?b=c"), ("/a b?ü=1", "/a%20b?%C3%BC=1"), ("/%2F", "/%2F")],
)
def test_the_path_is_written_as_http_has_it(path, target):
    with counting() as server:
        asyncio.run(send(f"http://127.0.0.1:{server.server_port}{path}"))

    assert server.requests[0][0] == target


@pytest.mark.parametrize("value", ["a\r\nx-b: c", "a\nb", "a\rb"])
def test_a_header_with_a_line_break_is_never_sent(value):
    with counting() as server:
        (sent,) = asyncio.run(send(f"http://127.0.0.1:{server.server_port}/", {"x-a": value}))

    assert sent.error is not None
    assert server.requests == []


# --- answers ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "status", "error", "text"),
    [
        (b"HTTP/1.0 200 OK\r\n\r\nuntil the end", 200, None, "until the end"),
        (b"HTTP/1.1 200 OK\r\n\r\n", 200, None, ""),
        (b"HTTP/1.1 204 \r\n\r\n", 204, None, ""),
        (b"HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n", 101, "101", ""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\n\r\ndone and more", None, "read", ""),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\nab", None, "read", ""),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nzz\r\n", None, "read", ""),
    ],
)
def test_an_answer_counts_as_http_has_it(answer, status, error, text):
    with misbehaving(bad.raw(answer)) as receiver:
        (sent,) = asyncio.run(send(receiver.url))

    assert (sent.status_code, sent.response) == (status, text)
    assert (sent.error is None) is (error is None)
    assert (error or "") in (sent.error or "")


# --- connections ------------------------------------------------------------------------------


def test_webhooks_to_one_receiver_share_a_connection():
    with counting() as server:
        attempts = asyncio.run(send(f"http://127.0.0.1:{server.server_port}/", times=20))

    assert all(map(is_fine, attempts))
    assert server.accepted == 1


def test_there_are_never_more_connections_than_allowed_and_the_others_wait():
    with counting() as server:
        url = f"http://127.0.0.1:{server.server_port}/"
        server.gate = threading.Event()
        opener = threading.Thread(
            target=lambda: until(lambda: len(server.requests) == 3) and server.gate.set()
        )
        opener.start()
        attempts = asyncio.run(send(url, times=10, at_once=True))
        opener.join()

    assert all(map(is_fine, attempts))
    assert (server.most_open, len(server.requests)) == (3, 10)


# --- TLS --------------------------------------------------------------------------------------


@pytest.fixture
def authority(tmp_path: Path) -> tuple[ssl.SSLContext, Path]:
    """The context of a receiver at localhost, and the certificate of who vouches for it."""
    pytest.importorskip("cryptography")
    tls = certificates.own(tmp_path / "tls", ["localhost"])
    return tls.context, tmp_path / "tls" / "ca.pem"


def test_a_receiver_with_a_trusted_certificate_is_sent_to(authority, monkeypatch):
    context, ca = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    with counting(context) as server:
        attempts = asyncio.run(send(f"https://localhost:{server.server_port}/", times=3))

    assert all(map(is_fine, attempts)), attempts
    assert server.accepted == 1


def test_a_receiver_without_a_trusted_certificate_gets_nothing(authority):
    context, _ = authority
    with counting(context) as server:
        (sent,) = asyncio.run(send(f"https://localhost:{server.server_port}/"))

    assert (sent.status_code, sent.is_unreachable, server.requests) == (None, True, [])
    assert sent.error is not None
    assert sent.error.startswith(f"Cannot connect to host localhost:{server.server_port} [")
    assert "the TLS certificate is not trusted" in sent.error

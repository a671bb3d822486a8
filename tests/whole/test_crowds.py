"""More clients than a server can hold, and what it still does for those that it serves."""

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread

import httpx2
import pytest

from tests.http.talking import Answer, Client, eventually, port_of
from tests.processes import Process

MIB = 1024 * 1024


@dataclass(frozen=True)
class Server:
    """A server in a process of its own, and what it has said so far."""

    process: Process
    port: int
    control_port: int
    keys: dict[str, str]
    errors: Path

    def rss(self) -> int:
        """How many bytes of memory it has."""
        pages = Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]
        return int(pages) * resource.getpagesize()

    def request(self, line: str, *fields: str, body: bytes = b"", key: str = "") -> bytes:
        named = [f"x-service-apikey: {self.keys[key]}"] if key else []
        if body:
            named += ["content-type: application/json", f"content-length: {len(body)}"]
        return (
            "\r\n".join([f"{line} HTTP/1.1", "host: localhost", *named, *fields, "", ""]).encode()
            + body
        )

    def ask(self, line: str, body: bytes = b"") -> Answer:
        """An answer of the control API, on a connection of its own."""
        with Client(self.control_port) as client:
            return client.ask(self.request(line, body=body))


@contextmanager
def server(errors: Path, *options: str) -> Iterator[Server]:
    """A server with these options, until the block ends."""
    process = Process(
        ["serve", "--port", "0", "--log-format", "json", *options],
        stderr=errors,
    )
    try:
        facts = json.loads(process.stdout.readline())
        ports = [port_of(facts[url]) for url in ("url", "control_url")]
        yield Server(process, *ports, facts["keys"], errors)
    finally:
        process.terminate()
        process.close()


@pytest.fixture
def errors(tmp_path: Path) -> Path:
    return tmp_path / "stderr"


def test_bodies_without_a_key_take_little_memory(errors):
    with server(errors) as one, ExitStack() as stack:
        head = one.request("POST /v3/payment", f"content-length: {MIB}")
        with Client(one.port) as client:
            assert client.ask(head, b" " * MIB).status == 401
        before = one.rss()

        clients = [stack.enter_context(Client(one.port)) for _ in range(300)]
        for client in clients:
            client.send(head, b" " * (MIB - 1))

        assert {client.answer().status for client in clients} == {401}
        # Less than a fifth of what was sent: uvicorn stops reading after 64 KiB.
        assert one.rss() - before < 60 * MIB


@pytest.mark.parametrize(
    "line",
    [
        "GET /_sandbox/worlds/default/wait?event_type=transaction.refund&timeout_s=60",
        "POST /v3/payment",
    ],
)
def test_a_request_that_is_under_way_when_the_server_stops_gets_an_answer(errors, line):
    with server(errors) as one, Client(one.port) as client:
        delayed = b'{"outcome":"approved","delay_ms":60000}'
        assert one.ask("POST /_sandbox/worlds/default/scenario/next", delayed).status < 300
        with Client(one.port) as other:
            listed = other.ask(one.request("GET /_sandbox/worlds/default"))
        terminal = json.loads(listed.body)["terminals"]["merchant"]
        body = json.dumps({"amount": 1000, "terminal_id": terminal}).encode()
        is_payment = line.startswith("POST")
        client.send(one.request(line, body=body if is_payment else b"", key="merchant"))
        ended = Thread(target=one.process.wait, args=(20,))
        eventually(lambda: one.ask("GET /_sandbox/health").status == 200)

        one.process.send_signal(signal.SIGTERM)
        ended.start()
        answer = client.answer()

        assert (answer.status, json.loads(answer.body)["error"]) == (503, "unavailable")
        assert answer.headers["retry-after"] == "1"
        ended.join(20)
        assert "Traceback" not in errors.read_text()


def test_a_connection_that_never_agrees_on_tls_is_closed(errors, tmp_path):
    pytest.importorskip("cryptography")
    with (
        server(errors, "--tls", "--tls-folder", str(tmp_path / "tls")) as one,
        Client(one.port) as silent,
    ):
        # The server gives it ten seconds.
        silent.socket.settimeout(20)

        assert silent.is_closed()
        assert httpx2.get(f"https://127.0.0.1:{one.port}/health", verify=False).status_code == 404

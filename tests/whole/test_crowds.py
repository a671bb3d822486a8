"""More clients than a server can hold, and what it still does for those that it serves."""

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread

import pytest

from tests.http.talking import Answer, Client, eventually, port_of
from tests.platform.refusals import MIB
from tests.processes import Process

FILES = 64
CROWD = 1_000


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


def limited(files: int) -> None:
    resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))


@contextmanager
def server(errors: Path, *options: str, files: int | None = None) -> Iterator[Server]:
    """A server that may open so many files, until the block ends."""
    process = Process(
        ["serve", "--port", "0", "--log-format", "json", *options],
        stderr=errors,
        before=None if files is None else partial(limited, files),
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


@pytest.fixture(autouse=True)
def _many_files() -> None:
    """Let the crowd have as many sockets as it needs."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < 2 * CROWD:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 2 * CROWD), hard))


@contextmanager
def crowd(port: int, size: int) -> Iterator[list[Client]]:
    """So many clients that ask for nothing."""
    with ExitStack() as stack:
        yield [stack.enter_context(Client(port)) for _ in range(size)]


@pytest.mark.parametrize("options", [(), ("--control-port", "0")], ids=["one port", "two ports"])
def test_the_operator_gets_through_a_thousand_idle_connections(errors, options):
    with server(errors, *options, files=FILES) as one, ExitStack() as stack:
        regular = stack.enter_context(Client(one.port))
        assert regular.ask(one.request("GET /v5/apikeys", key="merchant")).status == 200

        for _ in range(5):
            stack.enter_context(crowd(one.port, CROWD // 5))
            # It does not have to connect anew.
            assert regular.ask(one.request("GET /v5/apikeys", key="merchant")).status == 200

        # What is loaded when it is first asked for is loaded all the same.
        answer = regular.ask(one.request("GET /v2/transactions", key="merchant"))
        assert answer.status == 200
        for line, body in (
            ("GET /_sandbox/health", b""),
            ("GET /_sandbox/docs", b""),
            ("GET /_sandbox/openapi.json", b""),
            ("GET /_sandbox/platform/openapi.json", b""),
            ("GET /_sandbox/ledger", b""),
            ("POST /_sandbox/worlds", b'{"fixture":"busy"}'),
            ("POST /_sandbox/worlds", b'{"invent":{"merchants":1}}'),
            ("GET /_sandbox/worlds/default/snapshot", b""),
            ("PUT /_sandbox/worlds/default/scenario", b'{"scenario":"declines"}'),
        ):
            assert one.ask(line, body).status < 500, line
    said = errors.read_text().splitlines()
    assert len(said) == 1
    assert "--connections-max" in said[0]


def test_bodies_without_a_key_take_no_memory(errors):
    with server(errors) as one, ExitStack() as stack:
        head = one.request("POST /v3/payment", f"content-length: {MIB}")
        with Client(one.port) as client:
            assert client.ask(head, b" " * MIB).status == 401
        before = one.rss()

        clients = [stack.enter_context(Client(one.port)) for _ in range(300)]
        for client in clients:
            client.send(head, b" " * (MIB - 1))

        assert {client.answer().status for client in clients} == {401}
        assert one.rss() - before < 16 * MIB


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

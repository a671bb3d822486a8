"""More clients than a server can hold, and what it still does for those that it serves."""

import json
import resource
import signal
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.driving import Served, serving, until
from tests.http.talking import JSON, Client, head_of

MIB = 1024 * 1024
WAIT = "GET /_sandbox/worlds/default/wait?event_type=transaction.refund&timeout_s=60"


def memory_of(server: Served) -> int:
    """How many bytes of memory it has."""
    pages = Path(f"/proc/{server.process.pid}/statm").read_text().split()[1]
    return int(pages) * resource.getpagesize()


def test_bodies_without_a_key_take_little_memory():
    with serving() as server, ExitStack() as stack:
        port = server.port
        unpaid = head_of("POST /v3/payment", JSON, f"content-length: {MIB}")
        with Client(port) as client:
            assert client.ask(unpaid, b" " * MIB).status == 401
        before = memory_of(server)

        clients = [stack.enter_context(Client(port)) for _ in range(300)]
        for client in clients:
            client.send(unpaid, b" " * (MIB - 1))

        assert {client.answer().status for client in clients} == {401}
        # Less than a fifth of what was sent: uvicorn stops reading after 64 KiB.
        assert memory_of(server) - before < 60 * MIB


def test_requests_that_are_under_way_when_the_server_stops_get_an_answer():
    with serving() as server, ExitStack() as stack:
        delayed = {"outcome": "approved", "delay_ms": 60_000}
        server.control("POST", "/worlds/default/scenario/next", json=delayed)
        body = json.dumps(server.sale()).encode()
        length, key = f"content-length: {len(body)}", server.key("merchant")
        clients = [stack.enter_context(Client(server.port)) for _ in range(2)]
        clients[0].send(head_of("POST /v3/payment", JSON, length, key=key), body)
        clients[1].send(head_of(WAIT))
        until(lambda: server.control("GET", "/health").json()["status"] == "ok")
        until(lambda: server.control("GET", "/worlds/default/payments").json()["total"] == 1)

        server.process.send_signal(signal.SIGTERM)
        answers = [client.answer() for client in clients]
        _, log = server.process.communicate(20)

        for answer in answers:
            assert (answer.status, json.loads(answer.body)["error"]) == (503, "unavailable")
            assert answer.headers["retry-after"] == "1"
        assert "Traceback" not in log


def test_a_connection_that_never_completes_tls_is_closed(tmp_path):
    pytest.importorskip("cryptography")
    tls = ("--tls", "--tls-folder", str(tmp_path / "tls"))
    with serving(*tls) as server, Client(server.port) as silent:
        # The server gives it ten seconds.
        silent.socket.settimeout(20)

        assert silent.is_closed()
        assert httpx2.get(f"{server.url}/health", verify=False).status_code == 404

"""A server whose answer has no end, or comes byte by byte, ends a command with a sentence."""

import json
import socket
import threading
import time
from collections.abc import Callable

import pytest

from sandbox.cli import control_client
from tests.cli.asking import ask, assert_refused, offered
from tests.webhooks.receiving import Answer, Received, receiving

JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: "
NOTHING = {name: [] for name in ("requests", "messages", "endpoints", "event_types")}
WORLD = json.dumps({"id": "default", "keys": {}, "url": "", "secret": "", **NOTHING}).encode()


def going_on(
    head: bytes, part: bytes, *, every_s: float = 0, parts_max: int = 10_000
) -> Callable[[Received], Answer]:
    """Answers that go on and on; if streams do, everything else is answered at once."""

    def act(connection: socket.socket, stop: threading.Event) -> None:
        connection.sendall(head)
        for _ in range(parts_max):
            if stop.wait(every_s):
                return
            connection.sendall(part)

    def answer(one: Received) -> Answer:
        if head is STREAM and "/stream" not in one.path:
            return Answer(headers={"content-type": "application/json"}, body=WORLD)
        return Answer(act=act)

    return answer


def test_no_more_than_a_large_world_is_read_of_an_answer():
    with receiving(going_on(JSON, b" " * 1_000_000, parts_max=400)) as server:
        done = ask("keys", "--url", server.url)

    assert_refused(done, 2, "its answer has more than 300,000,000 bytes; is it a sandbox?")


@pytest.mark.parametrize("command", [("tail",), ("listen", "9")])
def test_no_more_than_a_megabyte_is_read_of_an_event(command):
    with receiving(going_on(STREAM, b"x" * 100_000, parts_max=40)) as server:
        done = ask(*command, "--url", server.url)

    assert done.exit_code == 2
    assert "its stream cannot be read" in done.stderr
    assert "1000000 byte limit" in done.stderr


def test_no_more_than_a_megabyte_is_read_of_a_platform_that_is_verified(tmp_path):
    key = "svc_uat_" + "a" * 16 + "_" + "b" * 32
    with receiving(going_on(JSON, b" " * 100_000, parts_max=40)) as server:
        done = ask("verify", server.url, "--out", str(tmp_path), UAT_KEY=key)

    assert done.exit_code == 2
    assert "no answer: its answer has more than 1,048,576 bytes" in done.output


def test_an_answer_that_comes_byte_by_byte_is_given_up(monkeypatch):
    monkeypatch.setattr(control_client, "COMPLETES_S", 0.1)
    for head in (JSON, b"HTTP/1.1 200 OK\r\nx: "):
        with receiving(going_on(head, b" ", every_s=0.05)) as server:
            began = time.monotonic()
            words = offered("sandbox pay 10 --as merch", SANDBOX_URL=server.url)

            assert words == []
            assert time.monotonic() - began < 3

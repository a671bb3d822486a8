"""A server whose answer has no end, or comes byte by byte, ends a command with a sentence."""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

from sandbox.cli import control_client
from tests.cli.asking import ask, assert_refused, offered

JSON = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\ndata: "
NOTHING = {name: [] for name in ("requests", "messages", "endpoints", "event_types")}
WORLD = json.dumps({"id": "default", "keys": {}, "url": "", "secret": "", **NOTHING}).encode()


@contextlib.contextmanager
def answering(
    head: bytes, part: bytes, *, every_s: float = 0, parts_max: int = 10_000
) -> Iterator[str]:
    """A server that goes on and on; if its streams do, it answers everything else at once."""
    is_over = threading.Event()
    bound = socket.create_server(("127.0.0.1", 0))

    def serve(client: socket.socket) -> None:
        with client, contextlib.suppress(OSError):
            asked = client.recv(65_536)
            if head is STREAM and b"/stream" not in asked:
                length = f"content-length: {len(WORLD)}\r\n\r\n".encode()
                client.sendall(JSON.removesuffix(b"\r\n") + length + WORLD)
                return
            client.sendall(head)
            for _ in range(parts_max):
                if is_over.wait(every_s):
                    return
                client.sendall(part)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = bound.accept()
                threading.Thread(target=serve, args=(client,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{bound.getsockname()[1]}"
    finally:
        is_over.set()
        bound.close()


def test_no_more_than_a_large_world_is_read_of_an_answer():
    with answering(JSON, b" " * 1_000_000, parts_max=400) as url:
        done = ask("keys", "--url", url)

    assert_refused(done, 2, "its answer has more than 300,000,000 bytes; is it a sandbox?")


@pytest.mark.parametrize("command", [("tail",), ("listen", "9")])
def test_no_more_than_a_megabyte_is_read_of_an_event(command):
    with answering(STREAM, b"x" * 100_000, parts_max=40) as url:
        done = ask(*command, "--url", url)

    assert done.exit_code == 2
    assert "its stream cannot be read" in done.stderr
    assert "1000000 byte limit" in done.stderr


def test_no_more_than_a_megabyte_is_read_of_a_platform_that_is_verified(tmp_path):
    key = "svc_uat_" + "a" * 16 + "_" + "b" * 32
    with answering(JSON, b" " * 100_000, parts_max=40) as url:
        done = ask("verify", url, "--out", str(tmp_path), UAT_KEY=key)

    assert done.exit_code == 2
    assert "no answer: its answer has more than 1,048,576 bytes" in done.output


def test_an_answer_that_comes_byte_by_byte_is_given_up(monkeypatch):
    monkeypatch.setattr(control_client, "COMPLETES_S", 0.1)
    for head in (JSON, b"HTTP/1.1 200 OK\r\nx: "):
        with answering(head, b" ", every_s=0.05) as url:
            began = time.monotonic()
            words = offered("sandbox pay 10 --as merch", SANDBOX_URL=url)

            assert words == []
            assert time.monotonic() - began < 3

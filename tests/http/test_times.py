"""How long a connection may take for what. Each test shortens the one time that it is about."""

import json
import socket
import time
from collections import deque

import pytest

from sandbox.http.limits import BODY_BYTES_PER_S_MIN
from tests.http.talking import HEALTH, Client, Serving, eventually, quickly, serving

SHORT_S = 0.3
DOCUMENT = b"GET /_sandbox/platform/openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n"
"""A request with a large answer."""


def begun(sandbox: Serving, size: int) -> bytes:
    """The head of a request with a usable key, whose body is to come."""
    return (
        b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\nx-service-apikey: %b\r\n"
        b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % (sandbox.key(), size)
    )


def waiting(seconds: float) -> bytes:
    """A request whose answer takes so long."""
    line = f"GET /_sandbox/worlds/default/wait?event_type=transaction.sale&timeout_s={seconds}"
    return f"{line} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()


def drip(client: Client, part: bytes) -> int:
    """Send a byte every now and then until there is an answer; how many that were."""
    client.socket.settimeout(SHORT_S / 10)
    try:
        for number in range(1_000):
            client.socket.sendall(part)
            try:
                client.socket.recv(1, socket.MSG_PEEK)
            except TimeoutError:
                continue
            return number
    finally:
        client.socket.settimeout(10)
    raise AssertionError("it was never answered")


@pytest.mark.proves("assumed D25-times")
def test_a_connection_on_which_nothing_comes_is_closed():
    with serving(times=quickly(head_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        assert client.is_closed()


def test_empty_lines_are_not_the_beginning_of_a_request():
    with serving(times=quickly(head_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        eventually(lambda: client.is_broken_by(b"\r\n"))


@pytest.mark.proves("assumed D25-times")
@pytest.mark.parametrize("head", [b"G", HEALTH[:-2], HEALTH + b"GET / HT"])
def test_a_head_that_was_begun_and_does_not_end_is_a_408(head):
    with serving(times=quickly(head_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        client.send(head)
        if head.startswith(HEALTH):
            assert client.answer().status == 200

        answer = client.answer()

        assert (answer.status, json.loads(answer.body)["error"]) == (408, "request_timeout")
        assert client.is_closed()


def test_a_head_that_comes_drop_by_drop_is_a_408_all_the_same():
    with serving(times=quickly(head_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        client.send(HEALTH[:-2])

        drip(client, b"a: x\r\n")

        assert client.answer().status == 408


@pytest.mark.proves("assumed D25-times")
def test_a_body_that_does_not_come_is_a_408():
    with serving(times=quickly(body_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        client.send(begun(sandbox, 100), b"{")

        answer = client.answer()

        assert (answer.status, json.loads(answer.body)["error"]) == (408, "request_timeout")
        assert client.is_closed()
        # The request was never carried out.
        assert sandbox.sandbox.worlds.default.journal.entries() == []


def test_a_body_that_comes_drop_by_drop_is_a_408_all_the_same():
    with serving(times=quickly(body_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        client.send(begun(sandbox, 10_000))

        drip(client, b" ")

        assert client.answer().status == 408


@pytest.mark.proves("assumed D25-times")
def test_a_large_body_that_goes_on_coming_has_more_time():
    size = 40 * BODY_BYTES_PER_S_MIN
    with serving(times=quickly(body_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        client.send(begun(sandbox, size + 1))
        began = time.monotonic()
        for _ in range(40):
            client.send(b" " * BODY_BYTES_PER_S_MIN)
            time.sleep(SHORT_S / 10)

        answer = client.ask(b"x")

        assert time.monotonic() - began > 2 * SHORT_S
        assert answer.status == 400


def test_a_body_that_nobody_needs_is_read_for_a_while_and_no_longer():
    refused = b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"
    with serving(times=quickly(body_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        assert client.ask(refused).status == 401
        assert client.is_closed()


@pytest.mark.proves("assumed D25-times")
def test_a_connection_that_is_used_no_more_is_closed_without_a_word():
    with serving(times=quickly(idle_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        assert client.ask(HEALTH).status == 200
        assert client.is_closed()


def test_a_connection_that_is_used_now_and_then_stays():
    with serving(times=quickly(idle_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        for _ in range(10):
            assert client.ask(HEALTH).status == 200
            time.sleep(SHORT_S / 5)


def test_an_answer_may_take_longer_than_all_of_these():
    times = quickly(head_s=SHORT_S, body_s=SHORT_S, idle_s=SHORT_S, unread_s=SHORT_S)
    with serving(times=times) as sandbox, Client(sandbox.port) as client:
        answer = client.ask(waiting(3 * SHORT_S))
        assert json.loads(answer.body)["error"] == "nothing_came"
        assert json.loads(client.ask(HEALTH).body)["status"] == "ok"


def test_what_begins_while_an_answer_is_awaited_has_its_time_after_that():
    with serving(times=quickly(head_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        client.send(waiting(3 * SHORT_S) + HEALTH[:-2])

        waited = client.answer()
        finished = client.ask(b"\r\n")

        assert json.loads(waited.body)["error"] == "nothing_came"
        assert finished.status == 200


@pytest.mark.proves("assumed D25-times")
def test_a_client_that_reads_nothing_of_a_large_answer_loses_it():
    with serving(times=quickly(unread_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 262_144)
        client.send(DOCUMENT * 100)
        assert client.answer().status == 200
        eventually(lambda: sandbox.pool.count == 0)

        with pytest.raises((EOFError, ConnectionResetError)):
            deque(client.answer() for _ in range(100))


def test_a_client_that_reads_slowly_gets_all_of_a_large_answer():
    times = quickly(unread_s=3 * SHORT_S, idle_s=SHORT_S)
    with serving(times=times) as sandbox, Client(sandbox.port) as client:
        client.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 262_144)
        client.send(DOCUMENT * 100)
        began = time.monotonic()

        for _ in range(100):
            assert client.answer().status == 200
            time.sleep(SHORT_S / 20)

        assert time.monotonic() - began > 4 * SHORT_S


def test_a_client_that_is_turned_away_and_does_not_leave_is_left():
    with serving(times=quickly(last_words_s=SHORT_S)) as sandbox, Client(sandbox.port) as client:
        assert client.ask(b"nonsense\r\n\r\n").status == 400

        eventually(lambda: client.is_broken_by(b"more"))

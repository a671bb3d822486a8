"""How long a connection may take for what. Each test shortens the one time that it is about."""

import json
import time

import pytest

from tests.http.talking import HEALTH, Client, Serving, eventually, serving

SHORT_S = 0.3


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


@pytest.mark.proves("assumed D25-times")
def test_a_connection_on_which_nothing_comes_is_closed():
    with serving(head_s=SHORT_S) as sandbox, Client(sandbox.port) as client:
        assert client.is_closed()


@pytest.mark.proves("assumed D25-times")
@pytest.mark.parametrize("head", [b"G", HEALTH[:-2], HEALTH + b"GET / HT"])
def test_a_connection_whose_head_does_not_end_is_closed(head):
    with serving(head_s=SHORT_S) as sandbox, Client(sandbox.port) as client:
        client.send(head)
        if head.startswith(HEALTH):
            assert client.answer().status == 200

        assert client.is_closed()


@pytest.mark.parametrize(("head", "drop"), [(b"", b"\r\n"), (HEALTH[:-2], b"a: x\r\n")])
def test_neither_empty_lines_nor_a_head_drop_by_drop_keep_a_connection_open(head, drop):
    with serving(head_s=SHORT_S) as sandbox, Client(sandbox.port) as client:
        client.send(head)

        eventually(lambda: client.is_broken_by(drop))


@pytest.mark.proves("assumed D25-times")
def test_a_connection_whose_body_does_not_come_is_closed():
    with serving(body_s=SHORT_S) as sandbox, Client(sandbox.port) as client:
        client.send(begun(sandbox, 100), b"{")

        assert client.is_closed()
        # The request was never carried out.
        assert sandbox.sandbox.worlds.default.journal.entries() == []


@pytest.mark.proves("assumed D25-times")
def test_a_large_body_that_goes_on_coming_has_more_time():
    size = 40 * 1_000
    with serving(body_s=SHORT_S) as sandbox, Client(sandbox.port) as client:
        client.send(begun(sandbox, size + 1))
        began = time.monotonic()
        for _ in range(40):
            client.send(b" " * 1_000)
            time.sleep(SHORT_S / 10)

        answer = client.ask(b"x")

        assert time.monotonic() - began > 2 * SHORT_S
        assert answer.status == 400


def test_a_body_that_is_not_needed_is_read_for_a_while_and_no_longer():
    refused = b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\n{"
    with serving(body_s=SHORT_S) as sandbox, Client(sandbox.port) as client:
        assert client.ask(refused).status == 401
        assert client.is_closed()


@pytest.mark.proves("assumed D25-times")
def test_a_connection_that_is_used_no_more_is_closed_without_a_word():
    with serving(idle_s=SHORT_S) as sandbox, Client(sandbox.port) as client:
        assert client.ask(HEALTH).status == 200
        assert client.is_closed()


def test_a_connection_that_is_used_now_and_then_stays():
    with serving(idle_s=SHORT_S) as sandbox, Client(sandbox.port) as client:
        for _ in range(10):
            assert client.ask(HEALTH).status == 200
            time.sleep(SHORT_S / 5)


def test_an_answer_may_take_longer_than_all_of_these():
    times = dict.fromkeys(("head_s", "body_s", "idle_s"), SHORT_S)
    with serving(**times) as sandbox, Client(sandbox.port) as client:
        answer = client.ask(waiting(3 * SHORT_S))
        assert json.loads(answer.body)["error"] == "nothing_came"
        assert json.loads(client.ask(HEALTH).body)["status"] == "ok"

"""The head of a request: how large it may be, and what it must have."""

import contextlib
import socket

import pytest

from sandbox.server.protocol import HEAD_BYTES_MAX
from tests.driving import Served
from tests.http.talking import HEALTH, Client, port_of

KIB = 1024


@pytest.fixture
def client(served: Served):
    with Client(port_of(served.url)) as client:
        yield client


def head_of(size: int) -> bytes:
    """A request whose head has exactly so many bytes."""
    begin = b"GET /_sandbox/health HTTP/1.1\r\nhost: localhost\r\na: "
    return begin + b"x" * (size - len(begin) - 4) + b"\r\n\r\n"


def with_url_of(size: int) -> bytes:
    begin, end = b"GET /_sandbox/health?", b" HTTP/1.1\r\nhost: localhost\r\n\r\n"
    return begin + b"x" * (size - len(begin) - len(end)) + end


def pieces(data: bytes, size: int) -> list[bytes]:
    return [data[start : start + size] for start in range(0, len(data), size)]


def test_a_head_of_64_kib_is_served_in_any_pieces(client):
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    for piece in (HEAD_BYTES_MAX, 10_000, 1_000):
        assert client.ask(*pieces(head_of(HEAD_BYTES_MAX), piece)).status == 200
    assert client.ask(*pieces(HEALTH, 1)).status == 200


@pytest.mark.proves("assumed D25-heads")
def test_a_larger_head_is_a_400_and_the_connection_is_closed(served):
    for make in (head_of, with_url_of):
        for size in (HEAD_BYTES_MAX + 1, 2 * HEAD_BYTES_MAX, 1_000 * KIB):
            for piece in (1_000 * KIB, 10_000):
                with Client(port_of(served.url)) as client:
                    with contextlib.suppress(OSError):
                        client.send(*pieces(make(size), piece))
                    answer = client.answer()
                    assert (answer.status, answer.headers["connection"]) == (400, "close")
                    assert b"64 KiB" in answer.body
                    assert client.is_closed()


ENDLESS = {
    b"GET /": b"x",
    b"GET / HTTP/1.1\r\nhost: localhost\r\na": b"x",
    b"GET / HTTP/1.1\r\nhost: localhost\r\na: ": b"x",
    b"GET / HTTP/1.1\r\nhost: localhost\r\na:": b" ",
    # Behind another request, where no packet begins with it.
    HEALTH.replace(b"GET", b"PUT") + b"GET / HTTP/1.1\r\na: ": b"x",
}
"""How a head begins, and what comes without end."""


def test_a_head_without_end_is_refused_before_much_of_it_has_come(served):
    for begin, filler in ENDLESS.items():
        with Client(port_of(served.url)) as client:
            client.send(begin)
            if begin.startswith(b"PUT"):
                assert client.answer().status == 405

            client.send_until_refused(filler * KIB, 4_000)

            assert client.answer().status == 400


HOSTS = [
    (b"HTTP/1.1\r\n", 400),
    (b"HTTP/1.1\r\nhost: localhost\r\nHost: x\r\n", 400),
    (b"HTTP/1.0\r\nhost: localhost\r\nHost: y\r\n", 400),
    (b"HTTP/1.1\r\nhost:\r\n", 421),
    (b"HTTP/1.0\r\n", 200),
]


@pytest.mark.proves("assumed D25-heads")
def test_a_request_has_one_host_and_the_connection_goes_on_without_one(served):
    for end, status in HOSTS:
        with Client(port_of(served.url)) as client:
            answer = client.ask(b"GET /_sandbox/health " + end + b"\r\n")
            assert answer.status == status, end
            assert status != 400 or b"one Host header" in answer.body
    with Client(port_of(served.url)) as client:
        assert client.ask(b"GET http://x/_sandbox/health HTTP/1.1\r\n\r\n").status == 400
        assert client.ask(HEALTH).status == 200

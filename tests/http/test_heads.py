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


@pytest.mark.parametrize("piece", [HEAD_BYTES_MAX, 10_000, 1_000])
def test_a_head_of_64_kib_is_served(client, piece):
    answer = client.ask(*pieces(head_of(HEAD_BYTES_MAX), piece))

    assert answer.status == 200


@pytest.mark.proves("assumed D25-heads")
@pytest.mark.parametrize("make", [head_of, with_url_of])
@pytest.mark.parametrize("size", [HEAD_BYTES_MAX + 1, 2 * HEAD_BYTES_MAX, 1_000 * KIB])
@pytest.mark.parametrize("piece", [1_000 * KIB, 10_000])
def test_a_larger_head_is_a_400_and_the_connection_is_closed(client, make, size, piece):
    with contextlib.suppress(OSError):
        client.send(*pieces(make(size), piece))

    answer = client.answer()

    assert (answer.status, answer.headers["connection"]) == (400, "close")
    assert b"64 KiB" in answer.body
    assert client.is_closed()


@pytest.mark.parametrize(
    "begin",
    [
        b"GET /",
        b"GET / HTTP/1.1\r\nhost: localhost\r\na",
        b"GET / HTTP/1.1\r\nhost: localhost\r\na: ",
        b"GET / HTTP/1.1\r\nhost: localhost\r\na:",
        # Behind another request, where no packet begins with it.
        HEALTH.replace(b"GET", b"PUT") + b"GET / HTTP/1.1\r\na: ",
    ],
    ids=["url", "name", "value", "spaces", "pipelined"],
)
def test_a_head_without_end_is_refused_before_much_of_it_has_come(client, begin):
    filler = b" " if begin.endswith(b"a:") else b"x"
    client.send(begin)
    if begin.startswith(b"PUT"):
        assert client.answer().status == 405

    client.send_until_refused(filler * KIB, 4_000)

    assert client.answer().status == 400


def test_a_head_that_comes_byte_by_byte_is_served(client):
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    answer = client.ask(*pieces(HEALTH, 1))

    assert answer.status == 200


@pytest.mark.proves("assumed D25-heads")
@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"GET /_sandbox/health HTTP/1.1\r\n\r\n", 400),
        (b"GET /_sandbox/health HTTP/1.1\r\nhost: localhost\r\nHost: x\r\n\r\n", 400),
        (b"GET /_sandbox/health HTTP/1.0\r\nhost: localhost\r\nHost: y\r\n\r\n", 400),
        (b"GET http://x/_sandbox/health HTTP/1.1\r\n\r\n", 400),
        (b"GET /_sandbox/health HTTP/1.1\r\nhost:\r\n\r\n", 421),
        (b"GET /_sandbox/health HTTP/1.0\r\n\r\n", 200),
    ],
)
def test_a_request_has_one_host(client, head, status):
    answer = client.ask(head)

    assert answer.status == status
    if status == 400:
        assert b"one Host header" in answer.body


def test_the_connection_goes_on_after_a_request_without_a_host(client):
    first = client.ask(HEALTH.replace(b"host: localhost\r\n", b""))
    second = client.ask(HEALTH)

    assert (first.status, second.status) == (400, 200)


# --- several at once --------------------------------------------------------------------------


def test_pipelined_requests_with_bodies_of_many_packets_are_all_answered(client, served):
    key = served.key("merchant").encode()
    body = b'{"name":"x","nonsense":"%b"}' % (b"y" * 40_000)
    post = b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\nx-service-apikey: %b\r\n" % key
    post += b"content-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)

    client.send((post + HEALTH) * 20)
    statuses = [client.answer().status for _ in range(40)]

    # The permissions are missing.
    assert statuses == [400, 200] * 20

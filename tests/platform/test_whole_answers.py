"""Answers travel as a whole, and nothing waits that should not."""

import socket
from collections.abc import Iterator

import pytest

from tests.driving import Served


@pytest.fixture
def connection(served: Served) -> Iterator[socket.socket]:
    host, port = served.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        yield connection


def request(served: Served, line: str, *more: str) -> bytes:
    key = f"x-service-apikey: {served.key('merchant')}"
    return "\r\n".join([line, "host: localhost", key, *more, "", ""]).encode()


def head_of(connection: socket.socket) -> bytes:
    """The next answer's head, byte by byte, so that nothing of what follows is taken."""
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        assert byte, head
        head += byte
    return head


def body_of(connection: socket.socket, head: bytes) -> bytes:
    size = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    body = b""
    while len(body) < size:
        body += connection.recv(size - len(body))
    return body


def test_an_answer_without_a_body_does_not_wait_for_one(connection, served):
    connection.sendall(request(served, "HEAD /v5/apikeys HTTP/1.1"))
    head = head_of(connection)
    connection.sendall(request(served, "GET /v5/apikeys HTTP/1.1"))
    next_head = head_of(connection)

    assert head.startswith(b"HTTP/1.1 200 ")
    assert next_head.startswith(b"HTTP/1.1 200 ")


def test_a_client_that_asks_before_it_sends_is_told_to_go_on_at_once(connection, served):
    sent = request(
        *(served, "POST /v5/apikeys HTTP/1.1"),
        *("expect: 100-continue", "content-length: 2", "content-type: application/json"),
    )

    connection.sendall(sent)
    invitation = head_of(connection)
    connection.sendall(b"{}")
    head = head_of(connection)

    assert invitation == b"HTTP/1.1 100 Continue\r\n\r\n"
    assert head.startswith(b"HTTP/1.1 400 ")
    assert body_of(connection, head).startswith(b'{"error":')


def test_answers_to_requests_that_came_together_come_in_order(connection, served):
    lines = ["GET /v5/apikeys HTTP/1.1", "GET /nowhere HTTP/1.1", "GET /v5/apikeys HTTP/1.1"]

    connection.sendall(b"".join(request(served, line) for line in lines))
    statuses = []
    for _ in lines:
        head = head_of(connection)
        body_of(connection, head)
        statuses.append(head.split()[1])

    assert statuses == [b"200", b"404", b"200"]


def test_the_last_answer_of_a_connection_comes_before_it_is_closed(connection, served):
    connection.sendall(request(served, "GET /v5/apikeys HTTP/1.1", "connection: close"))

    head = head_of(connection)

    assert body_of(connection, head).startswith(b'[{"id":')
    assert connection.recv(1) == b""

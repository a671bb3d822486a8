"""The receiver of webhooks, at its socket."""

import contextlib
import http.client
import socket
import threading
import warnings
from urllib.parse import urlsplit

import pytest

from uat_sandbox import SandboxError
from uat_sandbox.receiver import Receiver


@pytest.fixture
def receiver():
    one = Receiver("127.0.0.1", "127.0.0.1")
    yield one
    one.close()


def connection_to(receiver: Receiver) -> http.client.HTTPConnection:
    where = urlsplit(receiver.url_of(""))
    return http.client.HTTPConnection(str(where.hostname), where.port, timeout=10)


def test_connections_stay_open_for_more_and_unknown_paths_are_turned_away(receiver):
    box = receiver.open("world-1")
    connection = connection_to(receiver)
    statuses = []
    for path in ("/world-1", "/world-2", "/world-1?a=b"):
        connection.request("POST", path, b"{}")
        answer = connection.getresponse()
        answer.read()
        statuses.append(answer.status)
    connection.close()

    assert statuses == [401, 404, 401]
    assert [one.raw for one in box.arrivals()] == [b"{}", b"{}"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"content-length": "99999999999"}, 413), ({"transfer-encoding": "chunked"}, 411)],
)
def test_a_body_that_it_cannot_take_is_refused(receiver, headers, status):
    connection = connection_to(receiver)
    connection.putrequest("POST", "/world-1")
    for name, value in headers.items():
        connection.putheader(name, value)
    connection.endheaders()

    assert connection.getresponse().status == status
    connection.close()


def test_nothing_is_left_open_when_it_is_closed_not_even_what_was_just_accepted():
    before = set(threading.enumerate())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        receiver = Receiver("127.0.0.1", "127.0.0.1")
        where = urlsplit(receiver.url_of(""))
        clients = [socket.create_connection((where.hostname, where.port)) for _ in range(20)]
        clients[0].sendall(b"POST / HTTP/1.1\r\ncontent-le")

        receiver.close()

        for one in clients:
            one.settimeout(10)
            with contextlib.suppress(ConnectionResetError):
                assert one.recv(1) == b""
            one.close()
    assert set(threading.enumerate()) == before


def test_an_address_of_another_machine_is_refused_in_a_sentence():
    with pytest.raises(SandboxError, match=r"webhooks cannot be received on 192\.0\.2\.1"):
        Receiver("192.0.2.1", "192.0.2.1")

"""What only a real socket can get wrong: bytes that are no HTTP, heads, clients that leave."""

import contextlib
import json
import socket

import pytest

from sandbox.server.protocol import HEAD_BYTES_MAX
from tests.driving import Served
from tests.http.talking import HEALTH, Client, head_of
from tests.platform.refusals import BODY_MAX

POST = b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\n"


def lists_its_keys(served: Served) -> bool:
    return served.ask("GET", "/v5/apikeys", key="merchant").status_code == 200


GARBAGE = [
    *(b"garbage\r\n\r\n", b"\x00\x01\x02\x03\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00"),
    *(b"{}\r\n\r\n", b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n"),
    b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    *(
        line + b" HTTP/1.1\r\nhost: localhost\r\n\r\n"
        for line in (b"FOO /", b"get /", b"GET ?x", b"GET /a b", b"GET /\xff", b"CONNECT x:80")
    ),
    b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
    *(POST + b"content-length: " + size + b"\r\n\r\n" for size in (b"-1", b"x")),
    POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\n",
    POST + b"transfer-encoding: chunked\r\n\r\nzz\r\n\r\n",
    POST + b"content-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
]


def test_bytes_that_are_not_http_get_a_400_and_the_server_continues(served):
    for garbage in GARBAGE:
        with Client(served.port) as client:
            answer = client.ask(garbage)
            assert client.is_closed()
        assert (answer.status, answer.body) == (400, b"The request is not valid HTTP."), garbage
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert lists_its_keys(served)


TARGETS = {
    200: [
        *("/v5/apikeys", "/v5/apikeys?", "/v5/apikeys?x=%ff&%00", "/v5/apikeys#fragment"),
        *("http://elsewhere/v5/apikeys", "/v5/%61pikeys"),
    ],
    404: [
        *("/v5/apikeys/", "//v5/apikeys", "/v5%2Fapikeys%2Fx%2Fy", "/%5fsandbox", "*"),
        *("/v5/apikeys/" + id for id in ("%2F", "%00", "%ff%fe", "%", "%zz", "x" * 50_000)),
    ],
}


def test_an_encoded_path_is_read_once_and_nothing_is_redirected(served):
    for expected, targets in TARGETS.items():
        for target in targets:
            method = "OPTIONS" if target == "*" else "GET"
            with Client(served.port) as client:
                answer = client.ask(head_of(f"{method} {target}", key=served.key("merchant")))
            assert answer.status == expected, target
            assert answer.headers["content-type"] == "application/json"
            assert json.loads(answer.body)


# --- bodies in pieces, and clients that leave -------------------------------------------------


@pytest.fixture
def keys(served):
    """The keys of a world of one test, so that what it creates is seen by no other."""
    world = served.control("POST", "/worlds", json={}).json()
    yield {name: one["key"] for name, one in world["keys"].items()}
    served.control("DELETE", f"/worlds/{world['id']}")


@pytest.mark.proves("assumed D25")
def test_a_chunked_body_of_more_than_64_kib_is_a_413(served, keys):
    json_type = {"content-type": "application/json"}
    for chunk in (1_024, 65_536):
        pieces = (b" " * chunk for _ in range(BODY_MAX // chunk + 1))
        answer = served.ask(
            "POST", "/v5/apikeys", key=keys["merchant"], content=pieces, headers=json_type
        )
        assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")
    assert lists_its_keys(served)


CUT_OFF = [
    b"content-length: 100\r\n\r\n" + b'{"name":"half","permissions":["all"]}',
    b"content-length: 100\r\n\r\n",
    b"transfer-encoding: chunked\r\n\r\n" + b'25\r\n{"name":"half","permissions":["all"]}\r\n',
    b"content-len",
    b"expect: 100-continue\r\ncontent-length: 100\r\n\r\n",
]


def test_clients_that_leave_in_the_middle_change_nothing_and_harm_no_other_client(served, keys):
    def ids():
        listed = served.ask("GET", "/v5/apikeys", key=keys["admin"]).json()
        return [one["id"] for one in listed]

    before = ids()
    for cut in CUT_OFF * 10:
        with Client(served.port) as client:
            client.send(POST + b"x-service-apikey: " + keys["merchant"].encode() + b"\r\n" + cut)
            if cut in CUT_OFF[:3]:
                client.socket.shutdown(socket.SHUT_WR)
                while client.socket.recv(65_536):
                    pass

    assert ids() == before
    assert lists_its_keys(served)


KIB = 1024


def sized(size: int) -> bytes:
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
        assert client.ask(*pieces(sized(HEAD_BYTES_MAX), piece)).status == 200
    assert client.ask(*pieces(HEALTH, 1)).status == 200
    client.send(HEALTH * 5_000)
    assert {client.answer().status for _ in range(5_000)} == {200}


@pytest.mark.proves("assumed D25-heads")
def test_a_larger_head_is_a_400_and_the_connection_is_closed(served):
    for make in (sized, with_url_of):
        for size in (HEAD_BYTES_MAX + 1, 2 * HEAD_BYTES_MAX, 1_000 * KIB):
            for piece in (1_000 * KIB, 10_000):
                with Client(served.port) as client:
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


def test_an_endless_head_is_refused_early(served):
    for begin, filler in ENDLESS.items():
        with Client(served.port) as client:
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
def test_a_request_without_one_host_is_refused_and_the_connection_continues(served):
    for end, status in HOSTS:
        with Client(served.port) as client:
            answer = client.ask(b"GET /_sandbox/health " + end + b"\r\n")
            assert answer.status == status, end
            assert status != 400 or b"one Host header" in answer.body
    with Client(served.port) as client:
        assert client.ask(b"GET http://x/_sandbox/health HTTP/1.1\r\n\r\n").status == 400
        assert client.ask(HEALTH).status == 200

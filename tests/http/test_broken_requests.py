"""What only a real socket can get wrong: bytes that are no HTTP, chunks, and clients that leave."""

import json
import socket

import pytest

from tests.driving import Served
from tests.http.talking import Client, head_of, port_of
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


def test_bytes_that_are_no_http_get_a_400_and_the_server_goes_on(served):
    for garbage in GARBAGE:
        with Client(port_of(served.url)) as client:
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
            with Client(port_of(served.url)) as client:
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
        with Client(port_of(served.url)) as client:
            client.send(POST + b"x-service-apikey: " + keys["merchant"].encode() + b"\r\n" + cut)
            if cut in CUT_OFF[:3]:
                client.socket.shutdown(socket.SHUT_WR)
                while client.socket.recv(65_536):
                    pass

    assert ids() == before
    assert lists_its_keys(served)


def test_a_body_does_not_become_the_next_request_of_its_connection(served):
    key, smuggled = served.key("merchant"), head_of("GET /v5/other")
    for line, status in (("POST /v5/apikeys", 400), ("GET /v5/apikeys", 200)):
        first = head_of(line, f"content-length: {len(smuggled)}", key=key) + smuggled
        last = head_of("GET /v1/accounts/x", "connection: close", key=key)
        with Client(port_of(served.url)) as client:
            client.send(first + last)
            assert [client.answer().status for _ in range(2)] == [status, 404]
            assert client.is_closed()

"""What only a real socket can get wrong: bytes that are no HTTP, chunks, and clients that leave."""

import json
import socket

import pytest

from tests.driving import Served
from tests.platform.refusals import BODY_MAX


def _connect(served: Served) -> socket.socket:
    host, port = served.url.removeprefix("http://").split(":")
    return socket.create_connection((host, int(port)), timeout=10)


def _exchange(served: Served, sent: bytes) -> bytes:
    """Everything that comes back until the server closes the connection."""
    with _connect(served) as connection:
        connection.sendall(sent)
        return b"".join(iter(lambda: connection.recv(65_536), b""))


def _request(served: Served, line: bytes, *more: bytes, body: bytes = b"") -> bytes:
    """A request with the merchant's key, after whose answer the server closes."""
    key = b"x-service-apikey: " + served.key("merchant").encode()
    head = b"\r\n".join([line, b"host: localhost", key, b"connection: close", *more])
    return head + b"\r\n\r\n" + body


def _parts(answer: bytes) -> tuple[int, dict[str, str], bytes]:
    head, _, body = answer.partition(b"\r\n\r\n")
    status, *lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines)
    return int(status.split()[1]), headers, body


def _lists_its_keys(served: Served) -> bool:
    return served.ask("GET", "/v5/apikeys", key="merchant").status_code == 200


@pytest.mark.parametrize(
    "garbage",
    [
        b"garbage\r\n\r\n",
        b"\x00\x01\x02\x03\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00",
        b"{}\r\n\r\n",
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"FOO / HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"get / HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET ?x HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /a b HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET /\xff HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"CONNECT x:80 HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\ncontent-length: -1\r\n\r\n",
        b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\ncontent-length: x\r\n\r\n",
        b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\ncontent-length: 1\r\n"
        b"content-length: 2\r\n\r\n",
        b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\n"
        b"transfer-encoding: chunked\r\n\r\nzz\r\n\r\n",
        b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\ncontent-length: 5\r\n"
        b"transfer-encoding: chunked\r\n\r\n0\r\n\r\n",
    ],
    ids=lambda garbage: repr(garbage[:30]),
)
def test_bytes_that_are_no_http_get_a_400_and_the_server_goes_on(served, garbage):
    status, headers, body = _parts(_exchange(served, garbage))

    assert (status, headers["content-type"]) == (400, "text/plain; charset=utf-8")
    assert int(headers["content-length"]) == len(body)
    assert body == b"The request is not valid HTTP."
    assert _lists_its_keys(served)


@pytest.mark.proves("assumed C9")
@pytest.mark.parametrize("method", [b"OPTIONS", b"PATCH", b"TRACE", b"PROPFIND"])
def test_methods_that_are_not_served_are_a_405_with_a_body(served, method):
    answer = _exchange(served, _request(served, method + b" /v5/apikeys HTTP/1.1"))

    status, headers, body = _parts(answer)
    assert (status, set(headers["allow"].split(", "))) == (405, {"get", "post"})
    assert json.loads(body)["error"] == "method_not_allowed"


@pytest.mark.parametrize(
    ("target", "expected"),
    [
        (b"/v5/apikeys", 200),
        (b"/v5/apikeys?", 200),
        (b"/v5/apikeys?x=%ff&%00", 200),
        (b"/v5/apikeys#fragment", 200),
        (b"http://elsewhere/v5/apikeys", 200),
        (b"/v5/%61pikeys", 200),
        (b"/v5/apikeys/", 404),
        (b"//v5/apikeys", 404),
        (b"/v5%2Fapikeys%2Fx%2Fy", 404),
        (b"/v5/apikeys/%2F", 404),
        (b"/v5/apikeys/%00", 404),
        (b"/v5/apikeys/%ff%fe", 404),
        (b"/v5/apikeys/%", 404),
        (b"/v5/apikeys/%zz", 404),
        (b"/v5/apikeys/" + b"x" * 50_000, 404),
        (b"/%5fsandbox", 404),
        (b"*", 404),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_an_encoded_path_is_read_once_and_nothing_is_redirected(served, target, expected):
    method = b"OPTIONS " if target == b"*" else b"GET "

    status, headers, body = _parts(
        _exchange(served, _request(served, method + target + b" HTTP/1.1"))
    )

    assert (status, headers["content-type"]) == (expected, "application/json")
    assert json.loads(body)


def test_a_header_that_is_not_ascii_is_not_a_key(served):
    sent = b"GET /v5/apikeys HTTP/1.1\r\nhost: localhost\r\nx-service-apikey: \xff\xc3\xa9\r\n"

    status, _, body = _parts(_exchange(served, sent + b"connection: close\r\n\r\n"))

    assert (status, json.loads(body)["error"]) == (401, "authentication_failed")


# --- bodies in pieces -------------------------------------------------------------------------


@pytest.fixture
def keys(served):
    """The keys of a world of one test, so that what it creates is seen by no other."""
    world = served.control("POST", "/worlds", json={}).json()
    yield {name: one["key"] for name, one in world["keys"].items()}
    served.control("DELETE", f"/worlds/{world['id']}")


@pytest.mark.proves("assumed D25")
@pytest.mark.parametrize("chunk", [1_024, 65_536])
def test_a_chunked_body_of_more_than_64_kib_is_a_413(served, keys, chunk):
    pieces = (b" " * chunk for _ in range(BODY_MAX // chunk + 1))

    answer = served.ask(
        "POST",
        "/v5/apikeys",
        key=keys["merchant"],
        content=pieces,
        headers={"content-type": "application/json"},
    )

    assert (answer.status_code, answer.json()["error"]) == (413, "body_too_large")
    assert _lists_its_keys(served)


# --- clients that leave -----------------------------------------------------------------------


@pytest.mark.parametrize(
    "cut",
    [
        b"content-length: 100\r\n\r\n" + b'{"name":"half","permissions":["all"]}',
        b"content-length: 100\r\n\r\n",
        b"transfer-encoding: chunked\r\n\r\n" + b'25\r\n{"name":"half","permissions":["all"]}\r\n',
        b"content-len",
        b"expect: 100-continue\r\ncontent-length: 100\r\n\r\n",
    ],
    ids=["half a body", "no body", "no last chunk", "half a header", "expects to continue"],
)
def test_a_client_that_leaves_in_the_middle_changes_nothing_and_harms_no_other_client(
    served, keys, cut
):
    head = b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\nx-service-apikey: "
    before = served.ask("GET", "/v5/apikeys", key=keys["admin"]).json()

    with _connect(served) as connection:
        connection.sendall(head + keys["merchant"].encode() + b"\r\n" + cut)
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65_536):
            pass

    after = served.ask("GET", "/v5/apikeys", key=keys["admin"]).json()
    assert [one["id"] for one in after] == [one["id"] for one in before]
    assert _lists_its_keys(served)


def test_many_clients_that_leave_at_once_harm_no_other_client(served, keys):
    head = b"POST /v5/apikeys HTTP/1.1\r\nhost: localhost\r\nx-service-apikey: "

    for _ in range(50):
        with _connect(served) as connection:
            connection.sendall(head + keys["merchant"].encode() + b"\r\ncontent-length: 9\r\n\r\n{")

    assert _lists_its_keys(served)


# --- requests in a row ------------------------------------------------------------------------


def test_a_refused_body_does_not_leak_into_the_next_request_of_its_connection(served):
    smuggled = b"GET /v5/other HTTP/1.1\r\nhost: localhost\r\n\r\n"
    length = b"content-length: %d" % len(smuggled)
    first = _request(served, b"POST /v5/apikeys HTTP/1.1", length, body=smuggled)

    answer = _exchange(
        served,
        first.replace(b"connection: close\r\n", b"")
        + _request(served, b"GET /v5/apikeys HTTP/1.1"),
    )

    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 2
    assert b"HTTP/1.1 200 " in answer


def test_a_body_of_a_request_that_has_none_does_not_become_the_next_request(served):
    key = served.key("merchant").encode()
    head = b"GET /v5/apikeys HTTP/1.1\r\nhost: localhost\r\n"
    head += b"x-service-apikey: %b\r\ncontent-length: %d\r\n\r\n"
    smuggled = b"GET /v5/other HTTP/1.1\r\nhost: localhost\r\n\r\n"

    first = head % (key, len(smuggled)) + smuggled
    answer = _exchange(served, first + _request(served, b"GET /v1/accounts/x HTTP/1.1"))

    assert answer.count(b"HTTP/1.1 200 ") == 1
    assert answer.count(b"HTTP/1.1 404 ") == 1

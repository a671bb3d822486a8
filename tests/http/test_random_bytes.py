"""Bytes that are almost a request: the server refuses or answers them, and goes on."""

import contextlib
import logging
import re
import socket
from collections.abc import Iterator

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st

from tests.http.talking import HOST, LAST_HEALTH, Client, Serving, request, serving
from tests.properties import examples

QUIET_S = 0.2
"""So long a connection is read from when nothing comes: some requests never get an answer."""

PIECES = (
    *(b"\r\n", b"\n", b"\r", b"\x00", b":", b" ", b"\xff", b"%", b"HTTP/9.9", b"{" * 200),
    *(b"content-length: 5\r\n", b"content-length: -1\r\n", b"transfer-encoding: chunked\r\n"),
    *(b"expect: 100-continue\r\n", b"upgrade: h2c\r\nconnection: upgrade\r\n", b"host: a\r\n"),
    *(b"x" * 70_000, b"GET / HTTP/1.1\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01"),
)

EDITS = st.lists(
    st.tuples(
        st.floats(min_value=0, max_value=1, exclude_max=True),
        st.integers(min_value=0, max_value=40),
        st.sampled_from(PIECES) | st.binary(max_size=8),
    ),
    min_size=1,
    max_size=4,
)
"""Where to edit, how many bytes to take out there, and what to put in."""


@pytest.fixture(scope="module")
def server() -> Iterator[Serving]:
    with serving() as one:
        yield one


@pytest.fixture(scope="module")
def errors() -> Iterator[list[str]]:
    """The errors that the server logs; asyncio's are its own as well."""
    found: list[str] = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: found.append(record.getMessage())  # type: ignore[method-assign]
    loggers = [logging.getLogger(name) for name in ("sandbox", "asyncio", "uvicorn.error")]
    for one in loggers:
        one.addHandler(handler)
    yield found
    for one in loggers:
        one.removeHandler(handler)


def requests_of(server: Serving) -> list[bytes]:
    sale = b'{"amount": 1000}'
    control = b"POST /_sandbox/worlds HTTP/1.1\r\nhost: localhost\r\ncontent-length: 2\r\n\r\n{}"
    chunked = request(server, "POST /v3/payment", "transfer-encoding: chunked")
    return [
        request(server, "POST /v3/payment", body=sale),
        request(server, "GET /v2/terminals?limit=5"),
        chunked + b"5\r\n12345\r\n0\r\n\r\n",
        control,
        LAST_HEALTH,
    ]


@given(
    chosen=st.lists(st.integers(min_value=0, max_value=4), min_size=1, max_size=3),
    edits=EDITS,
    cut=st.floats(min_value=0, max_value=1),
)
@settings(max_examples=examples(90))
def test_bytes_that_are_almost_a_request_never_fail_the_server(server, errors, chosen, edits, cut):
    known = requests_of(server)
    sent = b"".join(known[number] for number in chosen)
    for place, removed, added in edits:
        at = int(place * len(sent))
        sent = sent[:at] + added + sent[at + removed :]
    middle = int(cut * len(sent))

    answer = answer_to(server, sent[:middle], sent[middle:])

    event(answer[:12].decode("latin-1"))
    statuses = [int(status) for status in re.findall(rb"HTTP/1\.1 (\d{3}) ", answer)]
    assert [status for status in statuses if status >= 500] == []
    with Client(server.port) as client:
        assert client.ask(LAST_HEALTH).status == 200
    assert errors == []


def answer_to(server: Serving, *parts: bytes) -> bytes:
    """What comes back until nothing more does."""
    received = b""
    with (
        socket.create_connection((HOST, server.port), timeout=QUIET_S) as connection,
        contextlib.suppress(OSError),
    ):
        for part in parts:
            connection.sendall(part)
        while part := connection.recv(65_536):
            received += part
    return received

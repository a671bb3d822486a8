"""Headers that came before are not parsed again, and nobody can tell."""

import json
from collections.abc import Iterator

import httptools
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.http.known_heads import HEADS_MAX, LINES_MAX, KnownHeads
from tests.driving import InProcess
from tests.http.talking import Answer, Client, Serving, payment, request, serving
from tests.properties import examples

CHUNKED = "transfer-encoding: chunked"


@pytest.fixture
def served() -> Iterator[Serving]:
    with serving() as server:
        # Until it knows the Host, requests take the ordinary way.
        with Client(server.port) as first:
            assert first.ask(b"GET /v1/ HTTP/1.1\r\nhost: localhost\r\n\r\n").status == 404
        yield server


@pytest.fixture
def client(served: Serving) -> Iterator[Client]:
    with Client(served.port) as connection:
        yield connection


def until_read(served: Serving) -> None:
    """Wait until the server has read what was sent so far: it reads in the order of arrival."""
    with Client(served.port) as other:
        other.ask(request(served, "GET /v1/accounts"))


def amount_of(answer: Answer) -> int:
    assert answer.status == 200, answer
    return int(json.loads(answer.body)["total_amount"])


def test_the_path_and_the_body_are_those_of_the_new_request(served, client):
    made = [
        json.loads(client.ask(payment(served, amount=amount)).body) for amount in (1_111, 2_222)
    ]
    asked = [request(served, f"GET /v1/transactions/{one['transaction_id']}") for one in made]
    read = [json.loads(client.ask(one).body) for one in (*asked, asked[0])]

    assert [one["total_amount"] for one in made] == [1_111, 2_222]
    assert [one["transaction_id"] for one in read] == [
        one["transaction_id"] for one in (*made, made[0])
    ]
    assert len(served.pool.heads) == 2


def test_all_connections_know_a_head_and_the_first_line_may_be_any(served, client):
    client.ask(request(served, "GET /v1/accounts"))

    with Client(served.port) as other:
        answers = [
            other.ask(request(served, line))
            for line in ("GET /v1/locations", "GET /v1/nothing", "DELETE /v1/accounts", "GET /v1/%")
        ]
        other.send(request(served, "HEAD /v1/accounts"))
        answers.append(other.answer(has_body=False))

    assert [one.status for one in answers] == [200, 404, 405, 404, 405]
    assert len(served.pool.heads) == 1


def test_a_query_a_control_request_and_the_welcome_take_their_own_ways(served, client):
    client.ask(request(served, "GET /v1/accounts"))
    lines = ("GET /v2/transactions?limit=1", "GET /_sandbox/health", "GET /")

    pages = [client.ask(request(served, line)) for line in lines]

    assert [one.status for one in pages] == [200, 200, 404]
    assert "transactions" in json.loads(pages[0].body)
    assert json.loads(pages[1].body)["version"]


def test_a_body_of_another_length_or_in_two_packets_is_read_whole(served, client):
    assert amount_of(client.ask(payment(served, amount=1_000))) == 1_000
    assert amount_of(client.ask(payment(served, amount=20_000))) == 20_000
    sent = payment(served, amount=3_000)
    assert amount_of(client.ask(sent[:-7], sent[-7:])) == 3_000
    assert amount_of(client.ask(sent[:30], sent[30:])) == 3_000
    client.send(sent + payment(served, amount=4_000) + sent[:-7])
    client.send(sent[-7:])
    assert [amount_of(client.answer()) for _ in range(3)] == [3_000, 4_000, 3_000]


def test_a_chunked_body_is_parsed_each_time(served, client):
    body = payment(served, amount=5_000).partition(b"\r\n\r\n")[2]
    sent = request(served, "POST /v3/payment", "content-type: application/json", CHUNKED)
    sent += b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)

    assert [amount_of(client.ask(sent)) for _ in range(3)] == [5_000] * 3
    assert len(served.pool.heads) == 0


def test_the_end_of_a_body_that_looks_like_a_request_is_none(served, client):
    client.ask(request(served, "GET /v1/accounts"))
    body = request(served, "GET /v1/locations")
    sent = request(served, "POST /v3/payment", f"content-length: {len(body)}")

    refused = client.ask(sent, body)

    assert refused.status == 400
    assert client.ask(request(served, "GET /v1/accounts")).status == 200


def test_a_body_that_nobody_waits_for_is_no_request_either(served, client):
    assert client.ask(request(served, "GET /v1/accounts")).status == 200
    body = request(served, "GET /v1/locations")
    unknown = b"host: localhost\r\nx-service-apikey: nobody\r\ncontent-length: %d" % len(body)

    refused = client.ask(b"POST /v3/payment HTTP/1.1\r\n%b\r\n\r\n" % unknown)
    client.send(body)
    until_read(served)

    assert refused.status == 401
    assert client.ask(request(served, "GET /v1/nothing")).status == 404


def test_a_known_head_waits_for_the_answer_before_it(served, client):
    assert client.ask(request(served, "GET /v1/accounts")).status == 200

    slow = {"outcome": "approved", "delay_ms": 200}
    queued = InProcess(served.sandbox).control("POST", "/worlds/default/scenario/next", slow)
    assert queued.status == 201

    client.send(payment(served, amount=900))
    until_read(served)
    client.send(request(served, "GET /v1/accounts"))
    first, second = client.answer(), client.answer()

    assert amount_of(first) == 900
    assert second.status == 200
    assert "total_amount" not in json.loads(second.body)


@pytest.mark.parametrize("ends", [b"\n", b"\r\n "])
def test_a_head_that_is_refused_is_refused_each_time(served, client, ends):
    client.ask(request(served, "GET /v1/accounts"))
    bad = request(served, "GET /v1/accounts").replace(b"\r\nhost", ends + b"host", 1)

    for _ in range(2):
        with Client(served.port) as other:
            assert other.ask(bad).status == 400


def test_a_key_that_is_revoked_is_refused_under_a_head_that_is_known(served, client):
    world = InProcess(served.sandbox)
    asked = request(served, "GET /v1/accounts")
    assert [client.ask(asked).status for _ in range(2)] == [200, 200]

    id = world.key_id("merchant")
    revoked = {"status": "revoked"}
    answer = world.ask("PUT", f"/v5/apikeys/{id}", key="merchant", json_body=revoked)
    assert answer.status == 200

    assert client.ask(asked).status == 401


def test_another_host_is_refused_under_headers_that_are_else_known(served, client):
    assert client.ask(request(served, "GET /v1/accounts")).status == 200
    assert client.ask(request(served, "GET /v1/accounts", host="evil.example")).status == 421
    assert client.ask(request(served, "GET /v1/accounts")).status == 200


def test_what_waits_or_fails_under_a_known_head_is_answered_as_ever(served, client):
    slow = "x-sandbox-outcome: processor_timeout"
    dropped = "x-sandbox-outcome: drop_after"
    assert [amount_of(client.ask(payment(served, amount=900))) for _ in range(2)] == [900, 900]

    answers = [json.loads(client.ask(payment(served, slow, amount=900)).body) for _ in range(3)]
    after = client.ask(payment(served, amount=900))

    assert {one["status_reason"] for one in answers} == {"processor_timeout"}
    assert amount_of(after) == 900
    for _ in range(2):
        with Client(served.port) as other, pytest.raises((EOFError, ConnectionResetError)):
            other.ask(payment(served, dropped, amount=900))


def test_a_client_that_says_it_goes_gets_its_answer_and_the_end_each_time(served):
    for _ in range(3):
        with Client(served.port) as client:
            assert (
                client.ask(request(served, "GET /v1/accounts", "connection: close")).status == 200
            )
            assert client.is_closed()
    assert len(served.pool.heads) == 0


def test_heads_of_requests_that_were_refused_are_not_kept(served, client):
    live = b"svc_live_" + b"a1" * 40
    for key in (live, b"svc_uat_unknown"):
        sent = b"GET /v1/accounts HTTP/1.1\r\nhost: localhost\r\nx-service-apikey: %b\r\n\r\n" % key
        assert [client.ask(sent).status for _ in range(2)] == [401, 401]
    assert len(served.pool.heads) == 0


def test_many_heads_and_large_ones_are_not_kept_for_ever(served, client):
    for number in range(HEADS_MAX + 10):
        client.ask(request(served, "GET /v1/accounts", f"x-number: {number}"))
    assert 0 < len(served.pool.heads) <= HEADS_MAX

    kept = len(served.pool.heads)
    assert client.ask(request(served, "GET /v1/accounts", "x-large: " + "a" * 4_000)).status == 200
    assert len(served.pool.heads) == kept


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\r\n",
        b"\r\n\r\n",
        b"GET /a HTTP/1.1\r\nhost: a\r\n\r\nx",
        b"GET /a HTTP/1.1\r\nhost: a\r\n\r",
        b"GET /a HTTP/1.0\r\nhost: a\r\n\r\n",
        b"GET  /a HTTP/1.1\r\nhost: a\r\n\r\n",
        b"get /a HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /a?b HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET http://a/ HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET //a HTTP/1.1\r\nhost: a\r\n\r\n",
        b"\r\nGET /a HTTP/1.1\r\nhost: a\r\n\r\n",
        b"GET /a HTTP/1.1\nhost: a\r\n\r\n",
        b"GET /a\r HTTP/1.1\r\nhost: a\r\n\r\n",
    ],
)
def test_only_a_plain_first_line_with_a_known_head_to_the_last_byte_is_known(data):
    heads, sent = KnownHeads(), b"GET /b HTTP/1.1\r\nhost: a\r\n\r\n"
    heads.remember(sent, [(b"host", b"a")], b"a")

    heads.remember(data, [(b"host", b"a")], b"a")

    assert len(heads) == 1
    assert heads.find(sent) is not None
    assert heads.find(data) is None


def test_a_head_that_is_cut_before_its_end_is_not_known():
    heads, size = KnownHeads(), len(b"POST /b HTTP/1.1\r\ncontent-length: 00\r") - 3
    head = b"POST /b HTTP/1.1\r\ncontent-length: %d" % size
    heads.remember(head + b"\r\n\r\n", [(b"content-length", b"%d" % size)], b"a")

    assert heads.find(head + b"\r") is None
    assert heads.find(head + b"\r\n\r\n" + b"x" * size) is not None


# --- against the parser -----------------------------------------------------------------------


PIECES = (
    *(b"GET /a HTTP/1.1", b"POST /b HTTP/1.1", b"DELETE /c HTTP/1.0", b"HEAD /a HTTP/1.1"),
    *(b"host: a", b"Host: b", b"host : a", b"x:y", b"content-length: 5", b"content-length: 35"),
    *(b"transfer-encoding: chunked", b"connection: close", b" folded", b"5", b"0"),
    *(b"\r\n", b"\r\n", b"\r\n\r\n", b"\r\n\r\n", b"\r", b"\n", b"hello", b"/", b" ", b":"),
)
HEADS = st.sampled_from(
    (
        b"GET /a HTTP/1.1\r\nhost: a\r\n\r\n",
        b"POST /b HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\n",
        b"POST /b HTTP/1.1\r\nhost: a\r\ncontent-length: 35\r\n\r\n",
    )
)
PACKETS = st.one_of(
    st.lists(st.sampled_from(PIECES), max_size=9).map(b"".join),
    st.builds(bytes.__add__, HEADS, st.sampled_from((b"", b"hello", b"h" * 35, b"hello!"))),
    st.builds(lambda head, end: head[:-end], HEADS, st.integers(1, 60)),
)


class Parsed:
    """What the parser makes of a packet: the one request that it is, or None."""

    def __init__(self, packet: bytes) -> None:
        self.url, self.body, self.headers, self.ends = b"", b"", [], 0
        self.is_more = False
        parser = httptools.HttpRequestParser(self)
        try:
            parser.feed_data(packet)
            self.method = parser.get_method().decode()
            is_usual = parser.get_http_version() == "1.1" and parser.should_keep_alive()
        except httptools.HttpParserError:
            is_usual = False
        self.is_one = is_usual and self.ends == 1 and not self.is_more

    def on_message_begin(self) -> None:
        self.is_more = self.ends > 0

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self.body += body

    def on_message_complete(self) -> None:
        self.ends += 1


@given(st.lists(PACKETS, max_size=3), PACKETS)
@settings(max_examples=examples(500))
def test_what_is_known_is_what_the_parser_finds(before, packet):
    heads = KnownHeads()
    for one in before:
        if (parsed := Parsed(one)).is_one:
            heads.remember(one, parsed.headers, b"a")

    known = heads.find(packet)

    if known is not None:
        parsed = Parsed(packet)
        assert parsed.is_one
        line = known.line
        assert (line.method, line.url, known.body) == (parsed.method, parsed.url, parsed.body)
        assert known.head.headers == parsed.headers


def test_first_lines_are_told_apart_however_many_there_were():
    heads, rest = KnownHeads(), b" HTTP/1.1\r\nhost: a\r\n\r\n"
    heads.remember(b"GET /a" + rest, [(b"host", b"a")], b"a")

    for number in (*range(LINES_MAX + 2), 0, 1):
        known = heads.find(b"DELETE /a%d" % number + rest)

        assert known is not None
        assert (known.line.method, known.line.path) == ("DELETE", f"/a{number}")


def test_a_packet_that_came_before_is_known():
    heads, packet = KnownHeads(), b"POST /b HTTP/1.1\r\nhost: a\r\ncontent-length: 5\r\n\r\nhello"
    parsed = Parsed(packet)
    assert parsed.is_one

    heads.remember(packet, parsed.headers, b"a")

    assert heads.find(packet) is not None

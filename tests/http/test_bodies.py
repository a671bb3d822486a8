"""Bodies: read only once it is known that somebody may send one, and nothing of what is beside."""

import socket
from collections.abc import Iterator
from itertools import product

import pytest

from sandbox.control.routing import SNAPSHOT_BYTES_MAX
from tests.driving import Served
from tests.http.talking import HEALTH, JSON, Client, Serving, head_of, serving

NEW_KEY = b'{"name":"made","permissions":["payments:read"]}'


@pytest.fixture(scope="module")
def guarded() -> Iterator[Serving]:
    """A sandbox whose control API needs a token."""
    with serving(token="a-token-that-is-long") as sandbox:
        yield sandbox


def chunked(*chunks: bytes, trailers: bytes = b"") -> bytes:
    framed = b"".join(b"%x\r\n%b\r\n" % (len(one), one) for one in chunks)
    return framed + b"0\r\n" + trailers + b"\r\n"


def made_keys(served: Served, name: str) -> int:
    listed = served.ask("GET", "/v5/apikeys", key="merchant").json()
    return sum(one["name"] == name for one in listed)


# --- beside the body --------------------------------------------------------------------------


@pytest.mark.proves("assumed D25-heads")
def test_trailers_change_nothing_of_a_request_and_hold_no_key(client, served):
    key = served.key("merchant")
    body = NEW_KEY.replace(b"made", b"with trailers")
    own_key = b"x-service-apikey: %b\r\n" % key.encode()
    others = b"accept: text/html\r\nhost: y\r\nx-sandbox-outcome: nonsense\r\nexpect: x\r\n"

    for by, trailers, status in (("", own_key, 401), (key, others, 201)):
        head = head_of("POST /v5/apikeys", JSON, "transfer-encoding: chunked", key=by)
        assert client.ask(head, chunked(body, trailers=trailers)).status == status
    assert client.ask(HEALTH).status == 200


# --- who may send one -------------------------------------------------------------------------


PRODUCTION = "svc_live_abcdefghijkl_abcdefghijklmnopqrstuvwxyz012345"
UNKNOWN = "svc_uat_abcdefghijkl_abcdefghijklmnopqrstuvwxyz012345"


@pytest.mark.proves("assumed D25-bodies")
def test_without_a_usable_key_the_answer_does_not_wait_for_the_body(client, served):
    revoked, deleted = (served.key(name) for name in ("revoked", "deleted"))
    for key in ("", "nonsense", UNKNOWN, PRODUCTION, revoked, deleted):
        head = head_of("POST /v5/apikeys", JSON, f"content-length: {len(NEW_KEY)}", key=key)
        for with_head, behind in ((b"", NEW_KEY), (NEW_KEY, b"")):
            answer = client.ask(head + with_head)
            assert answer.status == 401
            id = answer.headers["x-sandbox-request-id"]
            entry = served.control("GET", f"/worlds/default/requests/{id}").json()
            assert entry["request"] is None
            assert "was neither read nor stored: the key is checked first" in str(entry["notes"])
            client.send(behind)
    assert client.ask(HEALTH).status == 200


def test_a_client_that_sends_all_before_it_reads_gets_its_answer(served):
    head = head_of("POST /v5/apikeys", JSON, "content-length: 60000", "connection: close")

    with Client(served.port) as client:
        answer = client.ask(head, b"x" * 60_000)

        assert answer.status == 401
        assert client.is_closed()


def test_after_a_refused_body_the_connection_continues(client, served):
    refused = head_of("POST /v5/apikeys", JSON, "content-length: 1048576")

    for _ in range(3):
        assert client.ask(refused, *[b"x" * 65_536] * 16).status == 401
    assert client.ask(HEALTH).status == 200


def test_a_client_that_is_refused_instead_of_100_continue_reconnects(client, served):
    fields = (JSON, f"content-length: {len(NEW_KEY)}", "expect: 100-continue")
    invitation = client.ask(head_of("POST /v5/apikeys", *fields, key=served.key("merchant")))
    answer = client.ask(NEW_KEY)
    refusal = client.ask(head_of("POST /v5/apikeys", *fields))

    assert [one.status for one in (invitation, answer, refusal)] == [100, 201, 401]
    assert refusal.headers["connection"] == "close"
    assert client.is_closed()


NOT_READ = {
    "POST /_sandbox/worlds/nowhere/clock/advance": 404,
    "PUT /_sandbox/worlds/nowhere/snapshot": 404,
    "POST /_sandbox/nothing": 404,
    "PUT /_sandbox/worlds": 405,
    "POST /v5/nothing": 404,
    "PUT /v3/payment": 405,
}
GUARDED = ("POST /_sandbox/worlds", "PUT /_sandbox/worlds/default/snapshot", "POST /_sandbox/none")


@pytest.mark.proves("assumed D25-bodies")
def test_where_no_body_is_accepted_the_answer_does_not_wait_for_it(client, guarded):
    with Client(guarded.port) as tokenless:
        expected = [(client, *one) for one in NOT_READ.items()]
        expected += [(tokenless, line, 401) for line in GUARDED]
        for asking, line, status in expected:
            assert asking.ask(head_of(line, "content-length: 1000")).status == status, line
            asking.send(b"x" * 1_000)
            assert asking.ask(HEALTH).status == 200


@pytest.mark.proves("assumed D25-bodies")
def test_a_control_body_that_says_it_is_too_large_is_not_read(served):
    for line, size, said in (
        ("PUT /_sandbox/worlds/default/snapshot", SNAPSHOT_BYTES_MAX, "256 MiB"),
        ("POST /_sandbox/worlds", 1_048_576, "1 MiB"),
    ):
        with Client(served.port) as client:
            answer = client.ask(head_of(line, f"content-length: {size + 1}"))

        assert answer.error() == (413, "body_too_large")
        assert said in answer.json()["message"]


# --- offers of other protocols ----------------------------------------------------------------

H2C = ("connection: Upgrade, HTTP2-Settings", "upgrade: h2c", "http2-settings: AAMAAABkAAQAAP__")


@pytest.mark.proves("assumed D25-heads")
def test_a_post_that_offers_http_2_is_served_with_its_body(client, served):
    client.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    for is_chunked, is_split in product((True, False), repeat=2):
        name = f"offers h2c {is_chunked} {is_split}"
        body = NEW_KEY.replace(b"made", name.encode())
        framing = "transfer-encoding: chunked" if is_chunked else f"content-length: {len(body)}"
        head = head_of("POST /v5/apikeys", JSON, *H2C, framing, key=served.key("merchant"))

        whole = head + (chunked(body[:20], body[20:]) if is_chunked else body) + HEALTH
        cuts = (len(head), len(head) + 15) if is_split else (0, 0)
        client.send(*filter(None, (whole[: cuts[0]], whole[cuts[0] : cuts[1]], whole[cuts[1] :])))

        assert [client.answer().status for _ in range(2)] == [201, 200]
        assert made_keys(served, name) == 1
        assert client.ask(HEALTH).status == 200


def test_a_body_behind_an_offer_is_never_a_request(client, served):
    smuggled = head_of(
        "POST /v5/apikeys", JSON, f"content-length: {len(NEW_KEY)}", key=served.key("merchant")
    )
    smuggled += NEW_KEY.replace(b"made", b"evil")
    before = made_keys(served, "evil")

    answer = client.ask(
        head_of("POST /v5/apikeys", JSON, *H2C, f"content-length: {len(smuggled)}")
        + smuggled
        + HEALTH
    )

    assert answer.status == 401
    assert client.answer().status == 200
    assert made_keys(served, "evil") == before


def test_hundreds_of_offers_in_one_packet_are_all_answered(client):
    offer = head_of("GET /_sandbox/health", "connection: upgrade", "upgrade: a")

    client.send(offer * 1_000)

    assert {client.answer().status for _ in range(1_000)} == {200}


def test_a_tunnel_is_refused_and_its_content_is_not_read(client):
    answer = client.ask(b"CONNECT /v5/apikeys HTTP/1.1\r\nhost: localhost\r\n\r\n" + HEALTH)

    assert answer.status == 405
    assert client.is_closed()

"""What becomes of an attempt at each kind of receiver. Source: assumed 8.3-success, D22."""

import asyncio
from contextlib import AbstractContextManager
from email.utils import format_datetime
from threading import Event
from typing import Any

import pytest

from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.webhooks import Sent
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.client import WebhookClient
from tests.webhooks import misbehaving as bad
from tests.webhooks.hooked import planned_wait
from tests.webhooks.misbehaving import misbehaving, refusing
from tests.webhooks.receiving import Answer, receiving

RESPONSE_MAX = 4_096


def raw(answer: bytes) -> AbstractContextManager[Any]:
    return misbehaving(bad.raw(answer))


FAILURES = {
    "closed": (lambda: misbehaving(bad.hang_up), None, "was closed before there was"),
    "reset": (lambda: misbehaving(bad.reset), None, "reset by peer"),
    "garbage": (
        lambda: misbehaving(bad.garbage),
        None,
        "cannot be read: Bad status line",
    ),
    "half a head": (lambda: raw(b"HTTP/1.1 200 OK\r\nx-a: b\r\n"), None, "was closed before"),
    "half a body": (lambda: misbehaving(bad.break_off), 200, "not completed"),
    "a long header": (
        lambda: raw(b"HTTP/1.1 200 OK\r\nx: " + b"a" * 20_000),
        None,
        "cannot be read",
    ),
    "301": (lambda: receiving(301), 301, "answered 301; redirects are not followed"),
    "304": (lambda: receiving(304), 304, "answered 304; redirects are not followed"),
    "400": (lambda: receiving(400), 400, "answered 400"),
    "404": (lambda: receiving(404), 404, "answered 404"),
    "500": (lambda: receiving(500), 500, "answered 500"),
    "599": (lambda: receiving(599), 599, "answered 599"),
}


@pytest.mark.proves("assumed 8.3-success")
@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_is_recorded_and_tried_again_while_others_get_theirs(hooked, name):
    receiver_of, status_code, error = FAILURES[name]
    with receiver_of() as receiver, receiving() as healthy:
        failing = hooked.endpoint(receiver.url)
        hooked.endpoint(healthy.url)

        id = hooked.emit()
        delivery = hooked.tried(id, failing)
        healthy.wait_for(1)

    (attempt,) = delivery["attempts"]
    assert delivery["status"] == "pending"
    assert 5 <= planned_wait(delivery) <= 6
    assert (attempt["at"], attempt["trigger"]) == ("2026-03-01T12:00:00.000Z", "scheduled")
    assert attempt["status_code"] == status_code
    assert error in attempt["error"]
    assert attempt["duration_ms"] > 0
    assert healthy.ids() == [id]
    assert hooked.shown(failing)["disabled"] is False


def test_a_refused_connection_is_recorded_and_tried_again(hooked):
    with refusing() as url:
        endpoint = hooked.endpoint(url)
        delivery = hooked.tried(hooked.emit(), endpoint)

    assert delivery["attempts"][0]["status_code"] is None
    error = delivery["attempts"][0]["error"]
    assert error.startswith("Cannot connect to host 127.0.0.1:")
    assert "connection refused" in error
    assert 5 <= planned_wait(delivery) <= 6


def test_an_unknown_host_is_recorded_and_tried_again(hooked):
    endpoint = hooked.endpoint("http://nowhere.invalid/hooks")

    delivery = hooked.tried(hooked.emit(), endpoint)

    assert delivery["attempts"][0]["status_code"] is None
    assert "nowhere.invalid" in delivery["attempts"][0]["error"]
    assert 5 <= planned_wait(delivery) <= 6


@pytest.mark.proves("assumed 8.3-success")
def test_a_redirect_is_not_followed(hooked):
    with receiving() as target, receiving(Answer(307, {"location": target.url})) as receiver:
        endpoint = hooked.endpoint(receiver.url)

        delivery = hooked.tried(hooked.emit(), endpoint)

    assert delivery["attempts"][0]["status_code"] == 307
    assert target.requests == []


# --- successes --------------------------------------------------------------------------------


@pytest.mark.proves("assumed 8.3-success")
@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_any_2xx_is_a_success(hooked, status):
    with receiving(status) as receiver:
        endpoint = hooked.endpoint(receiver.url)

        delivery = hooked.tried(hooked.emit(), endpoint)

    (attempt,) = delivery["attempts"]
    assert (delivery["status"], delivery["next_attempt_at"]) == ("delivered", None)
    assert (attempt["status_code"], attempt["error"]) == (status, None)


def test_of_an_endless_answer_the_beginning_is_kept_and_it_is_a_success(hooked):
    with misbehaving(bad.endless) as receiver:
        endpoint = hooked.endpoint(receiver.url)

        delivery = hooked.tried(hooked.emit(), endpoint)

    (attempt,) = delivery["attempts"]
    assert (delivery["status"], attempt["status_code"]) == ("delivered", 200)
    assert attempt["response"] == ("and on " * 1_000)[:RESPONSE_MAX]


@pytest.mark.parametrize("status", [200, 500])
def test_of_a_long_answer_the_beginning_is_kept(hooked, status):
    with receiving(Answer(status, body=b"x" * 100_000)) as receiver:
        endpoint = hooked.endpoint(receiver.url)

        delivery = hooked.tried(hooked.emit(), endpoint)

    assert delivery["attempts"][0]["response"] == "x" * RESPONSE_MAX
    assert delivery["attempts"][0]["status_code"] == status


def test_an_answer_that_is_not_utf_8_is_shown_all_the_same(hooked):
    with receiving(Answer(200, body=b"a\xff\x00")) as receiver:
        endpoint = hooked.endpoint(receiver.url)

        delivery = hooked.tried(hooked.emit(), endpoint)

    assert delivery["attempts"][0]["response"] == "a\ufffd\x00"


@pytest.mark.proves("spec 6.1.9", "assumed 8.3-id")
def test_what_failed_once_arrives_at_the_next_attempt_under_the_same_id(hooked):
    with receiving([Answer(500, body=b"broken"), Answer(200, body=b"fine")]) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        id = hooked.emit()
        hooked.tried(id, endpoint)

        hooked.pass_by(seconds=6)
        delivery = hooked.delivery(id, endpoint)

    assert (delivery["status"], delivery["next_attempt_at"]) == ("delivered", None)
    assert [one["status_code"] for one in delivery["attempts"]] == [500, 200]
    assert [one["response"] for one in delivery["attempts"]] == ["broken", "fine"]
    assert receiver.ids() == [id, id]
    assert receiver.requests[0].body == receiver.requests[1].body


# --- 410, 429, Retry-After --------------------------------------------------------------------


@pytest.mark.proves("assumed D22")
def test_410_disables_the_endpoint_and_cancels_what_waited(hooked):
    with receiving([500, 410]) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        first = hooked.emit()
        hooked.tried(first, endpoint)

        second = hooked.emit()
        hooked.tried(second, endpoint)
        hooked.pass_by(days=3)

    shown = hooked.shown(endpoint)
    assert (shown["disabled"], shown["disabled_reason"]) == (True, "it answered 410 Gone")
    for id, status_code in ((first, 500), (second, 410)):
        delivery = hooked.delivery(id, endpoint)
        assert (delivery["status"], delivery["next_attempt_at"]) == ("canceled", None)
        assert [one["status_code"] for one in delivery["attempts"]] == [status_code]
    assert len(receiver.requests) == 2


def test_after_a_410_what_was_under_way_is_not_planned_again(hooked):
    gate = Event()
    with receiving([Answer(500, gate=gate), 410]) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        slow = hooked.emit()
        receiver.wait_for(1)
        hooked.tried(hooked.emit(), endpoint)
        gate.set()
        delivery = hooked.tried(slow, endpoint)

    assert (delivery["status"], delivery["next_attempt_at"]) == ("canceled", None)
    assert hooked.shown(endpoint)["disabled_reason"] == "it answered 410 Gone"


FAR_AHEAD = format_datetime(parse_rfc3339("2100-01-01T00:00:00Z"), usegmt=True)
LONG_AGO = format_datetime(parse_rfc3339("2000-01-01T00:00:00Z"), usegmt=True)


@pytest.mark.proves("assumed D22")
@pytest.mark.parametrize(
    ("status", "retry_after", "least", "most"),
    [
        (429, None, 60, 60),
        (429, "1", 60, 60),
        (429, "3600", 60, 60),
        (429, FAR_AHEAD, 60, 60),
        (503, "0", 5, 6),
        (503, "7", 7, 7),
        (503, "3600", 10, 12),
        (503, "9" * 400, 10, 12),
        (503, FAR_AHEAD, 10, 12),
        (503, LONG_AGO, 5, 6),
        *[(503, word, 5, 6) for word in ("", "soon", "-5", "1.5", "1e9", "\u0663", "Mon, 99 Foo")],
    ],
)
def test_what_retry_after_asks_for_counts_within_bounds(hooked, status, retry_after, least, most):
    headers = {} if retry_after is None else {"retry-after": retry_after}
    answer = f"HTTP/1.1 {status} Wait\r\ncontent-length: 0\r\n"
    answer += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    with raw(answer.encode() + b"\r\n") as receiver:
        endpoint = hooked.endpoint(receiver.url)

        delivery = hooked.tried(hooked.emit(), endpoint)

    assert delivery["attempts"][0]["status_code"] == status
    assert least <= planned_wait(delivery) <= most


def test_at_a_later_failure_retry_after_is_applied_in_full(hooked):
    with receiving(Answer(503, {"retry-after": "400"})) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        id = hooked.emit()
        hooked.tried(id, endpoint)

        hooked.move_to(hooked.delivery(id, endpoint)["next_attempt_at"])
        delivery = hooked.delivery(id, endpoint)

    assert len(delivery["attempts"]) == 2
    assert planned_wait(delivery) == 400


# --- the limit of an attempt ------------------------------------------------------------------


def send(url: str, timeout_s: float) -> Sent:
    async def attempt() -> Sent:
        client = WebhookClient(Guard(is_open=True), "test", mask=str, timeout_s=timeout_s)
        try:
            return await client.send(url, b"{}", {})
        finally:
            await client.close()

    return asyncio.run(attempt())


@pytest.mark.proves("assumed 8.3-success")
def test_an_endpoint_that_never_answers_is_given_up():
    with misbehaving(bad.hang) as receiver:
        sent = send(receiver.url, 0.1)

    assert (sent.status_code, sent.response, sent.is_timeout) == (None, "", True)
    assert sent.error == "no complete answer within 0.1 s"
    assert 100 <= sent.duration_ms < 2_000


def test_an_answer_that_only_drips_is_given_up_and_what_came_is_kept():
    with misbehaving(bad.drip) as receiver:
        sent = send(receiver.url, 0.2)

    assert (sent.status_code, sent.is_timeout) == (200, True)
    assert sent.error == "no complete answer within 0.2 s"
    assert set(sent.response) == {"."}
    assert len(sent.response) < 100


@pytest.mark.proves("assumed 8.3-success")
def test_an_attempt_may_take_fifteen_seconds():
    from sandbox.domain.webhooks import TIMEOUT_S

    assert TIMEOUT_S == 15

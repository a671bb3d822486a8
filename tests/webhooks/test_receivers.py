"""What becomes of an attempt at each kind of receiver, and of one inside the process.

Source: assumed 8.3-success, D5, D22, D25-receivers.
"""

import json
from contextlib import ExitStack, nullcontext
from email.utils import format_datetime

import pytest
from standardwebhooks import Webhook

from sandbox.domain.instants import parse_rfc3339
from sandbox.webhooks import receivers as inside
from tests.driving import NOW, until
from tests.webhooks import misbehaving as bad
from tests.webhooks.calling import delivered
from tests.webhooks.hooked import planned_wait, waits
from tests.webhooks.misbehaving import refusing
from tests.webhooks.receiving import Answer, receiving

RESPONSE_MAX = 4_096


def raw(answer: bytes):
    return receiving(bad.raw(answer))


def first_attempts(hooked, rows):
    """One message goes to the receivers of all rows: each row, its delivery, its one attempt."""
    with ExitStack() as stack:
        entered = [stack.enter_context(receiver) for receiver, *_ in rows]
        ids = [hooked.add_endpoint(url=getattr(one, "url", one))["id"] for one in entered]
        message = hooked.emit()
        deliveries = [hooked.tried(message, id) for id in ids]
    for (_, *expected), delivery, id in zip(rows, deliveries, ids, strict=True):
        assert hooked.look(f"endpoints/{id}")["disabled"] is False
        yield *expected, delivery, *delivery["attempts"]


@pytest.mark.proves("assumed 8.3-success")
def test_a_failure_is_retried_while_other_endpoints_get_their_webhooks(hooked, receiver):
    elsewhere = {"location": receiver.url}
    rows = [
        (receiving(bad.hang_up), None, "was closed before there was"),
        (receiving(bad.reset), None, "reset by peer"),
        (receiving(bad.garbage), None, "cannot be read: Bad status line"),
        (raw(bad.OK + b"x-a: b\r\n"), None, "was closed before"),
        (receiving(bad.break_off), 200, "the body of the answer was not completed"),
        (raw(bad.OK + b"x: " + b"a" * 20_000), None, "cannot be read"),
        (receiving(bad.endless(bad.OK, b"x: a\r\n" * 2_000)), None, "Too many headers received"),
        (raw(bad.CHUNKED + b"zz\r\n"), None, "cannot be read"),
        (raw(bad.OK[:9] + b"101 Switching\r\nconnection: upgrade\r\n\r\n"), 101, "answered 101"),
        (refusing(), None, "connection refused: nothing listens there"),
        (nullcontext("http://nowhere.invalid/"), None, "host nowhere.invalid:80 [no such host"),
        (receiving(301), 301, "answered 301; redirects are not followed"),
        (receiving(304), 304, "answered 304; redirects are not followed"),
        (receiving(Answer(307, elsewhere)), 307, "answered 307; redirects are not followed"),
        *[(receiving(status), status, f"answered {status}") for status in (400, 404, 500, 599)],
    ]
    for status_code, error, delivery, attempt in first_attempts(hooked, rows):
        assert delivery["status"] == "pending", error
        assert 5 <= planned_wait(delivery) <= 6, error
        assert (attempt["at"], attempt["trigger"]) == (NOW, "scheduled")
        assert attempt["status_code"] == status_code, error
        assert error in attempt["error"]
        assert "\n" not in attempt["error"]
        assert attempt["duration_ms"] > 0
    assert len(receiver.wait_for(1)) == 1


@pytest.mark.proves("assumed 8.3-success")
def test_any_2xx_is_a_success_and_the_beginning_of_the_answer_is_kept(hooked):
    rows = [
        *[(receiving(status), status, "") for status in (200, 201, 202, 204, 299)],
        (receiving(bad.forever), 200, ("and on " * 1_000)[:RESPONSE_MAX]),
        (receiving(Answer(200, body=b"x" * 100_000)), 200, "x" * RESPONSE_MAX),
        (receiving(Answer(200, body=b"a\xff\x00")), 200, "a\ufffd\x00"),
        (raw(b"HTTP/1.0 200 OK\r\n\r\nto the end"), 200, "to the end"),
        (raw(bad.HINTS * 20 + bad.OK + b"content-length: 4\r\n\r\ndone"), 200, "done"),
        (receiving(Answer(500, body=b"x" * 100_000)), 500, "x" * RESPONSE_MAX),
    ]
    for status, response, delivery, attempt in first_attempts(hooked, rows):
        assert (attempt["status_code"], attempt["response"]) == (status, response)
        if status < 300:
            assert (delivery["status"], delivery["next_attempt_at"]) == ("delivered", None)
            assert attempt["error"] is None


@pytest.mark.proves("assumed D22")
def test_410_disables_the_endpoint_until_a_reset_and_cancels_what_waited(hooked, receiver):
    receiver.behave([500, 410])
    ids = [hooked.emit(), hooked.emit()]
    deliveries = [hooked.tried(id) for id in ids]
    hooked.pass_by(days=3)

    shown = hooked.look("endpoints/e")
    assert (shown["disabled"], shown["disabled_reason"]) == (True, "it answered 410 Gone")
    deliveries = [hooked.delivery(id) for id in ids]
    assert [one["attempts"][-1]["status_code"] for one in deliveries] == [500, 410]
    for delivery in deliveries:
        assert (delivery["status"], delivery["next_attempt_at"]) == ("canceled", None)
    assert receiver.ids() == ids
    hooked.reset()
    assert hooked.look("endpoints/e")["disabled_reason"] is None


FAR_AHEAD = format_datetime(parse_rfc3339("2100-01-01T00:00:00Z"), usegmt=True)
LONG_AGO = format_datetime(parse_rfc3339("2000-01-01T00:00:00Z"), usegmt=True)
WAITS = [
    *[(429, word, 60, 60) for word in (None, "1", "3600", FAR_AHEAD)],
    (503, "0", 5, 6),
    (503, "7", 7, 7),
    *[(503, word, 10, 12) for word in ("3600", "9" * 400, FAR_AHEAD)],
    (503, LONG_AGO, 5, 6),
    *[(503, word, 5, 6) for word in ("", "soon", "-5", "1.5", "1e9", "\u0663", "Mon, 99 Foo")],
]
"""Status, Retry-After, and the least and most seconds until the next attempt."""


@pytest.mark.proves("assumed D22")
def test_retry_after_is_respected_within_bounds(hooked):
    rows = []
    for status, asked, *bounds in WAITS:
        header = "" if asked is None else f"retry-after: {asked}\r\n"
        answer = f"HTTP/1.1 {status} Wait\r\ncontent-length: 0\r\n{header}\r\n"
        rows.append((raw(answer.encode()), (status, asked), *bounds))

    for asked, least, most, delivery, attempt in first_attempts(hooked, rows):
        assert attempt["status_code"] == asked[0]
        assert least <= planned_wait(delivery) <= most, asked


PAN = "4532015112830366"
MASKED = '{"card": "453201******0366", "key": "****", "note": "fine"}'


def test_cards_and_keys_that_a_receiver_echoes_are_masked_wherever_they_are_kept(hooked):
    key = hooked.key("partner")
    echo = f'{{"card": "{PAN}", "key": "{key}", "note": "fine"}}'.encode()
    escaped = "".join(f"\\u00{ord(digit):02x}" for digit in PAN)
    rows = [
        (receiving(Answer(200, body=echo)), MASKED),
        (receiving(Answer(500, body=echo)), MASKED),
        (receiving(Answer(body=b'["%s"]' % escaped.encode())), '["453201******0366"]'),
        (receiving(Answer(body=b'["\\u0041"]')), '["\\u0041"]'),
        (raw(f"{key} {PAN}\r\n\r\n".encode()), ""),
    ]
    # A key across the end of what is kept leaves nothing of its secret.
    for fits in (0, 1, 8, 30):
        body = b"." * (RESPONSE_MAX - fits) + key.encode() + b"." * 50
        kept = "." * (RESPONSE_MAX - fits) + "****"[:fits]
        rows.append((receiving(Answer(200, body=body)), kept.ljust(RESPONSE_MAX, ".")))
    for masked, _, attempt in first_attempts(hooked, rows):
        assert attempt["response"] == masked
        assert key not in (attempt["error"] or "")

    kept = hooked.saved().decode()
    assert PAN not in kept
    assert key not in kept
    assert "453201******0366" in kept


def receiver(hooked, **program):
    made = hooked.manage("POST", "/receivers", program).expect(201)
    assert made["endpoint"]["id"] == made["id"]
    return made


def received(hooked, id, query=""):
    return hooked.manage("GET", f"/receivers/{id}/received?{query}").expect(200)["received"]


@pytest.mark.proves("assumed D25-receivers")
def test_each_message_is_answered_as_the_program_says_until_it_is_delivered(hooked):
    made = receiver(hooked, answers=[500, 503, 200], delay_ms=30)
    ids = [hooked.emit(), hooked.emit()]
    for times in (1, 2, 3):
        deliveries = [hooked.tried(id, made["id"], times=times) for id in ids]
        hooked.pass_by(hours=1)

    for one in deliveries:
        assert one["status"] == "delivered"
        tries = [(each["status_code"], each["error"]) for each in one["attempts"]]
        assert tries == [(500, "answered 500"), (503, "answered 503"), (200, None)]
        assert waits(one)[0] > 0
        # Sleeping loops may wake up a moment early.
        assert min(each["duration_ms"] for each in one["attempts"]) > 25
    got = received(hooked, made["id"])
    first = [(one["attempt"], one["answer"]) for one in got if one["message_id"] == ids[0]]
    assert first == [(1, 500), (2, 503), (3, 200)]
    (listed,) = hooked.manage("GET", "/receivers").expect(200)["receivers"]
    assert (listed["received"], listed["answers"]) == (6, [500, 503, 200])


def test_received_webhooks_are_signed_as_for_every_endpoint_and_faults_are_reported(hooked):
    made = receiver(hooked)
    id = hooked.emit()
    hooked.tried(id, made["id"])
    hooked.manage("POST", "/webhooks/next", {"then": {"signature": "wrong"}}).expect(201)
    hooked.tried(hooked.emit(), made["id"])

    got, faulty = received(hooked, made["id"])

    assert (got["message_id"], got["event_type"], got["genuine"]) == (id, "account.updated", True)
    assert got["at"] == hooked.look("clock")["now"]
    raw = json.dumps(got["body"], separators=(",", ":"), ensure_ascii=False)
    Webhook(made["secret"]).verify(raw, got["headers"])
    assert faulty["genuine"] is False
    assert "signature" in faulty["says"]


def test_a_slow_receiver_fails_and_is_retried_a_minute_later(sandbox, monkeypatch):
    monkeypatch.setattr(inside, "TIMEOUT_S", 0.01)
    sandbox.add_endpoint(id="slow", url="http://receiver.invalid/?delay_ms=10")

    id = delivered(sandbox, sandbox.emit)

    (delivery,) = sandbox.look(f"messages/{id}")["deliveries"]
    (attempt,) = delivery["attempts"]
    assert (attempt["status_code"], attempt["response"]) == (None, "")
    assert attempt["error"] == "no complete answer within 0.01 s"
    assert planned_wait(delivery) == 60
    assert sandbox.look("receivers/slow/received")["received"][0]["answer"] is None


def test_its_program_is_its_address_and_goes_wherever_its_endpoint_goes(hooked):
    made = receiver(hooked, answers=[404, 200], event_types=["account.updated"], description="mine")
    assert made["endpoint"]["url"] == "http://receiver.invalid/?answers=404,200&delay_ms=0"
    assert (made["endpoint"]["description"], made["delay_ms"]) == ("mine", 0)
    assert hooked.tried(hooked.emit(), made["id"])["attempts"][0]["status_code"] == 404

    snapshot = hooked.look("snapshot")
    hooked.manage("DELETE", f"/receivers/{made['id']}").expect(204)
    assert hooked.look("endpoints")["total"] == 0
    hooked.manage("PUT", "/snapshot", snapshot)

    (back,) = hooked.look("receivers")["receivers"]
    assert (back["answers"], back["received"]) == ([404, 200], 0)
    assert received(hooked, made["id"]) == []
    hooked.pass_by(hours=1)
    (again,) = received(hooked, made["id"])
    assert (again["attempt"], again["answer"]) == (2, 200)
    assert receiver(hooked, answers=[500] * 20)["answers"] == [500] * 20


def test_only_the_last_hundred_deliveries_are_kept(hooked):
    made = receiver(hooked, event_types=["account.updated"])
    ids = [hooked.emit() for _ in range(103)]
    until(lambda: hooked.look("receivers")["receivers"][0]["received"] == 103)

    kept = received(hooked, made["id"])

    assert [one["message_id"] for one in kept] == ids[3:]
    assert [one["message_id"] for one in received(hooked, made["id"], "limit=2")] == ids[-2:]
    hooked.manage("POST", "/reset").expect(200)
    assert received(hooked, made["id"]) == []

"""Receivers inside the process answer as they are told. Source: assumed D25-receivers."""

import asyncio
import json

import pytest
from standardwebhooks import Webhook

from sandbox.domain.webhooks import Endpoint
from sandbox.webhooks import receivers as inside
from sandbox.webhooks.signing import write_secret
from tests.conftest import NOW
from tests.webhooks.hooked import START, refused, until, waits


def receiver(hooked, **program):
    made = hooked.ask("POST", "/receivers", program, status=201).json()
    assert made["endpoint"]["id"] == made["id"]
    return made


def received(hooked, id, query=""):
    return hooked.ask("GET", f"/receivers/{id}/received?{query}", status=200).json()["received"]


@pytest.mark.proves("assumed D25-receivers")
def test_each_message_is_answered_as_the_program_says_until_it_is_delivered(hooked):
    made = receiver(hooked, answers=[500, 503, 200])
    first, second = hooked.emit(), hooked.emit()
    for id in (first, second):
        hooked.tried(id, made["id"])

    for times in (2, 3):
        hooked.pass_by(hours=1)
        deliveries = [hooked.tried(id, made["id"], times) for id in (first, second)]

    for one in deliveries:
        assert one["status"] == "delivered"
        assert [each["status_code"] for each in one["attempts"]] == [500, 503, 200]
        assert [each["error"] for each in one["attempts"]] == ["answered 500", "answered 503", None]
        assert waits(one)[0] > 0
    got = received(hooked, made["id"])
    assert [(one["attempt"], one["answer"]) for one in got if one["message_id"] == first] == [
        (1, 500),
        (2, 503),
        (3, 200),
    ]
    (listed,) = hooked.ask("GET", "/receivers", status=200).json()["receivers"]
    assert (listed["received"], listed["answers"]) == (6, [500, 503, 200])


def test_what_came_is_signed_as_for_every_endpoint(hooked):
    made = receiver(hooked)
    id = hooked.emit()
    hooked.tried(id, made["id"])

    (got,) = received(hooked, made["id"])

    assert (got["message_id"], got["event_type"], got["genuine"]) == (id, "account.updated", True)
    assert got["at"] == hooked.ask("GET", "/clock").json()["now"]
    raw = json.dumps(got["body"], separators=(",", ":"), ensure_ascii=False)
    Webhook(made["secret"]).verify(raw, got["headers"])


def test_a_faulty_signature_is_reported(hooked):
    made = receiver(hooked)
    hooked.ask("POST", "/webhooks/next", {"then": {"signature": "wrong"}}, status=201)
    hooked.tried(hooked.emit(), made["id"])

    (got,) = received(hooked, made["id"])

    assert got["genuine"] is False
    assert "signature" in got["says"]


def test_a_receiver_takes_its_time(hooked):
    made = receiver(hooked, delay_ms=30)

    attempt = hooked.tried(hooked.emit(), made["id"])["attempts"][0]

    # Sleeping loops may wake up a moment early.
    assert attempt["duration_ms"] > 25
    assert attempt["status_code"] == 200


def test_a_receiver_that_takes_too_long_fails_the_attempt(monkeypatch):
    monkeypatch.setattr(inside, "TIMEOUT_S", 0.01)
    endpoint = Endpoint(
        id="slow",
        url="http://receiver.invalid/?delay_ms=10",
        secret=write_secret(b"k" * 32),
        created_at=START,
    )
    inbox = inside.Inbox()

    sent = asyncio.run(inbox.take(endpoint, b"{}", {}, prefix="webhook", now=START, at_s=0))

    assert (sent.status_code, sent.is_timeout) == (None, True)
    assert sent.error == "no complete answer within 0.01 s"
    (got,) = inbox.received("slow")
    assert (got.answer, got.check.step) == (None, "headers")


def test_its_program_is_its_address_and_goes_wherever_its_endpoint_goes(hooked):
    made = receiver(hooked, answers=[404, 200], event_types=["account.updated"], description="mine")
    assert made["endpoint"]["url"] == "http://receiver.invalid/?answers=404,200&delay_ms=0"
    assert (made["endpoint"]["description"], made["delay_ms"]) == ("mine", 0)
    hooked.tried(hooked.emit(), made["id"])

    snapshot = hooked.ask("GET", "/snapshot").json()
    hooked.ask("DELETE", f"/receivers/{made['id']}", status=204)
    assert hooked.ask("GET", "/endpoints").json()["total"] == 0
    hooked.ask("PUT", "/snapshot", snapshot)

    (back,) = hooked.ask("GET", "/receivers").json()["receivers"]
    assert (back["answers"], back["received"]) == ([404, 200], 0)
    assert received(hooked, made["id"]) == []


def test_an_endpoint_with_such_an_address_is_a_receiver(hooked):
    id = hooked.endpoint("http://receiver.invalid/?answers=418")

    assert hooked.tried(hooked.emit(), id)["attempts"][0]["status_code"] == 418
    assert hooked.ask("GET", "/receivers").json()["receivers"][0]["id"] == id


def test_only_the_last_hundred_deliveries_are_kept(hooked):
    made = receiver(hooked, event_types=["account.updated"])
    ids = [hooked.emit() for _ in range(103)]
    until(lambda: hooked.ask("GET", "/receivers").json()["receivers"][0]["received"] == 103)

    kept = received(hooked, made["id"])

    assert [one["message_id"] for one in kept] == ids[3:]
    assert [one["message_id"] for one in received(hooked, made["id"], "limit=2")] == ids[-2:]
    hooked.ask("POST", "/reset", {"clock": NOW})
    assert received(hooked, made["id"]) == []


@pytest.mark.parametrize(
    "program",
    [
        {"answers": []},
        {"answers": [99]},
        {"answers": [600]},
        {"answers": ["200"]},
        {"answers": [200] * 21},
        {"delay_ms": -1},
        {"delay_ms": 30_001},
        {"event_types": ["transaction.sold"]},
        {"answer": [200]},
    ],
)
def test_a_program_that_cannot_be_is_refused(hooked, program):
    answer = hooked.ask("POST", "/receivers", program)

    assert (answer.status_code, answer.json()["error"]) == (400, "validation_error")
    assert hooked.ask("GET", "/receivers").json()["total"] == 0


@pytest.mark.parametrize("query", ["answers=", "answers=200,x", "delay_ms=9999999", "anwsers=200"])
def test_an_address_with_a_program_that_cannot_be_is_refused(hooked, query):
    answer = hooked.ask("POST", "/endpoints", {"url": f"http://receiver.invalid/?{query}"})

    refused(answer, 400, "validation_error")
    assert "a receiver inside" in answer.json()["message"]


def test_no_other_endpoint_is_a_receiver(hooked):
    id = hooked.endpoint("http://127.0.0.1:9/hook")

    for method, path in (("GET", f"/receivers/{id}/received"), ("DELETE", f"/receivers/{id}")):
        refused(hooked.ask(method, path), 404, "not_found")
    assert hooked.shown(id)["url"] == "http://127.0.0.1:9/hook"

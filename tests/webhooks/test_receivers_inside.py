"""Receivers inside the process answer as they are told. Source: assumed D25-receivers."""

import asyncio
import json

import pytest
from standardwebhooks import Webhook

from sandbox.domain.webhooks import Endpoint
from sandbox.webhooks import receivers as inside
from sandbox.webhooks.signing import write_secret
from tests.webhooks.hooked import START, until, waits


def receiver(hooked, **program):
    made = hooked.ask("POST", "/receivers", program, status=201).json()
    assert made["endpoint"]["id"] == made["id"]
    return made


def received(hooked, id, query=""):
    return hooked.ask("GET", f"/receivers/{id}/received?{query}", status=200).json()["received"]


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
    (listed,) = hooked.ask("GET", "/receivers", status=200).json()["receivers"]
    assert (listed["received"], listed["answers"]) == (6, [500, 503, 200])


def test_what_came_is_signed_as_for_every_endpoint_and_a_fault_is_reported(hooked):
    made = receiver(hooked)
    id = hooked.emit()
    hooked.tried(id, made["id"])
    hooked.ask("POST", "/webhooks/next", {"then": {"signature": "wrong"}}, status=201)
    hooked.tried(hooked.emit(), made["id"])

    got, faulty = received(hooked, made["id"])

    assert (got["message_id"], got["event_type"], got["genuine"]) == (id, "account.updated", True)
    assert got["at"] == hooked.ask("GET", "/clock").json()["now"]
    raw = json.dumps(got["body"], separators=(",", ":"), ensure_ascii=False)
    Webhook(made["secret"]).verify(raw, got["headers"])
    assert faulty["genuine"] is False
    assert "signature" in faulty["says"]


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
    assert hooked.tried(hooked.emit(), made["id"])["attempts"][0]["status_code"] == 404

    snapshot = hooked.ask("GET", "/snapshot").json()
    hooked.ask("DELETE", f"/receivers/{made['id']}", status=204)
    assert hooked.ask("GET", "/endpoints").json()["total"] == 0
    hooked.ask("PUT", "/snapshot", snapshot)

    (back,) = hooked.ask("GET", "/receivers").json()["receivers"]
    assert (back["answers"], back["received"]) == ([404, 200], 0)
    assert received(hooked, made["id"]) == []


def test_only_the_last_hundred_deliveries_are_kept(hooked):
    made = receiver(hooked, event_types=["account.updated"])
    ids = [hooked.emit() for _ in range(103)]
    until(lambda: hooked.ask("GET", "/receivers").json()["receivers"][0]["received"] == 103)

    kept = received(hooked, made["id"])

    assert [one["message_id"] for one in kept] == ids[3:]
    assert [one["message_id"] for one in received(hooked, made["id"], "limit=2")] == ids[-2:]
    hooked.ask("POST", "/reset", status=200)
    assert received(hooked, made["id"]) == []

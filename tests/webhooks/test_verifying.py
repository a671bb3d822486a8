"""Attempts keep what they sent, and its signature can be checked afterwards, as receivers do."""

import base64
from hashlib import sha256

import pytest

from tests.webhooks.hooked import refused, rule
from tests.webhooks.receiving import receiving


def verify(hooked, id, query=""):
    return hooked.ask("GET", f"/messages/{id}/verify?{query}")


@pytest.mark.proves("assumed 8.3-signature")
def test_an_attempt_keeps_what_it_sent_and_is_found_genuine(hooked):
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        attempt = hooked.tried(id, "e")["attempts"][0]
        (got,) = receiver.requests
        secret = hooked.shown("e")["secret"]

    shown = verify(hooked, id).json()
    again = {"headers": got.headers, "body": got.body.decode()}
    yours = [
        hooked.ask("POST", "/verify", again | who).json()
        for who in ({"endpoint_id": "e"}, {"secret": secret})
    ]

    assert attempt["sent"] == {
        "id": id,
        "timestamp": int(got.headers["webhook-timestamp"]),
        "signature": got.headers["webhook-signature"],
        "bytes": len(got.body),
        "sha256": sha256(got.body).hexdigest(),
        "spoilt": [],
    }
    assert (shown["verdict"], shown["step"]) == ("genuine", None)
    assert shown["expected"] == shown["sent"] == [got.headers["webhook-signature"]]
    assert shown["signed"].endswith(got.body.decode())
    assert [one["verdict"] for one in yours] == ["genuine", "genuine"]
    assert secret not in str([shown, yours])
    assert shown["secrets"] == [f"whsec_****{secret[-4:]}"]


@pytest.mark.parametrize(
    ("then", "step", "spoilt"),
    [
        ({"signature": "wrong"}, "signature", ["signature = wrong"]),
        ({"signature": "missing"}, "headers", ["signature = missing"]),
        ({"stale_timestamp": True}, "timestamp", ["stale_timestamp"]),
        ({"truncate": True}, "signature", ["truncate"]),
    ],
    ids=str,
)
@pytest.mark.proves("assumed 8.3-timestamp")
def test_what_a_scenario_made_faulty_fails_at_its_step(hooked, then, step, spoilt):
    hooked.run(rule(**then, times=1))
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        id = hooked.emit()
        attempt = hooked.tried(id, "e")["attempts"][0]
        (got,) = receiver.requests

    shown = verify(hooked, id, "endpoint_id=e&attempt=1").json()
    same = {"headers": got.headers, "body": got.body.decode(), "endpoint_id": "e"}
    yours = hooked.ask("POST", "/verify", same).json()

    assert attempt["sent"]["spoilt"] == spoilt
    assert (shown["verdict"], shown["step"]) == ("refused", step)
    assert (yours["verdict"], yours["step"]) == ("refused", step)


def test_what_cannot_be_checked_is_refused(hooked):
    hooked.endpoint("http://127.0.0.1:9/hooks", id="closed")
    id = hooked.emit()
    hooked.tried(id, "closed")
    secret = "whsec_" + base64.b64encode(b"s" * 32).decode()
    one = {"headers": {}, "body": "{}"}

    refused(verify(hooked, id), 409, "not_sent")
    refused(verify(hooked, id, "attempt=7"), 409, "no_attempt")
    refused(verify(hooked, id, "endpoint_id=close"), 400, "validation_error", "closed")
    refused(verify(hooked, "msg_none"), 404, "not_found")
    for body in (one, one | {"secret": secret, "endpoint_id": "closed"}, one | {"secret": "x"}):
        refused(hooked.ask("POST", "/verify", body), 400, "validation_error")
    named = hooked.ask("POST", "/verify", one | {"endpoint_id": "close"})
    refused(named, 400, "validation_error", "closed")


@pytest.mark.parametrize("timestamp", ["now", "-5", "9" * 30])
def test_a_timestamp_that_is_none_is_named(hooked, timestamp):
    headers = {"webhook-id": "m", "webhook-timestamp": timestamp, "webhook-signature": "v1,x"}
    body = {"headers": headers, "body": "{}", "secret": "whsec_" + "QUJD" * 11}

    answer = hooked.ask("POST", "/verify", body)

    assert (answer.json()["step"], answer.json()["age_s"]) == ("timestamp", None)


# --- the list ---------------------------------------------------------------------------------


def test_messages_are_found_by_what_became_of_them_and_read_backwards(hooked):
    with receiving() as receiver:
        hooked.endpoint(receiver.url, id="e")
        ids = [hooked.emit() for _ in range(3)]
        for id in ids:
            hooked.tried(id, "e")

        def listed(query):
            return hooked.ask("GET", f"/messages?{query}").json()

        last = listed("limit=2")
        first = listed(f"limit=2&before={last['next']}")
        assert [one["id"] for one in first["messages"] + last["messages"]] == ids
        assert (first["next"], first["total"]) == (None, 3)
        assert listed("endpoint=e&delivery=delivered")["total"] == 3
        assert listed("delivery=failed")["total"] == 0
        assert listed("endpoint=other")["total"] == 0
        assert listed(f"q={ids[1][4:].upper()}")["messages"][0]["id"] == ids[1]
        account = last["messages"][0]["account_id"]
        status = last["messages"][0]["body"]["status"]
        assert listed(f"account={account}&status={status}")["total"] == 3
        refused(
            hooked.ask("GET", "/messages?delivery=delivred"), 400, "validation_error", "delivered"
        )
        for query in ("before=msg_none", "before=a&offset=1", "q="):
            refused(hooked.ask("GET", f"/messages?{query}"), 400, "validation_error")

"""Operators find requests in the journal by what they were about and how they ended."""

import json

import pytest

from tests.driving import fresh
from tests.support.open_requests import desk_opens, sale


@pytest.fixture(scope="module")
def day():
    """A sandbox in which a payment was taken, declined, captured, and asked for by a stranger."""
    sandbox = fresh()
    tx = sandbox.held(1234)
    sandbox.pay(700, outcome="insufficient_funds")
    sandbox.post(f"/v3/payments/{tx['transaction_id']}/capture", {}, by="other_merchant")
    sandbox.advance("1h")
    sandbox.acted(tx, "capture")
    return sandbox, tx["transaction_id"]


def test_each_filter_narrows_the_journal(day):
    sandbox, id = day
    for query, expected in (
        (
            {},
            ["payments.preauth", "payments.create", "payments.capture", "payments.capture"],
        ),
        ({"route": "payments.capture", "status": 200}, ["payments.capture"]),
        ({"status": 500}, []),
        ({"limit": 1}, ["payments.capture"]),
        ({"limit": 2, "offset": 0}, ["payments.preauth", "payments.create"]),
        ({"limit": 1, "offset": 1}, ["payments.create"]),
        ({"status_class": "4xx"}, ["payments.capture"]),
        ({"status_class": "5xx"}, []),
        ({"outcome": "insufficient_funds"}, ["payments.create"]),
        ({"account": "other_merchant"}, ["payments.capture"]),
        ({"key_id": "other_merchant"}, ["payments.capture"]),
        ({"origin": "console"}, []),
        ({"origin": "client", "status_class": "4xx"}, ["payments.capture"]),
        ({"since": "2026-03-01T12:30:00Z"}, ["payments.capture"]),
        ({"until": "2026-03-01T12:30:00Z", "status": 404}, ["payments.capture"]),
        ({"q": "1234"}, ["payments.preauth", "payments.capture"]),
        ({"q": "NO SUCH TEXT"}, []),
        ({"subject": id}, ["payments.preauth", "payments.capture", "payments.capture"]),
    ):
        found = sandbox.look("requests", **query)["requests"]
        assert [one["route"] for one in found] == expected, query


def test_a_row_is_short_and_has_the_deciding_sentence_of_a_refusal(day):
    sandbox, id = day

    (row,) = sandbox.look("requests", shape="row", status_class="4xx")["requests"]
    rows = sandbox.look("requests", shape="row")["requests"]

    assert row["why"] == (
        f"Transaction {id}: the account is outside the caller's hierarchy (outside)"
    )
    assert (row["status"], row["clause"], row["outcome"]) == (404, "spec 7-404", None)
    assert [one["why"] for one in rows if one["status"] < 400] == [None] * 3
    assert row["origin"] == "client"
    assert sandbox.look("requests", key_id=row["key_id"])["requests"][0]["id"] == row["id"]
    assert (row["key_name"], row["subject"]) == ("other_merchant", id)
    assert max(len(json.dumps(one)) for one in rows) < 1000


def test_an_entry_says_which_program_asked_and_about_what(sandbox):
    agent = b"till/2.1 (kiosk) svc_uat_demomerchant_Rahy5R22dHat85afU6lKXIXOEWGwLG82"
    headers = [(b"user-agent", agent), (b"authorization", b"Bearer secret")]
    id = sandbox.paid_id()
    key = sandbox.manage("GET", "").json()["keys"]["partner"]["key"]
    headers.append((b"x-service-apikey", key.encode()))
    sandbox.ask("GET", f"/v1/transactions/{id}", headers=headers)
    sandbox.get("/nowhere")

    sale, reading, nothing = sandbox.look("requests")["requests"]

    assert [one["subject"] for one in (sale, reading, nothing)] == [id, id, None]
    does = ["Take a payment", "Read a transaction with its history", None]
    for shape in ("full", "row"):
        rows = sandbox.look("requests", shape=shape)["requests"]
        assert [one["summary"] for one in rows] == does
    assert (reading["client"], reading["key_name"]) == ("till/2.1", "partner")
    assert "Rahy5R22" not in str(reading["headers"])
    assert reading["headers"]["user-agent"].startswith("till/2.1 (kiosk) ")
    kept = {"user-agent", "accept", "content-type"}
    assert set(sale["headers"]) | set(reading["headers"]) <= kept


@pytest.mark.proves("assumed D25")
def test_a_request_that_waits_for_a_card_is_listed_without_a_status(sandbox, requests):
    sandbox.get("/v5/apikeys", by="merchant")
    desk_opens(sandbox)
    task = requests.open(sale(sandbox))

    *_, waiting = sandbox.look("requests", shape="row")["requests"]

    assert (waiting["status"], waiting["route"]) == (None, "payments.create")
    assert (waiting["payment"]["status"], waiting["events"]) == ("pending", 0)
    assert waiting["amount"] == waiting["payment"]["total"]
    for query in (
        *({"status_class": "2xx"}, {"key_id": "psp"}, {"route": "payments.refund"}),
        *({"q": "1000"}, {"shape": "full"}),
    ):
        listed = sandbox.look("requests", **({"shape": "row"} | query))["requests"]
        assert waiting["id"] not in [one["id"] for one in listed], query
    # Those that wait come after all that have an answer.
    page = sandbox.look("requests", shape="row", limit=1)
    assert (page["requests"], page["offset"], page["total"]) == ([waiting], 1, 2)
    first = sandbox.look("requests", shape="row", limit=1, offset=0)
    assert first["requests"][0]["route"] == "apikeys.list"
    older = sandbox.look("requests", shape="row", limit=1, before=page["next"])
    assert (first["requests"], first["total"]) == (older["requests"], older["total"])
    for method, path in (("GET", ""), ("POST", "/replay")):
        refused = sandbox.manage(method, f"/requests/{waiting['id']}{path}")
        assert refused.error() == (404, "not_answered")
    requests.tap(card="tok_visa_credit")
    requests.end(task)
    *_, after = sandbox.look("requests", shape="row")["requests"]
    assert (after["id"], after["status"]) == (waiting["id"], 200)

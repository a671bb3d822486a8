"""Operators look at directory, worlds and machines, and find anything by its id."""

import json

import pytest

from sandbox.domain.directory import DIRECTORIES
from sandbox.domain.payments.transitions import TRANSITIONS
from tests.driving import fresh


@pytest.fixture(scope="module")
def sandbox():
    return fresh()


def names(sandbox, **query):
    return {entry["cast"] for entry in sandbox.look("directory", **query)["entries"]}


def test_the_directory_has_parents_and_counts_and_is_listed_by_account_kind_and_name(sandbox):
    entries = {one["cast"]: one for one in sandbox.look("directory")["entries"]}

    assert entries["merchant"]["parent_id"] == sandbox.account_id("partner")
    assert entries["psp"]["parent_id"] is None
    assert entries["merchant"]["counts"]["terminals"] == 1
    assert entries["partner"]["counts"]["accounts"] == len(names(sandbox, parent="partner"))
    assert "deleted_merchant" not in entries
    assert max(len(json.dumps(one)) for one in entries.values()) < 500
    assert names(sandbox, kind="terminal", parent="merchant") == {"merchant"}
    assert names(sandbox, kind="key", parent="psp") == {"psp"}
    named = sandbox.look("directory", kind="account")["entries"][0]["name"]
    assert named in {
        one["name"] for one in sandbox.look("directory", q=named[1:].upper())["entries"]
    }
    assert sandbox.look("directory", kind="key", q="no such key")["total"] == 0


def test_a_terminal_has_the_currency_of_its_payments():
    sandbox = fresh()
    place = sandbox.look("/worlds/default")["locations"]["merchant"]
    sandbox.put(f"/v1/locations/{place}", {"currency": "JPY"}).expect(200)

    entries = sandbox.look("directory", kind="terminal")["entries"]

    currencies = {one["cast"]: one["currency"] for one in entries}
    assert (currencies["merchant"], currencies["second_merchant"]) == ("JPY", "USD")
    paid = sandbox.look(f"payments/{sandbox.paid_id()}")
    assert paid["payment"]["currency"] == "JPY"


def test_a_key_shows_its_grants_and_its_last_use_and_never_itself(sandbox):
    sandbox.get(f"/v1/accounts/{sandbox.account_id('merchant')}", by="merchant")

    keys = {one["cast"]: one for one in sandbox.look("directory", kind="key")["entries"]}

    assert keys["merchant"]["last_used_at"] == "2026-03-01T12:00:00.000Z"
    assert keys["revoked"]["status"] == "revoked"
    assert keys["merchant"]["grants"]
    assert keys["merchant"]["expires_at"] > "2026"
    assert sandbox.key("merchant") not in json.dumps(keys)


def test_worlds_as_rows_have_no_keys_and_fixtures_are_listed(sandbox):
    sandbox.paid_id()
    sandbox.get("/v1/accounts/none", by="merchant")

    (row,) = sandbox.control("GET", "/worlds", query="shape=row").json()["worlds"]

    names = ("id", "name", "clock", "scenario", "payments", "requests", "refused", "server")
    assert tuple(row) == names
    assert (row["id"], row["payments"]) == ("default", 1)
    assert row["refused"] >= 1
    assert row["clock"]["mode"] == "frozen"
    assert set(sandbox.look("/fixtures")["fixtures"]) == {"busy", "demo", "empty"}


def test_the_machine_of_payments_has_each_row_of_the_table_in_each_of_its_states(sandbox):
    known = {one["name"] for one in sandbox.look("/machines")["machines"]}
    shown = sandbox.look("/machines/transaction")

    assert known == {"transaction", "batch", "api_key", *(kind.name for kind in DIRECTORIES)}

    assert [(row["id"], row["state"]) for row in shown["rows"]] == [
        (row.id, state) for row in TRANSITIONS for state in row.states
    ]
    (refusal,) = [row for row in shown["rows"] if row["id"] == "F20"]
    told = (refusal["to"], refusal["error"], refusal["clause"])
    assert told == ("authorized", "invalid_transaction_state", "assumed F20")


def test_each_kind_of_thing_is_found_by_its_id_and_its_link_reads_it(sandbox):
    payment = sandbox.paid_id(1234)
    tx = sandbox.read(payment)
    message = sandbox.look("messages")["messages"][-1]["id"]
    entry = sandbox.look("requests")["requests"][-1]["id"]
    ids = {
        "payment": payment,
        "message": message,
        "request": entry,
        "batch": tx["batch_id"],
        "key": sandbox.key_id("merchant"),
        "terminal": tx["tid"],
    }

    for kind, id in ids.items():
        (one,) = sandbox.look("/find", q=id)["found"]

        assert (one["kind"], one["id"], one["world"]) == (kind, id, "default")
        if one["href"] is not None:
            path = one["href"].removeprefix("/_sandbox")
            assert sandbox.control("GET", path).status == 200


def test_payments_are_found_by_event_id_and_by_the_last_four_digits(sandbox):
    payment = sandbox.paid_id(4321, card="tok_amex")
    event = sandbox.acted(payment, "refund", amount=1)["event_id"]

    by_event = sandbox.look("/find", q=event)["found"]
    by_digits = sandbox.look("/find", q="8431")["found"]

    assert [one["id"] for one in by_event] == [payment]
    assert payment in {one["id"] for one in by_digits}
    assert by_event[0]["says"].startswith("sale of 43.21 USD, captured, card 371449")


def test_a_name_of_the_cast_is_found_in_every_world_or_in_one(sandbox):
    sandbox.control("POST", "/worlds", {"id": "other"})

    everywhere = {
        (one["world"], one["kind"]) for one in sandbox.look("/find", q="merchant")["found"]
    }
    assert sandbox.look("/find", q="no-such-id")["found"] == []
    here = sandbox.look("/find", q="merchant", world="other")["found"]

    assert {("default", "account"), ("other", "terminal"), ("other", "key")} <= everywhere
    assert {one["world"] for one in here} == {"other"}
    assert sandbox.key("merchant") not in str(everywhere)

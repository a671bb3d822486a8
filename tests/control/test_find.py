"""Operators find anything by its id, in any world."""

import pytest

from tests.support.payments import fresh_sandbox, paid_id, read


@pytest.fixture(scope="module")
def sandbox():
    return fresh_sandbox()


def test_each_kind_of_thing_is_found_by_its_id_and_its_link_reads_it(sandbox):
    payment = paid_id(sandbox, 1234)
    tx = read(sandbox, payment)
    message = sandbox.control("GET", "/worlds/default/messages").json()["messages"][-1]["id"]
    entry = sandbox.control("GET", "/worlds/default/requests").json()["requests"][-1]["id"]
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
    payment = paid_id(sandbox, 4321, card="tok_amex")
    event = read(sandbox, payment)["event_id"]

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

"""Operators find anything by its id, in any world."""

import pytest

from tests.support.payments import fresh_sandbox, paid_id, read

FIND = "/find"


@pytest.fixture(scope="module")
def sandbox():
    return fresh_sandbox()


def found(sandbox, query):
    answer = sandbox.control("GET", FIND, query=query)
    assert answer.status == 200, answer.text
    return answer.json()["found"]


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
        (one,) = found(sandbox, f"q={id}")

        assert (one["kind"], one["id"], one["world"]) == (kind, id, "default")
        if one["href"] is not None:
            path = one["href"].removeprefix("/_sandbox")
            assert sandbox.control("GET", path).status == 200


def test_payments_are_found_by_event_id_and_by_the_last_four_digits(sandbox):
    payment = paid_id(sandbox, 4321, card="tok_amex")
    event = read(sandbox, payment)["event_id"]

    by_event = found(sandbox, f"q={event}")
    by_digits = found(sandbox, "q=8431")

    assert [one["id"] for one in by_event] == [payment]
    assert payment in {one["id"] for one in by_digits}
    assert by_event[0]["says"].startswith("sale of 43.21 USD, captured, card 371449")


def test_a_name_of_the_cast_is_found_in_every_world_or_in_one(sandbox):
    sandbox.control("POST", "/worlds", {"id": "other"})

    everywhere = {(one["world"], one["kind"]) for one in found(sandbox, "q=merchant")}
    here = found(sandbox, "q=merchant&world=other")

    assert {("default", "account"), ("other", "terminal"), ("other", "key")} <= everywhere
    assert {one["world"] for one in here} == {"other"}
    assert sandbox.key("merchant") not in str(everywhere)


def test_nothing_with_an_id_is_an_empty_answer(sandbox):
    assert found(sandbox, "q=no-such-id") == []

"""Operators look at batches: what is in each, what was sent back, and where that is now."""

from urllib.parse import urlencode

import pytest

from tests.support.payments import act, close_batch, edit_batch, fresh_sandbox, paid, read

BATCHES = "/worlds/default/batches"


@pytest.fixture
def sandbox():
    sandbox = fresh_sandbox()
    sandbox.control("PUT", "/worlds/default/switches", {"batch.settlement": "manual"})
    return sandbox


def listed(sandbox, **query):
    answer = sandbox.control("GET", BATCHES, query=urlencode(query))
    assert answer.status == 200, answer.text
    return answer.json()


def look(sandbox, id):
    answer = sandbox.control("GET", f"{BATCHES}/{id}")
    assert answer.status == 200, answer.text
    return answer.json()


def answer(sandbox, id, **body):
    return sandbox.control("POST", f"{BATCHES}/{id}/answer", body)


def results(detail):
    return {(one["transaction_id"], one["kind"]): one["result"] for one in detail["records"]}


def test_the_record_that_was_sent_back_is_named_with_the_batch_that_takes_it_next(sandbox):
    kept, back = paid(sandbox, 2500), paid(sandbox, 13684)
    kept_id, back_id = kept["transaction_id"], back["transaction_id"]
    first = kept["batch_id"]
    close_batch(sandbox, first)

    answer(sandbox, first, answer="partially_accepted", rejected=[back_id])

    detail = look(sandbox, first)
    assert results(detail) == {(kept_id, "capture"): "accepted", (back_id, "capture"): "refused"}
    (refused,) = [one for one in detail["records"] if one["result"] == "refused"]
    assert (refused["amount"], refused["now_in"], refused["status"]) == (13684, None, "captured")
    assert detail["batch"]["refused"] == 1
    assert detail["sums"] == {
        "captured_amount": 16184,
        "refunded_amount": 0,
        "transaction_count": 2,
        "refused_amount": 13684,
    }
    assert "without 1 of its records" in detail["why"]

    second = paid(sandbox)["batch_id"]
    edit_batch(sandbox, second, added_transactions=[back_id])
    moved = [one["now_in"] for one in look(sandbox, first)["records"] if one["result"] == "refused"]
    assert moved == [second]
    assert results(look(sandbox, second))[back_id, "capture"] is None


def test_what_was_sent_back_is_known_after_a_snapshot_and_not_on_the_platform(sandbox):
    sale = paid(sandbox)
    paid(sandbox)
    close_batch(sandbox, sale["batch_id"])
    answer(sandbox, sale["batch_id"], answer="partially_accepted", rejected=1)
    before = look(sandbox, sale["batch_id"])
    assert "refused_in" not in read(sandbox, sale)
    snapshot = sandbox.ask("GET", "/_sandbox/worlds/default/snapshot").body
    sandbox.control("POST", "/worlds/default/reset")

    assert sandbox.ask("PUT", "/_sandbox/worlds/default/snapshot", body=snapshot).status == 200
    assert look(sandbox, sale["batch_id"]) == before


def test_a_refund_is_a_record_of_its_own(sandbox):
    sale = paid(sandbox, 1000)
    act(sandbox, sale, "refund", amount=300)

    detail = look(sandbox, sale["batch_id"])

    records = [(one["kind"], one["amount"]) for one in detail["records"]]
    assert records == [("capture", 1000), ("refund", 300)]
    sums = {"captured_amount": 1000, "refunded_amount": 300, "transaction_count": 2}
    assert detail["batch"].items() >= sums.items()
    assert detail["sums"] == sums | {"refused_amount": 0}
    assert all(one["result"] is None for one in detail["records"])


def test_each_status_says_what_it_means(sandbox):
    for body, result, why in (
        ({}, None, "switch batch.settlement is manual"),
        ({"answer": "accepted"}, "accepted", "settled all"),
        ({"answer": "rejected", "reason": "hash_mismatch"}, "refused", "RB T09"),
    ):
        id = paid(sandbox)["batch_id"]
        close_batch(sandbox, id)
        if body:
            answer(sandbox, id, **body)

        detail = look(sandbox, id)

        assert set(results(detail).values()) == {result}
        assert why in detail["why"]


def test_an_open_batch_and_one_with_an_answer_to_come_say_what_comes(sandbox):
    sandbox.control("PUT", "/worlds/default/switches", {"batch.settlement": "auto"})
    rule = {
        "when": {"operation": "close_batch"},
        "then": {"batch": "rejected", "reason": "comms", "after": "2h"},
    }
    started = sandbox.control("PUT", "/worlds/default/scenario", {"name": "late", "rule": [rule]})
    assert started.status == 200, started.text
    id = paid(sandbox)["batch_id"]
    assert "until it is closed" in look(sandbox, id)["why"]
    close_batch(sandbox, id)

    detail = look(sandbox, id)

    assert detail["is_due_at"] == "2026-03-01T14:00:00.000Z"
    assert detail["why"] == "the processor answers: rejected"


def test_batches_are_found_by_status_account_and_terminal(sandbox):
    mine = paid(sandbox)["batch_id"]
    close_batch(sandbox, mine)
    paid(sandbox)

    assert [one["id"] for one in listed(sandbox, status="submitted")["batches"]] == [mine]
    assert listed(sandbox, status="open,submitted")["total"] == 2
    assert listed(sandbox, account="merchant", terminal="merchant")["total"] == 2
    assert listed(sandbox, account="second_merchant")["total"] == 0
    newest = listed(sandbox, limit=1)
    older = listed(sandbox, before=newest["next"])
    shown = [one["status"] for one in (*newest["batches"], *older["batches"])]
    assert shown == ["open", "submitted"]
    assert (newest["batches"][0]["currency"], newest["batches"][0]["refused"]) == ("USD", None)

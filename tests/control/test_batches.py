"""Operators look at batches: what is in each, what was sent back, and where that is now."""

import pytest

from sandbox.domain.batches import REASONS
from tests.control.refusals import assert_refused
from tests.driving import fresh
from tests.scenarios.running import running

HASH = REASONS["hash_mismatch"]


@pytest.fixture
def sandbox():
    sandbox = fresh()
    sandbox.set_switch("batch.settlement", "manual")
    return sandbox


def results(detail):
    return {(one["transaction_id"], one["kind"]): one["result"] for one in detail["records"]}


def test_the_record_that_was_sent_back_is_named_with_the_batch_that_takes_it_next(sandbox):
    kept, back = sandbox.paid(2500), sandbox.paid(13684)
    kept_id, back_id = kept["transaction_id"], back["transaction_id"]
    first = kept["batch_id"]
    sandbox.close_batch(first)

    sandbox.answer_batch(first, "partially_accepted", rejected=[back_id])

    detail = sandbox.look(f"batches/{first}")
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
    assert "all but 1 of its records" in detail["why"]

    second = sandbox.paid()["batch_id"]
    sandbox.acted(kept, "refund")
    sandbox.edit_batch(second, added_transactions=[back_id])
    records = sandbox.look(f"batches/{first}")["records"]
    assert [one["now_in"] for one in records] == [first, second]
    assert [*results(sandbox.look(f"batches/{second}")).items()][1] == ((back_id, "capture"), None)
    saved = sandbox.saved()
    sandbox.reset()
    sandbox.load(saved).expect(200)
    assert sandbox.look(f"batches/{first}")["records"] == records


@pytest.mark.proves("assumed B9, B10, B11, 3.3")
def test_each_result_of_a_batch_has_its_payments_settled_or_not_and_says_what_it_means(sandbox):
    for body, result, response, why in (
        ({}, None, None, "switch batch.settlement is manual"),
        ({"answer": "accepted"}, "accepted", None, "settled all"),
        ({"answer": "rejected", "reason": "hash_mismatch"}, "refused", HASH, "RB T09"),
        ({"answer": "rejected", "reason": "RB T99 - OURS"}, "refused", "RB T99 - OURS", "RB T99"),
        ({"answer": "rejected"}, "refused", HASH, "RB T09"),
    ):
        tx = sandbox.paid()
        id = tx["batch_id"]
        assert_refused(sandbox.answer_batch(id, "accepted"), 409, "not_submitted")
        sandbox.close_batch(id)
        if body:
            shown = sandbox.answer_batch(id, **body).json()
            assert shown["status"] == body["answer"]
            assert shown["response"] == (response and {"rejection_reason": response})
            again = sandbox.answer_batch(id, "accepted")
            assert_refused(again, 409, "not_submitted")
            assert body["answer"] in again.json()["message"]

        detail = sandbox.look(f"batches/{id}")

        assert set(results(detail).values()) == {result}
        assert why in detail["why"]
        assert sandbox.read(tx)["status"] == ("settled" if result == "accepted" else "captured")


@pytest.mark.proves("assumed D4")
def test_a_batch_and_the_agenda_show_the_next_event_and_its_time(sandbox):
    then = {"batch": "rejected", "reason": "comms", "after": "2h"}
    running(sandbox, {"when": {"operation": "close_batch"}, "then": then})
    id = sandbox.paid()["batch_id"]
    assert "until it is closed" in sandbox.look(f"batches/{id}")["why"]
    sandbox.close_batch(id)

    detail = sandbox.look(f"batches/{id}")
    (one,) = sandbox.look("agenda", subject=id)["agenda"]
    sandbox.advance("2h")

    assert detail["is_due_at"] == one["due"] == "2026-03-01T14:00:00.000Z"
    assert detail["why"] == "the processor answers: rejected"
    assert (one["kind"], one["subject"]["kind"]) == ("batch_result", "batch")
    assert one["then"] == {"status": "rejected", "status_reason": "comms"}
    assert sandbox.batch(id)["status"] == "rejected"


def test_batches_are_found_by_status_account_and_terminal(sandbox):
    mine = sandbox.paid()["batch_id"]
    sandbox.close_batch(mine)
    sandbox.paid()

    assert [one["id"] for one in sandbox.look("batches", status="submitted")["batches"]] == [mine]
    assert sandbox.look("batches", status="open,submitted")["total"] == 2
    assert sandbox.look("batches", account="merchant", terminal="merchant")["total"] == 2
    assert sandbox.look("batches", account="second_merchant")["total"] == 0
    newest = sandbox.look("batches", limit=1)
    older = sandbox.look("batches", before=newest["next"])
    shown = [one["status"] for one in (*newest["batches"], *older["batches"])]
    assert shown == ["open", "submitted"]
    assert (newest["batches"][0]["currency"], newest["batches"][0]["refused"]) == ("USD", None)


@pytest.mark.proves("assumed D30")
def test_the_currency_of_a_batch_is_that_of_payments_at_its_terminal(sandbox):
    terminal = sandbox.terminal_id("merchant")
    sandbox.put(f"/v2/terminals/{terminal}", {"currency_code": "JPY"}, by="partner").expect(200)
    paid = sandbox.paid()

    (batch,) = sandbox.look("batches")["batches"]

    # A location points at the terminal, and has a currency of its own.
    assert (paid["currency"], batch["currency"]) == ("USD", "USD")

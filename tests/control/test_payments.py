"""Operators choose how payments end and batches settle, and see what there is to choose."""

import pytest

from sandbox.domain.batches import REASONS
from tests.control.refusals import assert_refused
from tests.support.payments import close_batch, paid_id, pay, read, set_switches

NEXT = "/worlds/default/scenario/next"


def queue(sandbox, **entry):
    answer = sandbox.control("POST", NEXT, entry)
    assert answer.status == 201, answer.text
    return answer.json()


def queued(sandbox):
    listed = sandbox.control("GET", NEXT).json()
    assert listed["total"] == len(listed["queue"])
    return listed["queue"]


def closed(sandbox, *payments):
    """The id of a submitted batch with these payments, which waits for its result."""
    set_switches(sandbox, {"batch.settlement": "manual"})
    batch_id = read(sandbox, payments[0])["batch_id"]
    close_batch(sandbox, batch_id)
    return batch_id


def result(sandbox, batch_id, **body):
    return sandbox.control("POST", f"/worlds/default/batches/{batch_id}/answer", body)


# --- next outcomes ----------------------------------------------------------------------------


@pytest.mark.proves("assumed D4")
def test_a_queued_outcome_is_that_of_the_next_attempt_alone(sandbox):
    entry = queue(sandbox, outcome="insufficient_funds")

    first, second = pay(sandbox), pay(sandbox)

    unset = dict.fromkeys(("operation", "method", "path", "amount", "fault", "approved_amount"))
    assert entry == unset | {"id": "next_1", "outcome": "insufficient_funds", "delay_ms": 0}
    assert first.json()["status_reason"] == "insufficient_funds"
    assert first.headers["x-sandbox-outcome"] == "insufficient_funds; source=queue; rule=queue"
    assert second.json()["status"] == "captured"


def test_the_queue_is_in_order_until_its_entries_are_used_removed_cleared_or_reset(sandbox):
    ids = [queue(sandbox, outcome="lost_card")["id"] for _ in range(3)]
    queue(sandbox, outcome="approved", operation="capture", amount=500)
    assert [one["id"] for one in queued(sandbox)][:3] == ids

    assert sandbox.control("DELETE", f"{NEXT}/{ids[1]}").status == 204
    assert_refused(sandbox.control("DELETE", f"{NEXT}/{ids[1]}"), 404, "not_found")
    pay(sandbox)
    assert [one["operation"] for one in queued(sandbox)] == [None, "capture"]
    assert queue(sandbox, outcome="lost_card")["id"] not in ids
    assert sandbox.control("DELETE", NEXT).status == 204
    assert queued(sandbox) == []
    queue(sandbox, outcome="lost_card")
    sandbox.control("POST", "/worlds/default/reset")
    assert queued(sandbox) == []


@pytest.mark.proves("assumed 5.3-anywhere")
def test_a_queued_fault_is_for_the_next_request_that_it_names(sandbox):
    for entry in (
        {"operation": "terminals.list"},
        {"method": "GET"},
        {"path": "/v2/*"},
        {"operation": "terminals.list", "method": "GET", "path": "*terminals"},
        {},
    ):
        assert queue(sandbox, fault="http_503", **entry).items() >= entry.items()
        if entry:
            assert sandbox.ask("POST", "/v1/batches/open", key="psp").status != 503

        failed, spared = (sandbox.ask("GET", "/v2/terminals", key="psp") for _ in range(2))

        assert (failed.status, spared.status) == (503, 200), entry
        assert failed.headers["x-sandbox-outcome"] == "http_503; source=queue; rule=queue"


# --- batch results ----------------------------------------------------------------------------


@pytest.mark.proves("assumed B9, B10")
def test_only_a_submitted_batch_gets_a_result_and_its_payments_are_settled(sandbox):
    tx = paid_id(sandbox)
    early = result(sandbox, read(sandbox, tx)["batch_id"], answer="accepted")
    batch_id = closed(sandbox, tx)

    answer, again = (result(sandbox, batch_id, answer="accepted") for _ in range(2))

    assert_refused(early, 409, "not_submitted")
    assert (answer.status, answer.json()["status"]) == (200, "accepted")
    assert answer.json()["response"] is None
    assert read(sandbox, tx)["status"] == "settled"
    assert_refused(again, 409, "not_submitted")
    assert "accepted" in again.json()["message"]


@pytest.mark.proves("assumed B9, B11, 3.3")
def test_a_batch_is_rejected_with_a_reason(sandbox):
    for reason, said in (
        ({"reason": "hash_mismatch"}, REASONS["hash_mismatch"]),
        ({"reason": "RB T99 - OF OUR OWN"}, "RB T99 - OF OUR OWN"),
        ({}, REASONS["hash_mismatch"]),
    ):
        tx = paid_id(sandbox)

        shown = result(sandbox, closed(sandbox, tx), answer="rejected", **reason).json()

        assert (shown["status"], shown["response"]) == ("rejected", {"rejection_reason": said})
        assert read(sandbox, tx)["status"] == "captured"


# --- the catalogues ---------------------------------------------------------------------------

"""Operators choose how payments end and batches settle, and see what there is to choose."""

import pytest

from sandbox.domain.batches import REASONS
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.outcomes import OUTCOMES, TRIGGERS
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from tests.control.refusals import assert_refused
from tests.support.payments import paid_id, pay, read

NEXT = "/worlds/default/scenario/next"


def queue(sandbox, **entry):
    return sandbox.control("POST", NEXT, entry)


def closed(sandbox, *payments):
    """The id of a submitted batch with these payments, which waits for its result."""
    sandbox.control("PUT", "/worlds/default/switches", {"batch.settlement": "manual"})
    batch_id = read(sandbox, payments[0])["batch_id"]
    sandbox.ask("POST", f"/v1/batches/{batch_id}/close", key="partner", json_body={})
    return batch_id


def result(sandbox, batch_id, **body):
    return sandbox.control("POST", f"/worlds/default/batches/{batch_id}/answer", body)


# --- next outcomes ----------------------------------------------------------------------------


@pytest.mark.proves("assumed D4")
def test_a_queued_outcome_is_that_of_the_next_attempt_alone(sandbox):
    answer = queue(sandbox, outcome="insufficient_funds")

    first, second = pay(sandbox), pay(sandbox)

    assert answer.status == 201
    assert answer.json() == {
        "id": "next_1",
        "outcome": "insufficient_funds",
        "operation": None,
        "method": None,
        "path": None,
        "amount": None,
        "delay_ms": 0,
        "fault": None,
        "approved_amount": None,
    }
    assert first.json()["status_reason"] == "insufficient_funds"
    assert first.headers["x-sandbox-outcome"] == "insufficient_funds; source=queue; rule=queue"
    assert second.json()["status"] == "captured"


def test_what_is_queued_is_listed_in_order_until_it_is_used_or_cleared(sandbox):
    queue(sandbox, outcome="lost_card")
    queue(sandbox, outcome="approved", operation="capture", amount=500)

    listed = sandbox.control("GET", NEXT).json()
    pay(sandbox)
    left = sandbox.control("GET", NEXT).json()
    cleared = sandbox.control("DELETE", NEXT)

    assert [one["outcome"] for one in listed["queue"]] == ["lost_card", "approved"]
    assert (listed["total"], left["total"], cleared.status) == (2, 1, 204)
    assert left["queue"][0]["operation"] == "capture"
    assert sandbox.control("GET", NEXT).json() == {"queue": [], "total": 0}


def test_one_of_the_queue_is_removed_by_its_id(sandbox):
    ids = [queue(sandbox, outcome="lost_card").json()["id"] for _ in range(3)]

    removed = sandbox.control("DELETE", f"{NEXT}/{ids[1]}")
    again = sandbox.control("DELETE", f"{NEXT}/{ids[1]}")
    added = queue(sandbox, outcome="lost_card").json()["id"]

    assert removed.status == 204
    assert_refused(again, 404, "not_found")
    left = [one["id"] for one in sandbox.control("GET", NEXT).json()["queue"]]
    assert left == [ids[0], ids[2], added]
    assert added not in ids


@pytest.mark.proves("assumed 2.7")
def test_a_queued_partial_approval_says_how_much(sandbox):
    queue(sandbox, outcome="partial_approval", approved_amount=700)

    answer = pay(sandbox, amount=1000)

    assert answer.json()["additional_details"] == {
        "authorized_amount": 700,
        "captured_amount": 700,
        "remaining_amount": 300,
    }


def test_a_queued_fault_needs_no_outcome(sandbox):
    queue(sandbox, fault="http_503")

    answer = pay(sandbox)

    assert (answer.status, answer.json()["error"]) == (503, "unavailable")


@pytest.mark.proves("assumed D24")
@pytest.mark.parametrize(
    ("entry", "nearest"),
    [
        ({"outcome": "insufficient_fund"}, "insufficient_funds"),
        ({"outcome": "http_503"}, None),
        ({"fault": "htp_503"}, "http_503"),
        ({"outcome": "lost_card", "operation": "salle"}, "sale"),
        ({"outcome": "refund_declined", "operation": "sale"}, None),
        ({"outcome": "lost_card", "approved_amount": 5}, None),
        ({"outcome": "lost_card", "amount": 0}, None),
        ({"outcome": "lost_card", "amount": "5"}, None),
        ({"outcome": "lost_card", "amount": True}, None),
        ({"outcome": "lost_card", "delay_ms": -1}, None),
        ({"outcome": "lost_card", "delay_ms": 3_600_001}, None),
        ({"outcome": "lost_card", "amout": 5}, "amount"),
        ({"outcome": "partial_approval", "amount": 500, "approved_amount": 500}, None),
        ({"operation": "sale"}, None),
        ({}, None),
    ],
)
def test_what_cannot_happen_is_not_queued(sandbox, entry, nearest):
    answer = queue(sandbox, **entry)

    assert_refused(answer, 400, "validation_error", nearest)
    assert sandbox.control("GET", NEXT).json()["total"] == 0


def test_a_reset_forgets_what_was_queued(sandbox):
    queue(sandbox, outcome="lost_card")

    sandbox.control("POST", "/worlds/default/reset")

    assert sandbox.control("GET", NEXT).json()["total"] == 0


# --- batch results ----------------------------------------------------------------------------


@pytest.mark.proves("assumed B9, B10")
def test_a_batch_is_accepted_by_hand(sandbox):
    tx = paid_id(sandbox)
    batch_id = closed(sandbox, tx)

    answer = result(sandbox, batch_id, answer="accepted")

    assert answer.status == 200
    assert (answer.json()["status"], answer.json()["response"]) == ("accepted", None)
    assert read(sandbox, tx)["status"] == "settled"


@pytest.mark.proves("assumed B9, B11, 3.3")
@pytest.mark.parametrize(
    ("reason", "said"),
    [
        ("hash_mismatch", REASONS["hash_mismatch"]),
        ("RB T99 - OF OUR OWN", "RB T99 - OF OUR OWN"),
        (None, REASONS["hash_mismatch"]),
    ],
)
def test_a_batch_is_rejected_with_a_reason(sandbox, reason, said):
    tx = paid_id(sandbox)
    batch_id = closed(sandbox, tx)
    body = {"answer": "rejected"} if reason is None else {"answer": "rejected", "reason": reason}

    answer = result(sandbox, batch_id, **body)

    assert answer.json()["status"] == "rejected"
    assert answer.json()["response"] == {"rejection_reason": said}
    assert read(sandbox, tx)["status"] == "captured"


@pytest.mark.proves("assumed B9, B12")
def test_a_batch_is_accepted_in_part_by_ids_or_by_a_number(sandbox):
    one, other, third = paid_id(sandbox), paid_id(sandbox), paid_id(sandbox)
    batch_id = closed(sandbox, one, other, third)

    answer = result(sandbox, batch_id, answer="partially_accepted", rejected=[other])

    assert answer.json()["response"] == {"accepted": 2, "rejected": 1}
    assert [read(sandbox, tx)["status"] for tx in (one, other, third)] == [
        "settled",
        "captured",
        "settled",
    ]
    assert read(sandbox, other)["batch_id"] is None

    again, more = paid_id(sandbox), paid_id(sandbox)
    second = closed(sandbox, again, more)
    counted = result(sandbox, second, answer="partially_accepted", rejected=1)

    assert counted.json()["response"] == {"accepted": 1, "rejected": 1}


@pytest.mark.parametrize(
    ("body", "nearest"),
    [
        ({}, None),
        ({"answer": "acepted"}, None),
        ({"answer": "rejected", "reason": "hash_mismach"}, "hash_mismatch"),
        ({"answer": "accepted", "reason": "hash_mismatch"}, None),
        ({"answer": "accepted", "rejected": 1}, None),
        ({"answer": "partially_accepted"}, None),
        ({"answer": "partially_accepted", "rejected": 0}, None),
        ({"answer": "partially_accepted", "rejected": 2}, None),
        ({"answer": "partially_accepted", "rejected": True}, None),
        ({"answer": "partially_accepted", "rejected": []}, None),
        ({"answer": "partially_accepted", "rejected": ["somebody"]}, None),
    ],
)
def test_a_result_that_cannot_be_is_refused_and_the_batch_still_waits(sandbox, body, nearest):
    batch_id = closed(sandbox, paid_id(sandbox))

    answer = result(sandbox, batch_id, **body)

    assert_refused(answer, 400, "validation_error", nearest)
    shown = sandbox.ask("GET", f"/v1/batches/{batch_id}", key="partner").json()
    assert shown["status"] == "submitted"


@pytest.mark.proves("assumed B9")
def test_only_a_submitted_batch_gets_a_result(sandbox):
    tx = paid_id(sandbox)
    batch_id = read(sandbox, tx)["batch_id"]

    early = result(sandbox, batch_id, answer="accepted")
    closed(sandbox, tx)
    result(sandbox, batch_id, answer="accepted")
    again = result(sandbox, batch_id, answer="accepted")

    assert_refused(early, 409, "not_submitted")
    assert_refused(again, 409, "not_submitted")
    assert "accepted" in again.json()["message"]


def test_a_batch_that_is_not_there_gets_no_result(sandbox):
    assert_refused(result(sandbox, "nothing", answer="accepted"), 404, "not_found")


# --- the catalogues ---------------------------------------------------------------------------


def test_the_outcomes_and_faults_can_be_listed(sandbox):
    listed = sandbox.control("GET", "/outcomes").json()

    assert [one["key"] for one in listed["outcomes"]] == list(OUTCOMES)
    assert listed["total"] == len(OUTCOMES)
    assert [one["key"] for one in listed["faults"]] == list(TRANSPORT_FAULTS)
    shown = {one["key"]: one for one in listed["outcomes"]}["insufficient_funds"]
    assert (shown["status"], shown["processor_response_code"]) == ("declined", "51")


def test_the_test_cards_can_be_listed(sandbox):
    listed = sandbox.control("GET", "/cards").json()

    shown = {one["token"]: one for one in listed["cards"]}
    assert list(shown) == list(CARDS)
    assert shown["tok_declined"]["number"] == "400000******0002"
    assert shown["tok_mc_prepaid"]["above_amount"] == 5000
    assert shown["tok_refund_fails"]["later"] == {"refund": "refund_declined"}


def test_the_amounts_that_choose_an_outcome_can_be_listed(sandbox):
    listed = sandbox.control("GET", "/triggers").json()

    assert [one["amount"] for one in listed["triggers"]] == list(TRIGGERS)
    shown = {one["amount"]: one for one in listed["triggers"]}[900_051]
    assert (shown["kind"], shown["key"]) == ("outcome", "insufficient_funds")


@pytest.mark.proves("assumed 5.3-anywhere")
@pytest.mark.parametrize(
    "entry",
    [
        {"operation": "terminals.list"},
        {"method": "GET"},
        {"path": "/v2/*"},
        {"operation": "terminals.list", "method": "GET", "path": "*terminals"},
        {},
    ],
)
def test_a_queued_fault_is_for_the_next_request_that_it_names(sandbox, entry):
    queued = queue(sandbox, fault="http_503", **entry)
    passed = [] if not entry else [sandbox.ask("POST", "/v1/batches/open", key="psp")]

    failed, spared = (sandbox.ask("GET", "/v2/terminals", key="psp") for _ in range(2))

    assert queued.json().items() >= entry.items()
    assert all(one.status != 503 for one in passed)
    assert (failed.status, spared.status) == (503, 200)
    assert failed.headers["x-sandbox-outcome"] == "http_503; source=queue; rule=queue"


def test_an_outcome_waits_for_a_payment_while_other_requests_pass(sandbox):
    queue(sandbox, outcome="lost_card", fault="drop_after", path="/v3/*")

    assert sandbox.ask("GET", "/v2/terminals", key="psp").status == 200
    assert sandbox.control("GET", NEXT).json()["total"] == 1


@pytest.mark.proves("assumed D41")
@pytest.mark.parametrize(
    ("entry", "said", "nearest"),
    [
        ({"fault": "http_503", "operation": "terminal.list"}, "operation: there", "terminals.list"),
        ({"fault": "http_503", "path": "/v2/terminal"}, "path: no operation has the path", None),
        ({"fault": "http_503", "method": "PATCH"}, "method: there is no 'PATCH'", None),
        ({"fault": "http_503", "operation": "sale", "method": "GET"}, "no operation of the", None),
        ({"outcome": "lost_card", "operation": "terminals.list"}, "asks no processor", None),
        ({"fault": "half_answer", "operation": "terminals.delete"}, "fault: half_answer", None),
    ],
)
def test_what_no_request_can_meet_is_not_queued(sandbox, entry, said, nearest):
    answer = queue(sandbox, **entry)

    assert_refused(answer, 400, "validation_error", nearest)
    assert said in answer.json()["message"]
    assert sandbox.control("GET", NEXT).json()["total"] == 0

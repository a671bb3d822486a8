"""What counts as an attempt, whatever the row: repeated event ids, forced outcomes, M9, D11."""

import pytest

from sandbox.domain.payments.transactions import STATUSES
from tests.support.payments import (
    PATHS,
    act,
    acted,
    in_state,
    kind,
    ledger,
    message_count,
    messages_since,
    paid,
    pay,
    read,
    set_switch,
)

BODIES = {
    "capture": {},
    "increment": {"amount": 500},
    "adjust": {"type": "fixed", "amount": 200},
    "reverse": {},
    "refund": {},
    "confirm": {"confirm": True},
}


def error(answer):
    return answer.status, answer.json()["error"]


# --- F38: repeated event ids ------------------------------------------------------------------


@pytest.mark.proves("assumed F38, D9")
@pytest.mark.parametrize("operation", PATHS)
@pytest.mark.parametrize("status", STATUSES)
def test_f38_a_repeated_event_id_is_refused_silently_in_every_status(sandbox, status, operation):
    # assumed D9: looked at before the state, so that not even a rule failure is announced
    before = in_state(sandbox, status)
    seen = message_count(sandbox)
    body = BODIES[operation] | {"event_id": before["event_id"]}

    answer = act(sandbox, before["transaction_id"], operation, **body)

    assert error(answer) == (400, "duplicate_event")
    assert before["transaction_id"] in answer.json()["detail"]
    assert read(sandbox, before["transaction_id"]) == before
    assert messages_since(sandbox, seen) == []


@pytest.mark.proves("assumed F38")
@pytest.mark.parametrize("preauth", [False, True])
def test_f38_a_repeated_event_id_begins_no_payment(sandbox, preauth):
    first = paid(sandbox, event_id="till-1")
    seen = message_count(sandbox)

    answer = pay(sandbox, 2000, event_id="till-1", operation="auth" if preauth else "sale")

    assert error(answer) == (400, "duplicate_event")
    assert first["transaction_id"] in answer.json()["detail"]
    assert messages_since(sandbox, seen) == []


@pytest.mark.proves("assumed F38, M11")
def test_f38_any_earlier_attempt_uses_its_event_id_up(sandbox):
    id = paid(sandbox, operation="auth", event_id="a-1")["transaction_id"]
    acted(sandbox, id, "increment", amount=10, event_id="a-2")
    acted(sandbox, id, "capture", event_id="a-3")
    acted(sandbox, id, "refund", amount=10, event_id="a-4", outcome="refund_declined")
    act(sandbox, id, "capture", event_id="a-5")

    answers = [
        act(sandbox, id, "refund", amount=1, event_id=event_id)
        for event_id in ("a-1", "a-2", "a-3", "a-4", "a-5")
    ]

    assert [error(answer) for answer in answers] == [(400, "duplicate_event")] * 5
    assert [attempt["event_id"] for attempt in read(sandbox, id)["history"]] == [
        *("a-1", "a-1", "a-2", "a-3", "a-4", "a-5")
    ]


@pytest.mark.proves("assumed D11, 2.1-silent")
def test_a_silent_refusal_does_not_use_its_event_id_up(sandbox):
    # assumed D11
    id = paid(sandbox, operation="auth")["transaction_id"]
    refused = act(sandbox, id, "reverse", amount=1001, event_id="b-1")

    again = acted(sandbox, id, "reverse", amount=1000, event_id="b-1")

    assert error(refused) == (400, "reverse_exceeds_available")
    assert (kind(again), again["event_id"]) == ("reverse/reversed/approved", "b-1")


@pytest.mark.proves("assumed M11")
def test_an_event_id_is_the_merchants_own(sandbox):
    # assumed 2.6-scope
    here = paid(sandbox, event_id="c-1")
    there = paid(sandbox, event_id="c-1", at="second_merchant")

    assert here["event_id"] == there["event_id"] == "c-1"


@pytest.mark.proves("assumed 7.1-ids")
def test_an_event_id_keeps_its_case(sandbox):
    # assumed 7.1: never compared case-normalised
    lower = paid(sandbox, event_id="d-1")
    upper = paid(sandbox, event_id="D-1")

    assert (lower["event_id"], upper["event_id"]) == ("d-1", "D-1")


# --- forced outcomes --------------------------------------------------------------------------

FORCED_RULES = [
    ("authorized", "capture", "exceeds_original_auth", "capture"),
    ("authorized", "capture", "invalid_capture_sequence", "capture"),
    ("captured", "adjust", "exceeds_original_auth", "tip_adjust"),
    ("captured", "adjust", "invalid_tip_adjustment", "tip_adjust"),
]


@pytest.mark.proves("assumed 5.2-forced, 2.1-rule")
@pytest.mark.parametrize(("status", "operation", "force", "shown_type"), FORCED_RULES)
def test_a_forced_rule_failure_answers_like_a_real_one(
    sandbox, status, operation, force, shown_type
):
    # assumed 5.2-forced, 2.1-rule
    before = in_state(sandbox, status)
    seen = message_count(sandbox)

    answer = act(sandbox, before["transaction_id"], operation, **BODIES[operation], outcome=force)

    after = read(sandbox, before["transaction_id"])
    told = [(one["event_type"], kind(one["body"])) for one in messages_since(sandbox, seen)]
    assert error(answer) == (400, force)
    assert told == [(f"transaction.{shown_type}", f"{shown_type}/error/{force}")]
    assert after["history"][:-1] == before["history"]
    assert kind(after["history"][-1]) == f"{shown_type}/error/{force}"
    assert after | {"history": []} == before | {"history": []}


@pytest.mark.proves("assumed D41")
@pytest.mark.parametrize(
    ("status", "operation", "force"),
    [
        ("authorized", "capture", "refund_declined"),
        ("authorized", "reverse", "insufficient_funds"),
        ("authorized", "increment", "capture_declined"),
        ("captured", "refund", "lost_card"),
        ("captured", "adjust", "user_canceled"),
        ("surcharge_pending", "confirm", "lost_card"),
    ],
)
def test_an_outcome_for_another_operation_changes_nothing(sandbox, status, operation, force):
    before = in_state(sandbox, status)

    answer = act(sandbox, before["transaction_id"], operation, **BODIES[operation], outcome=force)

    assert answer.status == 400
    assert read(sandbox, before["transaction_id"]) == before


@pytest.mark.parametrize("operation", PATHS)
@pytest.mark.parametrize("status", ["declined", "refunded", "canceled"])
def test_a_forced_outcome_does_not_open_a_state_that_refuses(sandbox, status, operation):
    before = in_state(sandbox, status)

    answer = act(
        sandbox, before["transaction_id"], operation, **BODIES[operation], outcome="approved"
    )

    after = read(sandbox, before["transaction_id"])
    assert answer.status == 400
    assert after | {"history": []} == before | {"history": []}


# --- rule failures answered with 200 ----------------------------------------------------------


@pytest.mark.proves("assumed 2.1-rule")
def test_a_rule_failure_can_be_answered_as_the_failed_transaction(sandbox):
    # assumed Q3: the switch changes the answer, and neither event nor record
    set_switch(sandbox, "lifecycle.rule_failures", "http_200")
    sale = paid(sandbox)
    seen = message_count(sandbox)

    answer = acted(sandbox, sale["transaction_id"], "capture")

    (message,) = messages_since(sandbox, seen)
    assert kind(answer) == "capture/error/invalid_capture_sequence"
    assert (message["event_type"], message["body"]) == ("transaction.capture", answer)
    assert read(sandbox, sale["transaction_id"])["status"] == "captured"


def test_a_silent_refusal_stays_a_400_then(sandbox):
    set_switch(sandbox, "lifecycle.rule_failures", "http_200")
    sale = paid(sandbox)

    answer = act(sandbox, sale["transaction_id"], "increment", amount=5)

    assert error(answer) == (400, "invalid_transaction_state")


# --- the event as it is named -----------------------------------------------------------------


@pytest.mark.proves("assumed 2.1-failed, M9")
def test_a_failed_attempt_is_seen_in_its_answer_and_not_in_the_record(sandbox):
    # assumed 2.1-failed, M9
    held = paid(sandbox, operation="auth")

    failed = acted(sandbox, held, "capture", amount=600, event_id="e-1", outcome="capture_declined")

    after = read(sandbox, held["transaction_id"])
    assert (kind(failed), failed["event_id"]) == ("capture/declined/declined", "e-1")
    assert failed["gateway_transaction_response"] == {
        "responseCode": "D",
        "responseMessage": "DECLINE",
        "approvalCode": None,
        "processorResponseCode": "05",
    }
    assert (failed["processor_response_code"], failed["processor_response_message"]) == (
        *("D", "DECLINE"),
    )
    assert failed["gateway_transaction_id"] == held["gateway_transaction_id"]
    assert (ledger(failed), failed["total_amount"]) == ((1000, 0, 0, 0), 1000)
    assert (after["event_id"], kind(after)) == (held["event_id"], "auth/authorized/approved")
    assert [attempt["amount"] for attempt in after["history"]] == [1000, 1000, 600]


@pytest.mark.proves("spec 2.4-history, 2.10-shapes", "assumed 2.10")
def test_the_history_tells_the_amount_of_every_operation(sandbox):
    # assumed 2.10
    id = paid(sandbox, 1000, operation="auth")["transaction_id"]
    acted(sandbox, id, "increment", amount=500)
    acted(sandbox, id, "reverse", amount=100)
    acted(sandbox, id, "capture", amount=1200)
    acted(sandbox, id, "adjust", type="fixed", amount=50)
    acted(sandbox, id, "refund", amount=70)

    history = read(sandbox, id)["history"]

    told = [(one["transaction_type"], one["amount"], one["total_amount"]) for one in history]
    assert told == [
        ("auth", 1000, 1000),
        ("auth", 1000, 1000),
        ("incremental_auth", 500, 1500),
        ("reverse", 100, 1500),
        ("capture", 1200, 1200),
        ("tip_adjust", 50, 1250),
        ("refund", 70, 1250),
    ]
    assert [(one["refunded"], one["reversed"]) for one in history[2:]] == [
        *((0, 0), (0, 100), (0, 100), (0, 100), (70, 100)),
    ]


@pytest.mark.proves("spec 4.4-paths-actions, 9.4, 9.3", "assumed 1.8")
@pytest.mark.parametrize("version", ["v1", "v3"])
@pytest.mark.parametrize(
    ("state", "segment", "body", "expected"),
    [
        ("authorized", "capture", {}, "capture/captured/approved"),
        ("authorized", "auth", {"amount": 5}, "incremental_auth/authorized/approved"),
        ("captured", "adjust", {"type": "amount", "amount": 5}, "tip_adjust/captured/approved"),
        ("captured", "reverse", {}, "reverse/reversed/approved"),
        ("captured", "refund", {}, "refund/refunded/approved"),
        ("surcharge_pending", "confirm", {"confirm": True}, "sale/captured/approved"),
    ],
)
def test_every_action_is_served_under_both_versions(
    sandbox, version, state, segment, body, expected
):
    before = in_state(sandbox, state)
    path = f"/{version}/payments/{before['transaction_id']}/{segment}"

    answer = sandbox.ask("POST", path, key="partner", json_body=body)

    assert (answer.status, kind(answer.json())) == (200, expected)


@pytest.mark.proves("spec 4.4-paths-refunds", "assumed 1.8-standalone")
def test_the_standalone_refund_is_the_refund_of_the_payment_it_names(sandbox):
    # assumed 1.8-standalone
    sale = paid(sandbox)
    body = {"transaction_id": sale["transaction_id"], "amount": 400}

    answer = sandbox.ask("POST", "/v3/refund", key="partner", json_body=body)

    assert (answer.status, kind(answer.json())) == (200, "refund/captured/approved")
    assert ledger(read(sandbox, sale["transaction_id"])) == (1000, 1000, 400, 0)

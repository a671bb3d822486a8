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
    read,
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


# --- forced outcomes --------------------------------------------------------------------------


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


# --- the event as it is named -----------------------------------------------------------------


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

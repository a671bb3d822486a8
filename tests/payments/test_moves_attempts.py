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


@pytest.mark.proves("spec 4.4-paths-refunds", "assumed 1.8-standalone")
def test_the_standalone_refund_is_the_refund_of_the_payment_it_names(sandbox):
    # assumed 1.8-standalone
    sale = paid(sandbox)
    body = {"transaction_id": sale["transaction_id"], "amount": 400}

    answer = sandbox.ask("POST", "/v3/refund", key="partner", json_body=body)

    assert (answer.status, kind(answer.json())) == (200, "refund/captured/approved")
    assert ledger(read(sandbox, sale["transaction_id"])) == (1000, 1000, 400, 0)

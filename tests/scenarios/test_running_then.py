"""What a rule of a running scenario does to an attempt, and who is heard before it."""

from itertools import product

import pytest

from tests.scenarios.running import LOST, carrying, counts, running, source
from tests.support.payments import (
    batch,
    close_batch,
    fresh_sandbox,
    pay,
    read,
    set_switch,
    sold,
)

CLOSING = {"operation": "close_batch"}


def advance(sandbox, by):
    """Lets time pass; the kinds of what fell due meanwhile."""
    answer = sandbox.control("POST", "/worlds/default/clock/advance", {"by": by})
    return [one["kind"] for one in answer.json()["fired"]]


# --- outcomes ---------------------------------------------------------------------------------


@pytest.mark.proves("assumed D24")
def test_a_rule_without_an_outcome_leaves_it_to_card_and_amount(sandbox):
    running(sandbox, {"then": {"delay_ms": 0}})

    declined = pay(sandbox, **carrying("tok_declined"))
    by_amount = pay(sandbox, 900051)
    approved = pay(sandbox)

    assert [one.json()["status"] for one in (declined, by_amount)] == ["declined", "declined"]
    assert declined.headers["x-sandbox-outcome"].endswith("; source=card; rule=tok_declined")
    assert by_amount.headers["x-sandbox-outcome"].endswith("; source=amount; rule=amount:900051")
    assert approved.json()["status"] == "captured"
    assert approved.headers["x-sandbox-outcome"] == "approved; source=scenario; rule=1"


# --- who is heard first -----------------------------------------------------------------------


def test_what_others_decide_or_refuse_is_not_counted_for_a_rule(sandbox):
    running(sandbox, {"when": {"nth": 1}, "then": LOST})

    refused, forced, ruled = pay(sandbox, 0), pay(sandbox, outcome="stolen_card"), pay(sandbox)

    assert refused.status == 400
    assert [source(forced), source(ruled)] == ["header header", "scenario 1"]
    assert counts(sandbox) == [("1", 1, 1, False)]


# --- results of batches -----------------------------------------------------------------------


NO_HASH = "RB T09 - BATCH AMOUNT HASHING TOTAL MISMATCH"
NOT_SETTLED = ["captured", "captured"]


RESULTS = [
    ({"batch": "accepted"}, None, ["settled", "settled"]),
    ({"batch": "rejected"}, NO_HASH, NOT_SETTLED),
    ({"batch": "rejected", "reason": "duplicate_batch"}, "QD - DUPLICATE BATCH", NOT_SETTLED),
    ({"batch": "rejected", "reason": "OUT OF PAPER"}, "OUT OF PAPER", NOT_SETTLED),
    (
        {"batch": "partially_accepted", "rejected": 1},
        {"accepted": 1, "rejected": 1},
        ["captured", "settled"],
    ),
]


def test_a_closed_batch_has_the_result_of_its_rule_even_where_it_would_wait():
    for settlement, (then, response, payments) in product(("auto", "manual"), RESULTS):
        sandbox = fresh_sandbox()
        set_switch(sandbox, "batch.settlement", settlement)
        members = [sold(sandbox, 1000), sold(sandbox, 2000)]
        running(sandbox, {"name": "mine", "when": CLOSING, "then": then})

        closing = close_batch(sandbox, members[0]["batch_id"])

        result = batch(sandbox, members[0]["batch_id"])
        assert closing.json()["status"] == "submitted"
        assert result["status"] == then["batch"]
        told = {"rejection_reason": response} if isinstance(response, str) else response
        assert result["response"] == told
        assert [read(sandbox, one)["status"] for one in members] == payments
        chosen = [one for one in sandbox.journal(closing)["decisions"] if one["step"] == "outcome"]
        assert [(one["verdict"], one["reason"]) for one in chosen] == [
            (then["batch"], "scenario: mine")
        ]


def test_the_refused_members_of_a_batch_can_be_named(sandbox):
    members = [sold(sandbox) for _ in range(3)]
    named = members[1]["transaction_id"]
    then = {"batch": "partially_accepted", "rejected": [named, "nobody"]}
    running(sandbox, {"when": CLOSING, "then": then})

    close_batch(sandbox, members[0]["batch_id"])

    statuses = [read(sandbox, one)["status"] for one in members]
    assert statuses == ["settled", "captured", "settled"]
    assert batch(sandbox, members[0]["batch_id"])["response"] == {"accepted": 2, "rejected": 1}


def test_a_result_that_an_operator_gave_first_takes_the_place_of_the_one_in_store(sandbox):
    tx = sold(sandbox)
    then = {"batch": "partially_accepted", "rejected": 1, "after": "5m", "times": 1}
    running(sandbox, {"when": CLOSING, "then": then})
    close_batch(sandbox, tx["batch_id"])

    path = f"/worlds/default/batches/{tx['batch_id']}/answer"
    sandbox.control("POST", path, {"answer": "rejected"})
    first = batch(sandbox, tx["batch_id"])["status"]
    close_batch(sandbox, tx["batch_id"])
    second = batch(sandbox, tx["batch_id"])["status"]

    assert [first, second] == ["rejected", "accepted"]
    assert advance(sandbox, "10m") == []


def test_the_batches_of_a_rule_are_told_by_its_words(sandbox):
    for fitting, another in (
        ({"terminal": "merchant"}, {"terminal": "second_merchant"}),
        ({"account": "merchant"}, {"account": "second_merchant"}),
        ({"key": "partner"}, {"key": "psp"}),
        ({"processor": "tsys"}, {"processor": "another"}),
        ({"nth": 1}, {"nth": 2}),
    ):
        for when, status in ((fitting, "rejected"), (another, "accepted")):
            batch_id = sold(sandbox)["batch_id"]
            running(sandbox, {"when": CLOSING | when, "then": {"batch": "rejected"}})

            close_batch(sandbox, batch_id)

            assert batch(sandbox, batch_id)["status"] == status, when


def test_a_rule_for_attempts_says_nothing_of_batches_and_is_not_counted(sandbox):
    tx = sold(sandbox)
    running(sandbox, {"then": LOST | {"times": 1}})

    close_batch(sandbox, tx["batch_id"])

    assert batch(sandbox, tx["batch_id"])["status"] == "accepted"
    assert counts(sandbox) == [("1", 0, 0, False)]

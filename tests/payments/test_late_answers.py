"""What the processor answers to an action after it has timed out: assumed D24-late."""

import pytest

from sandbox.domain.payments.edits import broken
from tests.control.refusals import assert_refused
from tests.payments.following import advance, after, follows
from tests.support.payments import (
    act,
    acted,
    batch,
    close_batch,
    fresh_sandbox,
    held,
    in_state,
    kind,
    ledger,
    message_count,
    messages_since,
    read,
    ready_for,
    record_of,
    set_switch,
    sold,
    sums,
)

ACTIONS = {
    "capture a hold": ("authorized", "capture", {}, "capture"),
    "capture a part with a tip": (
        *("authorized", "capture", {"amount": 700, "tip_amount": 50}, "capture"),
    ),
    "add to a hold": ("authorized", "increment", {"amount": 500}, "incremental_auth"),
    "set a tip": ("captured", "adjust", {"type": "fixed", "amount": 150}, "tip_adjust"),
    "set a tip in percent": (
        *("captured", "adjust", {"type": "percentage", "percentage": 12.5}, "tip_adjust"),
    ),
    "release a hold": ("authorized", "reverse", {}, "reverse"),
    "release a part of a hold": ("authorized", "reverse", {"amount": 300}, "reverse"),
    "void a sale": ("captured", "reverse", {}, "reverse"),
    "refund": ("captured", "refund", {}, "refund"),
    "refund a part": ("captured", "refund", {"amount": 300}, "refund"),
    "refund after settlement": ("settled", "refund", {"amount": 300}, "refund"),
    "confirm": ("surcharge_pending", "confirm", {"confirm": True}, "confirm"),
    "confirm another surcharge": (
        *("surcharge_pending", "confirm", {"confirm": True, "amount": 1020}, "confirm"),
    ),
}
"""Each action that can time out: the state before it, the operation, its body, and its word."""

SAME_FOR_BOTH = (
    *("status", "status_reason", "transaction_type", "total_amount", "surcharge_amount"),
    *("tip_amount", "surcharge_applied", "refunded", "reversed", "processor_response_code"),
)


def money(record):
    return {name: record[name] for name in SAME_FOR_BOTH} | {"ledger": ledger(record)}


def sums_of_all(sandbox, record):
    ids = {one["batch_id"] for one in record["history"] if one["batch_id"]}
    return sorted(sums(sandbox, id) for id in ids | {record["batch_id"]} - {None})


def times_out(sandbox, word, late="approved", outcome="processor_timeout"):
    follow = after("30s", "late_answer", outcome=late)
    follows(sandbox, follow, when={"operation": word}, outcome=outcome, times=1)


@pytest.mark.proves("assumed D24-late")
@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("outcome", ["processor_timeout", "timed_out"])
def test_an_action_that_is_answered_late_has_the_effect_of_one_that_was_answered_in_time(
    sandbox, action, outcome
):
    state, operation, body, word = ACTIONS[action]
    twin = fresh_sandbox()
    in_time = acted(twin, in_state(twin, state), operation, **body)
    before = in_state(sandbox, state)
    times_out(sandbox, word, outcome=outcome)

    answer = acted(sandbox, before, operation, **body)
    between = read(sandbox, before)
    seen = message_count(sandbox)
    fired = advance(sandbox, "1m")

    record = read(sandbox, before)
    assert (answer["status"], answer["status_reason"]) == ("error", outcome)
    assert [one for _, one, _ in fired] == ["late_answer"]
    assert money(record) == money(in_time)
    assert record["event_id"] == answer["event_id"]
    assert record["history"][:-1] == between["history"]
    first, last = record["history"][-2:]
    assert (first["event_id"], first["amount"]) == (last["event_id"], last["amount"])
    told = messages_since(sandbox, seen)[-1]
    assert (told["event_type"], told["body"]) == (f"transaction.{event_of(word)}", record)
    assert sums_of_all(sandbox, record) == sums_of_all(twin, read(twin, in_time))
    assert broken(record_of(sandbox, record["transaction_id"])) == []


def event_of(word):
    return {"incremental_auth": "increment", "confirm": "sale"}.get(word, word)


@pytest.mark.proves("assumed D24-late")
@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_that_is_declined_late_is_announced_and_changes_nothing(sandbox, action):
    state, operation, body, word = ACTIONS[action]
    before = in_state(sandbox, state)
    times_out(sandbox, word, late="do_not_honor")
    attempt = acted(sandbox, before, operation, **body)
    between, seen = read(sandbox, before), message_count(sandbox)

    advance(sandbox, "1m")

    record = read(sandbox, before)
    last = record["history"][-1]
    (told,) = messages_since(sandbox, seen)
    assert (last["status"], last["event_id"]) == ("declined", attempt["event_id"])
    assert (told["event_type"], told["body"]["status"]) == (
        *(f"transaction.{event_of(word)}", "declined"),
    )
    if word == "confirm":
        # The confirmation is what the sale ends with (assumed F2).
        assert (kind(record), ledger(record)) == ("sale/declined/declined", (0, 0, 0, 0))
    else:
        assert record | {"history": 0} == between | {"history": 0}
    assert broken(record_of(sandbox, record["transaction_id"])) == []


def test_a_refund_that_is_repeated_and_then_carried_out_late_is_made_twice(sandbox):
    sale = sold(sandbox, 5000)
    times_out(sandbox, "refund")
    assert acted(sandbox, sale, "refund", amount=2000)["refunded"] == 0
    assert acted(sandbox, sale, "refund", amount=2000)["refunded"] == 2000

    advance(sandbox, "30s")

    record = read(sandbox, sale)
    assert (record["status"], record["refunded"]) == ("captured", 4000)
    assert batch(sandbox, record["batch_id"])["refunded_amount"] == 4000
    # Answered once, it is answered for good.
    assert [kind for _, kind, _ in advance(sandbox, "1h")] == []


@pytest.mark.proves("assumed D24-late")
def test_more_than_there_is_never_goes_back(sandbox):
    sale = sold(sandbox, 5000)
    times_out(sandbox, "refund")
    acted(sandbox, sale, "refund")
    acted(sandbox, sale, "refund", amount=100)
    before, seen = read(sandbox, sale), message_count(sandbox)

    fired = advance(sandbox, "30s")

    # The refund without an amount was for all 5000, of which 4900 are left.
    assert [kind for _, kind, _ in fired] == ["late_answer"]
    assert (read(sandbox, sale), message_count(sandbox)) == (before, seen)


@pytest.mark.parametrize(
    ("word", "operation", "meanwhile"),
    [
        ("capture", "capture", lambda sandbox, hold: acted(sandbox, hold, "reverse")),
        ("capture", "capture", lambda sandbox, hold: advance(sandbox, "20d")),
        ("capture", "capture", lambda sandbox, hold: acted(sandbox, hold, "capture", amount=10)),
        ("incremental_auth", "increment", lambda sandbox, hold: acted(sandbox, hold, "capture")),
        ("reverse", "reverse", lambda sandbox, hold: acted(sandbox, hold, "capture")),
    ],
    ids=["reversed", "expired", "captured", "captured before it grew", "captured, not released"],
)
def test_what_can_no_longer_be_done_changes_nothing(sandbox, word, operation, meanwhile):
    hold = held(sandbox)
    follow = after("25d", "late_answer", outcome="approved")
    follows(sandbox, follow, when={"operation": word}, outcome="timed_out", times=1)
    acted(sandbox, hold, operation, **({"amount": 5} if operation == "increment" else {}))
    meanwhile(sandbox, hold)
    before = read(sandbox, hold)

    advance(sandbox, "10d")
    advance(sandbox, "20d")

    after_all = read(sandbox, hold)
    assert after_all["history"][: len(before["history"])] == before["history"]
    assert {one["status_reason"] for one in after_all["history"]} <= {
        *("pending", "approved", "timed_out"),
    }
    captures = [one for one in after_all["history"] if one["status"] == "captured"]
    assert len(captures) <= 1
    assert ledger(after_all)[1:] in [ledger(before)[1:], (0, 0, 1000)]


def test_a_void_comes_too_late_for_a_batch_that_was_submitted(sandbox):
    set_switch(sandbox, "batch.settlement", "manual")
    sale = sold(sandbox)
    times_out(sandbox, "reverse")
    acted(sandbox, sale, "reverse")
    close_batch(sandbox, sale["batch_id"])
    before = read(sandbox, sale)

    advance(sandbox, "1m")

    assert read(sandbox, sale) == before
    assert sums(sandbox, sale["batch_id"]) == (1000, 0, 1)


def test_a_refund_that_is_answered_after_settlement_goes_into_the_next_batch(sandbox):
    sale = sold(sandbox)
    times_out(sandbox, "refund")
    acted(sandbox, sale, "refund", amount=300)
    close_batch(sandbox, sale["batch_id"])

    advance(sandbox, "1m")

    record = read(sandbox, sale)
    (last,) = record["history"][-1:]
    assert (record["status"], record["refunded"], record["batch_id"]) == (
        *("settled", 300, sale["batch_id"]),
    )
    assert sums(sandbox, last["batch_id"]) == (0, 300, 1)
    assert sums(sandbox, sale["batch_id"]) == (1000, 0, 1)


# --- by hand ----------------------------------------------------------------------------------


def answer(sandbox, tx, **body):
    return sandbox.control("POST", f"/worlds/default/payments/{tx['transaction_id']}/answer", body)


def unanswered(sandbox, tx):
    path = f"/worlds/default/payments/{tx['transaction_id']}"
    return [
        (one["operation"], one["amount"])
        for one in sandbox.control("GET", path).json()["unanswered"]
    ]


@pytest.mark.proves("assumed D24-late")
@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_is_answered_by_hand(sandbox, action):
    state, operation, body, word = ACTIONS[action]
    before = in_state(sandbox, state)
    shown = acted(sandbox, before, operation, outcome="timed_out", **body)
    assert unanswered(sandbox, before) == [(word, shown["history"][-1]["amount"])]

    told = answer(sandbox, before)

    record = read(sandbox, before)
    assert told.status == 200, told.body
    assert (told.json()["payment"], told.json()["unanswered"]) == (record, [])
    assert record["history"][-1]["event_id"] == shown["event_id"]
    assert record["status_reason"] == "approved"


@pytest.mark.parametrize("operation", ["sale", "auth"])
@pytest.mark.parametrize("first", ["processor_timeout", "timed_out", "pending_forever"])
@pytest.mark.parametrize("late", ["approved", "stolen_card"])
def test_an_initiation_is_answered_by_hand(sandbox, operation, first, late):
    paid = acted_initiation(sandbox, operation, first)
    assert unanswered(sandbox, paid) == [(operation, 1000)]

    told = answer(sandbox, paid, outcome=late)

    expected = {
        ("sale", "approved"): "sale/captured/approved",
        ("auth", "approved"): "auth/authorized/approved",
    }.get((operation, late), f"{operation}/declined/invalid_card")
    assert (told.status, kind(read(sandbox, paid))) == (200, expected)
    assert_refused(answer(sandbox, paid), 409, "not_waiting")


def acted_initiation(sandbox, operation, outcome):
    id = ready_for(sandbox, "capture" if operation == "auth" else "refund", outcome=outcome)
    return read(sandbox, id)


def test_each_of_several_attempts_is_answered_by_its_event_id(sandbox):
    sale = sold(sandbox, 5000)
    for amount in (100, 200, 400):
        act(sandbox, sale, "refund", amount=amount, event_id=f"r-{amount}", outcome="timed_out")
    assert [amount for _, amount in unanswered(sandbox, sale)] == [100, 200, 400]

    answer(sandbox, sale, event_id="r-200")
    answer(sandbox, sale, event_id="r-400", outcome="insufficient_funds")

    assert (read(sandbox, sale)["refunded"], unanswered(sandbox, sale)) == (200, [("refund", 100)])
    assert_refused(answer(sandbox, sale, event_id="r-10"), 400, "validation_error", "r-100")


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"outcome": "timed_out"}, "outcome: timed_out is not an answer of a processor"),
        ({"outcome": "lost_crad"}, "outcome: there is no 'lost_crad'"),
        ({"outcome": "insert_card"}, "outcome: insert_card is for auth, incremental_auth, sale"),
    ],
)
def test_a_late_answer_that_cannot_be_is_refused(sandbox, body, said):
    sale = sold(sandbox)
    acted(sandbox, sale, "refund", outcome="timed_out")

    refused = answer(sandbox, sale, **body)

    assert (refused.status, refused.json()["message"].startswith(said)) == (400, True), refused.body
    assert read(sandbox, sale)["refunded"] == 0


def test_an_answer_that_would_change_nothing_is_refused(sandbox):
    sale = sold(sandbox)
    acted(sandbox, sale, "refund", outcome="timed_out")
    acted(sandbox, sale, "refund")

    refused = answer(sandbox, sale)

    assert_refused(refused, 409, "no_effect")
    assert "the payment is refunded" in refused.json()["message"]


def test_the_host_that_holds_the_amount_cannot_decline_it(sandbox):
    id = ready_for(sandbox, "refund", outcome="timed_out_held")

    assert_refused(answer(sandbox, {"transaction_id": id}, outcome="lost_card"), 409, "no_effect")
    assert answer(sandbox, {"transaction_id": id}).status == 200
    assert kind(read(sandbox, id)) == "sale/captured/approved"


def test_an_open_attempt_is_in_a_snapshot(sandbox):
    sale = sold(sandbox)
    acted(sandbox, sale, "refund", outcome="timed_out", amount=400)
    snapshot = sandbox.control("GET", "/worlds/default/snapshot").json()
    answer(sandbox, sale)

    restored = sandbox.control("PUT", "/worlds/default/snapshot", snapshot)

    assert restored.status == 200, restored.body
    assert (read(sandbox, sale)["refunded"], unanswered(sandbox, sale)) == (0, [("refund", 400)])
    answer(sandbox, sale)
    assert read(sandbox, sale)["refunded"] == 400


# --- what people see of it --------------------------------------------------------------------


def due_answers(sandbox):
    return sandbox.control("GET", "/worlds/default/agenda", query="kind=late_answer").json()[
        "agenda"
    ]


def test_the_agenda_and_the_story_say_what_a_late_answer_leads_to(sandbox):
    sale = sold(sandbox)
    times_out(sandbox, "refund")
    acted(sandbox, sale, "refund")

    (due,) = due_answers(sandbox)
    path = f"/worlds/default/payments/{sale['transaction_id']}"
    story = sandbox.control("GET", path).json()["story"]

    assert due["says"] == "the processor answers late to the refund: approved"
    assert due["then"] == {"status": "refunded", "status_reason": "approved"}
    assert (story[-1]["kind"], story[-1]["says"]) == ("due", "late_answer: refunded (approved)")
    acted(sandbox, sale, "refund")
    (due,) = due_answers(sandbox)
    assert (due["then"], due["says"].endswith("the payment is refunded by now")) == (None, True)

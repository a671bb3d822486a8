"""What the processor answers to an action after it has timed out: assumed D24-late."""

import pytest

from sandbox.domain.payments.edits import broken
from tests.control.refusals import assert_refused
from tests.directory.making import shown
from tests.scenarios.running import after, follows
from tests.support.payments import (
    EVENTS,
    OPERATIONS,
    act,
    acted,
    advance,
    close_batch,
    drop,
    fresh_sandbox,
    held,
    in_state,
    kind,
    ledger,
    message_count,
    messages_since,
    paid,
    parts,
    read,
    record_of,
    set_switch,
    sold,
    sums,
)

ACTIONS = {
    "capture a hold": ("authorized", "capture", {}),
    "capture a part with a tip": ("authorized", "capture", {"amount": 700, "tip_amount": 50}),
    "add to a hold": ("authorized", "incremental_auth", {"amount": 500}),
    "set a tip": ("captured", "tip_adjust", {"type": "fixed", "amount": 150}),
    "set a tip in percent": ("captured", "tip_adjust", {"type": "percentage", "percentage": 12.5}),
    "release a hold": ("authorized", "reverse", {}),
    "release a part of a hold": ("authorized", "reverse", {"amount": 300}),
    "void a sale": ("captured", "reverse", {}),
    "refund": ("captured", "refund", {}),
    "refund a part": ("captured", "refund", {"amount": 300}),
    "refund after settlement": ("settled", "refund", {"amount": 300}),
    "confirm": ("surcharge_pending", "confirm", {"confirm": True}),
    "confirm another total": (
        "surcharge_pending",
        "confirm",
        {"confirm": True, "amount": 1020},
    ),
}
"""Each action that can time out: the state before it, its word, and its body."""


def money(record):
    answered = record["surcharge_applied"], record["processor_response_code"]
    return kind(record), ledger(record), parts(record), answered


def sums_of_all(sandbox, record):
    ids = {one["batch_id"] for one in record["history"] if one["batch_id"]}
    return sorted(sums(sandbox, id) for id in ids | {record["batch_id"]} - {None})


def times_out(sandbox, word, late="approved", outcome="processor_timeout"):
    follow = after("30s", "late_answer", outcome=late)
    follows(sandbox, follow, when={"operation": word}, outcome=outcome, times=1)


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
def test_an_action_that_is_answered_late_has_the_effect_of_one_that_was_answered_in_time(
    sandbox, action
):
    state, word, body = ACTIONS[action]
    twin, operation = fresh_sandbox(), OPERATIONS[word][0]
    in_time = acted(twin, in_state(twin, state), operation, **body)
    before = in_state(sandbox, state)
    attempt = acted(sandbox, before, operation, outcome="timed_out", **body)
    seen = message_count(sandbox)
    assert unanswered(sandbox, before) == [(word, attempt["history"][-1]["amount"])]

    answered = shown(answer(sandbox, before))

    record, told = read(sandbox, before), messages_since(sandbox, seen)
    assert (answered["payment"], answered["unanswered"]) == (record, [])
    assert attempt["status"] == "error"
    assert money(record) == money(in_time)
    assert record["event_id"] == attempt["event_id"]
    assert record["history"][: len(before["history"]) + 1] == attempt["history"]
    first, last = record["history"][-2:]
    assert (first["event_id"], first["amount"]) == (last["event_id"], last["amount"])
    assert (told[-1]["event_type"], told[-1]["body"]) == (EVENTS[word], record)
    assert sums_of_all(sandbox, record) == sums_of_all(twin, read(twin, in_time))
    assert broken(record_of(sandbox, record["transaction_id"])) == []


@pytest.mark.proves("assumed D24-late")
def test_an_action_that_is_declined_late_is_announced_and_changes_nothing(sandbox):
    for action in ("capture a hold", "add to a hold", "refund", "confirm"):
        state, word, body = ACTIONS[action]
        before = in_state(sandbox, state)
        times_out(sandbox, word, late="do_not_honor")
        attempt = acted(sandbox, before, OPERATIONS[word][0], **body)
        between, seen = read(sandbox, before), message_count(sandbox)

        advance(sandbox, "1m")

        record = read(sandbox, before)
        last = record["history"][-1]
        (told,) = messages_since(sandbox, seen)
        assert (last["status"], last["event_id"]) == ("declined", attempt["event_id"])
        assert told["event_type"] == EVENTS[word]
        assert told["body"]["status"] == "declined"
        if word == "confirm":
            # The confirmation is what the sale ends with (assumed F2).
            assert (kind(record), ledger(record)) == ("sale/declined/declined", (0, 0, 0, 0))
        else:
            assert record | {"history": 0} == between | {"history": 0}
        assert broken(record_of(sandbox, record["transaction_id"])) == []


@pytest.mark.proves("assumed D24-late")
def test_a_refund_that_is_repeated_is_made_twice_and_never_more_than_there_is(sandbox):
    times_out(sandbox, "refund")
    sale = sold(sandbox, 5000)
    assert acted(sandbox, sale, "refund", amount=2000)["refunded"] == 0
    assert acted(sandbox, sale, "refund", amount=2000)["refunded"] == 2000

    advance(sandbox, "30s")

    record = read(sandbox, sale)
    assert (record["status"], record["refunded"]) == ("captured", 4000)
    assert sums(sandbox, record["batch_id"])[1] == 4000
    # Answered once, it is answered for good.
    assert advance(sandbox, "1h") == []
    times_out(sandbox, "refund")
    acted(sandbox, sale, "refund")
    acted(sandbox, sale, "refund", amount=100)
    before, seen = read(sandbox, sale), message_count(sandbox)
    # The refund without an amount was for all 1000, of which 900 are left.
    assert [done for _, done, _ in advance(sandbox, "30s")] == ["late_answer"]
    assert (read(sandbox, sale), message_count(sandbox)) == (before, seen)


MEANWHILE = {
    "reversed": ("capture", lambda sandbox, hold: acted(sandbox, hold, "reverse")),
    "expired": ("capture", lambda sandbox, hold: advance(sandbox, "20d")),
    "captured": ("capture", lambda sandbox, hold: acted(sandbox, hold, "capture", amount=10)),
    "captured, and not grown": ("increment", lambda sandbox, hold: acted(sandbox, hold, "capture")),
    "captured, not released": ("reverse", lambda sandbox, hold: acted(sandbox, hold, "capture")),
}
"""What became of a hold before an action on it is answered."""


@pytest.mark.parametrize("what", MEANWHILE)
def test_what_can_no_longer_be_done_changes_nothing(sandbox, what):
    operation, meanwhile = MEANWHILE[what]
    hold = held(sandbox)
    body = {"amount": 5} if operation == "increment" else {}
    acted(sandbox, hold, operation, outcome="timed_out", **body)
    meanwhile(sandbox, hold)
    before = read(sandbox, hold)

    assert_refused(answer(sandbox, hold), 409, "no_effect")
    assert read(sandbox, hold) == before


def test_after_the_close_a_void_comes_too_late_and_a_refund_is_in_the_next_batch(sandbox):
    set_switch(sandbox, "batch.settlement", "manual")
    void, refund = sold(sandbox), sold(sandbox)
    acted(sandbox, void, "reverse", outcome="timed_out")
    acted(sandbox, refund, "refund", amount=300, outcome="timed_out")
    close_batch(sandbox, void["batch_id"])
    before = read(sandbox, void)

    assert_refused(answer(sandbox, void), 409, "no_effect")
    assert answer(sandbox, refund).status == 200

    assert read(sandbox, void) == before
    record = read(sandbox, refund)
    assert (record["refunded"], record["batch_id"]) == (300, refund["batch_id"])
    assert sums(sandbox, record["history"][-1]["batch_id"]) == (0, 300, 1)
    assert sums(sandbox, void["batch_id"]) == (2000, 0, 2)


@pytest.mark.proves("assumed D24-late")
def test_each_of_several_attempts_is_answered_by_its_event_id_and_a_snapshot_has_them(sandbox):
    sale = sold(sandbox, 5000)
    for amount in (100, 200, 400):
        act(sandbox, sale, "refund", amount=amount, event_id=f"r-{amount}", outcome="timed_out")
    assert [amount for _, amount in unanswered(sandbox, sale)] == [100, 200, 400]
    snapshot = sandbox.control("GET", "/worlds/default/snapshot").json()

    for _ in range(2):
        answer(sandbox, sale, event_id="r-200")
        answer(sandbox, sale, event_id="r-400", outcome="insufficient_funds")

        assert read(sandbox, sale)["refunded"] == 200
        assert unanswered(sandbox, sale) == [("refund", 100)]
        assert_refused(answer(sandbox, sale, event_id="r-10"), 400, "validation_error", "r-100")
        assert sandbox.control("PUT", "/worlds/default/snapshot", snapshot).status == 200
        assert read(sandbox, sale)["refunded"] == 0


def test_a_late_answer_that_cannot_be_is_refused(sandbox):
    sale = sold(sandbox)
    acted(sandbox, sale, "refund", outcome="timed_out")

    for outcome, said in {
        "timed_out": "outcome: timed_out is not an answer of a processor",
        "lost_crad": "outcome: there is no 'lost_crad'",
        "insert_card": "outcome: insert_card is for auth, incremental_auth, sale",
    }.items():
        refused = answer(sandbox, sale, outcome=outcome)
        assert (refused.status, refused.json()["message"].startswith(said)) == (400, True)
    assert read(sandbox, sale)["refunded"] == 0
    acted(sandbox, sale, "refund")
    refused = answer(sandbox, sale)
    assert_refused(refused, 409, "no_effect")
    assert "the payment is refunded" in refused.json()["message"]
    # The host that holds the amount cannot decline it.
    kept = paid(sandbox, outcome="timed_out_held")
    assert_refused(answer(sandbox, kept, outcome="lost_card"), 409, "no_effect")
    assert answer(sandbox, kept).status == 200
    assert kind(read(sandbox, kept)) == "sale/captured/approved"
    # Nobody could settle it (assumed D45).
    gone = paid(sandbox, at="second_merchant", outcome="timed_out")
    drop(sandbox, "account", "second_merchant")
    assert_refused(answer(sandbox, gone), 409, "no_effect")


def test_the_agenda_says_what_a_late_answer_to_an_action_leads_to(sandbox):
    # tests/control/test_agenda has those to initiations.
    sale = sold(sandbox)
    times_out(sandbox, "refund")
    told = []
    for _ in range(2):
        acted(sandbox, sale, "refund")
        agenda = sandbox.control("GET", "/worlds/default/agenda", query="kind=late_answer").json()
        told += [(one["says"], one["then"]) for one in agenda["agenda"]]

    says = "the processor answers late to the refund: approved"
    assert told[0] == (says, {"status": "refunded", "status_reason": "approved"})
    assert told[1][0].endswith("the payment is refunded by now")
    assert told[1][1] is None

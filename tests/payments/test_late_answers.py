"""What the processor answers to an action after it has timed out: assumed D24-late."""

import pytest

from sandbox.domain.payments.edits import broken
from tests.control.refusals import assert_refused
from tests.driving import fresh
from tests.scenarios.running import after, follows
from tests.support.payments import EVENTS, OPERATIONS, kind, ledger, parts

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
    return sorted(sandbox.sums(id) for id in ids | {record["batch_id"]} - {None})


def times_out(sandbox, word, late="approved", outcome="processor_timeout"):
    follow = after("30s", "late_answer", outcome=late)
    follows(sandbox, follow, when={"operation": word}, outcome=outcome, times=1)


def unanswered(sandbox, tx):
    shown = sandbox.look(f"payments/{tx['transaction_id']}")
    return [(one["operation"], one["amount"]) for one in shown["unanswered"]]


@pytest.mark.proves("assumed D24-late")
@pytest.mark.parametrize("action", ACTIONS)
def test_an_action_that_is_answered_late_has_its_usual_effect(sandbox, action):
    state, word, body = ACTIONS[action]
    twin, operation = fresh(), OPERATIONS[word][0]
    in_time = twin.acted(twin.in_state(state), operation, **body)
    before = sandbox.in_state(state)
    attempt = sandbox.acted(before, operation, outcome="timed_out", **body)
    seen = sandbox.message_count()
    assert unanswered(sandbox, before) == [(word, attempt["history"][-1]["amount"])]

    answered = sandbox.answer_payment(before).expect(200)

    record, told = sandbox.read(before), sandbox.messages(offset=seen)
    assert (answered["payment"], answered["unanswered"]) == (record, [])
    assert attempt["status"] == "error"
    assert money(record) == money(in_time)
    assert record["event_id"] == attempt["event_id"]
    assert record["history"][: len(before["history"]) + 1] == attempt["history"]
    first, last = record["history"][-2:]
    assert (first["event_id"], first["amount"]) == (last["event_id"], last["amount"])
    assert (told[-1]["event_type"], told[-1]["body"]) == (EVENTS[word], record)
    assert sums_of_all(sandbox, record) == sums_of_all(twin, twin.read(in_time))
    assert broken(sandbox.record_of(record["transaction_id"])) == []


@pytest.mark.proves("assumed D24-late")
def test_an_action_that_is_declined_late_is_announced_and_changes_nothing(sandbox):
    for action in ("capture a hold", "add to a hold", "refund", "confirm"):
        state, word, body = ACTIONS[action]
        before = sandbox.in_state(state)
        times_out(sandbox, word, late="do_not_honor")
        attempt = sandbox.acted(before, OPERATIONS[word][0], **body)
        between, seen = sandbox.read(before), sandbox.message_count()

        sandbox.advance("1m")

        record = sandbox.read(before)
        last = record["history"][-1]
        (told,) = sandbox.messages(offset=seen)
        assert (last["status"], last["event_id"]) == ("declined", attempt["event_id"])
        assert told["event_type"] == EVENTS[word]
        assert told["body"]["status"] == "declined"
        if word == "confirm":
            # The confirmation is what the sale ends with (assumed F2).
            assert (kind(record), ledger(record)) == ("sale/declined/declined", (0, 0, 0, 0))
        else:
            assert record | {"history": 0} == between | {"history": 0}
        assert broken(sandbox.record_of(record["transaction_id"])) == []


@pytest.mark.proves("assumed D24-late")
def test_a_refund_that_is_repeated_is_made_twice_and_never_more_than_there_is(sandbox):
    times_out(sandbox, "refund")
    sale = sandbox.sold(5000)
    assert sandbox.acted(sale, "refund", amount=2000)["refunded"] == 0
    assert sandbox.acted(sale, "refund", amount=2000)["refunded"] == 2000

    sandbox.advance("30s")

    record = sandbox.read(sale)
    assert (record["status"], record["refunded"]) == ("captured", 4000)
    assert sandbox.sums(record["batch_id"])[1] == 4000
    # Answered once, it is answered for good.
    assert sandbox.advance("1h") == []
    times_out(sandbox, "refund")
    sandbox.acted(sale, "refund")
    sandbox.acted(sale, "refund", amount=100)
    before, seen = sandbox.read(sale), sandbox.message_count()
    # The refund without an amount was for all 1000, of which 900 are left.
    assert [done for _, done, _ in sandbox.advance("30s")] == ["late_answer"]
    assert (sandbox.read(sale), sandbox.message_count()) == (before, seen)


MEANWHILE = {
    "reversed": ("capture", lambda sandbox, hold: sandbox.acted(hold, "reverse")),
    "expired": ("capture", lambda sandbox, hold: sandbox.advance("20d")),
    "captured": ("capture", lambda sandbox, hold: sandbox.acted(hold, "capture", amount=10)),
    "captured, and not grown": ("increment", lambda sandbox, hold: sandbox.acted(hold, "capture")),
    "captured, not released": ("reverse", lambda sandbox, hold: sandbox.acted(hold, "capture")),
}
"""What became of a hold before an action on it is answered."""


@pytest.mark.parametrize("what", MEANWHILE)
def test_an_impossible_late_answer_changes_nothing(sandbox, what):
    operation, meanwhile = MEANWHILE[what]
    hold = sandbox.held()
    body = {"amount": 5} if operation == "increment" else {}
    sandbox.acted(hold, operation, outcome="timed_out", **body)
    meanwhile(sandbox, hold)
    before = sandbox.read(hold)

    assert_refused(sandbox.answer_payment(hold), 409, "no_effect")
    assert sandbox.read(hold) == before


def test_after_the_close_a_void_comes_too_late_and_a_refund_is_in_the_next_batch(sandbox):
    sandbox.set_switch("batch.settlement", "manual")
    void, refund = sandbox.sold(), sandbox.sold()
    sandbox.acted(void, "reverse", outcome="timed_out")
    sandbox.acted(refund, "refund", amount=300, outcome="timed_out")
    sandbox.close_batch(void["batch_id"])
    before = sandbox.read(void)

    assert_refused(sandbox.answer_payment(void), 409, "no_effect")
    assert sandbox.answer_payment(refund).status == 200

    assert sandbox.read(void) == before
    record = sandbox.read(refund)
    assert (record["refunded"], record["batch_id"]) == (300, refund["batch_id"])
    assert sandbox.sums(record["history"][-1]["batch_id"]) == (0, 300, 1)
    assert sandbox.sums(void["batch_id"]) == (2000, 0, 2)


@pytest.mark.proves("assumed D24-late")
def test_each_of_several_attempts_is_answered_by_its_event_id_and_a_snapshot_has_them(sandbox):
    sale = sandbox.sold(5000)
    for amount in (100, 200, 400):
        sandbox.act(sale, "refund", amount=amount, event_id=f"r-{amount}", outcome="timed_out")
    assert [amount for _, amount in unanswered(sandbox, sale)] == [100, 200, 400]
    snapshot = sandbox.look("snapshot")

    for _ in range(2):
        sandbox.answer_payment(sale, event_id="r-200")
        sandbox.answer_payment(sale, event_id="r-400", outcome="insufficient_funds")

        assert sandbox.read(sale)["refunded"] == 200
        assert unanswered(sandbox, sale) == [("refund", 100)]
        assert_refused(
            sandbox.answer_payment(sale, event_id="r-10"), 400, "validation_error", "r-100"
        )
        assert sandbox.manage("PUT", "/snapshot", snapshot).status == 200
        assert sandbox.read(sale)["refunded"] == 0


def test_a_late_answer_that_cannot_be_is_refused(sandbox):
    sale = sandbox.sold()
    sandbox.acted(sale, "refund", outcome="timed_out")

    for outcome, said in {
        "timed_out": "outcome: timed_out is not an answer of a processor",
        "surcharge_prompt": "outcome: surcharge_prompt is not an answer of a processor",
        "lost_crad": "outcome: there is no 'lost_crad'",
        "insert_card": "outcome: insert_card is for auth, incremental_auth, sale",
    }.items():
        refused = sandbox.answer_payment(sale, outcome=outcome)
        assert (refused.status, refused.json()["message"].startswith(said)) == (400, True)
    assert sandbox.read(sale)["refunded"] == 0
    sandbox.acted(sale, "refund")
    refused = sandbox.answer_payment(sale)
    assert_refused(refused, 409, "no_effect")
    assert "the payment is refunded" in refused.json()["message"]
    # The host that holds the amount cannot decline it.
    kept = sandbox.paid(outcome="timed_out_held")
    refused = sandbox.answer_payment(kept, outcome="lost_card")
    assert_refused(refused, 409, "no_effect")
    assert "the host holds the amount" in refused.json()["message"]
    assert sandbox.answer_payment(kept).status == 200
    assert kind(sandbox.read(kept)) == "sale/captured/approved"
    # Nobody could settle it (assumed D45).
    gone = sandbox.paid(at="second_merchant", outcome="timed_out")
    sandbox.drop("account", "second_merchant")
    refused = sandbox.answer_payment(gone)
    assert_refused(refused, 409, "no_effect")
    assert "the account was deleted" in refused.json()["message"]


def test_the_agenda_shows_the_effect_of_a_late_answer_to_an_action(sandbox):
    # tests/control/test_agenda has those to initiations.
    sale = sandbox.sold()
    times_out(sandbox, "refund")
    told = []
    for _ in range(2):
        sandbox.acted(sale, "refund")
        agenda = sandbox.look("agenda", kind="late_answer")
        told += [(one["says"], one["then"]) for one in agenda["agenda"]]

    says = "the processor answers late to the refund: approved"
    assert told[0] == (says, {"status": "refunded", "status_reason": "approved"})
    assert told[1][0].endswith("the payment is refunded by now")
    assert told[1][1] is None

"""The event_id of an attempt: given, drawn, used again. Source: assumed 2.6, 7.1, F38, M11."""

import pytest

from tests.driving import InProcess
from tests.support.open_requests import action, delay, sale
from tests.support.payments import INITIATIONS, OPERATIONS

ACTIONS = dict(one for one in OPERATIONS.values() if one[0])


def refused_as_duplicate(sandbox, answer, of):
    said = sandbox.refused(answer, 400, "duplicate_event", clause="assumed F38")
    assert of["transaction_id"] in said


@pytest.mark.proves("spec 2.4-event-id", "assumed 7.1-ids")
def test_a_given_event_id_is_kept_and_otherwise_a_uuid_in_capitals_is_drawn(sandbox):
    for event_id in ("a", "A b", "5D6BC5C-", "x" * 128, "\u00fc\u0130", "\U0001f4b3", "null", "A"):
        tx = sandbox.sold(event_id=event_id)

        assert (tx["event_id"], sandbox.read(tx)["event_id"]) == (event_id, event_id)
        told = [one["body"] for one in sandbox.messages() if one["subject"] == tx["transaction_id"]]
        assert {body["event_id"] for body in told} == {event_id}
    # One is never compared in another case: an iOS client sends capitals.
    assert sandbox.found("event_id=A") == [tx["transaction_id"]]
    tx = sandbox.held()
    sandbox.acted(tx, "capture")
    ids = [one["event_id"] for one in sandbox.read(tx)["history"]]
    # A creation and its outcome are one attempt (assumed D11).
    assert ids[0] == ids[1] != ids[2]
    assert all(len(id) == 36 and id == id.upper() for id in ids)


@pytest.mark.proves("assumed 2.6")
def test_one_that_is_not_a_text_of_1_to_128_characters_is_refused(sandbox):
    tx = sandbox.sold()

    with sandbox.unchanged():
        for event_id in ("", "x" * 129, 1, True, [], {}):
            answers = [sandbox.pay(event_id=event_id)]
            for name, body in ACTIONS.items():
                answers.append(sandbox.act(tx, name, event_id=event_id, **body))
            for answer in answers:
                assert "event_id" in sandbox.refused(answer), event_id


def expired(sandbox, tx):
    sandbox.set_clock("2026-04-01T12:00:00.000Z")
    after = sandbox.read(tx)
    assert after["status"] == "canceled"
    return after


DRAWN = {
    "a sale": (None, lambda sandbox, tx: sandbox.sold()),
    "a capture": (InProcess.held, lambda sandbox, tx: sandbox.acted(tx, "capture")),
    "a confirmation": (
        InProcess.prompted,
        lambda sandbox, tx: sandbox.acted(tx, "confirm", confirm=True),
    ),
    "an expired authorization": (InProcess.held, expired),
}
"""What is there before an attempt that draws its own event_id, and the attempt."""


def drawn_after(sandbox, name, event_id, at="merchant"):
    """From a fresh world: a sale of this event_id, then the attempt, which draws its own."""
    sandbox.reset()
    before, attempt = DRAWN[name]
    tx = before(sandbox) if before else None
    assert sandbox.sold(event_id=event_id, at=at)["event_id"] == event_id
    return attempt(sandbox, tx)["history"][-1]["event_id"]


@pytest.mark.proves("assumed 2.6, M11, 7.1-ids")
def test_one_that_a_client_took_is_skipped_and_the_next_is_the_same_each_time(sandbox):
    for name in DRAWN:
        drawn = drawn_after(sandbox, name, "somebody's own")

        others = [drawn_after(sandbox, name, drawn) for _ in range(2)]

        assert others[0] == others[1] != drawn, name
    # One of another merchant is no reason to skip it.
    drawn = drawn_after(sandbox, "a sale", "somebody's own", "second_merchant")
    assert drawn_after(sandbox, "a sale", drawn, "second_merchant") == drawn


def test_one_that_an_attempt_under_way_has_is_skipped(sandbox, requests):
    def sold_meanwhile(event_id):
        sandbox.reset()
        id = sandbox.held()["transaction_id"]
        delay(sandbox)
        task = requests.open(action(id, "capture", event_id=event_id))
        other = requests.ask(*sale(sandbox)).expect(200)
        assert requests.end(task).expect(200)["event_id"] == event_id
        return other["event_id"]

    drawn = sold_meanwhile("somebody's own")

    assert sold_meanwhile(drawn) != drawn


@pytest.mark.proves("assumed 2.6, F38, Q5, M11, D9")
@pytest.mark.parametrize("status", ["surcharge_pending", "authorized", "settled", "canceled"])
def test_a_second_attempt_with_an_event_id_is_refused_and_names_the_first(sandbox, status):
    # Looked at before the state, so that not even a rule failure is announced (assumed D9).
    tx, other = sandbox.in_state(status), sandbox.held()
    with sandbox.unchanged():
        answers = [
            sandbox.act(tx, name, **body, event_id=tx["event_id"]) for name, body in ACTIONS.items()
        ]
        if tx["account_id"] == other["account_id"]:
            for name, body in ACTIONS.items():
                answers.append(sandbox.act(other, name, **body, event_id=tx["event_id"]))
            for operation in INITIATIONS:
                answers.append(sandbox.pay(999, operation=operation, event_id=tx["event_id"]))
        for answer in answers:
            refused_as_duplicate(sandbox, answer, tx)


@pytest.mark.proves("assumed D11, M11, 2.6, 2.1-silent")
def test_an_attempt_uses_up_its_event_id_and_a_silent_refusal_does_not(sandbox):
    declined = sandbox.pay(outcome="do_not_honor", event_id="declined").expect(200)
    tx, used = sandbox.sold(1000, event_id="once"), sandbox.a_terminal()["terminal_id"]
    sandbox.act(tx, "refund", outcome="refund_declined", event_id="failed").expect(200)
    sandbox.edit_batch(tx["batch_id"], removed_transactions=[tx["transaction_id"]]).expect(200)
    sandbox.edit_batch(tx["batch_id"], added_transactions=[tx["transaction_id"]]).expect(200)
    sandbox.settled(tx["batch_id"])

    refused_as_duplicate(sandbox, sandbox.pay(event_id="declined"), declined)
    refused_as_duplicate(sandbox, sandbox.act(tx, "refund", event_id="failed"), tx)
    refused_as_duplicate(sandbox, sandbox.pay(at=used, event_id="once"), tx)
    assert sandbox.sold(at="second_merchant", event_id="once")["event_id"] == "once"
    too_much = sandbox.act(tx, "refund", amount=1001, event_id="x")
    sandbox.refused(too_much, 400, "refund_exceeds_captured")
    sandbox.refused(sandbox.act(tx, "refund", amount="1", event_id="x"))
    confirm = sandbox.act(tx, "confirm", confirm=True, event_id="x")
    sandbox.refused(confirm, 400, "invalid_transaction_state")
    sandbox.refused(sandbox.pay(0, event_id="x"))
    assert sandbox.acted(tx, "refund", event_id="x")["event_id"] == "x"
    sandbox.reset()
    assert sandbox.sold(event_id="once")["status"] == "captured"


@pytest.fixture
def replaying(sandbox):
    sandbox.set_switch("idempotency.duplicate", "replay")
    return sandbox


@pytest.mark.proves("assumed 2.6, Q5, 1.8-standalone", "spec 4.4-paths-refunds")
def test_with_replay_the_same_request_is_done_once_on_any_path(replaying):
    for operation in ("sale", "auth"):
        tx = replaying.pay(1000, operation=operation, event_id=operation).expect(200)
        replaying.acted(tx, "reverse", amount=100)
        with replaying.unchanged():
            again = replaying.pay(1000, operation=operation, event_id=operation).expect(200)
        # It is answered with the payment as it is now.
        assert (again, again["reversed"]) == (replaying.read(tx), 100)
    for name, body in (
        ("capture", {"amount": 900}),
        ("capture", {}),
        ("increment", {"amount": 100}),
        ("reverse", {}),
        ("refund", {"amount": 100}),
        ("capture", {"amount": 100, "breakdown": {"subtotal": 100, "surcharge": {"rate": 3}}}),
    ):
        tx = replaying.sold() if name == "refund" else replaying.held()
        own = body | {"event_id": f"{name} {body}"}
        first = replaying.acted(tx, name, **own)
        with replaying.unchanged():
            assert replaying.acted(tx, name, **own) == first
            assert replaying.acted(tx, name, version="v3", **own) == first
            if name == "refund":
                named = own | {"transaction_id": tx["transaction_id"]}
                assert replaying.post("/v3/refund", named).expect(200) == first
    asked = replaying.pay(outcome="surcharge_prompt").expect(200)
    refused = [replaying.act(asked, "confirm", confirm=False, event_id="no") for _ in range(2)]
    assert refused[0].expect(200) == refused[1].expect(200)
    # What the platform adds to an amount does not make it another.
    for at in ("tax_merchant", "quiet_surcharge_merchant"):
        tx = replaying.sold(1000, at=at, event_id="once")
        with replaying.unchanged():
            assert replaying.sold(1000, at=at, event_id="once") == tx


@pytest.mark.proves("assumed 2.6")
def test_with_replay_another_operation_amount_or_payment_is_still_refused(replaying):
    tx, other = replaying.held(1000, event_id="once"), replaying.held(1000)
    sale = replaying.pay(outcome="surcharge_prompt", event_id="asked").expect(200)
    first, second = replaying.sold(), replaying.sold()
    replaying.acted(first, "refund", amount=100, event_id="refund")
    replaying.acted(second, "adjust", type="percentage", percentage=10, event_id="tip")
    replaying.acted(sale, "confirm", confirm=True, event_id="yes")

    with replaying.unchanged():
        for answer in (
            replaying.pay(999, operation="auth", event_id="once"),
            replaying.pay(1000, operation="sale", event_id="once"),
            replaying.act(tx, "capture", event_id="once"),
            replaying.act(tx, "increment", amount=1000, event_id="once"),
            replaying.act(other, "capture", amount=1000, event_id="once"),
        ):
            refused_as_duplicate(replaying, answer, tx)
        answer = replaying.act(second, "refund", amount=100, event_id="refund")
        refused_as_duplicate(replaying, answer, first)
        # A confirmation is not the sale that it confirms.
        answer = replaying.act(sale, "confirm", confirm=True, event_id="asked")
        refused_as_duplicate(replaying, answer, sale)
        # Nor is a refusal the confirmation, or a tip of 20 % one of 10 %.
        answer = replaying.act(sale, "confirm", confirm=False, event_id="yes")
        refused_as_duplicate(replaying, answer, sale)
        answer = replaying.act(second, "adjust", type="percentage", percentage=20, event_id="tip")
        refused_as_duplicate(replaying, answer, second)

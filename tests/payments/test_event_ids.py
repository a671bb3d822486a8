"""The event_id of an attempt: given, drawn, used again. Source: assumed 2.6, 7.1, F38, M11."""

import pytest

from tests.directory.making import a_terminal, messages, set_clock, shown
from tests.support.open_requests import action, delay, sale
from tests.support.payments import (
    INITIATIONS,
    OPERATIONS,
    act,
    acted,
    ask,
    edit_batch,
    found,
    held,
    in_state,
    pay,
    prompted,
    read,
    refused,
    set_switch,
    settled,
    sold,
    unchanged,
)

ACTIONS = dict(one for one in OPERATIONS.values() if one[0])


def refused_as_duplicate(sandbox, answer, of):
    said = refused(sandbox, answer, 400, "duplicate_event", clause="assumed F38")
    assert of["transaction_id"] in said


@pytest.mark.proves("spec 2.4-event-id", "assumed 7.1-ids")
def test_one_that_is_given_is_kept_as_it_is_and_else_a_uuid_in_capitals_is_drawn(sandbox):
    for event_id in ("a", "A b", "5D6BC5C-", "x" * 128, "\u00fc\u0130", "\U0001f4b3", "null", "A"):
        tx = sold(sandbox, event_id=event_id)

        assert (tx["event_id"], read(sandbox, tx)["event_id"]) == (event_id, event_id)
        told = [one["body"] for one in messages(sandbox) if one["subject"] == tx["transaction_id"]]
        assert {body["event_id"] for body in told} == {event_id}
    # One is never compared in another case: an iOS client sends capitals.
    assert found(sandbox, "event_id=A") == [tx["transaction_id"]]
    tx = held(sandbox)
    acted(sandbox, tx, "capture")
    ids = [one["event_id"] for one in read(sandbox, tx)["history"]]
    # A creation and its outcome are one attempt (assumed D11).
    assert ids[0] == ids[1] != ids[2]
    assert all(len(id) == 36 and id == id.upper() for id in ids)


@pytest.mark.proves("assumed 2.6")
def test_one_that_is_not_a_text_of_1_to_128_characters_is_refused(sandbox):
    tx = sold(sandbox)

    with unchanged(sandbox):
        for event_id in ("", "x" * 129, 1, True, [], {}):
            answers = [pay(sandbox, event_id=event_id)]
            for name, body in ACTIONS.items():
                answers.append(act(sandbox, tx, name, event_id=event_id, **body))
            for answer in answers:
                assert "event_id" in refused(sandbox, answer), event_id


def expired(sandbox, tx):
    set_clock(sandbox, "2026-04-01T12:00:00.000Z")
    after = read(sandbox, tx)
    assert after["status"] == "canceled"
    return after


DRAWN = {
    "a sale": (None, lambda sandbox, tx: sold(sandbox)),
    "a capture": (held, lambda sandbox, tx: acted(sandbox, tx, "capture")),
    "a confirmation": (prompted, lambda sandbox, tx: acted(sandbox, tx, "confirm", confirm=True)),
    "an expired authorization": (held, expired),
}
"""What is there before an attempt that draws its own event_id, and the attempt."""


def reset(sandbox):
    assert sandbox.control("POST", f"/worlds/{sandbox.world}/reset").status == 200


def drawn_after(sandbox, name, event_id, at="merchant"):
    """From a fresh world: a sale of this event_id, then the attempt, which draws its own."""
    reset(sandbox)
    before, attempt = DRAWN[name]
    tx = before(sandbox) if before else None
    assert sold(sandbox, event_id=event_id, at=at)["event_id"] == event_id
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
        reset(sandbox)
        id = held(sandbox)["transaction_id"]
        delay(sandbox)
        task = requests.open(action(id, "capture", event_id=event_id))
        other = shown(requests.ask(*sale(sandbox)))
        assert shown(requests.end(task))["event_id"] == event_id
        return other["event_id"]

    drawn = sold_meanwhile("somebody's own")

    assert sold_meanwhile(drawn) != drawn


@pytest.mark.proves("assumed 2.6, F38, Q5, M11, D9")
@pytest.mark.parametrize("status", ["surcharge_pending", "authorized", "settled", "canceled"])
def test_a_second_attempt_with_it_is_refused_whatever_it_is_and_names_the_first(sandbox, status):
    # Looked at before the state, so that not even a rule failure is announced (assumed D9).
    tx, other = in_state(sandbox, status), held(sandbox)
    with unchanged(sandbox):
        answers = [
            act(sandbox, tx, name, **body, event_id=tx["event_id"])
            for name, body in ACTIONS.items()
        ]
        if tx["account_id"] == other["account_id"]:
            for name, body in ACTIONS.items():
                answers.append(act(sandbox, other, name, **body, event_id=tx["event_id"]))
            for operation in INITIATIONS:
                answers.append(pay(sandbox, 999, operation=operation, event_id=tx["event_id"]))
        for answer in answers:
            refused_as_duplicate(sandbox, answer, tx)


@pytest.mark.proves("assumed D11, M11, 2.6, 2.1-silent")
def test_an_attempt_uses_it_up_for_its_merchant_and_a_refusal_in_silence_does_not(sandbox):
    declined = shown(pay(sandbox, outcome="do_not_honor", event_id="declined"))
    tx, used = sold(sandbox, 1000, event_id="once"), a_terminal(sandbox)["terminal_id"]
    shown(act(sandbox, tx, "refund", outcome="refund_declined", event_id="failed"))
    shown(edit_batch(sandbox, tx["batch_id"], removed_transactions=[tx["transaction_id"]]))
    shown(edit_batch(sandbox, tx["batch_id"], added_transactions=[tx["transaction_id"]]))
    settled(sandbox, tx["batch_id"])

    refused_as_duplicate(sandbox, pay(sandbox, event_id="declined"), declined)
    refused_as_duplicate(sandbox, act(sandbox, tx, "refund", event_id="failed"), tx)
    refused_as_duplicate(sandbox, pay(sandbox, at=used, event_id="once"), tx)
    assert sold(sandbox, at="second_merchant", event_id="once")["event_id"] == "once"
    too_much = act(sandbox, tx, "refund", amount=1001, event_id="x")
    refused(sandbox, too_much, 400, "refund_exceeds_captured")
    refused(sandbox, act(sandbox, tx, "refund", amount="1", event_id="x"))
    confirm = act(sandbox, tx, "confirm", confirm=True, event_id="x")
    refused(sandbox, confirm, 400, "invalid_transaction_state")
    refused(sandbox, pay(sandbox, 0, event_id="x"))
    assert acted(sandbox, tx, "refund", event_id="x")["event_id"] == "x"
    reset(sandbox)
    assert sold(sandbox, event_id="once")["status"] == "captured"


@pytest.fixture
def replaying(sandbox):
    set_switch(sandbox, "idempotency.duplicate", "replay")
    return sandbox


@pytest.mark.proves("assumed 2.6, Q5, 1.8-standalone", "spec 4.4-paths-refunds")
def test_with_replay_the_same_request_is_done_once_by_whatever_path(replaying):
    for operation in ("sale", "auth"):
        tx = shown(pay(replaying, 1000, operation=operation, event_id=operation))
        acted(replaying, tx, "reverse", amount=100)
        with unchanged(replaying):
            again = shown(pay(replaying, 1000, operation=operation, event_id=operation))
        # It is answered with the payment as it is now.
        assert (again, again["reversed"]) == (read(replaying, tx), 100)
    for name, body in (
        ("capture", {"amount": 900}),
        ("capture", {}),
        ("increment", {"amount": 100}),
        ("reverse", {}),
        ("refund", {"amount": 100}),
        ("capture", {"amount": 100, "breakdown": {"subtotal": 100, "surcharge": {"rate": 3}}}),
    ):
        tx = sold(replaying) if name == "refund" else held(replaying)
        own = body | {"event_id": f"{name} {body}"}
        first = acted(replaying, tx, name, **own)
        with unchanged(replaying):
            assert acted(replaying, tx, name, **own) == first
            assert acted(replaying, tx, name, version="v3", **own) == first
            if name == "refund":
                named = own | {"transaction_id": tx["transaction_id"]}
                assert shown(ask(replaying, "POST", "/v3/refund", named)) == first
    # What the platform adds to an amount does not make it another.
    for at in ("tax_merchant", "quiet_surcharge_merchant"):
        tx = sold(replaying, 1000, at=at, event_id="once")
        with unchanged(replaying):
            assert sold(replaying, 1000, at=at, event_id="once") == tx


@pytest.mark.proves("assumed 2.6")
def test_with_replay_another_operation_amount_or_payment_is_still_refused(replaying):
    tx, other = held(replaying, 1000, event_id="once"), held(replaying, 1000)
    sale = shown(pay(replaying, outcome="surcharge_prompt", event_id="asked"))
    first, second = sold(replaying), sold(replaying)
    acted(replaying, first, "refund", amount=100, event_id="refund")
    acted(replaying, second, "adjust", type="percentage", percentage=10, event_id="tip")
    acted(replaying, sale, "confirm", confirm=True, event_id="yes")

    with unchanged(replaying):
        for answer in (
            pay(replaying, 999, operation="auth", event_id="once"),
            pay(replaying, 1000, operation="sale", event_id="once"),
            act(replaying, tx, "capture", event_id="once"),
            act(replaying, tx, "increment", amount=1000, event_id="once"),
            act(replaying, other, "capture", amount=1000, event_id="once"),
        ):
            refused_as_duplicate(replaying, answer, tx)
        answer = act(replaying, second, "refund", amount=100, event_id="refund")
        refused_as_duplicate(replaying, answer, first)
        # A confirmation is not the sale that it confirms.
        answer = act(replaying, sale, "confirm", confirm=True, event_id="asked")
        refused_as_duplicate(replaying, answer, sale)
        # Nor is a refusal the confirmation, or a tip of 20 % one of 10 %.
        answer = act(replaying, sale, "confirm", confirm=False, event_id="yes")
        refused_as_duplicate(replaying, answer, sale)
        answer = act(replaying, second, "adjust", type="percentage", percentage=20, event_id="tip")
        refused_as_duplicate(replaying, answer, second)

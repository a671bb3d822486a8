"""The event_id of an attempt, and what happens when it is used again. Assumed 2.6, F38, M11."""

import pytest

from tests.directory.making import a_terminal, messages, shown
from tests.support.payments import (
    act,
    acted,
    ask,
    edit_batch,
    found,
    held,
    pay,
    read,
    refused,
    set_switch,
    settled,
    sold,
)

ACTIONS = {
    "capture": {},
    "increment": {"amount": 100},
    "reverse": {"amount": 10},
    "adjust": {"type": "fixed", "amount": 100},
    "refund": {"amount": 10},
    "confirm": {"confirm": True},
}


def refused_as_duplicate(sandbox, answer, of):
    said = refused(sandbox, answer, 400, "duplicate_event", clause="assumed F38")
    assert of["transaction_id"] in said


# --- given and generated ----------------------------------------------------------------------


@pytest.mark.proves("assumed 7.1-ids")
def test_without_one_an_attempt_gets_a_fresh_uuid_in_capitals(sandbox):
    tx = held(sandbox)
    acted(sandbox, tx, "capture")

    ids = [one["event_id"] for one in read(sandbox, tx)["history"]]

    # A creation and its outcome are one attempt (assumed D11).
    assert ids[0] == ids[1] != ids[2]
    assert all(len(id) == 36 and id == id.upper() for id in ids)


@pytest.mark.proves("spec 2.4-event-id", "assumed 7.1-ids")
@pytest.mark.parametrize(
    "event_id", ["a", "A b", "5D6BC5C-", "x" * 128, "\u00fc\u0130", "123", "\U0001f4b3", "null"]
)
def test_one_that_is_given_is_kept_as_it_is(sandbox, event_id):
    tx = sold(sandbox, event_id=event_id)

    assert (tx["event_id"], read(sandbox, tx)["event_id"]) == (event_id, event_id)
    assert {one["body"]["event_id"] for one in messages(sandbox) if "event_id" in one["body"]} == {
        event_id
    }


def test_one_is_never_compared_in_another_case(sandbox):
    # assumed 7.1: an iOS client sends capitals.
    first = sold(sandbox, event_id="abc")

    second = sold(sandbox, event_id="ABC")

    assert first["transaction_id"] != second["transaction_id"]
    assert found(sandbox, "event_id=ABC") == [second["transaction_id"]]


@pytest.mark.proves("assumed 2.6")
@pytest.mark.parametrize("action", ["sale", *ACTIONS])
def test_one_that_is_not_a_text_of_1_to_128_characters_is_refused(sandbox, action):
    tx = sold(sandbox)
    before = sandbox.state()

    for event_id in ("", "x" * 129, "x" * 5000, 1, True, 1.5, [], {}, ["a"]):
        if action == "sale":
            answer = pay(sandbox, event_id=event_id)
        else:
            answer = act(sandbox, tx, action, event_id=event_id, **ACTIONS[action])

        assert "event_id" in refused(sandbox, answer), event_id
    assert sandbox.state() == before


# --- used again: F38 --------------------------------------------------------------------------


@pytest.mark.proves("assumed 2.6, F38, Q5, M11")
@pytest.mark.parametrize("kind", ["sale", "auth"])
@pytest.mark.parametrize("amount", [1000, 999])
def test_a_second_initiation_with_it_is_refused_and_names_the_first(sandbox, kind, amount):
    first = sold(sandbox, event_id="once")
    before = sandbox.state()

    answer = pay(sandbox, amount, operation=kind, event_id="once")

    refused_as_duplicate(sandbox, answer, first)
    assert sandbox.state() == before


@pytest.mark.proves("assumed F38, 2.6")
@pytest.mark.parametrize("action", ACTIONS)
def test_every_action_with_it_is_refused_on_the_same_payment_and_on_others(sandbox, action):
    first, other = sold(sandbox, event_id="once"), held(sandbox)
    before = sandbox.state()

    for tx in (first, other):
        answer = act(sandbox, tx, action, event_id="once", **ACTIONS[action])
        refused_as_duplicate(sandbox, answer, first)

    assert sandbox.state() == before


@pytest.mark.proves("assumed D11")
def test_a_declined_or_failed_attempt_uses_its_event_id_up(sandbox):
    declined = shown(pay(sandbox, outcome="do_not_honor", event_id="declined"))
    tx = sold(sandbox)
    shown(act(sandbox, tx, "refund", outcome="refund_declined", event_id="refund"))

    refused_as_duplicate(sandbox, pay(sandbox, event_id="declined"), declined)
    refused_as_duplicate(sandbox, act(sandbox, tx, "refund", event_id="refund"), tx)


@pytest.mark.proves("assumed D11, 2.1-silent")
def test_what_was_refused_in_silence_does_not_use_an_event_id_up(sandbox):
    # assumed D11
    tx = sold(sandbox, 1000)
    refused(
        sandbox,
        act(sandbox, tx, "refund", amount=1001, event_id="x"),
        400,
        "refund_exceeds_captured",
    )
    refused(sandbox, act(sandbox, tx, "refund", amount="1", event_id="x"))
    refused(sandbox, act(sandbox, tx, "confirm", confirm=True, event_id="x"), 400, STATE)
    refused(sandbox, pay(sandbox, 0, event_id="x"))

    assert acted(sandbox, tx, "refund", event_id="x")["event_id"] == "x"


STATE = "invalid_transaction_state"


@pytest.mark.proves("assumed M11, 2.6")
def test_one_merchant_uses_it_once_on_all_its_terminals_and_another_merchant_again(sandbox):
    first = sold(sandbox, event_id="once")
    used = a_terminal(sandbox)["terminal_id"]

    elsewhere = sold(sandbox, at="second_merchant", event_id="once")

    refused_as_duplicate(sandbox, pay(sandbox, at=used, event_id="once"), first)
    assert elsewhere["event_id"] == "once"


@pytest.mark.proves("assumed 2.6")
def test_it_stays_used_after_settlement_and_after_an_edit_of_its_batch(sandbox):
    tx = sold(sandbox, event_id="once")
    shown(edit_batch(sandbox, tx["batch_id"], removed_transactions=[tx["transaction_id"]]))
    shown(edit_batch(sandbox, tx["batch_id"], added_transactions=[tx["transaction_id"]]))
    settled(sandbox, tx["batch_id"])

    refused_as_duplicate(sandbox, pay(sandbox, event_id="once"), tx)


def test_after_a_reset_it_is_free_again(sandbox):
    sold(sandbox, event_id="once")

    assert sandbox.control("POST", f"/worlds/{sandbox.world}/reset").status == 200

    assert sold(sandbox, event_id="once")["status"] == "captured"


# --- answered again: the switch ---------------------------------------------------------------


@pytest.fixture
def replaying(sandbox):
    set_switch(sandbox, "idempotency.duplicate", "replay")
    return sandbox


@pytest.mark.proves("assumed 2.6, Q5")
@pytest.mark.parametrize("kind", ["sale", "auth"])
def test_with_replay_the_same_initiation_is_answered_with_the_payment_as_it_is_now(replaying, kind):
    tx = shown(pay(replaying, 1000, operation=kind, event_id="once"))
    acted(replaying, tx, "reverse", amount=100)
    before = replaying.state()

    again = pay(replaying, 1000, operation=kind, event_id="once")

    assert shown(again) == read(replaying, tx)
    assert shown(again)["reversed"] == 100
    assert replaying.state() == before


@pytest.mark.proves("assumed 2.6")
@pytest.mark.parametrize(
    ("action", "body"),
    [
        ("capture", {"amount": 900}),
        ("capture", {}),
        ("increment", {"amount": 100}),
        ("reverse", {"amount": 50}),
        ("reverse", {}),
    ],
)
def test_with_replay_the_same_action_is_done_once(replaying, action, body):
    tx = held(replaying, 1000)
    first = acted(replaying, tx, action, event_id="once", **body)
    before = replaying.state()

    again = acted(replaying, tx, action, event_id="once", **body)

    assert again == first
    assert replaying.state() == before


def test_with_replay_the_same_refund_by_either_path_is_done_once(replaying):
    tx = sold(replaying, 1000)
    first = acted(replaying, tx, "refund", amount=100, event_id="once")
    body = {"transaction_id": tx["transaction_id"], "amount": 100, "event_id": "once"}
    before = replaying.state()

    again = [
        acted(replaying, tx, "refund", amount=100, event_id="once", version="v1"),
        shown(ask(replaying, "POST", "/v3/refund", body)),
    ]

    assert again == [first, first]
    assert (read(replaying, tx)["refunded"], replaying.state()) == (100, before)


@pytest.mark.proves("assumed 2.6")
def test_with_replay_another_operation_amount_or_payment_is_still_refused(replaying):
    tx, other = held(replaying, 1000, event_id="once"), held(replaying, 1000)
    before = replaying.state()

    answers = [
        pay(replaying, 999, operation="auth", event_id="once"),
        pay(replaying, 1000, operation="sale", event_id="once"),
        act(replaying, tx, "capture", event_id="once"),
        act(replaying, tx, "increment", amount=1000, event_id="once"),
        act(replaying, other, "capture", amount=1000, event_id="once"),
    ]

    for answer in answers:
        refused_as_duplicate(replaying, answer, tx)
    assert replaying.state() == before


def test_with_replay_a_confirmation_is_not_the_sale_that_it_confirms(replaying):
    tx = shown(pay(replaying, outcome="surcharge_prompt", event_id="once"))
    before = replaying.state()

    answer = act(replaying, tx, "confirm", confirm=True, event_id="once")

    refused_as_duplicate(replaying, answer, tx)
    assert replaying.state() == before


def test_with_replay_the_same_action_on_another_payment_is_refused(replaying):
    tx, other = sold(replaying, 1000), sold(replaying, 1000)
    acted(replaying, tx, "refund", amount=100, event_id="once")

    answer = act(replaying, other, "refund", amount=100, event_id="once")

    refused_as_duplicate(replaying, answer, tx)
    assert read(replaying, other)["refunded"] == 0

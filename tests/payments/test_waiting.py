"""Payments that wait for their processor, and what happens meanwhile. Source: assumed 2.6, D2."""

import asyncio

import pytest

from sandbox.domain.payments.outcomes import Operation
from tests.payments.waits import action, delay, meanwhile, sale, waiting, world_of
from tests.platform.minting import mint
from tests.support.payments import (
    ask_on_loop,
    chosen,
    event_types,
    events_of,
    paid_id,
    read,
    ready_for,
    until_busy,
)

# --- others go on -----------------------------------------------------------------------------


def test_a_waiting_payment_does_not_hold_up_other_requests(sandbox):
    delay(sandbox)

    async def others_while_one_waits():
        task = await waiting(sandbox, sale(sandbox))
        other = await ask_on_loop(sandbox, *sale(sandbox))
        listed = await ask_on_loop(sandbox, "GET", "/v2/transactions")
        keys = await ask_on_loop(sandbox, "GET", "/v5/apikeys")
        return task.done(), other, listed, keys, await task

    was_done, other, listed, keys, answer = asyncio.run(others_while_one_waits())

    assert was_done is False
    assert (other.status, keys.status, answer.status) == (200, 200, 200)
    # The record is there from the beginning, and pending until the answer (spec 6.3).
    shown = {one["transaction_id"]: one["status"] for one in listed.json()["transactions"]}
    assert shown == {
        answer.json()["transaction_id"]: "pending",
        other.json()["transaction_id"]: "captured",
    }
    assert answer.json()["status"] == "captured"


@pytest.mark.proves("assumed 8.3-order")
def test_the_creation_is_announced_before_the_wait_and_the_outcome_after_it(sandbox):
    delay(sandbox)

    async def before_and_after():
        task = await waiting(sandbox, sale(sandbox))
        before = [one.event_type for one in world_of(sandbox).store.messages()]
        return before, await task

    before, answer = asyncio.run(before_and_after())

    assert before == ["transaction.create"]
    assert event_types(sandbox, answer) == [
        "transaction.create",
        "batch.opened",
        "transaction.sale",
    ]


def test_two_payments_wait_side_by_side(sandbox):
    delay(sandbox, "lost_card")
    delay(sandbox, "stolen_card")

    async def both():
        tasks = [asyncio.create_task(ask_on_loop(sandbox, *sale(sandbox))) for _ in range(2)]
        await until_busy(sandbox, 2)
        return await asyncio.gather(*tasks)

    first, second = asyncio.run(both())

    assert [chosen(first), chosen(second)] == [
        "lost_card; source=queue; rule=queue",
        "stolen_card; source=queue; rule=queue",
    ]
    assert world_of(sandbox).busy == {}


# --- one payment, one thing at a time ---------------------------------------------------------


@pytest.mark.proves("assumed 2.6-serial")
def test_two_actions_on_one_payment_are_served_one_after_the_other(sandbox):
    id = paid_id(sandbox, operation="auth")
    delay(sandbox, operation=Operation.INCREMENT)

    increment, capture = meanwhile(sandbox, action(id, "incremental_auth"), action(id, "capture"))

    # The capture sees what the increment came to.
    assert (increment.json()["status"], increment.json()["total_amount"]) == ("authorized", 1500)
    assert (capture.json()["status"], capture.json()["total_amount"]) == ("captured", 1500)
    assert [one["transaction_type"] for one in read(sandbox, id)["history"]] == [
        *("auth", "auth", "incremental_auth", "capture"),
    ]


@pytest.mark.proves("assumed 2.6-serial")
def test_of_two_captures_the_second_finds_the_payment_captured(sandbox):
    id = paid_id(sandbox, operation="auth")
    delay(sandbox, operation=Operation.CAPTURE)

    first, second = meanwhile(sandbox, action(id, "capture"), action(id, "capture"))

    assert first.json()["status"] == "captured"
    assert (second.status, second.json()["error"]) == (400, "invalid_capture_sequence")


def test_a_refund_of_its_own_route_waits_its_turn_and_sees_what_came_before(sandbox):
    id = paid_id(sandbox, operation="auth")
    delay(sandbox, operation=Operation.CAPTURE)
    refund = ("POST", "/v3/refund", {"transaction_id": id})

    capture, refunded = meanwhile(sandbox, action(id, "capture"), refund)

    assert capture.json()["status"] == "captured"
    assert (refunded.status, refunded.json().get("status")) == (200, "refunded")


def test_reading_a_payment_that_waits_shows_it_as_it_is(sandbox):
    id = paid_id(sandbox, operation="auth")
    delay(sandbox, operation=Operation.CAPTURE)

    async def read_meanwhile():
        task = await waiting(sandbox, action(id, "capture"))
        seen = await ask_on_loop(sandbox, "GET", f"/v1/transactions/{id}")
        return task.done(), seen, await task

    was_done, seen, capture = asyncio.run(read_meanwhile())

    # Only actions are served one after the other (assumed 2.6): nothing is changed by a look.
    assert (was_done, seen.json()["status"]) == (False, "authorized")
    assert capture.json()["status"] == "captured"


def test_a_request_that_waited_its_turn_has_every_step_in_the_journal_once(sandbox):
    id = paid_id(sandbox, operation="auth")
    delay(sandbox, operation=Operation.INCREMENT)

    _, capture = meanwhile(sandbox, action(id, "incremental_auth"), action(id, "capture"))

    steps = [one["step"] for one in sandbox.journal(capture)["decisions"]]
    assert steps == ["route", "authenticate", "visibility", "target", "apply"]


# --- equal event_ids --------------------------------------------------------------------------


def assert_second_is_the_duplicate(first, second):
    assert first.status == 200, first.body
    assert (second.status, second.json()["error"]) == (400, "duplicate_event")


@pytest.mark.proves("assumed 2.6-serial")
def test_of_two_sales_with_one_event_id_the_second_is_the_duplicate(sandbox):
    delay(sandbox)

    first, second = meanwhile(sandbox, sale(sandbox, event_id="E-1"), sale(sandbox, event_id="E-1"))

    assert_second_is_the_duplicate(first, second)
    assert first.json()["transaction_id"] in second.json()["detail"]
    assert event_types(sandbox, second) == []


def test_of_two_actions_on_one_payment_with_one_event_id_as_well(sandbox):
    id = paid_id(sandbox)
    delay(sandbox, operation=Operation.REFUND)
    refund = action(id, "refund", amount=100, event_id="E-1")

    first, second = meanwhile(sandbox, refund, refund)

    assert_second_is_the_duplicate(first, second)
    assert read(sandbox, id)["refunded"] == 100


def test_of_actions_on_two_payments_with_one_event_id_as_well(sandbox):
    one, other = (paid_id(sandbox, operation="auth") for _ in range(2))
    delay(sandbox, operation=Operation.CAPTURE)

    first, second = meanwhile(
        sandbox, action(one, "capture", event_id="E-1"), action(other, "capture", event_id="E-1")
    )

    # assumed 2.6: the scope of an event_id is the merchant account, whatever the operation.
    assert_second_is_the_duplicate(first, second)
    assert [read(sandbox, id)["status"] for id in (one, other)] == ["captured", "authorized"]


def test_of_an_action_and_a_sale_with_one_event_id_as_well(sandbox):
    id = paid_id(sandbox, operation="auth")
    delay(sandbox, operation=Operation.CAPTURE)

    first, second = meanwhile(
        sandbox, action(id, "capture", event_id="E-1"), sale(sandbox, event_id="E-1")
    )

    assert_second_is_the_duplicate(first, second)
    assert read(sandbox, id)["status"] == "captured"


# --- a key that is lost meanwhile -------------------------------------------------------------

LOST = {
    "revoked": lambda key_id: ("PUT", f"/v5/apikeys/{key_id}", {"status": "revoked"}),
    "deleted": lambda key_id: ("DELETE", f"/v5/apikeys/{key_id}", None),
}
FAILED = [("error", "payment_failed")]


def after_losing_the_key(sandbox, request, how="revoked"):
    """The answer to a request whose key is lost while it waits."""
    key = mint(sandbox, ["all"], by="partner")

    async def lose_it():
        task = await waiting(sandbox, request, by=key.key)
        lost = await ask_on_loop(sandbox, *LOST[how](key.id))
        assert lost.status == 200
        return await task

    return asyncio.run(lose_it())


@pytest.mark.proves("assumed D2, 8.2-revoke")
@pytest.mark.parametrize("how", LOST)
def test_a_key_lost_during_a_sale_is_a_401_and_the_payment_failed(sandbox, how):
    delay(sandbox)

    answer = after_losing_the_key(sandbox, sale(sandbox, event_id="E-1"), how)

    assert (answer.status, answer.json()["error"]) == (401, "authentication_failed")
    announced = events_of(sandbox, answer)
    kept = read(sandbox, announced[0]["subject"])
    assert (kept["status"], kept["status_reason"], kept["event_id"]) == (
        *FAILED[0],
        "E-1",
    )
    assert [one["event_type"] for one in announced] == ["transaction.create", "transaction.sale"]
    assert announced[-1]["body"] == kept
    last = sandbox.journal(answer)["decisions"][-1]
    assert (last["verdict"], last["clause"]) == ("401", "assumed D2")


@pytest.mark.proves("assumed D2")
@pytest.mark.parametrize(
    ("operation", "event"),
    [
        ("incremental_auth", "transaction.increment"),
        ("capture", "transaction.capture"),
        ("tip_adjust", "transaction.tip_adjust"),
        ("refund", "transaction.refund"),
        ("reverse", "transaction.reverse"),
        ("confirm", "transaction.sale"),
    ],
)
def test_a_key_lost_during_an_action_is_a_401_and_a_failed_attempt(sandbox, operation, event):
    id = ready_for(sandbox, operation)
    before = read(sandbox, id)
    delay(sandbox)

    answer = after_losing_the_key(sandbox, action(id, operation))

    (announced,) = events_of(sandbox, answer)
    body, after = announced["body"], read(sandbox, id)
    assert (answer.status, announced["event_type"]) == (401, event)
    assert [(body["status"], body["status_reason"])] == FAILED
    assert after["history"] == body["history"]
    expected = "error" if operation == "confirm" else before["status"]
    assert (after["status"], after["refunded"], after["reversed"]) == (expected, 0, 0)


@pytest.mark.proves("assumed D2")
def test_an_expired_key_is_lost_too(sandbox):
    key = mint(sandbox, ["all"], by="partner", expires_at="2026-03-01T12:00:10Z")
    delay(sandbox)

    async def let_it_expire():
        task = await waiting(sandbox, sale(sandbox), by=key.key)
        await ask_on_loop(
            sandbox, "PUT", "/_sandbox/worlds/default/clock", {"now": "2026-03-01T12:01:00Z"}
        )
        return await task

    answer = asyncio.run(let_it_expire())

    assert (answer.status, answer.json()["error"]) == (401, "authentication_failed")
    assert event_types(sandbox, answer)[-1] == "transaction.sale"


def test_the_key_of_another_client_may_be_lost(sandbox):
    delay(sandbox)
    other = mint(sandbox, ["all"], by="partner")

    async def lose_another():
        task = await waiting(sandbox, sale(sandbox))
        await ask_on_loop(sandbox, *LOST["revoked"](other.id))
        return await task

    answer = asyncio.run(lose_another())

    assert (answer.status, answer.json()["status"]) == (200, "captured")

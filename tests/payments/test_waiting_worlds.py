"""Payments that wait while their world changes, and for how long they wait.

Source: assumed 2.6, 5.1-latency, D23.
"""

import asyncio
from dataclasses import replace

import pytest

from sandbox.domain.payments.outcomes import Queued
from tests.payments.waits import action, delay, sale, waiting, world_of
from tests.support.payments import (
    ask_on_loop,
    chosen,
    events_of,
    forcing,
    paid_id,
    pay,
    read,
    ready_for,
    set_switches,
    until_busy,
)

RESET = ("POST", "/_sandbox/worlds/default/reset", {})


def interrupted(sandbox, request, *others):
    """The answer of a request that waits while others are carried out, one after the other."""

    async def interrupt():
        task = await waiting(sandbox, request)
        for other in others:
            answer = await ask_on_loop(sandbox, *other)
            assert answer.status in (200, 204), answer.body
        return await task

    return asyncio.run(interrupt())


# --- the world is reset, or goes --------------------------------------------------------------


def test_a_reset_ends_a_sale_that_waits_without_a_trace(sandbox):
    delay(sandbox)

    answer = interrupted(sandbox, sale(sandbox), RESET)

    assert (answer.status, answer.json()["error"]) == (404, "not_found")
    assert list(world_of(sandbox).store.messages()) == []
    assert world_of(sandbox).busy == {}
    assert pay(sandbox).json()["status"] == "captured"


@pytest.mark.parametrize("operation", ["capture", "refund", "confirm"])
def test_a_reset_ends_an_action_that_waits_without_a_trace(sandbox, operation):
    id = ready_for(sandbox, operation)
    delay(sandbox)

    answer = interrupted(sandbox, action(id, operation), RESET)

    assert (answer.status, answer.json()["error"]) == (404, "not_found")
    assert list(world_of(sandbox).store.messages()) == []
    assert world_of(sandbox).busy == {}


def test_a_payment_of_the_world_before_is_not_mixed_up_with_one_of_the_world_after(sandbox):
    delay(sandbox, "approved", ms=30)

    async def before_and_after():
        before = await waiting(sandbox, sale(sandbox, amount=500))
        await ask_on_loop(sandbox, *RESET)
        # A reset world draws the same ids again: the same transaction_id, another payment.
        delay(sandbox, "lost_card", ms=60)
        after = await waiting(sandbox, sale(sandbox, amount=700))
        return await before, await after

    before, after = asyncio.run(before_and_after())

    assert before.status == 404
    assert after.status == 200
    assert (after.json()["status_reason"], after.json()["total_amount"]) == ("invalid_card", 700)


def test_a_world_that_is_deleted_does_not_fail_a_payment_that_waits(sandbox):
    sandbox.control("POST", "/worlds", {"id": "mine"})
    mine = replace(sandbox, world="mine")
    delay(mine)

    answer = interrupted(mine, sale(mine), ("DELETE", "/_sandbox/worlds/mine", None))

    assert answer.status < 500


def test_a_prompt_that_expires_while_its_confirmation_waits_stays_expired(sandbox):
    id = ready_for(sandbox, "confirm")
    delay(sandbox)
    later = ("PUT", "/_sandbox/worlds/default/clock", {"now": "2026-03-01T12:06:00Z"})

    answer = interrupted(sandbox, action(id, "confirm"), later)

    # assumed F4, F34.
    assert (answer.status, answer.json()["error"]) == (400, "invalid_transaction_state")
    assert read(sandbox, id)["status_reason"] == "surcharge_expired"


def test_two_sales_that_end_their_wait_together_share_one_batch(sandbox):
    for _ in range(2):
        delay(sandbox, ms=10)

    async def both():
        tasks = [asyncio.create_task(ask_on_loop(sandbox, *sale(sandbox))) for _ in range(2)]
        await until_busy(sandbox, 2)
        return await asyncio.gather(*tasks)

    first, second = asyncio.run(both())

    # assumed B1: a terminal has one open batch.
    assert first.json()["batch_id"] == second.json()["batch_id"] is not None
    kinds = [one["event_type"] for answer in (first, second) for one in events_of(sandbox, answer)]
    assert kinds.count("batch.opened") == 1


# --- how long it takes ------------------------------------------------------------------------


def timed(sandbox, request, **more):
    """The answer, and how many milliseconds it took by the loop's own clock."""

    async def time_it():
        loop = asyncio.get_running_loop()
        started = loop.time()
        answer = await ask_on_loop(sandbox, *request, **more)
        return answer, (loop.time() - started) * 1000

    return asyncio.run(time_it())


@pytest.mark.proves("assumed 5.1-latency")
def test_by_default_nothing_is_waited_for(sandbox):
    # Thirty nominal seconds; what waited at all would fail here, without an event loop.
    answer = pay(sandbox, outcome="processor_timeout")

    assert answer.json()["status_reason"] == "processor_timeout"


@pytest.mark.proves("assumed 5.1-latency")
@pytest.mark.parametrize(
    ("key", "scale", "least_ms"),
    [
        ("approved", 0.05, 45),
        ("invalid_terminal", 0.1, 20),
        ("issuer_unavailable", 0.005, 40),
        ("surcharge_prompt", 0.02, 18),
    ],
)
def test_the_nominal_latency_is_waited_for_as_far_as_the_switch_says(sandbox, key, scale, least_ms):
    set_switches(sandbox, {"latency.scale": scale})

    answer, took_ms = timed(sandbox, sale(sandbox), outcome=key)

    assert chosen(answer) == f"{key}; source=header; rule=header"
    # Nothing waits longer than asked for but by the machine's own delay.
    assert least_ms - 2 <= took_ms < least_ms + 2_000


@pytest.mark.proves("assumed D23")
def test_a_queued_delay_is_waited_for_in_full_and_comes_on_top(sandbox):
    set_switches(sandbox, {"latency.scale": 0.05})
    delay(sandbox, ms=30)

    _, took_ms = timed(sandbox, sale(sandbox))

    assert took_ms >= 73


@pytest.mark.proves("assumed 5.1-latency")
def test_the_latency_of_an_action_is_that_of_its_outcome(sandbox):
    id = paid_id(sandbox)
    set_switches(sandbox, {"latency.scale": 0.05})

    answer, took_ms = timed(sandbox, action(id, "refund"), outcome="refund_declined")

    assert (answer.json()["status"], took_ms >= 48) == ("declined", True)


def test_what_takes_no_time_is_answered_at_once_whatever_the_scale(sandbox):
    set_switches(sandbox, {"latency.scale": 10})
    sandbox = forcing(sandbox, "surcharge_expired")

    answer = pay(sandbox)

    assert answer.json()["status_reason"] == "surcharge_expired"


def test_a_cardholder_who_was_not_asked_is_not_waited_for(sandbox):
    set_switches(sandbox, {"latency.scale": 10})

    answer = pay(sandbox, at="passthrough_merchant")

    assert answer.json()["status"] == "pending"


def test_a_refusal_by_rule_is_not_waited_for(sandbox):
    id = paid_id(sandbox)
    set_switches(sandbox, {"latency.scale": 10})
    world_of(sandbox).queue.add(Queued(outcome="approved", delay_ms=60_000))

    answer = sandbox.ask("POST", f"/v3/payments/{id}/capture", key="partner", json_body={})

    assert (answer.status, answer.json()["error"]) == (400, "invalid_capture_sequence")

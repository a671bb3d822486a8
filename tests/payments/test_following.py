"""What a scenario has follow without a request: `then.follow`. Source: assumed D24."""

import asyncio
from time import monotonic, sleep

import pytest

from tests.driving import serving
from tests.payments import waits
from tests.payments.following import advance, after, follows
from tests.payments.tapping import advance as advance_at_desk
from tests.payments.tapping import at_desk, desk_opens, taps
from tests.payments.waits import sale, world_of
from tests.platform.minting import messages
from tests.scenarios.running import put, running
from tests.support.payments import (
    chosen,
    close_batch,
    event_types,
    kind,
    operate,
    paid_id,
    pay,
    read,
    turns,
)

START_MS = 1_772_366_400_000


def told(sandbox, subject):
    """Every event about the subject, with the status and reason of its moment."""
    return [
        (one["event_type"], one["body"].get("status"), one["body"].get("status_reason"))
        for one in messages(sandbox, limit="200")
        if one["subject"] == subject
    ]


def state(sandbox, id):
    body = read(sandbox, id)
    return f"{body['status']}/{body['status_reason']}"


# --- late answers -----------------------------------------------------------------------------


@pytest.mark.proves("assumed D24")
@pytest.mark.parametrize(
    ("outcome", "late", "ended"),
    [
        ("processor_timeout", "approved", "captured/approved"),
        ("timed_out", "approved", "captured/approved"),
        ("timed_out", "partial_approval", "captured/partial_approval"),
        ("timed_out", "insufficient_funds", "declined/insufficient_funds"),
        ("processor_timeout", "general_error", "error/payment_failed"),
        ("pending_forever", "approved", "captured/approved"),
        ("pending_forever", "insufficient_funds", "declined/insufficient_funds"),
        ("pending_forever", "general_error", "error/payment_failed"),
    ],
)
def test_the_processor_answers_a_sale_late(sandbox, outcome, late, ended):
    follows(sandbox, after("40s", "late_answer", outcome=late), outcome=outcome)
    id = paid_id(sandbox)
    before = read(sandbox, id)

    fired = advance(sandbox, "1m")

    record = read(sandbox, id)
    assert fired == [("2026-03-01T12:00:40.000Z", "late_answer", id)]
    assert state(sandbox, id) == ended
    # It is the answer to the same attempt.
    assert record["event_id"] == before["event_id"]
    assert record["history"][:-1] == before["history"]
    assert record["history"][-1]["created_at"] == START_MS + 40_000
    assert told(sandbox, id)[-1] == ("transaction.sale", *ended.split("/"))
    is_captured = record["status"] == "captured"
    assert (record["batch_id"] is not None) == is_captured


@pytest.mark.parametrize("outcome", ["processor_timeout", "pending_forever"])
def test_the_processor_answers_an_authorization_late(sandbox, outcome):
    follows(sandbox, after("2h", "late_answer", outcome="approved"), outcome=outcome)
    id = paid_id(sandbox, operation="auth")

    advance(sandbox, "2h")
    authorized = read(sandbox, id)
    fired = advance(sandbox, "30d")

    assert (authorized["status"], authorized["additional_details"]["authorized_amount"]) == (
        *("authorized", 1000),
    )
    assert authorized["batch_id"] is None
    # It holds from the beginning on, whenever the answer came (assumed 8.1).
    assert fired == [("2026-03-06T12:00:00.000Z", "authorization_expires", id)]
    assert [event for event, _, _ in told(sandbox, id)][-2:] == [
        *("transaction.authorize", "transaction.cancel"),
    ]


def test_what_was_approved_late_can_be_used_like_any_other(sandbox):
    follows(
        sandbox,
        after("5s", "late_answer", outcome="approved"),
        when={"operation": "sale"},
        outcome="processor_timeout",
    )
    id = paid_id(sandbox)
    advance(sandbox, "5s")

    refund = operate(sandbox, id, "refund")

    assert (refund.json()["status"], refund.json()["additional_details"]["captured_amount"]) == (
        *("refunded", 1000),
    )


def test_an_unconfirmed_surcharge_is_not_charged_late(sandbox):
    follows(sandbox, after("5s", "late_answer", outcome="approved"), outcome="processor_timeout")
    id = paid_id(sandbox, at="surcharge_merchant")

    advance(sandbox, "5s")

    record = read(sandbox, id)
    assert (record["status"], record["surcharge_amount"], record["total_amount"]) == (
        *("captured", 0, 1000),
    )


def test_a_late_answer_finds_what_was_called_off_as_it_is(sandbox):
    follows(
        sandbox,
        after("5s", "late_answer", outcome="approved"),
        when={"operation": "sale"},
        outcome="pending_forever",
    )
    id = paid_id(sandbox)
    operate(sandbox, id, "reverse")

    fired = advance(sandbox, "5s")

    assert [kind for _, kind, _ in fired] == ["late_answer"]
    assert state(sandbox, id) == "canceled/merchant_canceled"


# --- prompts and cancellations ----------------------------------------------------------------


@pytest.mark.proves("assumed F4, D24")
@pytest.mark.parametrize("wait", ["20s", "10m"])
def test_the_prompt_of_a_surcharge_expires_when_the_scenario_says(sandbox, wait):
    follows(sandbox, after(wait, "surcharge_expires"), when={"operation": "sale"})
    id = paid_id(sandbox, at="surcharge_merchant")
    due = {"20s": "2026-03-01T12:00:20.000Z", "10m": "2026-03-01T12:10:00.000Z"}[wait]

    fired = advance(sandbox, "1h")

    assert fired == [(due, "surcharge_expires", id)]
    assert state(sandbox, id) == "canceled/surcharge_expired"


def test_a_prompt_that_was_confirmed_in_time_does_not_expire(sandbox):
    follows(sandbox, after("20s", "surcharge_expires"), when={"operation": "sale"})
    id = paid_id(sandbox, at="surcharge_merchant")
    operate(sandbox, id, "confirm")

    assert advance(sandbox, "1h") == []
    assert state(sandbox, id) == "captured/approved"


@pytest.mark.parametrize(
    ("then", "merchant"),
    [({"outcome": "pending_forever"}, "merchant"), ({}, "surcharge_merchant")],
)
def test_the_merchant_cancels_at_the_reader_what_is_not_decided(sandbox, then, merchant):
    follows(sandbox, after("20s", "cancel"), when={"operation": "sale"}, **then)
    id = paid_id(sandbox, at=merchant)

    advance(sandbox, "20s")

    assert state(sandbox, id) == "canceled/merchant_canceled"
    assert told(sandbox, id)[-1] == ("transaction.cancel", "canceled", "merchant_canceled")
    assert read(sandbox, id)["total_amount"] == 1000


def test_the_merchant_cancels_what_waits_for_its_tap(sandbox):
    desk_opens(sandbox, follow=[after("20s", "cancel")])

    async def wait():
        task = await at_desk(sandbox, sale(sandbox))
        await advance_at_desk(sandbox, "20s")
        await turns()
        assert task.done()
        return await task, await taps(sandbox)

    answer, waiting = asyncio.run(wait())

    assert (answer.json()["status"], waiting) == ("canceled", [])
    assert chosen(answer) == "merchant_canceled; source=scenario; rule=tap"
    assert event_types(sandbox, answer) == ["transaction.create", "transaction.cancel"]


@pytest.mark.proves("assumed D24")
def test_what_is_captured_is_not_canceled(sandbox):
    follows(sandbox, after("20s", "cancel"))
    id = paid_id(sandbox)

    advance(sandbox, "20s")

    assert state(sandbox, id) == "captured/approved"
    assert [event for event, _, _ in told(sandbox, id)] == [
        *("transaction.create", "transaction.sale"),
    ]


# --- keys and terminals -----------------------------------------------------------------------


@pytest.mark.proves("assumed D24")
def test_the_key_is_revoked_and_reinstated(sandbox):
    follows(sandbox, after("10s", "revoke_key"), after("1m", "reinstate_key"), times=1)
    key_id = sandbox.key_id("partner")
    statuses = [pay(sandbox).status]

    revoked = advance(sandbox, "10s")
    statuses.append(pay(sandbox).status)
    reinstated = advance(sandbox, "50s")
    statuses.append(pay(sandbox).status)

    assert statuses == [200, 401, 200]
    assert (revoked, reinstated) == (
        [("2026-03-01T12:00:10.000Z", "revoke_key", key_id)],
        [("2026-03-01T12:01:00.000Z", "reinstate_key", key_id)],
    )
    assert told(sandbox, key_id) == [
        ("api_key.revoked", "revoked", None),
        ("api_key.reinstated", "active", None),
    ]


def test_a_key_that_was_revoked_by_another_caller_is_not_revoked_twice(sandbox):
    follows(sandbox, after("10s", "revoke_key"), after("20s", "revoke_key"), times=1)
    paid_id(sandbox)

    fired = advance(sandbox, "20s")

    assert [kind for _, kind, _ in fired] == ["revoke_key", "revoke_key"]
    assert len(told(sandbox, sandbox.key_id("partner"))) == 1


@pytest.mark.proves("assumed D39")
def test_an_answer_is_late_from_the_time_out_on_however_long_that_took(sandbox):
    late = after("2s", "late_answer", outcome="approved")
    follows(sandbox, late, outcome="processor_timeout", delay_ms=waits.DELAY_MS, times=1)

    async def the_clock_goes_on_while_it_waits():
        task = await waits.waiting(sandbox, sale(sandbox))
        await advance_at_desk(sandbox, "5s")
        return await task

    answer = asyncio.run(the_clock_goes_on_while_it_waits())

    id = answer.json()["transaction_id"]
    assert (answer.json()["status"], answer.json()["status_reason"]) == (
        *("error", "processor_timeout"),
    )
    assert advance(sandbox, "1999ms") == []
    assert state(sandbox, id) == "error/processor_timeout"
    assert advance(sandbox, "1ms") == [("2026-03-01T12:00:07.000Z", "late_answer", id)]
    assert state(sandbox, id) == "captured/approved"


@pytest.mark.proves("assumed D39")
@pytest.mark.parametrize("operation", ["sale", "refund"])
def test_a_key_is_revoked_from_the_outcome_on_and_not_from_the_request(sandbox, operation):
    id = paid_id(sandbox)
    then = {"delay_ms": waits.DELAY_MS, "times": 1}
    follows(sandbox, after("2s", "revoke_key"), when={"operation": operation}, **then)
    request = sale(sandbox) if operation == "sale" else waits.action(id, operation)

    async def the_clock_goes_on_while_it_waits():
        task = await waits.waiting(sandbox, request)
        await advance_at_desk(sandbox, "5s")
        return await task

    answer = asyncio.run(the_clock_goes_on_while_it_waits())

    assert answer.status == 200
    assert [kind for _, kind, _ in advance(sandbox, "2s")] == ["revoke_key"]


@pytest.mark.proves("assumed D39")
def test_a_prompt_expires_from_its_showing_on(sandbox):
    follows(
        sandbox,
        after("2s", "surcharge_expires"),
        outcome="surcharge_prompt",
        delay_ms=waits.DELAY_MS,
    )

    async def the_clock_goes_on_while_it_waits():
        task = await waits.waiting(sandbox, sale(sandbox))
        await advance_at_desk(sandbox, "5s")
        return await task

    id = asyncio.run(the_clock_goes_on_while_it_waits()).json()["transaction_id"]

    assert state(sandbox, id).startswith("surcharge_pending/")
    assert advance(sandbox, "2s") == [("2026-03-01T12:00:07.000Z", "surcharge_expires", id)]


@pytest.mark.proves("assumed D39")
def test_a_late_answer_comes_after_the_time_out_on_a_server_whose_clock_runs():
    late = after("100ms", "late_answer", outcome="approved")
    then = {"outcome": "processor_timeout", "delay_ms": 300, "times": 1, "follow": [late]}
    with serving() as server:
        scenario = {"name": "x", "rule": [{"then": then}]}
        server.control("PUT", "/worlds/default/scenario", json=scenario)
        body = {"amount": 500, "terminal_id": server.facts["terminals"]["merchant"]}
        answer = server.ask("POST", "/v3/payment", key="merchant", json=body).json()
        path = f"/v1/transactions/{answer['transaction_id']}"
        end = monotonic() + 10
        while (tx := server.ask("GET", path, key="merchant").json())["status"] == "error":
            assert monotonic() < end
            sleep(0.02)

    assert (answer["status"], answer["status_reason"]) == ("error", "processor_timeout")
    assert [one["status"] for one in tx["history"]] == ["pending", "error", "captured"]


@pytest.mark.proves("assumed D24")
def test_the_terminal_is_blocked_and_unblocked(sandbox):
    follows(sandbox, after("10s", "block_terminal"), after("1m", "unblock_terminal"), times=1)
    terminal = read(sandbox, paid_id(sandbox))["tid"]
    reasons = []

    for wait in ("10s", "50s"):
        advance(sandbox, wait)
        reasons.append(pay(sandbox).json()["status_reason"])

    # assumed I10: a blocked terminal takes no payment.
    assert reasons == ["invalid_terminal", "approved"]
    assert [event for event, _, _ in told(sandbox, terminal)] == [
        *("terminal.blocked", "terminal.unblocked"),
    ]


def test_an_action_is_followed_too(sandbox):
    follows(sandbox, after("10s", "revoke_key"), when={"operation": "capture"})
    id = paid_id(sandbox, operation="auth")

    before = advance(sandbox, "1m")
    operate(sandbox, id, "capture")
    fired = advance(sandbox, "1m")

    assert before == []
    assert [kind for _, kind, _ in fired] == ["revoke_key"]


def test_the_close_of_a_batch_is_followed_too(sandbox):
    rule = {
        "when": {"operation": "close_batch"},
        "then": {
            "batch": "accepted",
            "after": "1h",
            "follow": [after("10s", "block_terminal")],
        },
    }
    running(sandbox, rule)
    batch_id = read(sandbox, paid_id(sandbox))["batch_id"]
    close_batch(sandbox, batch_id)

    fired = advance(sandbox, "1h")

    assert [kind for _, kind, _ in fired] == ["block_terminal", "batch_result"]


# --- when -------------------------------------------------------------------------------------


def test_what_follows_at_once_follows_the_answer(sandbox):
    follows(sandbox, after("0s", "revoke_key"))

    assert [pay(sandbox).status for _ in range(2)] == [200, 401]


def test_two_payments_have_their_own_follow_ups(sandbox):
    follows(
        sandbox,
        after("10s", "late_answer", outcome="approved"),
        after("20s", "revoke_key"),
        outcome="pending_forever",
    )
    first = paid_id(sandbox)
    advance(sandbox, "5s")
    second = paid_id(sandbox)
    key_id = sandbox.key_id("partner")

    assert advance(sandbox, "1h") == [
        ("2026-03-01T12:00:10.000Z", "late_answer", first),
        ("2026-03-01T12:00:15.000Z", "late_answer", second),
        ("2026-03-01T12:00:20.000Z", "revoke_key", key_id),
        ("2026-03-01T12:00:25.000Z", "revoke_key", key_id),
    ]


def test_what_was_not_done_is_not_followed(sandbox):
    follows(sandbox, after("10s", "revoke_key"), when={"operation": "sale"})

    refused = [pay(sandbox, amount=-5).status, pay(sandbox, event_id="E-1").status]
    refused.append(pay(sandbox, event_id="E-1").status)

    assert refused == [400, 200, 400]
    assert len(advance(sandbox, "1h")) == 1


def test_a_reset_forgets_what_was_to_follow(sandbox):
    follows(sandbox, after("10s", "revoke_key"))
    paid_id(sandbox)

    sandbox.control("POST", "/worlds/default/reset")

    assert advance(sandbox, "1h") == []
    assert len(world_of(sandbox).store.messages()) == 0


# --- what can never follow --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"then": {"follow": [after("5s", "revok_key")]}}, "then.follow.do: 'revok_key' is no"),
        ({"then": {"follow": [after("5 s", "cancel")]}}, "then.follow.after: must be a duration"),
        ({"then": {"follow": []}}, "then.follow: List should have at least 1 item"),
        ({"then": {"follow": [after("5s", "late_answer")]}}, "then.follow.outcome: belongs to do"),
        (
            {"then": {"follow": [after("5s", "cancel", outcome="approved")]}},
            "then.follow.outcome: belongs to do",
        ),
        (
            {"then": {"follow": [after("5s", "late_answer", outcome="approvd")]}},
            "then.follow.outcome: 'approvd' is not a known outcome; did you mean 'approved'?",
        ),
        (
            {"then": {"follow": [after("5s", "late_answer", outcome="timed_out")]}},
            "then.follow.outcome: timed_out is not an answer of a processor",
        ),
        (
            {"then": {"follow": [after("5s", "late_answer", outcome="approved")]}},
            "then.follow: late_answer needs an outcome without one",
        ),
        (
            {
                "then": {
                    "outcome": "timed_out_held",
                    "follow": [after("5s", "late_answer", outcome="lost_card")],
                }
            },
            "then.follow: after timed_out_held no lost_card comes: it approved",
        ),
        (
            {"when": {"operation": "refund"}, "then": {"follow": [after("5s", "cancel")]}},
            "then.follow: cancel is for auth, sale, not for refund",
        ),
        (
            {"then": {"fault": "http_503", "follow": [after("5s", "revoke_key")]}},
            "then.follow: with http_503 nothing is done",
        ),
        (
            {
                "when": {"operation": "close_batch"},
                "then": {"batch": "accepted", "follow": [after("5s", "cancel")]},
            },
            "then.follow: cancel is for payments, not for a batch",
        ),
        ({"then": {"tap": "wait", "fault": "http_503"}}, "then.tap: with http_503 nothing"),
        ({"then": {"tap": "weit"}}, "then.tap: Input should be 'wait'"),
        (
            {"when": {"operation": ["sale", "capture"]}, "then": {"tap": "wait"}},
            "then.tap: a card is tapped for auth and sale, not for capture",
        ),
    ],
)
def test_what_can_never_be_is_refused_with_its_place(sandbox, rule, said):
    answer = put(sandbox, rule)

    assert answer.status == 400
    assert answer.json()["message"].startswith(f"scenario: rule 1, {said}")


@pytest.mark.proves("assumed F42, D24")
def test_a_late_approval_comes_before_the_reversal_of_a_hold(sandbox):
    follows(sandbox, after("30s", "late_answer", outcome="approved"), outcome="timed_out_held")
    id = paid_id(sandbox)

    advance(sandbox, "2m")

    assert kind(read(sandbox, id)) == "sale/captured/approved"

"""Operators read what happened to a payment, and what can be done with it now."""

import pytest

from tests.driving import InProcess
from tests.scenarios.running import after, running


def moves(sandbox, tx, **query):
    return sandbox.look(f"payments/{tx['transaction_id']}/moves", **query)


def move(sandbox, tx, operation, **query):
    found = moves(sandbox, tx, **query)["moves"]
    return next(one for one in found if one["operation"] == f"payments.{operation}")


# --- the story --------------------------------------------------------------------------------


def test_a_story_has_attempts_foreign_refusals_messages_and_due_events(sandbox):
    tx = sandbox.held(1000)
    id = tx["transaction_id"]
    sandbox.post(f"/v3/payments/{id}/capture", {}, by="other_merchant")

    told = sandbox.look(f"payments/{tx['transaction_id']}")

    assert told["payment"] == sandbox.read(tx)
    own = [one for one in told["story"] if one["kind"] in ("attempt", "message")]
    assert [(one["kind"], one["amount"], one["says"]) for one in own] == [
        ("attempt", 1000, "auth: pending (pending)"),
        ("message", None, "transaction.create: not sent"),
        ("attempt", 1000, "auth: authorized (approved)"),
        ("message", None, "transaction.authorize: not sent"),
    ]
    stranger = next(one for one in told["story"] if one["kind"] == "request")
    assert stranger["says"] == (
        f"POST /v3/payments/{id}/capture was refused with 404: "
        f"Transaction {id}: the account is outside the caller's hierarchy (outside) (spec 7-404)"
    )
    due = told["story"][-1]
    assert (due["kind"], due["says"]) == ("due", "authorization_expires: canceled (timed_out)")
    assert due["at"] > told["story"][0]["at"]
    assert told["outcome"] == {"key": "approved", "source": "default", "rule": "default"}


def test_a_story_has_all_that_a_scenario_scheduled(sandbox):
    follow = [after(f"{hours}h", "cancel") for hours in range(1, 21)]
    running(sandbox, {"when": {"operation": "auth"}, "then": {"follow": follow}})
    id = sandbox.held(1000)["transaction_id"]

    story = sandbox.look(f"payments/{id}")["story"]

    planned = [one["due"] for one in sandbox.look("agenda", subject=id)["agenda"]]
    assert len(planned) == len(follow) + 1
    assert [one["at"] for one in story if one["kind"] == "due"] == planned


@pytest.mark.proves("assumed 2.2")
def test_the_money_of_a_payment_is_shown_before_and_after_the_capture(sandbox):
    tx = sandbox.held(1000)
    sandbox.acted(tx, "reverse", amount=100)
    before = sandbox.look(f"payments/{tx['transaction_id']}")["ledger"]
    sandbox.acted(tx, "capture", amount=700)
    sandbox.acted(tx, "refund", amount=250)

    after = sandbox.look(f"payments/{tx['transaction_id']}")

    told = ("authorized", "reversed_before", "remaining")
    assert [before[name] for name in told] == [1000, 100, 900]
    assert after["ledger"] == {
        "authorized": 1000,
        "captured": 700,
        "released": 200,
        "reversed_before": 100,
        "reversed_after": 0,
        "refunded": 250,
        "refundable": 450,
        "remaining": 450,
    }
    batch_id = after["payment"]["batch_id"]
    assert after["batch"] == {"id": batch_id, "status": "open", "number": "001"}


@pytest.mark.proves("assumed D12")
def test_a_canceled_payment_has_released_its_hold(sandbox):
    id = sandbox.ready_for("confirm")
    held = sandbox.look(f"payments/{id}")["ledger"]["remaining"]
    sandbox.operate(id, "confirm", confirm=False).expect(200)

    money = sandbox.look(f"payments/{id}")["ledger"]

    assert (money["authorized"], money["released"], money["remaining"]) == (held, held, 0)


# --- moves ------------------------------------------------------------------------------------


def test_an_authorization_can_be_captured_and_not_refunded_and_each_names_its_row(sandbox):
    tx = sandbox.held(1000)

    shown = moves(sandbox, tx)

    assert (shown["state"], len(shown["moves"])) == ("authorized", 6)
    assert {one["operation"].partition(".")[2]: one["row"] for one in shown["moves"]} == {
        "confirm": "F34",
        "capture": "F10",
        "increment": "F13",
        "adjust": "F19",
        "reverse": "F16",
        "refund": "F20",
    }
    possible = [one["operation"] for one in shown["moves"] if one["possible"]]
    assert possible == ["payments.capture", "payments.increment", "payments.reverse"]
    refund = move(sandbox, tx, "refund")
    assert (refund["status"], refund["error"]) == (400, "invalid_transaction_state")
    assert refund["clause"] == "assumed F20"
    assert refund["says"] == "An authorized payment cannot be refunded."
    (expiry,) = shown["by_itself"]
    assert (expiry["trigger"], expiry["row"]) == ("authorization_expires", "F21")


def test_a_late_answer_that_a_scenario_scheduled_changes_a_payment_by_itself(sandbox):
    late = after("1h", "late_answer", outcome="approved")
    then = {"outcome": "processor_timeout", "follow": [late]}
    running(sandbox, {"when": {"operation": "capture"}, "then": then})
    tx = sandbox.held(1000)
    sandbox.acted(tx, "capture", amount=700)

    changes = moves(sandbox, tx)["by_itself"]

    assert [(one["row"], one["next_status"], one["due"]) for one in changes] == [
        ("F21", "canceled", "2026-03-06T12:00:00.000Z"),
        ("D24-late", "captured", "2026-03-01T13:00:00.000Z"),
    ]


LIMITS = [
    (InProcess.held, "capture", 1, 1000, 1000),
    (InProcess.held, "reverse", 1, 1000, 1000),
    (InProcess.held, "increment", 1, 99_998_999, None),
    (InProcess.sold, "adjust", 0, 1000, None),
    (lambda sandbox: sandbox.acted(sandbox.sold(), "refund", amount=300), "refund", 1, 700, 700),
]
"""How a payment is made, an action, its least and greatest amount, and that without one."""


def test_the_limits_are_those_at_which_the_platform_begins_to_refuse(sandbox):
    for made, operation, least, most, amount in LIMITS:
        tx = made(sandbox)

        shown = move(sandbox, tx, operation)
        example = sandbox.post(shown["path"], shown["example"] | {"amount": most + 1})
        at_most = sandbox.post(shown["path"], shown["example"] | {"amount": most})

        assert (shown["min"], shown["max"], shown["amount"]) == (least, most, amount), operation
        assert (example.status, at_most.status) == (400, shown["status"])
    # By the readings of the world.
    sandbox.choose(above_the_hold="small_tip", increment_amount="new_total")
    for made, operation, least, most in (
        (InProcess.sold, "adjust", 0, 200),
        (InProcess.held, "increment", 1001, 99_999_999),
    ):
        shown = move(sandbox, made(sandbox), operation)
        assert (shown["min"], shown["max"], shown["possible"]) == (least, most, True)


def test_a_surcharge_can_be_accepted_with_its_own_total_or_declined(sandbox):
    tx = sandbox.pay(7942, at="surcharge_merchant").json()
    assert tx["status"] == "surcharge_pending"

    accept, decline = (
        one for one in moves(sandbox, tx)["moves"] if one["operation"] == "payments.confirm"
    )

    assert (accept["amount"], accept["next_status"]) == (tx["total_amount"], "captured")
    assert (decline["amount"], decline["next_status"]) == (None, "canceled")
    assert move(sandbox, tx, "reverse")["next_status"] == "canceled"
    answer = sandbox.post(decline["path"], decline["example"])
    assert (answer.status, answer.json()["status"]) == (decline["status"], "canceled")


@pytest.mark.proves("assumed D35-refund")
def test_a_reading_that_refuses_refunds_before_settlement_refuses_the_move(sandbox):
    tx = sandbox.sold()
    sandbox.choose(refund_before_settlement="refused")

    shown = move(sandbox, tx, "refund")

    assert (shown["possible"], shown["clause"]) == (False, "assumed D35-refund")


def test_a_key_that_may_not_act_gets_the_answer_of_a_client(sandbox):
    tx = sandbox.held()

    for key, possible, status, says in (
        ("partner", True, 200, "leads to captured"),
        ("merchant_read_only", False, 401, "payments:capture"),
        ("other_merchant", False, 404, "outside the caller's hierarchy"),
    ):
        shown = move(sandbox, tx, "capture", key=key)
        assert (shown["possible"], shown["status"]) == (possible, status), key
        assert says in shown["says"]

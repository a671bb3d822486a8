"""What a scenario has follow without a request: `then.follow`. Source: assumed D24."""

import pytest

from tests.scenarios.running import after, follows, put, running
from tests.support.open_requests import DELAY_MS, action, desk_opens, sale
from tests.support.payments import kind, parts

START_MS = 1_772_366_400_000


def told(sandbox, subject):
    """Every event about the subject, with the status and reason of its moment."""
    return [
        (one["event_type"], one["body"].get("status"), one["body"].get("status_reason"))
        for one in sandbox.messages(limit="200")
        if one["subject"] == subject
    ]


# the operation; its outcome; the late one; what it comes to
ANSWERED = """
sale;processor_timeout;approved;captured/approved
sale;timed_out;approved;captured/approved
sale;timed_out;partial_approval;captured/partial_approval
sale;timed_out;insufficient_funds;declined/insufficient_funds
sale;processor_timeout;general_error;error/payment_failed
sale;pending_forever;approved;captured/approved
sale;pending_forever;insufficient_funds;declined/insufficient_funds
sale;pending_forever;general_error;error/payment_failed
sale;timed_out_held;approved;captured/approved
auth;processor_timeout;approved;authorized/approved
auth;pending_forever;approved;authorized/approved
"""


@pytest.mark.proves("assumed D24, F42")
def test_the_processor_answers_late_to_the_same_attempt(sandbox):
    for line in ANSWERED.strip().splitlines():
        operation, outcome, late, ended = line.split(";")
        sandbox.reset()
        when = {"operation": operation}
        follows(sandbox, after("40s", "late_answer", outcome=late), when=when, outcome=outcome)
        before = sandbox.paid(operation=operation)
        id = before["transaction_id"]

        fired = sandbox.advance("40s")

        record = sandbox.read(id)
        assert fired == [("2026-03-01T12:00:40.000Z", "late_answer", id)]
        assert kind(record) == f"{operation}/{ended}", line
        assert record["event_id"] == before["event_id"]
        assert record["history"][:-1] == before["history"]
        assert record["history"][-1]["created_at"] == START_MS + 40_000
        event = "transaction.authorize" if operation == "auth" else "transaction.sale"
        assert told(sandbox, id)[-1] == (event, *ended.split("/"))
        assert (record["batch_id"] is not None) == (record["status"] == "captured")
        if operation == "auth":
            # It holds from the beginning on, whenever the answer came (assumed 8.1).
            assert record["additional_details"]["authorized_amount"] == 1000
            expiry = ("2026-03-06T12:00:00.000Z", "authorization_expires", id)
            assert sandbox.advance("30d") == [expiry]
        else:
            # What was approved late can be used like any other.
            assert sandbox.operate(id, "refund").status == (200 if "captured" in ended else 400)


def test_a_late_answer_charges_no_unconfirmed_surcharge_and_respects_a_reversal(sandbox):
    follows(
        sandbox,
        after("5s", "late_answer", outcome="approved"),
        when={"operation": "sale"},
        outcome="pending_forever",
    )
    at = ("surcharge_merchant", "quiet_surcharge_merchant", "merchant")
    proposed, charged, called_off = (sandbox.paid_id(at=one) for one in at)
    sandbox.operate(called_off, "reverse")

    fired = sandbox.advance("5s")

    assert [done for _, done, _ in fired] == ["late_answer"] * 3
    for id, surcharge in ((proposed, 0), (charged, 30)):
        tx = sandbox.read(id)
        assert kind(tx) == "sale/captured/approved"
        assert parts(tx) == (1000, 0, 0, surcharge, 1000 + surcharge)
        assert tx["surcharge_applied"] is (surcharge > 0)
    assert kind(sandbox.read(called_off)) == "sale/canceled/merchant_canceled"


@pytest.mark.proves("assumed F4, D24")
def test_a_prompt_expires_when_the_scenario_says_unless_it_was_confirmed(sandbox):
    follows(sandbox, after("10m", "surcharge_expires"), when={"operation": "sale"})
    id, confirmed = (sandbox.paid_id(at="surcharge_merchant") for _ in range(2))
    sandbox.operate(confirmed, "confirm")

    due = ("2026-03-01T12:10:00.000Z", "surcharge_expires", id)
    assert sandbox.advance("1h") == [due]
    assert kind(sandbox.read(id)) == "sale/canceled/surcharge_expired"
    assert kind(sandbox.read(confirmed)) == "sale/captured/approved"


@pytest.mark.proves("assumed D24")
def test_the_merchant_cancels_at_the_reader_what_is_not_decided(sandbox, requests):
    follows(sandbox, after("20s", "cancel"), when={"operation": "sale"})
    prompt, captured = sandbox.paid_id(at="surcharge_merchant"), sandbox.paid_id()
    pending = {"outcome": "pending_forever"}
    follows(sandbox, after("20s", "cancel"), when={"operation": "sale"}, **pending)
    waiting = sandbox.paid_id()
    desk_opens(sandbox, follow=[after("20s", "cancel")])
    task = requests.open(sale(sandbox))

    sandbox.advance("20s")

    assert not requests.is_open(task)
    answer = requests.end(task)
    assert answer.outcome == "merchant_canceled; source=scenario; rule=tap"
    assert sandbox.event_types(answer) == ["transaction.create", "transaction.cancel"]
    for id in (prompt, waiting, answer.json()["transaction_id"]):
        assert kind(sandbox.read(id)) == "sale/canceled/merchant_canceled"
        assert told(sandbox, id)[-1] == ("transaction.cancel", "canceled", "merchant_canceled")
        assert sandbox.read(id)["total_amount"] == 1000
    assert kind(sandbox.read(captured)) == "sale/captured/approved"
    types = [one[0] for one in told(sandbox, captured)]
    assert types == ["transaction.create", "transaction.sale"]


@pytest.mark.proves("assumed D39")
@pytest.mark.parametrize(
    ("operation", "follow", "then", "ended"),
    [
        ("sale", {"do": "late_answer", "outcome": "approved"}, "processor_timeout", "captured"),
        ("sale", {"do": "surcharge_expires"}, "surcharge_prompt", "canceled"),
        ("sale", {"do": "revoke_key"}, "approved", None),
        ("refund", {"do": "revoke_key"}, "approved", None),
    ],
)
def test_a_follow_up_counts_from_the_outcome_however_late_that_is(
    sandbox, requests, operation, follow, then, ended
):
    id = sandbox.paid_id()
    more = {"outcome": then, "delay_ms": DELAY_MS, "times": 1}
    follows(sandbox, {"after": "2s"} | follow, when={"operation": operation}, **more)
    task = requests.open(sale(sandbox) if operation == "sale" else action(id, operation))
    sandbox.advance("5s")

    before = requests.end(task).expect(200)

    assert sandbox.advance("1999ms") == []
    (fired,) = sandbox.advance("1ms")
    assert fired[:2] == ("2026-03-01T12:00:07.000Z", follow["do"])
    if ended:
        assert sandbox.read(before, by="psp")["status"] == ended != before["status"]


@pytest.mark.proves("assumed D24")
def test_the_key_is_revoked_and_reinstated_and_the_terminal_blocked_and_unblocked(sandbox):
    steps = ("revoke_key", "revoke_key", "block_terminal"), ("reinstate_key", "unblock_terminal")
    waits_for = [after("10s", one) for one in steps[0]] + [after("1m", one) for one in steps[1]]
    follows(sandbox, *waits_for, times=1)
    tx, key_id = sandbox.paid(), sandbox.key_id("partner")
    seen = []

    for wait, due, did in (
        ("10s", "2026-03-01T12:00:10.000Z", steps[0]),
        ("50s", "2026-03-01T12:01:00.000Z", steps[1]),
    ):
        subjects = [tx["tid"] if "terminal" in one else key_id for one in did]
        fired = sandbox.advance(wait)
        assert sorted(fired) == sorted((due, *one) for one in zip(did, subjects, strict=True))
        seen += [sandbox.pay().status, sandbox.pay(by="psp").json()["status_reason"]]

    # assumed I10: a blocked terminal takes no payment.
    assert seen == [401, "invalid_terminal", 200, "approved"]
    # A key that was revoked by another caller is not revoked twice.
    assert told(sandbox, key_id) == [
        ("api_key.revoked", "revoked", None),
        ("api_key.reinstated", "active", None),
    ]
    types = [one[0] for one in told(sandbox, tx["tid"])]
    assert types == ["terminal.blocked", "terminal.unblocked"]


def test_an_action_and_the_close_of_a_batch_are_followed_too(sandbox):
    closing = {"batch": "accepted", "after": "1h", "follow": [after("10s", "block_terminal")]}
    capturing = {"follow": [after("10s", "revoke_key")]}
    running(
        sandbox,
        {"when": {"operation": "close_batch"}, "then": closing},
        {"when": {"operation": "capture"}, "then": capturing},
    )
    id = sandbox.paid_id(operation="auth")
    assert sandbox.advance("1m") == []
    batch_id = sandbox.operate(id, "capture").json()["batch_id"]
    assert [done for _, done, _ in sandbox.advance("1m")] == ["revoke_key"]
    sandbox.close_batch(batch_id, by="psp")

    fired = sandbox.advance("1h")

    assert [done for _, done, _ in fired] == ["block_terminal", "batch_result"]


def test_two_payments_have_their_own_follow_ups_and_a_reset_forgets_them(sandbox):
    late = after("10s", "late_answer", outcome="approved")
    revoking = after("20s", "revoke_key")
    follows(sandbox, late, revoking, outcome="pending_forever")
    first = sandbox.paid_id()
    sandbox.advance("5s")
    second = sandbox.paid_id()
    key_id = sandbox.key_id("partner")

    assert sandbox.advance("1h") == [
        ("2026-03-01T12:00:10.000Z", "late_answer", first),
        ("2026-03-01T12:00:15.000Z", "late_answer", second),
        ("2026-03-01T12:00:20.000Z", "revoke_key", key_id),
        ("2026-03-01T12:00:25.000Z", "revoke_key", key_id),
    ]
    sandbox.paid_id(by="psp")
    sandbox.reset()
    assert (sandbox.advance("1h"), len(sandbox.get_world().store.messages())) == ([], 0)


def test_an_attempt_that_was_not_done_has_no_follow_up_and_zero_means_after_the_answer(sandbox):
    follows(sandbox, after("10s", "revoke_key"), when={"operation": "sale"})

    refused = [sandbox.pay(amount=-5).status, sandbox.pay(event_id="E-1").status]
    refused.append(sandbox.pay(event_id="E-1").status)

    assert refused == [400, 200, 400]
    assert len(sandbox.advance("1h")) == 1
    follows(sandbox, after("0s", "revoke_key"))
    assert [sandbox.pay(by="merchant").status for _ in range(2)] == [200, 401]


LATE = after("5s", "late_answer", outcome="approved")
REVOKED = after("5s", "revoke_key")
CANCELED = after("5s", "cancel")
NEVER = [
    ({}, {"follow": [CANCELED | {"after": "5 s"}]}, "follow.after: must be a duration"),
    ({}, {"follow": [after("5s", "late_answer")]}, "follow.outcome: belongs to do"),
    ({}, {"follow": [CANCELED | {"outcome": "approved"}]}, "follow.outcome: belongs to do"),
    ({}, {"follow": [LATE | {"outcome": "approvd"}]}, "follow.outcome: 'approvd' is not a known"),
    ({}, {"follow": [LATE | {"outcome": "timed_out"}]}, "follow.outcome: timed_out is not an ans"),
    ({}, {"follow": [LATE]}, "follow: late_answer needs an outcome without one"),
    (
        {},
        {"outcome": "timed_out_held", "follow": [LATE | {"outcome": "lost_card"}]},
        "follow: after timed_out_held no lost_card comes: it approved",
    ),
    ({}, {"fault": "http_503", "follow": [REVOKED]}, "follow: with http_503 nothing is done"),
    ({}, {"tap": "wait", "fault": "http_503"}, "tap: with http_503 nothing"),
    ({}, {"tap": "weit"}, "tap: Input should be 'wait'"),
    ({"operation": "refund"}, {"follow": [CANCELED]}, "follow: cancel is for auth, sale, not for"),
    (
        {"operation": "close_batch"},
        {"batch": "accepted", "follow": [CANCELED]},
        "follow: cancel is for payments, not for a batch",
    ),
    (
        {"operation": ["sale", "capture"]},
        {"tap": "wait"},
        "tap: a card is tapped for auth",
    ),
]


def test_impossible_values_are_refused_with_their_place(sandbox):
    for when, then, said in NEVER:
        refused = put(sandbox, {"when": when, "then": then}).expect(400)

        assert refused["message"].startswith(f"scenario: rule 1, then.{said}")

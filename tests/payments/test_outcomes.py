"""Every outcome for every operation, seen from outside. Source: assumed 5.1, 5.2; spec 6.2.

The rows are the product's; docs/reference/outcomes.md has them for the reader's eye.
"""

import re

import pytest

from sandbox.domain.payments.outcomes import FORCED_RULES, OUTCOMES, Operation, for_operation
from sandbox.domain.payments.transactions import STATUS_REASONS
from tests.support.payments import EVENTS, INITIATIONS, OPERATIONS, kind, parts

# spec 6.3 names the status of each operation's success; a confirmation completes a sale.
STATUSES = {
    "sale": ("", "captured"),
    "auth": ("", "authorized"),
    "incremental_auth": ("authorized", "authorized"),
    "capture": ("authorized", "captured"),
    "tip_adjust": ("captured", "captured"),
    "refund": ("captured", "refunded"),
    "reverse": ("captured", "reversed"),
    "confirm": ("surcharge_pending", "captured"),
}
"""Of each operation the status before it, and that of its success."""

PROMPTS = ("surcharge_prompt", "surcharge_declined_by_payer", "surcharge_expired")
NOTHING = {"authorized_amount": 0, "captured_amount": 0}
RESPONSE = (
    *("gateway_transaction_response", "processor_response_code", "processor_response_message"),
)
LAID_OVER = {"transaction_type", "status", "status_reason", "event_id", "history", *RESPONSE}
"""What a failed follow-up lays over the payment in its answer (assumed 2.1-failed)."""


def is_for(key, operation):
    """An increment is declined by what declines an initiation (assumed 5.2-increment)."""
    row, scope = OUTCOMES[key], OUTCOMES[key].scope
    if operation == "incremental_auth" and row.verdict == "declined":
        return bool({"sale", operation} & scope)
    return operation in scope


def tried(operation):
    """Every outcome for its first operation, and for the others one outcome of each kind."""
    seen = set()
    for key, row in OUTCOMES.items():
        # A prompt has tests of its own below; at a confirmation it is a cancellation.
        fitting = [one for one in OPERATIONS if is_for(key, one)]
        kind = (row.verdict, row.status_reason, row.response_code, row.has_approval_code)
        if operation not in fitting or key in FORCED_RULES:
            continue
        if (
            operation == "confirm"
            if key in PROMPTS
            else operation == fitting[0] or kind not in seen
        ):
            yield key
        seen.add(kind)


def attempt(sandbox, operation, outcome, id):
    """The operation, on the payment with this id unless it begins one."""
    if operation in INITIATIONS:
        return sandbox.pay(operation=operation, outcome=outcome)
    return sandbox.operate(id, operation, outcome=outcome)


def expected_events(row, operation):
    """Named after the operation, not the result, but for cancellations (spec 6.2, 6.3)."""
    first = ["transaction.create"] if operation in INITIATIONS else []
    if row.verdict == "pending":
        return first
    return [*first, "transaction.cancel" if row.verdict == "canceled" else EVENTS[operation]]


def expected_gateway(row, approval):
    if row.response_code is None:
        return None
    return {
        "responseCode": row.response_code,
        "responseMessage": row.message,
        "approvalCode": approval,
        "processorResponseCode": row.host_code,
    }


@pytest.mark.proves(
    "spec 2.4-reasons, 6.2, 2.4-response, 2.4-insufficient_funds, 2.4-network_connectivity_error",
    "spec 2.4-invalid_gateway_response, 2.4-format_error, 2.4-duplicate_event",
    "assumed 5.1, 5.1-codes, 5.2, 2.1-outcome, D3, 0.4-gateway-response, 5.1-silence, 6.3",
    "assumed Q17, 7.1-ids, 2.1-failed, M9, F2, F12, F31, I4, I5, M6, 5.2-timeouts, 5.2-cards",
    "assumed 5.2-declines, 5.2-increment",
)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_outcome_is_answered_announced_and_kept_as_its_row_says(sandbox, operation):
    for key in tried(operation):
        id = None if operation in INITIATIONS else sandbox.ready_for(operation)
        before = None if id is None else sandbox.read(id)
        row = for_operation(key, Operation(operation))
        assert row.status_reason in STATUS_REASONS

        answer = attempt(sandbox, operation, key, id)

        shown, announced = answer.json(), sandbox.events_of(answer)
        gateway = shown["gateway_transaction_response"]
        approval = gateway["approvalCode"] if gateway else None
        assert shown["status"] == (STATUSES[operation][1] if row.is_approval else row.verdict), key
        is_declined_increment = operation == "incremental_auth" and row.verdict == "declined"
        reason = OUTCOMES[key].status_reason
        assert shown["status_reason"] == (
            "incremental_auth_declined" if is_declined_increment else reason
        )
        assert shown["transaction_type"] == ("sale" if operation == "confirm" else operation)
        assert gateway == expected_gateway(row, approval), key
        assert bool(approval and re.fullmatch(r"\d{6}", approval)) is row.has_approval_code
        assert shown["processor_response_code"] == row.response_code
        assert shown["processor_response_message"] == row.message
        assert answer.outcome == f"{key}; source=header; rule=header"
        types = [one["event_type"] for one in announced if one["event_type"] != "batch.opened"]
        assert types == expected_events(row, operation), key
        if operation in INITIATIONS:
            number = shown["gateway_transaction_id"]
            assert bool(number and re.fullmatch(r"[A-Z0-9]{10}", number)) is row.has_gateway_id
        kept = sandbox.read(id or shown)
        assert shown["history"] == kept["history"]
        # The creation is the first element; what stays pending adds none to it (assumed D17).
        added = len(kept["history"]) - (0 if before is None else len(before["history"]))
        assert added == 1 + (operation in INITIATIONS and row.verdict != "pending")
        if row.verdict != "pending":
            assert announced[-1]["body"] == shown
            assert announced[-1]["subject"] == kept["transaction_id"]
            check_attempt(kept["history"][-1], shown)
        if row.verdict in ("declined", "error", "canceled"):
            check_failed(key, operation, shown, kept, before)


def check_attempt(attempt, shown):
    """An attempt has this in common with what it shows (assumed 2.10)."""
    names = ("event_id", "transaction_type", "status", "status_reason", "total_amount")
    for name in (*names, *RESPONSE):
        assert attempt[name] == shown[name]


def check_failed(key, operation, shown, kept, before):
    """What is kept of an attempt that failed: F2 and I4 to I6 of the first, M9 of a later one."""
    if operation in INITIATIONS or operation == "confirm":
        assert kept == shown
        # The host may hold the amount, which the client does not know (assumed I11).
        assert key == "timed_out_held" or kept["additional_details"] == NOTHING
        assert (kept["batch_id"], kept["refunded"], kept["reversed"]) == (None, 0, 0)
        assert (kept["surcharge_amount"], kept["surcharge_applied"]) == (0, False)
    else:
        assert kept["status"] == STATUSES[operation][0]
        assert kept | {"history": 0} == before | {"history": 0}
        assert kept["history"][:-1] == before["history"]
        assert {name for name in before if before[name] != shown[name]} <= LAID_OVER


@pytest.mark.proves("assumed 5.1, D41")
def test_an_outcome_that_cannot_happen_to_the_operation_is_refused(sandbox):
    for operation in OPERATIONS:
        id = None if operation in INITIATIONS else sandbox.ready_for(operation)
        with sandbox.unchanged():
            for key in (key for key in OUTCOMES if not is_for(key, operation)):
                answer = attempt(sandbox, operation, key, id)
                said = sandbox.refused(answer, clause="assumed D41")
                assert f"x-sandbox-outcome: {key} is for " in said
                row = "sale" if operation == "auth" and not is_for(key, "sale") else operation
                assert f", not for {row}" in said


@pytest.mark.proves("assumed D41")
def test_an_outcome_is_refused_where_nothing_is_paid(sandbox):
    batch_id = sandbox.paid()["batch_id"]

    with sandbox.unchanged():
        for method, path in (
            ("GET", "/v2/transactions"),
            ("POST", f"/v1/batches/{batch_id}/close"),
        ):
            answer = sandbox.ask(method, path, key="psp", outcome="do_not_honor")
            said = sandbox.refused(answer, clause="assumed D41")
            assert "x-sandbox-outcome: do_not_honor cannot happen here" in said
            assert "http_503" in said


@pytest.mark.proves("assumed 2.7")
def test_a_partial_approval_of_everything_is_an_approval(sandbox):
    # A surcharge that is only proposed is no part of the whole.
    for at, amount, approved, status in (
        ("merchant", 500, 500, "captured"),
        ("merchant", 1, None, "captured"),
        ("surcharge_merchant", 500, 510, "surcharge_pending"),
    ):
        then = {"outcome": "partial_approval", "approved_amount": approved}
        sandbox.manage("POST", "/scenario/next", then)

        answer = sandbox.pay(amount, at=at)

        assert answer.outcome == "approved; source=queue; rule=queue"
        assert kind(answer.json()) == f"sale/{status}/approved"
        assert answer.json()["additional_details"]["authorized_amount"] == amount
        near = [f"partial_approval: the issuer approves all of {amount}"]
        assert sandbox.journal(answer)["near_misses"] == near


@pytest.mark.proves("assumed 5.2-forced, 2.1-rule, 2.1-silent, Q3, Q4, D35-rule-failures")
def test_a_rule_failure_fires_an_event_and_a_reading_shows_the_failed_transaction(sandbox):
    # By default it is a 400 (assumed Q3): test_moves_follow_ups.
    refused = sandbox.operate(
        sandbox.ready_for("capture"), "capture", outcome="invalid_capture_sequence"
    )
    sandbox.refused(refused, 400, "invalid_capture_sequence", clause="assumed 5.2-forced")
    sandbox.set_switch("lifecycle.rule_failures", "http_200")
    for key, operation, forced in (
        ("exceeds_original_auth", "capture", True),
        ("exceeds_original_auth", "tip_adjust", True),
        ("invalid_capture_sequence", "capture", True),
        ("invalid_tip_adjustment", "tip_adjust", True),
        ("invalid_capture_sequence", "capture", False),
    ):
        id = sandbox.ready_for(operation) if forced else sandbox.paid_id()
        before = sandbox.read(id)

        answer = sandbox.operate(id, operation, outcome=key if forced else None)

        (announced,) = sandbox.events_of(answer)
        body, after = announced["body"], sandbox.read(id)
        assert (answer.status, answer.json()) == (200, body)
        assert announced["event_type"] == EVENTS[operation]
        assert kind(body) == f"{operation}/error/{key}"
        assert body["gateway_transaction_response"] is None
        assert after | {"history": 0} == before | {"history": 0}
        assert after["history"] == body["history"] == [*before["history"], body["history"][-1]]
        assert body["history"][-1]["status_reason"] == key
    # assumed F20: no status reason exists for it, and nothing is announced.
    id = sandbox.paid_id(operation="auth")
    with sandbox.unchanged():
        assert sandbox.operate(id, "refund").error() == (400, "invalid_transaction_state")


@pytest.mark.proves("assumed 5.2-prompt")
def test_a_surcharge_prompt_proposes_three_percent_where_one_can_be_charged(sandbox):
    answer = sandbox.pay(1000, outcome="surcharge_prompt")

    tx = answer.json()
    assert (kind(tx), parts(tx)) == ("sale/surcharge_pending/approved", (1000, 0, 0, 30, 1030))
    assert (tx["surcharge_rate"], tx["surcharge_applied"]) == (3.0, False)
    assert tx["gateway_transaction_response"]["processorResponseCode"] == "00"
    assert answer.outcome == "surcharge_prompt; source=header; rule=header"
    with sandbox.unchanged():
        for amount, more, why in (
            (1000, {"card": "tok_visa_debit"}, "debit and prepaid cards are never surcharged"),
            (1, {}, "it comes to 0"),
        ):
            answer = sandbox.pay(amount, outcome="surcharge_prompt", **more)
            said = sandbox.refused(answer, clause="assumed D41")
            assert f"surcharge_prompt: nothing can be surcharged here: {why}" in said


@pytest.mark.proves(
    "spec 2.4-surcharge_declined_by_payer, 2.4-surcharge_expired", "assumed 5.2-prompt"
)
def test_an_unsuccessful_prompt_is_shown_and_resolved_within_the_request(sandbox):
    for key in ("surcharge_declined_by_payer", "surcharge_expired"):
        answer = sandbox.pay(1000, outcome=key)

        # assumed 5.2-prompt: three events, each with the payment of its moment.
        tx, announced = answer.json(), sandbox.events_of(answer)
        assert [(one["event_type"], kind(one["body"])) for one in announced] == [
            ("transaction.create", "sale/pending/pending"),
            ("transaction.sale", "sale/surcharge_pending/approved"),
            ("transaction.cancel", f"sale/canceled/{key}"),
        ]
        assert [one["body"]["total_amount"] for one in announced] == [1000, 1030, 1000]
        assert announced[-1]["body"] == tx == sandbox.read(tx["transaction_id"])
        assert tx["additional_details"] == NOTHING
        # An authorization shows no prompt.
        hold = sandbox.pay(operation="auth", outcome=key)
        assert kind(hold.json()) == f"auth/canceled/{key}"
        assert sandbox.event_types(hold) == ["transaction.create", "transaction.cancel"]

"""Every outcome for every operation, seen from outside. Source: assumed 5.1, 5.2; spec 6.2."""

import re

import pytest

from tests.payments.outcome_rows import PROMPTS, ROWS, RULE_FAILURES, answered, is_for
from tests.support.payments import (
    INITIATIONS,
    OPERATIONS,
    ask,
    attempt,
    chosen,
    error,
    event_types,
    events_of,
    operate,
    paid,
    paid_id,
    pay,
    read,
    ready_for,
    refused,
    set_switch,
    unchanged,
)

# spec 6.3 names the status of each operation's success; a confirmation completes a sale.
STATUSES = {
    "sale": ("", "captured", "transaction.sale"),
    "auth": ("", "authorized", "transaction.authorize"),
    "incremental_auth": ("authorized", "authorized", "transaction.increment"),
    "capture": ("authorized", "captured", "transaction.capture"),
    "tip_adjust": ("captured", "captured", "transaction.tip_adjust"),
    "refund": ("captured", "refunded", "transaction.refund"),
    "reverse": ("captured", "reversed", "transaction.reverse"),
    "confirm": ("surcharge_pending", "captured", "transaction.sale"),
}
"""Of each operation the status before it, that of its success, and its event."""

OPENS_A_BATCH = ("sale", "capture", "confirm")

OF_AN_ATTEMPT = (
    *("event_id", "transaction_type", "status", "status_reason", "total_amount"),
    *("gateway_transaction_response", "processor_response_code", "processor_response_message"),
)
"""What an attempt has in common with what it shows (assumed 2.10)."""


def tried():
    """Every outcome for one operation, and for every operation one outcome of each kind.

    tests/domain/test_outcomes_table has the whole product of the table.
    """
    seen = set()
    for key, row in ROWS.items():
        # A prompt has tests of its own below; at a confirmation it is a cancellation.
        operations = ["confirm"] if key in PROMPTS else OPERATIONS
        fitting = [] if key in RULE_FAILURES else [one for one in operations if is_for(row, one)]
        for number, operation in enumerate(fitting):
            kind = (operation, row.status, row.status_reason, row.resp, row.approval, row.gtid)
            if number == 0 or kind not in seen:
                yield key, operation
            seen.add(kind)


def expected_reason(row, operation):
    """What declines an increment is told as that, whatever it was (assumed 5.2-increment)."""
    is_declined_increment = operation == "incremental_auth" and row.status == "declined"
    return "incremental_auth_declined" if is_declined_increment else row.status_reason


def expected_events(row, operation):
    """Named after the operation, not the result, but for cancellations (spec 6.2, 6.3)."""
    first = ["transaction.create"] if operation in INITIATIONS else []
    if row.status == "pending":
        return first
    if row.status == "canceled":
        return [*first, "transaction.cancel"]
    if row.status == "ok" and operation in OPENS_A_BATCH:
        first.append("batch.opened")
    return [*first, STATUSES[operation][2]]


def expected_gateway(row, approval):
    if row.resp == "-":
        return None
    return {
        "responseCode": row.resp,
        "responseMessage": row.message,
        "approvalCode": approval,
        "processorResponseCode": answered(row.host),
    }


@pytest.mark.proves(
    "spec 2.4-reasons, 6.2, 2.4-response, 2.4-insufficient_funds, 2.4-network_connectivity_error",
    "spec 2.4-invalid_gateway_response, 2.4-format_error, 2.4-duplicate_event",
    "assumed 5.1, 5.1-codes, 5.2, 2.1-outcome, D3, 0.4-gateway-response, 5.1-silence, 6.3",
    "assumed Q17, 7.1-ids, 2.1-failed, M9, F2, F12, F31, I4, I5, M6, 5.2-timeouts",
)
@pytest.mark.parametrize(("key", "operation"), list(tried()))
def test_an_outcome_is_answered_announced_and_kept_as_its_row_says(sandbox, key, operation):
    row = ROWS[key]
    # The creation is the first element; what stays pending adds nothing to it (assumed D17).
    attempts = 1 if row.status == "pending" else 2 if operation in INITIATIONS else 3

    id = None if operation in INITIATIONS else ready_for(sandbox, operation)
    before = None if id is None else read(sandbox, id)

    seen = attempt(sandbox, operation, key, on=id)

    shown, announced = seen.shown, events_of(sandbox, seen.answer)
    gateway = shown["gateway_transaction_response"]
    approval = gateway["approvalCode"] if gateway else None
    assert shown["status"] == (STATUSES[operation][1] if row.status == "ok" else row.status)
    assert shown["status_reason"] == expected_reason(row, operation)
    assert shown["transaction_type"] == ("sale" if operation == "confirm" else operation)
    assert gateway == expected_gateway(row, approval)
    assert bool(approval and re.fullmatch(r"\d{6}", approval)) is (row.approval == "num")
    assert shown["processor_response_code"] == answered(row.resp)
    assert shown["processor_response_message"] == answered(row.message)
    assert chosen(seen.answer) == f"{key}; source=header; rule=header"
    assert [one["event_type"] for one in announced] == expected_events(row, operation)
    if operation in INITIATIONS:
        id = shown["gateway_transaction_id"]
        assert bool(id and re.fullmatch(r"[A-Z0-9]{10}", id)) is (row.gtid == "yes")
    history = read(sandbox, seen.transaction_id)["history"]
    assert (len(history), shown["history"]) == (attempts, history)
    check_kept(sandbox, key, operation, seen, before)
    if row.status != "pending":
        assert (announced[-1]["body"], announced[-1]["subject"]) == (shown, seen.transaction_id)
        assert {name: history[-1][name] for name in OF_AN_ATTEMPT} == {
            name: shown[name] for name in OF_AN_ATTEMPT
        }


NOTHING = {"authorized_amount": 0, "captured_amount": 0}
OVERLAID = {
    *("transaction_type", "status", "status_reason", "event_id", "history"),
    *("gateway_transaction_response", "processor_response_code", "processor_response_message"),
}
"""What a failed follow-up lays over the payment in its answer (assumed 2.1-failed)."""


def check_kept(sandbox, key, operation, seen, before):
    """What is kept of an attempt that failed: F2 and I4 to I6 of the first, M9 of a later one."""
    row, kept = ROWS[key], read(sandbox, seen.transaction_id)
    if row.status not in ("declined", "error", "canceled"):
        return
    if operation in INITIATIONS or operation == "confirm":
        assert kept == seen.shown
        # The host may hold the amount, which the client does not know (assumed I11).
        assert key == "timed_out_held" or kept["additional_details"] == NOTHING
        assert (kept["batch_id"], kept["refunded"], kept["reversed"]) == (None, 0, 0)
        assert (kept["surcharge_amount"], kept["surcharge_applied"]) == (0, False)
    else:
        assert kept["status"] == STATUSES[operation][0]
        assert kept | {"history": 0} == before | {"history": 0}
        assert kept["history"][:-1] == before["history"]
        assert {name for name in before if before[name] != seen.shown[name]} <= OVERLAID


@pytest.mark.proves("assumed 5.1, D41")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_outcome_that_cannot_happen_to_the_operation_is_refused(sandbox, operation):
    id = None if operation in INITIATIONS else ready_for(sandbox, operation)

    with unchanged(sandbox):
        for key in (key for key, row in ROWS.items() if not is_for(row, operation)):
            said = refused(
                sandbox, attempt(sandbox, operation, key, on=id).answer, clause="assumed D41"
            )
            assert f"x-sandbox-outcome: {key} is for " in said
            assert f", not for {'sale' if operation == 'auth' else operation}" in said


@pytest.mark.proves("assumed D41")
def test_an_outcome_is_refused_where_nothing_is_paid(sandbox):
    batch_id = paid(sandbox)["batch_id"]

    with unchanged(sandbox):
        for method, path, body in (
            ("GET", "/v2/transactions", ...),
            ("GET", "/v5/apikeys", ...),
            ("POST", "/v5/apikeys", {"name": "n", "permissions": ["payments:read"]}),
            ("GET", "/v2/terminals", ...),
            ("POST", f"/v1/batches/{batch_id}/close", {}),
        ):
            for outcome in ("do_not_honor", "partial_approval"):
                answer = ask(sandbox, method, path, body, by="psp", outcome=outcome)

                assert error(answer) == (400, "validation_error")
                said = f"x-sandbox-outcome: {outcome} cannot happen here"
                assert said in answer.body.decode()
                assert "http_503" in answer.body.decode()
                assert sandbox.journal(answer)["decisions"][-1]["clause"] == "assumed D41"


@pytest.mark.proves("assumed 2.7")
@pytest.mark.parametrize("source", ["queue", "scenario"])
def test_a_partial_approval_that_leaves_nothing_over_is_an_approval(sandbox, source):
    for amount, approved in ((500, 600), (500, 500), (1000, 5000), (1, None)):
        then = {"outcome": "partial_approval"} | ({"approved_amount": approved} if approved else {})
        rule = {"name": "queue", "then": then}
        if source == "queue":
            sandbox.control("POST", "/worlds/default/scenario/next", then)
        else:
            sandbox.control("PUT", "/worlds/default/scenario", {"name": "x", "rule": [rule]})

        answer = pay(sandbox, amount)

        shown = answer.json()
        assert chosen(answer) == f"approved; source={source}; rule=queue"
        assert (shown["status"], shown["status_reason"]) == ("captured", "approved")
        assert shown["additional_details"]["captured_amount"] == amount
        near = [f"partial_approval: the issuer approves all of {amount}"]
        assert sandbox.journal(answer)["near_misses"] == near


# --- rule failures ----------------------------------------------------------------------------


@pytest.mark.proves("assumed 5.2-forced, 2.1-rule, Q3, Q4")
@pytest.mark.parametrize(
    ("key", "operation", "forces"),
    [
        ("exceeds_original_auth", "capture", True),
        ("exceeds_original_auth", "tip_adjust", True),
        ("invalid_capture_sequence", "capture", True),
        ("invalid_tip_adjustment", "tip_adjust", True),
        ("invalid_capture_sequence", "capture", False),
    ],
)
@pytest.mark.parametrize("http", [400, 200])
def test_a_rule_failure_is_an_event_and_a_400_or_the_failed_transaction(
    sandbox, key, operation, forces, http
):
    # The reading decides which of the two: assumed Q3.
    if http == 200:
        set_switch(sandbox, "lifecycle.rule_failures", "http_200")
    id = ready_for(sandbox, operation) if forces else paid_id(sandbox)
    before = read(sandbox, id)

    answer = operate(sandbox, id, operation, outcome=key if forces else None)

    (announced,) = events_of(sandbox, answer)
    body, after = announced["body"], read(sandbox, id)
    if http == 400:
        assert error(answer) == (400, key)
        assert list(answer.json()) == ["detail", "error"]
    else:
        assert (answer.status, answer.json()) == (200, body)
    assert announced["event_type"] == STATUSES[operation][2]
    assert (body["status"], body["status_reason"]) == ("error", key)
    assert (body["transaction_type"], body["gateway_transaction_response"]) == (operation, None)
    assert after | {"history": 0} == before | {"history": 0}
    assert after["history"] == body["history"] == [*before["history"], body["history"][-1]]
    assert body["history"][-1]["status_reason"] == key


@pytest.mark.proves("assumed 2.1-silent")
def test_what_is_refused_without_an_attempt_stays_a_400_under_the_switch(sandbox):
    set_switch(sandbox, "lifecycle.rule_failures", "http_200")
    id = paid_id(sandbox, operation="auth")

    # assumed F20: no status reason exists for it, and nothing is announced.
    with unchanged(sandbox):
        answer = operate(sandbox, id, "refund")

    assert error(answer) == (400, "invalid_transaction_state")


# --- prompts ----------------------------------------------------------------------------------


@pytest.mark.proves("assumed 5.2-prompt")
def test_a_surcharge_prompt_proposes_three_percent_where_one_can_be_charged(sandbox):
    answer = pay(sandbox, 1000, outcome="surcharge_prompt")

    shown = answer.json()
    assert (shown["status"], shown["status_reason"]) == ("surcharge_pending", "approved")
    assert (shown["surcharge_amount"], shown["total_amount"]) == (30, 1030)
    assert (shown["surcharge_rate"], shown["surcharge_applied"]) == (3.0, False)
    assert shown["gateway_transaction_response"]["processorResponseCode"] == "00"
    assert event_types(sandbox, answer) == ["transaction.create", "transaction.sale"]
    assert chosen(answer) == "surcharge_prompt; source=header; rule=header"
    # Nothing is surcharged at an authorization by itself (assumed Q15), nor on a debit card.
    with unchanged(sandbox):
        for more in ({"operation": "auth"}, {"card": "tok_visa_debit"}):
            answer = pay(sandbox, outcome="surcharge_prompt", **more)
            said = refused(sandbox, answer, clause="assumed D41")
            assert "surcharge_prompt: nothing can be surcharged here" in said


@pytest.mark.proves(
    "spec 2.4-surcharge_declined_by_payer, 2.4-surcharge_expired", "assumed 5.2-prompt"
)
@pytest.mark.parametrize("key", ["surcharge_declined_by_payer", "surcharge_expired"])
def test_a_prompt_that_comes_to_nothing_is_shown_and_resolved_within_the_request(sandbox, key):
    answer = pay(sandbox, 1000, outcome=key)

    # assumed 5.2-prompt: three events, each with the payment of its moment.
    shown, announced = answer.json(), events_of(sandbox, answer)
    bodies = [one["body"] for one in announced]
    assert [(one["event_type"], one["body"]["status_reason"]) for one in announced] == [
        ("transaction.create", "pending"),
        ("transaction.sale", "approved"),
        ("transaction.cancel", key),
    ]
    assert [one["total_amount"] for one in bodies] == [1000, 1030, 1000]
    statuses = ["pending", "surcharge_pending", "canceled"]
    assert statuses == [one["status"] for one in shown["history"]]
    assert statuses == [one["status"] for one in bodies]
    assert bodies[-1] == shown == read(sandbox, shown["transaction_id"])
    assert shown["gateway_transaction_response"] is None
    assert shown["additional_details"] == NOTHING
    # An authorization shows no prompt.
    held = pay(sandbox, operation="auth", outcome=key)
    assert (held.json()["status"], held.json()["status_reason"]) == ("canceled", key)
    assert event_types(sandbox, held) == ["transaction.create", "transaction.cancel"]

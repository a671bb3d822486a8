"""Every outcome for every operation, seen from outside. Source: assumed 5.1, 5.2; spec 6.2."""

import re

import pytest

from tests.payments.outcome_rows import PROMPTS, ROWS, RULE_FAILURES, WORD_OF, answered, is_for
from tests.support.payments import (
    INITIATIONS,
    OPERATIONS,
    ask,
    attempt,
    chosen,
    event_types,
    events_of,
    found,
    operate,
    paid,
    paid_id,
    pay,
    read,
    ready_for,
    refused,
    set_switches,
)

# spec 6.3 names the status of each operation's success; a confirmation completes a sale.
SUCCESS = {
    "sale": "captured",
    "auth": "authorized",
    "incremental_auth": "authorized",
    "capture": "captured",
    "tip_adjust": "captured",
    "refund": "refunded",
    "reverse": "reversed",
    "confirm": "captured",
}
BEFORE = {
    "incremental_auth": "authorized",
    "capture": "authorized",
    "tip_adjust": "captured",
    "refund": "captured",
    "reverse": "captured",
    "confirm": "surcharge_pending",
}
EVENT = {
    "sale": "transaction.sale",
    "auth": "transaction.authorize",
    "incremental_auth": "transaction.increment",
    "capture": "transaction.capture",
    "tip_adjust": "transaction.tip_adjust",
    "refund": "transaction.refund",
    "reverse": "transaction.reverse",
    "confirm": "transaction.sale",
}
OPENS_A_BATCH = ("sale", "capture", "confirm")

OF_AN_ATTEMPT = (
    *("event_id", "transaction_type", "status", "status_reason", "total_amount"),
    *("gateway_transaction_response", "processor_response_code", "processor_response_message"),
)
"""What an attempt has in common with what it shows (assumed 2.10)."""

IN_SCOPE = [
    (key, operation)
    for key, row in ROWS.items()
    for operation in OPERATIONS
    if is_for(row, operation)
    and key not in RULE_FAILURES
    # The prompt has tests of its own below; at a confirmation they are cancellations.
    and (key not in PROMPTS or operation == "confirm")
]


def expected_status(row, operation):
    return SUCCESS[operation] if row.status == "ok" else row.status


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
    return [*first, EVENT[operation]]


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
    "spec 2.4-reasons, 6.2, 2.4-response",
    "assumed 5.1, 5.1-codes, 5.2, 2.1-outcome, D3, 0.4-gateway-response, 5.1-silence, 6.3",
    "assumed Q17, 7.1-ids, 2.1-failed, M9, F2, F12, F31, I4, I5, M6, 5.2-timeouts",
)
@pytest.mark.parametrize(("key", "operation"), IN_SCOPE)
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
    assert shown["status"] == expected_status(row, operation)
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
        assert kept["status"] == BEFORE[operation]
        assert kept | {"history": 0} == before | {"history": 0}
        assert kept["history"][:-1] == before["history"]
        assert {name for name in before if before[name] != seen.shown[name]} <= OVERLAID


@pytest.mark.proves("assumed 5.1, D41")
@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_outcome_that_cannot_happen_to_the_operation_is_refused(sandbox, operation):
    id = ready_for(sandbox, operation) if operation not in INITIATIONS else None
    before = sandbox.state()

    for key in (key for key, row in ROWS.items() if not is_for(row, operation)):
        if id is None:
            answer = pay(sandbox, operation=operation, outcome=key)
        else:
            answer = operate(sandbox, id, operation, outcome=key)

        said = refused(sandbox, answer, clause="assumed D41")
        assert f"x-sandbox-outcome: {key} is for " in said
        assert f", not for {'sale' if operation == 'auth' else operation}" in said
        assert sandbox.state() == before, key


ELSEWHERE = [
    ("GET", "/v2/transactions", ...),
    ("GET", "/v5/apikeys", ...),
    ("POST", "/v5/apikeys", {"name": "n", "permissions": ["payments:read"]}),
    ("GET", "/v2/terminals", ...),
    ("GET", "/v1/batches", ...),
]
"""Requests that are no payment."""


@pytest.mark.proves("assumed D41")
@pytest.mark.parametrize("outcome", ["do_not_honor", "partial_approval"])
@pytest.mark.parametrize(("method", "path", "body"), ELSEWHERE, ids=lambda one: str(one)[:20])
def test_an_outcome_is_refused_where_nothing_is_paid(sandbox, method, path, body, outcome):
    answer = ask(sandbox, method, path, body, by="psp", outcome=outcome)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")
    said = answer.body.decode()
    assert f"x-sandbox-outcome: {outcome} cannot happen here" in said
    assert "http_503" in said
    assert sandbox.journal(answer)["decisions"][-1]["clause"] == "assumed D41"


@pytest.mark.proves("assumed 5.3")
@pytest.mark.parametrize(("method", "path", "body"), ELSEWHERE, ids=lambda one: str(one)[:20])
def test_a_transport_fault_happens_where_nothing_is_paid_too(sandbox, method, path, body):
    failed = ask(sandbox, method, path, body, by="psp", outcome="http_503")
    spared = ask(sandbox, method, path, body, by="psp", outcome="approved")

    assert (failed.status, failed.json()["error"]) == (503, "unavailable")
    assert failed.headers["x-sandbox-outcome"] == "http_503; source=header; rule=header"
    assert spared.status in (200, 201)


@pytest.mark.proves("assumed D41")
def test_the_header_closes_no_batch(sandbox):
    batch_id = paid(sandbox)["batch_id"]

    answer = ask(
        sandbox, "POST", f"/v1/batches/{batch_id}/close", {}, by="psp", outcome="processor_timeout"
    )

    assert answer.status == 400
    assert ask(sandbox, "GET", f"/v1/batches/{batch_id}", by="psp").json()["status"] == "open"


PARTS = [(500, 600), (500, 500), (1000, 5000), (1, None)]
"""The amount of a sale, and what is approved of it: all of it."""


@pytest.mark.proves("assumed 2.7")
@pytest.mark.parametrize(("amount", "approved"), PARTS)
@pytest.mark.parametrize("source", ["queue", "scenario"])
def test_a_partial_approval_that_leaves_nothing_over_is_an_approval(
    sandbox, source, amount, approved
):
    then = {"outcome": "partial_approval"} | ({"approved_amount": approved} if approved else {})
    if source == "queue":
        sandbox.control("POST", "/worlds/default/scenario/next", then)
    else:
        rule = {"name": "queue", "then": then}
        sandbox.control("PUT", "/worlds/default/scenario", {"name": "x", "rule": [rule]})

    answer = pay(sandbox, amount)

    shown = answer.json()
    assert chosen(answer) == f"approved; source={source}; rule=queue"
    assert (shown["status"], shown["status_reason"]) == ("captured", "approved")
    assert shown["additional_details"]["captured_amount"] == amount
    assert sandbox.journal(answer)["near_misses"] == [
        f"partial_approval: the issuer approves all of {amount}"
    ]


# --- rule failures that are forced ------------------------------------------------------------

FORCED = [
    ("exceeds_original_auth", "capture"),
    ("exceeds_original_auth", "tip_adjust"),
    ("invalid_capture_sequence", "capture"),
    ("invalid_tip_adjustment", "tip_adjust"),
]


@pytest.mark.proves("assumed 5.2-forced, 2.1-rule, Q3, Q4")
@pytest.mark.parametrize(("key", "operation"), FORCED)
def test_a_forced_rule_failure_is_a_400_and_an_event(sandbox, key, operation):
    id = ready_for(sandbox, operation)
    before = read(sandbox, id)

    answer = operate(sandbox, id, operation, outcome=key)

    # assumed 5.2-forced, 2.1-rule: refused, and yet an attempt.
    (announced,) = events_of(sandbox, answer)
    assert (answer.status, answer.json()["error"]) == (400, key)
    assert list(answer.json()) == ["detail", "error"]
    assert announced["event_type"] == EVENT[operation]
    body = announced["body"]
    assert (body["status"], body["status_reason"]) == ("error", key)
    assert body["transaction_type"] == operation
    assert body["gateway_transaction_response"] is None
    after = read(sandbox, id)
    assert after | {"history": 0} == before | {"history": 0}
    assert after["history"] == body["history"] == [*before["history"], body["history"][-1]]
    assert body["history"][-1]["status_reason"] == key


@pytest.mark.proves("assumed 2.1-rule, Q3")
@pytest.mark.parametrize(("key", "operation"), FORCED)
def test_a_switch_answers_a_rule_failure_with_the_failed_transaction(sandbox, key, operation):
    set_switches(sandbox, {"lifecycle.rule_failures": "http_200"})
    id = ready_for(sandbox, operation)

    answer = operate(sandbox, id, operation, outcome=key)

    # assumed Q3.
    (announced,) = events_of(sandbox, answer)
    assert answer.status == 200
    assert answer.json() == announced["body"]
    assert (answer.json()["status"], answer.json()["status_reason"]) == ("error", key)


@pytest.mark.proves("assumed 2.1-rule")
def test_the_switch_is_for_unforced_rule_failures_too(sandbox):
    id = paid_id(sandbox)
    refused = operate(sandbox, id, "capture")
    set_switches(sandbox, {"lifecycle.rule_failures": "http_200"})

    answer = operate(sandbox, id, "capture")

    assert (refused.status, refused.json()["error"]) == (400, "invalid_capture_sequence")
    assert (answer.status, answer.json()["status"]) == (200, "error")
    assert answer.json()["status_reason"] == "invalid_capture_sequence"
    assert event_types(sandbox, answer) == event_types(sandbox, refused) == ["transaction.capture"]


@pytest.mark.proves("assumed 2.1-silent")
def test_what_is_refused_without_an_attempt_stays_a_400_under_the_switch(sandbox):
    set_switches(sandbox, {"lifecycle.rule_failures": "http_200"})
    id = paid_id(sandbox, operation="auth")

    answer = operate(sandbox, id, "refund")

    # assumed F20: no status reason exists for it, and nothing is announced.
    assert (answer.status, answer.json()["error"]) == (400, "invalid_transaction_state")
    assert events_of(sandbox, answer) == []


# --- prompts ----------------------------------------------------------------------------------


@pytest.mark.proves("assumed 5.2-prompt")
def test_a_surcharge_prompt_proposes_three_percent_where_none_is_configured(sandbox):
    answer = pay(sandbox, 1000, outcome="surcharge_prompt")

    shown = answer.json()
    assert (shown["status"], shown["status_reason"]) == ("surcharge_pending", "approved")
    assert (shown["surcharge_amount"], shown["total_amount"]) == (30, 1030)
    assert (shown["surcharge_rate"], shown["surcharge_applied"]) == (3.0, False)
    assert shown["gateway_transaction_response"]["processorResponseCode"] == "00"
    assert event_types(sandbox, answer) == ["transaction.create", "transaction.sale"]
    assert chosen(answer) == "surcharge_prompt; source=header; rule=header"


@pytest.mark.proves(
    "spec 2.4-surcharge_declined_by_payer, 2.4-surcharge_expired", "assumed 5.2-prompt"
)
@pytest.mark.parametrize("key", ["surcharge_declined_by_payer", "surcharge_expired"])
def test_a_prompt_that_comes_to_nothing_is_shown_and_resolved_within_the_request(sandbox, key):
    answer = pay(sandbox, 1000, outcome=key)

    # assumed 5.2-prompt: three events, each with the payment of its moment.
    shown, announced = answer.json(), events_of(sandbox, answer)
    assert [
        (one["event_type"], one["body"]["status"], one["body"]["status_reason"])
        for one in announced
    ] == [
        ("transaction.create", "pending", "pending"),
        ("transaction.sale", "surcharge_pending", "approved"),
        ("transaction.cancel", "canceled", key),
    ]
    assert [one["body"]["total_amount"] for one in announced] == [1000, 1030, 1000]
    assert announced[-1]["body"] == shown == read(sandbox, shown["transaction_id"])
    assert shown["gateway_transaction_response"] is None
    assert shown["additional_details"] == {"authorized_amount": 0, "captured_amount": 0}
    assert [one["status"] for one in shown["history"]] == [
        "pending",
        "surcharge_pending",
        "canceled",
    ]


@pytest.mark.parametrize("more", [{"operation": "auth"}, {"card": "tok_visa_debit"}], ids=str)
def test_a_prompt_is_refused_where_nothing_can_be_surcharged(sandbox, more):
    answer = pay(sandbox, outcome="surcharge_prompt", **more)

    # assumed Q15: nothing is surcharged at an authorization by itself.
    said = refused(sandbox, answer, clause="assumed D41")
    assert "surcharge_prompt: nothing can be surcharged here" in said
    assert found(sandbox) == []


@pytest.mark.parametrize("key", ["surcharge_declined_by_payer", "surcharge_expired"])
def test_an_authorization_is_canceled_without_a_prompt(sandbox, key):
    answer = pay(sandbox, operation="auth", outcome=key)

    assert (answer.json()["status"], answer.json()["status_reason"]) == ("canceled", key)
    assert event_types(sandbox, answer) == ["transaction.create", "transaction.cancel"]


# --- words that mean nothing ------------------------------------------------------------------


def test_the_words_of_the_scope_column_cover_every_operation():
    assert set(WORD_OF) == set(OPERATIONS)

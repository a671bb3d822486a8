"""What was seen in a world becomes a test, which passes in a world like it and in no other."""

import pytest

from tests.control.exports import (
    AS_TOLD,
    EXPORT,
    GIVES_UP,
    RIGHT,
    contradicted_sale,
    export,
    exported,
    played,
    ran,
    refunded_twice,
    waiting,
)
from tests.control.refusals import assert_refused
from tests.support.payments import act, close_batch, fresh_sandbox, paid, pay, read, set_switches


@pytest.fixture(scope="module")
def test():
    """A test of a story: a refund in part, a decline that was queued, a partial approval, a hold
    that is captured an hour later, a batch that closes, and a request without a key."""
    sandbox = fresh_sandbox()
    sandbox.control("PUT", "/worlds/default/readings", {"status_after_partial_refund": "refunded"})
    set_switches(sandbox, {"batch.settlement": "manual"})
    sandbox.control("PUT", "/worlds/default/scenario", {"name": "approve_all"})
    sale = paid(sandbox)
    act(sandbox, sale, "refund", amount=300)
    pay(sandbox, outcome="lost_card")
    pay(sandbox, outcome="partial_approval")
    held = pay(sandbox, operation="auth").json()
    sandbox.control("POST", "/worlds/default/clock/advance", {"by": "1h"})
    act(sandbox, held, "capture", amount=900)
    close_batch(sandbox, read(sandbox, sale)["batch_id"])
    sandbox.ask("GET", "/v5/apikeys")
    return exported(sandbox)


def test_it_passes_in_a_world_like_the_one_that_was_seen(test, tmp_path):
    status, said = ran(tmp_path, test)

    assert (status, "1 passed" in said) == (0, True), said
    assert "'status': 'refunded'" in test
    assert 'sandbox.advance(to="2026-03-01T13:00:00.000Z")'.replace('"', "'") in test


def test_it_fails_where_something_answers_otherwise(test, tmp_path):
    otherwise = test.replace("{'status_after_partial_refund': 'refunded'}", "{}")

    status, said = ran(tmp_path, otherwise)

    assert otherwise != test
    assert (status, "'status': 'refunded'" in said) == (1, True), said


@pytest.fixture(scope="module")
def contradiction():
    return contradicted_sale()


def test_a_contradiction_is_a_test_that_fails_where_the_webhook_is_believed(
    contradiction, tmp_path
):
    status, said = ran(tmp_path, contradiction)

    assert status == 1, said
    assert "assert 'declined' == 'captured'" in said
    assert contradiction.count("sandbox.spoil(") == 1
    assert contradiction.count("your_record(sandbox, webhook).") == 1


def test_a_contradiction_is_a_test_that_passes_where_the_record_is_believed(
    contradiction, tmp_path
):
    right = contradiction.replace("return webhook.body", RIGHT)

    status, said = ran(tmp_path, right)

    assert right != contradiction
    assert (status, "1 passed" in said) == (0, True), said
    assert "wait_for('transaction.refund', subject=seen_" in contradiction


@pytest.fixture(scope="module")
def refund():
    return refunded_twice()


@pytest.mark.proves("assumed D24-late, D25-export")
def test_a_refund_that_is_sent_again_is_a_test_that_fails_while_it_is_sent_again(refund, tmp_path):
    status, said = ran(tmp_path, refund)

    assert status == 1, said
    assert "the first was carried out at 2026-03-01T12:00:30.000Z, and this one too" in said
    assert refund.count("your_retry(sandbox, lambda: ") == 1


def test_a_refund_that_is_sent_again_is_a_test_that_passes_where_it_is_looked_up(refund, tmp_path):
    right = refund.replace("return send()", "return None")

    status, said = ran(tmp_path, right)

    assert right != refund
    assert (status, "1 passed" in said) == (0, True), said


@pytest.fixture(scope="module")
def lost():
    """A test of a sale whose answer was lost, and that was charged again."""
    return played("one_in_twenty_fails", 12)


def test_a_sale_that_is_charged_again_after_a_lost_answer_is_a_test_that_fails(lost, tmp_path):
    status, said = ran(tmp_path, lost)

    assert status == 1, said
    assert "the first was carried out at 2026-03-01T12:00:00" in said
    assert lost.count("your_retry(sandbox, lambda: ") == 1
    assert lost.count("with pytest.raises(httpx2.TransportError):") == 2


def test_a_sale_that_is_looked_up_after_a_lost_answer_is_a_test_that_passes(lost, tmp_path):
    status, said = ran(tmp_path, lost.replace("return send()", "return None"))

    assert (status, "1 passed" in said) == (0, True), said


def down_by_hand():
    """A test of a batch that is closed after a maintenance that began and ended by hand, and of a
    sale after one that passed."""
    sandbox = fresh_sandbox()
    batch = read(sandbox, paid(sandbox)["transaction_id"])["batch_id"]
    sandbox.control("POST", "/worlds/default/clock/advance", {"by": "1m"})
    for lasts, then in (("90s", "80s"), ("10m", "10m")):
        assert sandbox.control("PUT", "/worlds/default/maintenance", {"lasts": lasts}).status == 200
        assert close_batch(sandbox, batch).status == 503
        sandbox.control("POST", "/worlds/default/clock/advance", {"by": then})
        if then != lasts:
            sandbox.control("DELETE", "/worlds/default/maintenance")
        assert close_batch(sandbox, batch).status == 200
        batch = read(sandbox, paid(sandbox)["transaction_id"])["batch_id"]
    return exported(sandbox)


@pytest.fixture(scope="module", params=["by a rule", "by hand"])
def maintained(request):
    """A test of a batch close during a maintenance."""
    is_rule = request.param == "by a rule"
    return played("maintenance_during_batch_close", 6) if is_rule else down_by_hand()


@pytest.mark.proves("assumed D25-export")
@pytest.mark.parametrize("software", [GIVES_UP, waiting("'1s'")], ids=["gives up", "hurries"])
def test_a_maintenance_is_a_test_that_fails_until_your_software_waits(
    maintained, software, tmp_path
):
    status, said = ran(tmp_path, maintained.replace(GIVES_UP, software))

    assert status == 1, said
    assert "assert 503 == 200" in said


def test_a_maintenance_is_a_test_that_passes_where_your_software_waits(maintained, tmp_path):
    right = maintained.replace(GIVES_UP, waiting(AS_TOLD))

    status, said = ran(tmp_path, right)

    assert right != maintained
    assert (status, "1 passed" in said) == (0, True), said


def test_requests_come_with_those_that_made_what_they_name():
    sandbox = fresh_sandbox()
    sale = paid(sandbox)
    paid(sandbox, 777)
    act(sandbox, sale, "refund", amount=300)
    last = sandbox.control("GET", "/worlds/default/requests").json()["requests"][-1]

    test = exported(sandbox, requests=[last["id"]])

    assert test.count("status_code == 200") == 2
    assert "777" not in test
    assert sale["transaction_id"] not in test


LOST_CARD = {
    "name": "Lost card",
    "rule": [{"when": {"operation": "sale"}, "then": {"outcome": "lost_card"}}],
}
NOT_ENOUGH = {
    "name": "Not enough money",
    "rule": [{"when": {"operation": "sale"}, "then": {"outcome": "insufficient_funds"}}],
}
EVERY_SECOND = {
    "name": "Every second",
    "rule": [{"when": {"operation": "sale", "nth": 2}, "then": {"outcome": "lost_card"}}],
}


def run_scenario(sandbox, scenario):
    answer = sandbox.control("PUT", "/worlds/default/scenario", scenario)
    assert answer.status == 200, answer.text


def last_request(sandbox):
    return sandbox.control("GET", "/worlds/default/requests").json()["requests"][-1]["id"]


@pytest.mark.proves("assumed D25-export")
def test_a_payment_is_tested_under_the_scenario_under_which_it_was_made(tmp_path):
    sandbox = fresh_sandbox()
    paid(sandbox)
    run_scenario(sandbox, LOST_CARD)
    assert pay(sandbox).json()["status_reason"] == "invalid_card"
    sandbox.control("DELETE", "/worlds/default/scenario")
    paid(sandbox)
    run_scenario(sandbox, NOT_ENOUGH)
    assert pay(sandbox).json()["status_reason"] == "insufficient_funds"
    run_scenario(sandbox, {"name": "approve_all"})

    test = exported(sandbox)

    assert "approve" not in test.lower().replace("approved", "")
    status, said = ran(tmp_path, test)
    assert (status, "1 passed" in said) == (0, True), said


@pytest.mark.proves("assumed D25-export")
def test_a_test_that_would_fail_in_a_world_of_its_own_is_refused():
    sandbox = fresh_sandbox()
    run_scenario(sandbox, EVERY_SECOND)
    paid(sandbox)
    pay(sandbox)
    second = last_request(sandbox)

    refused = export(sandbox, requests=[second])

    assert (refused.status, refused.json()["error"]) == (409, "not_exportable")
    assert f"{second}: status is 'captured', not 'declined'" in refused.json()["message"]
    assert exported(sandbox).count("assert answer_") == 2


def test_a_key_that_only_this_world_has_is_refused():
    sandbox = fresh_sandbox()
    body = {"name": "made", "permissions": ["payments:read"], "always_retrievable": False}
    made = sandbox.ask("POST", "/v5/apikeys", key="merchant", json_body=body).json()
    key = made.get("key") or made["plaintext"]
    sandbox.ask("GET", "/v2/transactions", headers=((b"x-service-apikey", key.encode()),))

    assert_refused(sandbox.control("POST", EXPORT, {"as": "pytest"}), 409, "not_exportable")


def test_whatever_was_sent_the_test_is_a_program():
    sandbox = fresh_sandbox()
    id = paid(sandbox)["transaction_id"]
    for path in (f"/v1/transactions/{id}", "/v1/it's {odd}", '/"', "/a\\b"):
        sandbox.ask("GET", path, key="partner", query="q='{x}%22&y=1\"")
    sandbox.ask("POST", "/v3/payment", key="partner", body=b"\xe5\xff not JSON")
    sandbox.ask("POST", f"/v3/payments/{id}/capture", key="partner", body=b'"\'{}"')

    compile(exported(sandbox), "test_what_was_seen.py", "exec")


def test_a_played_refund_that_is_looked_up_is_a_test_that_passes(tmp_path):
    test = played("refund_answered_late", 8)

    status, said = ran(tmp_path, test.replace("return send()", "return None"))

    assert (status, "1 passed" in said) == (0, True), said

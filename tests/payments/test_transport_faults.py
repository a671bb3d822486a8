"""What goes wrong between client and platform. Source: assumed 5.3.

tests/platform/test_faults_of_every_operation has what each fault leaves behind.
"""

import pytest
from starlette.testclient import TestClient

from sandbox.platform.wire import ConnectionClosed
from tests.scenarios.running import running

HTTP = {
    "http_500": (500, "internal_error"),
    "http_502": (502, "bad_gateway"),
    "http_503": (503, "unavailable"),
    "http_504": (504, "gateway_timeout"),
    "http_429": (429, "rate_limited"),
}


@pytest.mark.proves("assumed 5.3")
def test_an_http_fault_is_answered_in_the_documented_shape(sandbox):
    for key, (status, code) in HTTP.items():
        answer = sandbox.pay(outcome=key)

        sandbox.refused(answer, status, code, clause="assumed 5.3")
        assert answer.headers["content-type"] == "application/json"
        wait = "1" if key in ("http_429", "http_503") else None
        assert answer.headers.get("retry-after") == wait
        assert answer.outcome == f"{key}; source=header; rule=header"
        outcome = {"key": key, "source": "header", "rule": "header"}
        assert sandbox.journal(answer)["outcome"] == outcome


@pytest.mark.proves("assumed 5.3")
def test_the_journal_explains_a_lost_or_half_answer(sandbox):
    id = sandbox.ready_for("refund")
    for key, status in (("drop_before", 0), ("drop_after", 200)):
        with pytest.raises(ConnectionClosed, match=key):
            sandbox.operate(id, "refund", outcome=key)

        entry = sandbox.sandbox.worlds.default.journal.entries()[-1]
        assert [note for note in entry.notes if key in note]
        assert (entry.status, bool(entry.events)) == (status, bool(status))
    answer = sandbox.pay(outcome="malformed_json")
    entry = sandbox.journal(answer)
    assert entry["notes"] == [
        "transport fault malformed_json: done and committed; the body is cut off"
    ]
    # It has the answer as it would have been.
    path = f"/v1/transactions/{entry['response']['transaction_id']}"
    whole = sandbox.get(path, by="merchant").body
    assert answer.body == whole[: len(whole) // 2]


@pytest.mark.proves("assumed 5.3, D4")
def test_a_fault_leaves_the_outcome_to_the_card_and_the_amount(sandbox):
    def queued(**entry):
        sandbox.manage("POST", "/scenario/next", entry).expect(201)
        return {}

    for how in (
        lambda: {"outcome": "malformed_json"},
        lambda: queued(fault="malformed_json"),
        lambda: running(sandbox, {"then": {"fault": "malformed_json"}}) or {},
    ):
        by_card = sandbox.pay(card="tok_declined", **how())
        by_amount = sandbox.pay(900051, **how())
        approved = sandbox.pay(**how())

        statuses = [
            sandbox.journal(one)["response"]["status"] for one in (by_card, by_amount, approved)
        ]
        assert statuses == ["declined", "declined", "captured"]
        assert by_card.outcome == "do_not_honor; source=card; rule=tok_declined"
        assert not by_card.body.endswith(b"}")

    # Before anything is done, it names its own source.
    running(sandbox, {"name": "down", "then": {"fault": "http_503"}})
    for answer in (sandbox.pay(card="tok_declined"), sandbox.pay(900051), sandbox.pay(900302)):
        assert answer.outcome == "http_503; source=scenario; rule=down"


def test_a_server_that_cannot_close_a_connection_answers_502_and_says_why(sandbox):
    client = TestClient(sandbox.sandbox.app, raise_server_exceptions=False)
    headers = {"x-service-apikey": sandbox.key("merchant"), "x-sandbox-outcome": "drop_after"}
    answer = client.get("/v2/terminals", headers=headers)
    assert (answer.status_code, answer.json()["error"]) == (502, "bad_gateway")
    assert "The transport fault drop_after was requested" in answer.json()["detail"]

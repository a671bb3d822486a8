"""What goes wrong between client and platform, on a real socket and without one.

Source: assumed 5.3.
"""

import asyncio
import json
from functools import partial

import httpx2
import pytest

from sandbox.domain.payments.outcomes import Queued
from sandbox.platform.responses import ConnectionClosed
from tests.conftest import NOW
from tests.directory.making import terminal_id
from tests.driving import serving
from tests.platform.minting import messages
from tests.support.payments import (
    INITIATIONS,
    all_transactions,
    ask_on_loop,
    chosen,
    operate,
    pay,
    read,
    ready_for,
    turns,
)

HTTP = {
    "http_500": (500, "internal_error"),
    "http_502": (502, "bad_gateway"),
    "http_503": (503, "unavailable"),
    "http_504": (504, "gateway_timeout"),
    "http_429": (429, "rate_limited"),
}
OPERATIONS = ["sale", "auth", "capture", "incremental_auth", "tip_adjust", "refund", "reverse"]

# What a client sees of a connection that ends without an answer.
CLOSED = (httpx2.ReadError, httpx2.RemoteProtocolError)


# --- answers instead of the engine's ----------------------------------------------------------


@pytest.mark.proves("assumed 5.3")
@pytest.mark.parametrize("key", HTTP)
def test_an_http_fault_is_answered_in_the_documented_shape(sandbox, key):
    status, error = HTTP[key]

    answer = pay(sandbox, outcome=key)

    body = answer.json()
    assert (answer.status, body["error"]) == (status, error)
    assert list(body) == ["detail", "error"]
    assert all(isinstance(value, str) and value for value in body.values())
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers.get("retry-after") == ("1" if key in ("http_429", "http_503") else None)
    assert chosen(answer) == f"{key}; source=header; rule=header"


@pytest.mark.proves("assumed 5.3")
@pytest.mark.parametrize("key", HTTP)
def test_before_an_http_fault_nothing_is_recorded(sandbox, key):
    answer = pay(sandbox, outcome=key, event_id="E-1")

    again = pay(sandbox, event_id="E-1")
    # The event_id was not used up, since nothing of the first request was kept.
    assert (again.status, all_transactions(sandbox)) == (200, 1)
    request_ids = {one["request_id"] for one in messages(sandbox)}
    assert request_ids == {again.headers["x-sandbox-request-id"]}
    assert sandbox.journal(answer)["events"] == []


@pytest.mark.parametrize("operation", OPERATIONS[2:])
@pytest.mark.parametrize("key", HTTP)
def test_an_action_that_meets_an_http_fault_leaves_the_payment_alone(sandbox, key, operation):
    id = ready_for(sandbox, operation)
    before = read(sandbox, id)

    refused = operate(sandbox, id, operation, outcome=key)
    again = operate(sandbox, id, operation)

    assert (refused.status, refused.json()["error"]) == HTTP[key]
    assert len(again.json()["history"]) == len(before["history"]) + 1
    assert again.status == 200


@pytest.mark.parametrize("key", HTTP)
def test_the_journal_says_which_fault_was_asked_for(sandbox, key):
    answer = pay(sandbox, outcome=key)

    entry = sandbox.journal(answer)
    assert entry["status"] == HTTP[key][0]
    assert entry["outcome"] == {"key": key, "source": "header", "rule": "header"}
    last = entry["decisions"][-1]
    assert (last["step"], last["verdict"], last["clause"]) == (
        "outcome",
        str(HTTP[key][0]),
        "assumed 5.3",
    )


@pytest.mark.parametrize("key", ["http_503", "malformed_json"])
def test_a_look_at_a_payment_can_fail_too(sandbox, key):
    id = ready_for(sandbox, "refund")
    sandbox.defaults["x-sandbox-outcome"] = key

    answer = sandbox.ask("GET", f"/v1/transactions/{id}", key="partner")

    if key == "http_503":
        assert (answer.status, answer.json()["error"]) == (503, "unavailable")
    else:
        assert answer.status == 200
        assert answer.body.decode().startswith('{"transaction_id":"' + id)
        assert not answer.body.endswith(b"}")


@pytest.mark.proves("assumed D41")
@pytest.mark.parametrize("key", ["malformed_json", "half_answer"])
def test_an_answer_without_a_body_cannot_be_cut_off(sandbox, key):
    path = f"/v2/terminals/{terminal_id(sandbox, 'merchant')}"
    sandbox.defaults["x-sandbox-outcome"] = key

    answer = sandbox.ask("DELETE", path, key="psp")

    assert answer.status == 400
    said = answer.json()["detail"]
    assert f"{key} cannot happen to terminals.delete, whose answer has no body" in said
    assert "drop_after" in said


@pytest.mark.parametrize("key", ["http_503", "drop_before", "drop_after"])
def test_a_body_that_is_refused_is_refused_all_the_same(sandbox, key):
    answer = pay(sandbox, amount=0, outcome=key)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")


# --- without a server -------------------------------------------------------------------------


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize(("key", "recorded"), [("drop_before", 0), ("drop_after", 1)])
def test_without_a_server_a_closed_connection_is_raised(sandbox, key, recorded, operation):
    is_first = operation in INITIATIONS
    id = "" if is_first else ready_for(sandbox, operation)
    try_it = partial(operate, sandbox, id, operation)
    if is_first:
        try_it = partial(pay, sandbox, operation=operation)

    with pytest.raises(ConnectionClosed, match=key):
        try_it(outcome=key)

    listed = sandbox.ask("GET", "/v2/transactions", key="partner").json()["transactions"]
    attempts = sum(len(one["history"]) for one in listed)
    # A creation and its outcome are two elements of the history (assumed D11).
    assert attempts == (2 * recorded if is_first else 2 + recorded)
    entry = sandbox.sandbox.worlds.default.journal.entries()[-2]
    assert [note for note in entry.notes if key in note]
    assert (len(entry.events) > 0) is (recorded == 1)
    assert entry.status == (200 if recorded else 0)


@pytest.mark.proves("assumed 5.3")
def test_a_body_that_is_cut_off_is_half_of_what_was_committed(sandbox):
    answer = pay(sandbox, outcome="malformed_json", event_id="E-1")

    with pytest.raises(json.JSONDecodeError):
        answer.json()
    assert answer.status == 200
    assert int(answer.headers["content-length"]) == len(answer.body)
    found = sandbox.ask("GET", "/v1/transactions", key="partner", query="event_id=E-1").json()
    assert [one["status"] for one in found] == ["captured"]
    assert answer.body.decode().startswith('{"transaction_id":"' + found[0]["transaction_id"])
    # The journal has the answer as it would have been, and says what became of it.
    entry = sandbox.journal(answer)
    assert entry["response"]["transaction_id"] == found[0]["transaction_id"]
    assert entry["notes"] == [
        "transport fault malformed_json: done and committed; the body is cut off"
    ]


def test_a_slow_answer_is_late_when_all_is_done(sandbox):
    sandbox.sandbox.worlds.default.queue.add(Queued(fault="slow", delay_ms=40))
    body = {"amount": 1000, "terminal_id": terminal_id(sandbox, "merchant")}

    async def while_it_is_late():
        paying = asyncio.create_task(ask_on_loop(sandbox, "POST", "/v3/payment", body))
        await turns()
        meanwhile = await ask_on_loop(sandbox, "GET", "/v2/transactions")
        was_done = paying.done()
        return meanwhile, was_done, await paying

    meanwhile, was_done, answer = asyncio.run(while_it_is_late())

    (seen,) = meanwhile.json()["transactions"]
    assert was_done is False
    assert seen == answer.json()
    assert (answer.status, seen["status"]) == (200, "captured")
    assert sandbox.journal(answer)["notes"] == ["transport fault slow: a normal answer, late"]


# --- on a socket ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def server():
    with serving("--clock", NOW) as one:
        yield one


@pytest.fixture(scope="module")
def till(server):
    """The body of a sale at a terminal of the served world."""
    world = server.control("GET", "/worlds/default").json()
    return {"amount": 1000, "terminal_id": world["terminals"]["merchant"]}


def sell(server, till, key, event_id):
    headers = {"x-sandbox-outcome": key}
    body = till | {"event_id": event_id}
    return server.ask("POST", "/v3/payment", key="merchant", json=body, headers=headers)


def found_by(server, event_id):
    """The look-up that recovers a payment whose answer was lost (assumed 2.6)."""
    query = f"/v1/transactions?event_id={event_id}"
    return server.ask("GET", query, key="merchant").json()


def last_but_one(server):
    """The journal entry of the request before the look-up."""
    entries = server.control("GET", "/worlds/default/requests?limit=200").json()["requests"]
    ordered = sorted(entries, key=lambda entry: entry["id"])
    return ordered[-2]


@pytest.mark.proves("assumed 5.3")
@pytest.mark.parametrize(("key", "recorded"), [("drop_before", 0), ("drop_after", 1)])
def test_the_connection_is_closed_without_an_answer(server, till, key, recorded):
    with pytest.raises(CLOSED):
        sell(server, till, key, f"E-{key}")

    found = found_by(server, f"E-{key}")
    assert [one["status"] for one in found] == ["captured"] * recorded
    entry = last_but_one(server)
    assert entry["path"] == "/v3/payment"
    assert [note for note in entry["notes"] if note.startswith(f"transport fault {key}: ")]


def test_after_a_lost_answer_the_same_event_id_is_a_duplicate(server, till):
    with pytest.raises(CLOSED):
        sell(server, till, "drop_after", "E-again")

    again = sell(server, till, "approved", "E-again")

    assert (again.status_code, again.json()["error"]) == (400, "duplicate_event")


def test_a_request_that_was_dropped_before_can_be_sent_again(server, till):
    with pytest.raises(CLOSED):
        sell(server, till, "drop_before", "E-once-more")

    again = sell(server, till, "approved", "E-once-more")

    assert (again.status_code, again.json()["status"]) == (200, "captured")


def test_a_cut_off_body_comes_over_the_wire_as_a_whole_answer(server, till):
    answer = sell(server, till, "malformed_json", "E-malformed")

    with pytest.raises(json.JSONDecodeError):
        answer.json()
    assert answer.status_code == 200
    assert int(answer.headers["content-length"]) == len(answer.content)
    assert [one["status"] for one in found_by(server, "E-malformed")] == ["captured"]


@pytest.mark.parametrize("key", HTTP)
def test_an_http_fault_comes_over_the_wire(server, till, key):
    answer = sell(server, till, key, f"E-{key}")

    assert (answer.status_code, answer.json()["error"]) == HTTP[key]
    assert answer.headers.get("retry-after") == ("1" if key in ("http_429", "http_503") else None)
    assert found_by(server, f"E-{key}") == []


def test_faults_are_no_failures_of_the_server_and_it_goes_on(till):
    with serving("--clock", NOW, "--log-requests") as one:
        for key in ("drop_before", "drop_after"):
            for turn in range(3):
                with pytest.raises(CLOSED):
                    sell(one, till, key, f"E-{key}-{turn}")
        for key in (*HTTP, "malformed_json"):
            sell(one, till, key, f"E-{key}")
        after = sell(one, till, "approved", "E-after")
        one.process.terminate()
        out, err = one.process.communicate(timeout=10)

    lines = [json.loads(line) for line in (out + err).splitlines()]
    assert after.json()["status"] == "captured"
    assert [line for line in lines if line["level"] != "info" or "traceback" in line] == []
    asked = [line["message"] for line in lines if line["logger"] == "sandbox.requests"]
    assert len(asked) == 13

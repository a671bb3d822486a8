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
from tests.support.payments import (
    INITIATIONS,
    ask_on_loop,
    chosen,
    operate,
    pay,
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


@pytest.mark.parametrize("key", ["http_503", "drop_before", "drop_after"])
def test_a_body_that_is_refused_is_refused_all_the_same(sandbox, key):
    answer = pay(sandbox, amount=0, outcome=key)

    assert (answer.status, answer.json()["error"]) == (400, "validation_error")


# --- without a server -------------------------------------------------------------------------


@pytest.mark.parametrize("operation", ["sale", "auth", "refund"])
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

"""`sandbox tail`: the journal as it is written, filtered, with the reasons of each answer."""

import json
import socket
from threading import Event
from typing import Any

import pytest

from tests.cli.asking import Shell, following, shell_in
from tests.driving import NOW
from tests.webhooks.receiving import Answer, Received, receiving

PAST = "tail --no-follow --no-reasons"


@pytest.fixture(scope="module")
def tailed(served) -> Shell:
    """A world with four requests: a sale, a declined one, one that is not valid, one refused."""
    shell = shell_in(served, "tailed")
    shell.paid(event_id="7B2D1F0C-6B0F-4C55-9A2B-0D3E5C1A9F11", shoe_size=43, by="merchant")
    shell.paid(900051, by="merchant")
    shell.get("/v2/terminals", query="limit=x", by="partner")
    shell.get("/v5/apikeys", by="revoked")
    return shell


def test_each_request_is_a_line_with_who_asked_and_how_it_was_answered(tailed):
    assert [line.split("  ")[:4] for line in tailed(PAST).splitlines()] == [
        ["12:00:00.000", "200", "POST /v3/payment", "merchant"],
        ["12:00:00.000", "200", "POST /v3/payment", "merchant"],
        ["12:00:00.000", "400", "GET /v2/terminals?limit=x", "partner"],
        ["12:00:00.000", "401", "GET /v5/apikeys", "revoked"],
    ]


def test_reasons_are_below_each_request_with_their_clauses(tailed):
    text = tailed("tail --no-follow")

    shown = "\n".join(" ".join(line.split()) for line in text.splitlines())
    assert "\nroute ok payments.create [spec 4.4-paths-payments]\n" in shown
    assert "\noutcome approved, chosen by default\n" in shown
    assert "\noutcome insufficient_funds amount: amount:900051" in shown
    assert "\nnote the body field 'shoe_size' is unknown and was ignored\n" in shown
    assert "\x1b" not in text


def test_only_matching_requests_are_shown(tailed):
    for filters, found in {
        "--status 4xx": "34",
        "--status 401,2xx": "124",
        "--method post": "12",
        "--path apikeys": "4",
        "--route payments.create": "12",
        "--key partner": "3",
        f"--key {tailed.view['keys']['merchant']['key']}": "12",
        "--limit 1": "4",
        "--limit 1 --status 200": "2",
        "--limit 0": "",
        "--status 5xx": "",
    }.items():
        assert [line[-1] for line in tailed(f"{PAST} {filters}").splitlines()] == [*found], filters


def test_requests_are_shown_as_they_come(shell):
    shell.paid()
    with (
        shell.following("tail --no-reasons --method post") as tail,
        shell.following("tail --json") as as_json,
    ):
        past, entries = tail.line(), [json.loads(as_json.line())]
        shell.get("/v5/apikeys", by="merchant")
        shell.paid()
        live = tail.line()
        entries += [json.loads(as_json.line()) for _ in range(2)]
        ended = tail.stop()

    assert (past[-4:], live[-4:]) == ("0001", "0003")
    assert ended == (0, "")
    assert entries == shell.look("requests")["requests"]


def entry(number: int) -> dict[str, Any]:
    return {"id": f"req_{number}", "at": NOW, "duration_ms": 1.0, "status": 200}


EVENTS = (("request", entry(1)), ("gap", {"missed": 1}), ("request", entry(3)))
STREAM = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n" + "".join(
    f"event: {kind}\ndata: {json.dumps(data)}\n\n" for kind, data in EVENTS
)


def test_events_that_came_too_fast_are_fetched_and_nothing_comes_twice():
    """The second of three requests is not in the stream, as for a reader that was too slow."""
    asked = []

    def stream(connection: socket.socket, stop: Event) -> None:
        connection.sendall(STREAM.encode())
        stop.wait()

    def answer(one: Received) -> Answer:
        if "/stream" in one.path:
            return Answer(act=stream)
        asked.extend([one.path] if "/requests" in one.path else [])
        # At first there was nothing, after the gap there are all three.
        entries = [entry(number) for number in (1, 2, 3) if len(asked) > 2]
        shown = {"keys": {}, "requests": entries}
        return Answer(headers={"content-type": "application/json"}, body=json.dumps(shown).encode())

    with receiving(answer) as server, following("tail", "--json", "--url", server.url) as tail:
        shown = [json.loads(tail.line())["id"] for _ in range(3)]
        said = tail.complaint()
        tail.stop()

    assert shown == ["req_1", "req_2", "req_3"]
    assert "1 event came faster than could be read" in said


# --- webhooks and the clock ---------------------------------------------------------------------


def test_webhooks_are_below_their_request_with_the_rule_that_changed_them(shell):
    with receiving() as receiver, shell.following("tail --no-reasons") as tail:
        # Once this is shown, the command follows.
        shell.paid()
        tail.until("POST /v3/payment")
        shell.add_endpoint(url=receiver.url)
        shell.manage("PUT", "/scenario", {"name": "webhook_twice_and_early"})
        shell.paid()
        tail.until("POST /v3/payment")
        sent = [tail.until("transaction.sale") for _ in range(2)]
        shell.manage("POST", "/clock/advance", {"by": "90s"})
        clock = tail.until("clock")
        tail.stop()
    past = shell(PAST).splitlines()

    for line in sent:
        assert " ".join(line.split()).startswith("-> transaction.sale 200 rule 'early and again'")
    assert clock == "12:01:30.000  clock  frozen at 2026-03-01T12:01:30.000Z"
    assert ["POST /v3/payment" in line for line in past[:2]] == [True, True]
    events = ["transaction.create", "transaction.sale", "transaction.sale"]
    assert [line.split()[1] for line in past[2:]] == events


def test_a_dropped_webhook_is_reported_as_dropped(shell):
    shell.add_endpoint()
    dropping = {"when": {"event": "transaction.sale"}, "then": {"drop": True}}
    shell.manage("PUT", "/scenario", {"name": "lossy", "webhook": [{"name": "lost", **dropping}]})
    shell.paid()

    (lost,) = [line for line in shell(PAST).splitlines() if "transaction.sale" in line]
    assert "dropped" in lost
    assert "rule 'lost'" in lost

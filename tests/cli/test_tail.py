"""`sandbox tail`: the journal as it is written, filtered, with the reasons of each answer."""

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest

from tests.cli.asking import add_world, following, pay, told
from tests.conftest import NOW
from tests.driving import serving
from tests.webhooks.receiving import receiving


@pytest.fixture(scope="module")
def world(served):
    """A world with four requests: a sale, a declined one, one that is not valid, one refused."""
    world = add_world(served, "tailed")
    pay(served, world, event_id="7B2D1F0C-6B0F-4C55-9A2B-0D3E5C1A9F11", shoe_size=43)
    pay(served, world, amount=900051)
    served.ask("GET", "/v2/terminals?limit=x", key=world["keys"]["partner"]["key"])
    served.ask("GET", "/v5/apikeys", key=world["keys"]["revoked"]["key"])
    return world


def tailed(served, *arguments: str) -> list[str]:
    options = ("--world", "tailed", "--no-follow", "--no-reasons")
    return told("tail", *options, *arguments, server=served).splitlines()


def ids(lines: list[str]) -> list[str]:
    return [line.rpartition("req_")[2].lstrip("0") for line in lines]


def test_each_request_is_a_line_with_who_asked_and_how_it_was_answered(served, world):
    lines = tailed(served)

    first, second, third, fourth = (line.split("  ") for line in lines)
    assert first[:4] == ["12:00:00.000", "200", "POST /v3/payment", "merchant"]
    assert second[:4] == ["12:00:00.000", "200", "POST /v3/payment", "merchant"]
    assert third[:4] == ["12:00:00.000", "400", "GET /v2/terminals?limit=x", "partner"]
    assert fourth[:4] == ["12:00:00.000", "401", "GET /v5/apikeys", "revoked"]


def test_reasons_stand_below_with_their_clauses(served, world):
    text = told("tail", "--world", "tailed", "--no-follow", server=served)

    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert "route ok payments.create [spec 4.4-paths-payments]" in lines
    assert "outcome approved, chosen by default" in lines
    assert any(
        line.startswith("outcome insufficient_funds amount: amount:900051") for line in lines
    )
    assert "note the body field 'shoe_size' is unknown and was ignored" in lines
    assert "\x1b" not in text


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        (["--status", "4xx"], ["3", "4"]),
        (["--status", "401,2xx"], ["1", "2", "4"]),
        (["--method", "post"], ["1", "2"]),
        (["--path", "apikeys"], ["4"]),
        (["--route", "payments.create"], ["1", "2"]),
        (["--key", "partner"], ["3"]),
        (["--limit", "1"], ["4"]),
        (["--limit", "1", "--status", "200"], ["2"]),
        (["--limit", "0"], []),
        (["--status", "5xx"], []),
    ],
    ids=" ".join,
)
def test_only_what_fits_the_filters_is_shown(served, world, filters, found):
    assert ids(tailed(served, *filters)) == found


def test_a_key_in_full_is_looked_for_too(served, world):
    assert ids(tailed(served, "--key", world["keys"]["merchant"]["key"])) == ["1", "2"]


def test_requests_are_shown_as_they_come(served):
    world = add_world(served, "tailed-live")
    pay(served, world)
    with following(
        "tail", "--world", world["id"], "--no-reasons", "--method", "post", server=served
    ) as tail:
        past = tail.line()
        served.ask("GET", "/v5/apikeys", key=world["keys"]["merchant"]["key"])
        pay(served, world)
        live = tail.line()
        code, err = tail.stop()

    assert (past[-4:], live[-4:]) == ("0001", "0003")
    assert (code, err) == (0, "")


def test_json_is_the_journal_entry_a_line(served):
    world = add_world(served, "tailed-json")
    pay(served, world)
    with following("tail", "--world", world["id"], "--json", server=served) as tail:
        past = json.loads(tail.line())
        pay(served, world, amount=1)
        live = json.loads(tail.line())

    entries = served.control("GET", f"/worlds/{world['id']}/requests").json()["requests"]
    assert [past, live] == entries


def test_a_reader_that_closes_the_pipe_has_read_enough(served):
    world = add_world(served, "tailed-head")
    pay(served, world)
    with following("tail", "--world", world["id"], server=served) as tail:
        tail.line()
        tail.process.stdout.close()
        code = tail.process.wait(10)
        err = tail.complaints()

    assert (code, err) == (0, "")


class _Hurried(BaseHTTPRequestHandler):
    """A server whose reader was too slow: the second of three requests is not in its stream."""

    asked = 0

    def do_GET(self) -> None:
        is_stream = "/stream" in self.path
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if is_stream else "application/json")
        self.end_headers()
        if is_stream:
            for kind, data in (
                ("request", entry(1)),
                ("gap", {"missed": 1}),
                ("request", entry(3)),
            ):
                self.wfile.write(f"event: {kind}\ndata: {json.dumps(data)}\n\n".encode())
            self.server.done.wait(20)  # type: ignore[attr-defined]
        elif "/requests" in self.path:
            type(self).asked += 1
            # At first there was nothing, after the gap there are all three.
            entries = [entry(number) for number in (1, 2, 3) if self.asked > 2]
            self.wfile.write(json.dumps({"requests": entries}).encode())
        else:
            self.wfile.write(b'{"keys": {}}')

    def log_message(self, format: str, *args: Any) -> None:
        pass


def entry(number: int) -> dict[str, Any]:
    return {"id": f"req_{number}", "at": NOW, "duration_ms": 1.0, "status": 200}


def test_what_came_faster_than_it_was_read_is_fetched_and_nothing_comes_twice():
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Hurried)
    server.done = Event()  # type: ignore[attr-defined]
    Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with following("tail", "--json", "--url", url) as tail:
            shown = [json.loads(tail.line())["id"] for _ in range(3)]
            said = tail.complaint()
            server.done.set()  # type: ignore[attr-defined]
            tail.stop()
    finally:
        server.shutdown()
        server.server_close()

    assert shown == ["req_1", "req_2", "req_3"]
    assert "1 event came faster than could be read" in said


def test_after_a_break_what_was_missed_is_shown_once(tmp_path):
    with serving() as first:
        port = first.url.rpartition(":")[2]
        world = first.control("GET", "/worlds/default").json()
        pay(first, world)
        with following("tail", "--no-reasons", server=first) as tail:
            lines = [tail.line()]
            first.process.terminate()
            first.process.wait(10)
            with serving("--port", port) as second:
                pay(second, world)
                lines.append(tail.line())
                while "reconnected" not in tail.complaint():
                    pass
                pay(second, world)
                lines.append(tail.line())

    assert [line[-4:] for line in lines] == ["0001", "0001", "0002"]


# --- webhooks and the clock ---------------------------------------------------------------------


def test_webhooks_stand_below_their_request_with_the_rule_that_changed_them(served):
    world = add_world(served, "tailed-webhooks")
    control = "/worlds/tailed-webhooks"
    options = ("--world", world["id"], "--no-reasons")
    with receiving() as receiver, following("tail", *options, server=served) as tail:
        # Once this is shown, the command follows.
        pay(served, world)
        tail.until("POST /v3/payment")
        served.control("POST", f"{control}/endpoints", json={"url": receiver.url})
        served.control("PUT", f"{control}/scenario", json={"name": "webhook_twice_and_early"})
        sale = pay(served, world)
        tail.until("POST /v3/payment")
        first = tail.until("transaction.sale")
        again = tail.until("transaction.sale")
        served.control("POST", f"{control}/clock/advance", json={"by": "90s"})
        clock = tail.until("clock")
        tail.stop()
    past = told("tail", *options, "--no-follow", server=served).splitlines()

    rule = "rule 'early and again'"
    assert " ".join(first.split()).startswith(f"-> transaction.sale 200 {rule}")
    assert " ".join(again.split()).startswith(f"-> transaction.sale 200 {rule}")
    assert clock == "12:01:30.000  clock  frozen at 2026-03-01T12:01:30.000Z"
    assert sale["status"] == "captured"
    assert ["POST /v3/payment" in line for line in past[:2]] == [True, True]
    assert [line.split()[1] for line in past[2:]] == [
        "transaction.create",
        "transaction.sale",
        "transaction.sale",
    ]


def test_a_webhook_that_a_rule_dropped_is_said_to_be(served):
    world = add_world(served, "tailed-dropped")
    control = "/worlds/tailed-dropped"
    served.control("POST", f"{control}/endpoints", json={"url": "http://127.0.0.1:9/"})
    dropping = {"when": {"event": "transaction.sale"}, "then": {"drop": True}}
    named = {"name": "lossy", "webhook": [{"name": "lost", **dropping}]}
    served.control("PUT", f"{control}/scenario", json=named).raise_for_status()
    pay(served, world)

    lines = told("tail", "--world", world["id"], "--no-follow", "--no-reasons", server=served)

    (lost,) = [line for line in lines.splitlines() if "transaction.sale" in line]
    assert "dropped" in lost
    assert "rule 'lost'" in lost

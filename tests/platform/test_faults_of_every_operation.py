"""Every operation meets every transport fault, on a socket, by header, by queue or by scenario.

Afterwards the records are as the fault says: as before, or as if nothing had gone wrong.
"""

import json
from time import perf_counter

import httpx2
import pytest

from sandbox.domain import transport_faults
from sandbox.domain.keys import KeyUsage
from sandbox.domain.operations import NO_CONTENT
from sandbox.domain.transport_faults import LOST, NEED_BODY, TRANSPORT_FAULTS
from sandbox.platform.routes import OPERATIONS
from sandbox.server.embedded import embedded
from sandbox.settings import Settings
from sandbox.store.world_state import WorldState
from tests.driving import NOW, Response
from tests.openapi.asking import Request
from tests.openapi.described import Unchecked, usual_documents

ROWS = {row.name: row for row in OPERATIONS if row.run is not None}
BEFORE = [one for one in TRANSPORT_FAULTS.values() if one.when == "before"]
AFTER = [one for one in TRANSPORT_FAULTS.values() if one.when == "after"]
SOURCES = ("header", "queue", "scenario")
"""They take turns, so that each chooses each fault for a third of the operations."""
DELAY_MS = 20
CLOCK = {"now": NOW, "mode": "frozen"}


@pytest.fixture(scope="module")
def server():
    with embedded(Settings()) as one:
        yield one


@pytest.fixture
def client(monkeypatch, caplog):
    monkeypatch.setattr(transport_faults, "SLOW_MS", DELAY_MS)
    with httpx2.Client(timeout=30, verify=False) as one:
        yield one
    # Faults are no failures of the server.
    assert [one for one in caplog.get_records("call") if one.levelname != "INFO"] == []


class Story:
    """A new world, in which the request of an operation is ready to be sent."""

    def __init__(self, server, client, name):
        self.url, self.client, self.name = server.url, client, name
        self.sandbox = Unchecked(server.built, *usual_documents())
        self.sandbox.run, self.sandbox.world = self.run, "walk"
        self.sandbox.manage("DELETE", "")
        self.sandbox.control("POST", "/worlds", {"id": "walk", "clock": CLOCK}).expect(201)
        self.request = Request(self.sandbox, name)
        self.headers = []

    def run(self, exchange, _):
        """The answer over a socket: the status is 0 if the connection was closed at once."""
        scope = exchange.scope
        url = f"{self.url}{scope['raw_path'].decode()}?{scope['query_string'].decode()}"
        sent = {"headers": scope["headers"], "content": exchange.payload}
        self.is_broken_off, status, body = False, 0, b""
        try:
            with self.client.stream(scope["method"], url, **sent) as answer:
                status = answer.status_code
                body = answer.read()
        except httpx2.TransportError:
            self.is_broken_off = True
        return Response(status, {}, body)

    def choose(self, fault):
        """Have the next request of the operation meet the fault; the answer of the control API."""
        turn = [*ROWS].index(self.name) + [*TRANSPORT_FAULTS].index(fault)
        source = SOURCES[turn % 3]
        self.headers = [("x-sandbox-outcome", fault)] if source == "header" else []
        if source == "header":
            return None
        delay = {"delay_ms": DELAY_MS} if fault == "slow" else {}
        if source == "queue":
            entry = {"fault": fault, "operation": self.name, **delay}
            return self.sandbox.manage("POST", "/scenario/next", entry)
        rule = {"when": {"operation": self.name}, "then": {"fault": fault, "times": 1, **delay}}
        return self.sandbox.manage("PUT", "/scenario", {"name": "walk", "rule": [rule]})

    def send(self):
        """The answer as far as it comes, and whether the connection breaks off."""
        return self.request.send_with(*self.headers), self.is_broken_off

    def records(self):
        """All records and messages, but for when a key was used and what was chosen."""
        # What is due at this moment has happened then, as the result of a batch.
        self.sandbox.advance("0s")
        store = self.sandbox.get_world().store
        left_out = (KeyUsage, WorldState)
        tables = [one for one in store.tables() if one.table.kind not in left_out]
        return [*(dict(one.by_id) for one in tables), store.messages()]


@pytest.mark.parametrize("name", ROWS)
def test_before_the_operation_every_fault_leaves_everything_as_it_was(server, client, name):
    story = Story(server, client, name)
    before = story.records()

    for fault in BEFORE:
        story.choose(fault.key)
        answer, is_broken_off = story.send()

        assert is_broken_off == (fault.key in LOST)
        assert answer.status == (fault.answer.status if fault.answer else 0), fault.key
        if fault.answer:
            assert answer.json()["error"] == fault.answer.code
        assert story.records() == before, fault.key


@pytest.mark.proves("assumed 5.3")
@pytest.mark.parametrize("name", ROWS)
def test_after_the_operation_every_fault_leaves_what_the_operation_made(server, client, name):
    row = ROWS[name]
    story = Story(server, client, name)
    usual, _ = story.send()
    after = story.records()
    assert usual.status == row.status

    for fault in AFTER:
        story = Story(server, client, name)
        before = story.records()
        chosen = story.choose(fault.key)
        if fault.key in NEED_BODY and row.status == NO_CONTENT:
            refused = chosen or story.send()[0]
            assert refused.status == 400
            assert f"{fault.key} cannot happen to {name}".encode() in refused.body
            assert story.records() == before
            continue
        started = perf_counter()
        answer, is_broken_off = story.send()

        assert story.records() == after, fault.key
        assert is_broken_off == (fault.key in LOST)
        if fault.key == "drop_after":
            assert (answer.status, answer.body) == (0, b"")
        elif fault.answer is not None:
            error = answer.json()["error"]
            assert (answer.status, error) == (fault.answer.status, fault.answer.code)
        elif fault.key == "half_answer":
            assert (answer.status, answer.body) == (usual.status, b"")
        elif fault.key == "malformed_json":
            assert answer.status == usual.status
            with pytest.raises(json.JSONDecodeError):
                answer.json()
        else:
            assert (answer.status, len(answer.body)) == (usual.status, len(usual.body))
            assert perf_counter() - started >= DELAY_MS / 1000

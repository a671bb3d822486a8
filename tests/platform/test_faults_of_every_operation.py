"""Every operation meets every transport fault: by header, by queue or by scenario.

Afterwards the records are as the fault says: as before, or as if nothing had gone wrong. What the
faults look like on a socket, tests/payments/test_transport_faults has.
"""

import asyncio
import json
from time import perf_counter

import pytest

from sandbox.domain import transport_faults
from sandbox.domain.keys import KeyUsage
from sandbox.domain.transport_faults import LOST, NEED_BODY, TRANSPORT_FAULTS
from sandbox.platform.operation import NO_CONTENT
from sandbox.platform.responses import ABORT
from sandbox.platform.routes import OPERATIONS
from sandbox.settings import Settings
from sandbox.store.world_state import WorldState
from tests.driving import FROZEN
from tests.openapi.asking import Request
from tests.openapi.described import unchecked

ROWS = {row.name: row for row in OPERATIONS if row.run is not None}
BEFORE = [one for one in TRANSPORT_FAULTS.values() if one.when == "before"]
AFTER = [one for one in TRANSPORT_FAULTS.values() if one.when == "after"]
SOURCES = ("header", "queue", "scenario")
"""They take turns, so that each chooses each fault for a third of the operations."""
DELAY_MS = 20


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setattr(transport_faults, "SLOW_MS", DELAY_MS)


class Story:
    """A new sandbox, in which the request of an operation is ready to be sent."""

    def __init__(self, name):
        self.sandbox = unchecked(Settings(clock=FROZEN))
        self.name = name
        self.request = Request(self.sandbox, name)
        self.sandbox.run = self.run
        self.headers = []

    def run(self, exchange, app):
        # As a server that closes a connection has it.
        exchange.gone = self.gone = asyncio.Event()
        exchange.scope[ABORT] = self.gone.set
        return asyncio.run(exchange.run(app))

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
            return self.sandbox.control("POST", "/worlds/default/scenario/next", entry)
        rule = {"when": {"operation": self.name}, "then": {"fault": fault, "times": 1, **delay}}
        scenario = {"name": "walk", "rule": [rule]}
        return self.sandbox.control("PUT", "/worlds/default/scenario", scenario)

    def send(self):
        """The answer as far as it comes, and whether the connection is closed then."""
        answer = self.request.send_with(*self.headers)
        return answer, self.gone.is_set()

    def records(self):
        """All records and messages, but for when a key was used and what was chosen."""
        # What is due at this moment has happened then, as the result of a batch.
        advanced = self.sandbox.control("POST", "/worlds/default/clock/advance", {"by": "0s"})
        assert advanced.status == 200
        store = self.sandbox.sandbox.worlds.default.store
        left_out = (KeyUsage, WorldState)
        tables = [one for one in store.tables() if one.table.kind not in left_out]
        return [*(dict(one.by_id) for one in tables), store.messages_now()]


def is_json(body):
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", ROWS)
def test_before_the_operation_every_fault_leaves_everything_as_it_was(name):
    story = Story(name)
    before = story.records()

    for fault in BEFORE:
        story.choose(fault.key)
        answer, is_closed = story.send()

        assert is_closed == (fault.key in LOST)
        assert answer.status == (fault.answer.status if fault.answer else 0), fault.key
        if fault.answer:
            assert answer.json()["error"] == fault.answer.code
        assert story.records() == before, fault.key


@pytest.mark.proves("assumed 5.3")
@pytest.mark.parametrize("name", ROWS)
def test_after_the_operation_every_fault_leaves_what_the_operation_made(name):
    row = ROWS[name]
    story = Story(name)
    usual, _ = story.send()
    after = story.records()
    assert usual.status == row.status

    for fault in AFTER:
        story = Story(name)
        before = story.records()
        chosen = story.choose(fault.key)
        if fault.key in NEED_BODY and row.status == NO_CONTENT:
            refused = chosen or story.send()[0]
            assert refused.status == 400
            assert f"{fault.key} cannot happen to {name}".encode() in refused.body
            assert story.records() == before
            continue
        started = perf_counter()
        answer, is_closed = story.send()

        assert story.records() == after, fault.key
        assert is_closed == (fault.key in LOST)
        if fault.key == "drop_after":
            assert (answer.status, answer.body) == (0, b"")
        elif fault.answer is not None:
            error = answer.json()["error"]
            assert (answer.status, error) == (fault.answer.status, fault.answer.code)
        elif fault.key in NEED_BODY:
            assert answer.status == usual.status
            assert not is_json(answer.body)
        else:
            assert (answer.status, len(answer.body)) == (usual.status, len(usual.body))
            assert perf_counter() - started >= DELAY_MS / 1000

"""Every operation meets every transport fault, on a socket, by header, by queue or by scenario.

Afterwards the records are as the fault says: as before, or as if nothing had gone wrong.
"""

import asyncio
import json
from collections.abc import Mapping
from time import perf_counter
from typing import Any

import httpx2
import pytest

from sandbox.domain.keys import KeyUsage
from sandbox.domain.transport_faults import NEED_BODY, SLOW_MS, TRANSPORT_FAULTS
from sandbox.platform.openapi.examples import Example, example_of, with_ids
from sandbox.platform.operation import NO_CONTENT, Row
from sandbox.platform.routes import OPERATIONS
from sandbox.server.embedded import Embedded, embedded
from sandbox.settings import Settings
from sandbox.store.world_state import WorldState

ROWS = {row.name: row for row in OPERATIONS if row.run is not None}
BEFORE = [one for one in TRANSPORT_FAULTS.values() if one.when == "before"]
AFTER = [one for one in TRANSPORT_FAULTS.values() if one.when == "after"]
SOURCES = ("header", "queue", "scenario")
"""They take turns, so that each chooses each fault for a third of the operations."""
DELAY_MS = 20
CLOCK = {"now": "2026-03-01T12:00:00Z", "mode": "frozen"}


@pytest.fixture(scope="module")
def server():
    with embedded(Settings()) as one:
        yield one


@pytest.fixture(scope="module")
def client():
    with httpx2.Client(timeout=30) as one:
        yield one


class Story:
    """A new world, in which the request of an operation is ready to be sent."""

    def __init__(self, server: Embedded, client: httpx2.Client, row: Row, id: str = "walk") -> None:
        self._server, self._client, self.id, self._row = server, client, id, row
        self._control("DELETE", "")
        made = client.post(
            f"{server.url}/_sandbox/worlds", json={"id": id, "seed": 7, "clock": CLOCK}
        )
        assert made.status_code == 201, made.text
        self._cast: Mapping[str, Any] = made.json()
        example = example_of(row.name)
        assert example
        self.request = self._request(example)

    def _control(self, method: str, path: str, body: Any = None) -> httpx2.Response:
        url = f"{self._server.url}/_sandbox/worlds/{self.id}{path}"
        return self._client.request(method, url, json=body)

    def _request(self, example: Example) -> dict[str, Any]:
        """The request of an example, once what it needs is there."""
        row = self._row if example is example_of(self._row.name) else ROWS[example.operation]
        id, body = with_ids(example.id, self._cast), with_ids(example.body, self._cast)
        if example.first is not None:
            first = self._client.request(**self._request(example.first)).json()
            names = ("transaction_id", "id", "terminal_id")
            made = next(first[name] for name in names if first.get(name))
            if example.takes:
                body = {**(body or {}), example.takes: made}
            else:
                id = made
        head, brace, rest = row.path.partition("{")
        path = f"{head}{id}{rest.partition('}')[2]}" if brace else row.path
        return {
            "method": row.method,
            "url": self._server.url + path,
            "headers": {"x-service-apikey": self._cast["keys"][example.by]["key"]},
            **({} if body is None else {"json": body}),
        }

    def source_of(self, fault: str) -> str:
        """What chooses the fault for this operation. Slow by header has a test of its own."""
        turn = [*ROWS].index(self._row.name) + [*TRANSPORT_FAULTS].index(fault)
        return SOURCES[1 + turn % 2] if fault == "slow" else SOURCES[turn % 3]

    def choose(self, fault: str, source: str = "") -> httpx2.Response | None:
        """Have the next request of the operation meet the fault; the answer of the control API."""
        source = source or self.source_of(fault)
        delay = {"delay_ms": DELAY_MS} if fault == "slow" else {}
        name = self._row.name
        self.request["headers"].pop("x-sandbox-outcome", None)
        if source == "header":
            self.request["headers"]["x-sandbox-outcome"] = fault
            return None
        if source == "queue":
            entry = {"fault": fault, "operation": name, **delay}
            return self._control("POST", "/scenario/next", entry)
        rule = {"when": {"operation": name}, "then": {"fault": fault, "times": 1, **delay}}
        return self._control("PUT", "/scenario", {"name": "walk", "rule": [rule]})

    def send(self) -> tuple[int, bytes | None]:
        """The status, 0 if the connection was closed at once; the body, None if it broke off."""
        try:
            with self._client.stream(**self.request) as answer:
                try:
                    return answer.status_code, answer.read()
                except httpx2.TransportError:
                    return answer.status_code, None
        except httpx2.TransportError:
            return 0, None

    def records(self) -> list[Any]:
        """All records and messages, but for when a key was used and what was chosen."""
        # What is due at this moment has happened then, as the result of a batch.
        assert self._control("POST", "/clock/advance", {"by": "0s"}).status_code == 200
        world = self._server.built.worlds.get(self.id)
        assert world
        left_out = (KeyUsage, WorldState)
        tables = [one for one in world.store.tables() if one.table.kind not in left_out]
        return [*(dict(one.by_id) for one in tables), world.store.messages_now()]


def is_json(body: bytes) -> bool:
    try:
        json.loads(body)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("name", ROWS)
def test_before_the_operation_every_fault_leaves_everything_as_it_was(server, client, name):
    story = Story(server, client, ROWS[name])
    before = story.records()

    for fault in BEFORE:
        story.choose(fault.key)
        status, body = story.send()

        assert status == (fault.answer.status if fault.answer else 0), fault.key
        if fault.answer:
            assert json.loads(body)["error"] == fault.answer.code
        assert story.records() == before, fault.key


@pytest.mark.proves("assumed 5.3")
@pytest.mark.parametrize("name", ROWS)
def test_after_the_operation_every_fault_leaves_what_the_operation_made(server, client, name):
    row = ROWS[name]
    usual = Story(server, client, row)
    usual_status, usual_body = usual.send()
    after = usual.records()
    assert usual_status == row.status

    for fault in AFTER:
        story = Story(server, client, row)
        before = story.records()
        chosen = story.choose(fault.key)
        if fault.key in NEED_BODY and row.status == NO_CONTENT:
            refused = (chosen.status_code, chosen.content) if chosen is not None else story.send()
            assert refused[0] == 400
            assert f"{fault.key} cannot happen to {row.name}".encode() in refused[1]
            assert story.records() == before
            continue
        started = perf_counter()
        status, body = story.send()

        assert story.records() == after, fault.key
        if fault.key == "drop_after":
            assert (status, body) == (0, None)
        elif fault.answer is not None:
            assert (status, json.loads(body)["error"]) == (fault.answer.status, fault.answer.code)
        elif fault.key == "half_answer":
            assert (status, body) == (usual_status, None)
        elif fault.key == "malformed_json":
            assert status == usual_status
            assert not is_json(body)
        else:
            assert (status, len(body)) == (usual_status, len(usual_body))
            assert perf_counter() - started >= DELAY_MS / 1000


def test_by_header_every_operation_is_slow_when_all_is_done(server, client):
    stories, after = [], []
    for number, row in enumerate(ROWS.values()):
        usual = Story(server, client, row, f"walk-{number}")
        usual.send()
        after.append(usual.records())
        stories.append(Story(server, client, row, usual.id))
        stories[-1].choose("slow", "header")

    async def send_all():
        limits = httpx2.Limits(max_connections=len(stories))
        async with httpx2.AsyncClient(timeout=60, limits=limits) as asking:
            return await asyncio.gather(*(asking.request(**story.request) for story in stories))

    started = perf_counter()
    answers = asyncio.run(send_all())

    assert [one.status_code for one in answers] == [row.status for row in ROWS.values()]
    assert perf_counter() - started >= SLOW_MS / 1000
    assert [story.records() for story in stories] == after

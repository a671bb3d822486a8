"""Ten thousand events at once, to three endpoints of which one is dead and one is slow."""

import asyncio
import sys
import tracemalloc
from typing import Any

import pytest

from tests.webhooks.calling import add, control, emit, living, world_of
from tests.webhooks.misbehaving import refusing
from tests.webhooks.receiving import overtakers

if sys.platform == "win32":
    from asyncio import new_event_loop
else:
    from uvloop import new_event_loop

EVENTS = 2_500
AT_A_TIME = 100
PER_JOB_BYTES_MAX = 1_000
"""What one message may cost for one endpoint while it waits: its delivery and its place in line."""


class Counting(asyncio.Protocol):
    """A receiver in the test's own loop, which keeps the ids alone and answers after a while."""

    def __init__(self, ids: list[str], delay_s: float, is_done: asyncio.Event) -> None:
        self._ids, self._delay_s, self._is_done = ids, delay_s, is_done
        self._read = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._read += data
        head, end, body = self._read.partition(b"\r\n\r\n")
        if not end or len(body) < int(_value(head, b"content-length")):
            return
        self._read = b""
        self._ids.append(_value(head, b"webhook-id").decode())
        if len(self._ids) == EVENTS:
            self._is_done.set()
        if self._delay_s:
            asyncio.get_running_loop().call_later(self._delay_s, self._answer)
        else:
            self._answer()

    def _answer(self) -> None:
        self._transport.write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")


def _value(head: bytes, name: bytes) -> bytes:
    start = head.lower().index(b"\r\n" + name + b":") + len(name) + 3
    return head[start : (head + b"\r\n").index(b"\r\n", start)].strip()


async def deliver_many(sandbox: Any, dead: str) -> tuple[list[str], list[str], list[str], int]:
    """The ids in order, those that the healthy and the slow endpoint got, and requests served."""
    loop, is_done = asyncio.get_running_loop(), asyncio.Event()
    healthy: list[str] = []
    slow: list[str] = []
    servers = [
        await loop.create_server(
            lambda ids=ids, delay_s=delay_s: Counting(ids, delay_s, is_done), "127.0.0.1", 0
        )
        for ids, delay_s in ((healthy, 0.0), (slow, 0.05))
    ]
    async with living(sandbox):
        add(sandbox, url=dead)
        for server in servers:
            add(sandbox, url=f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/")
        ids: list[str] = []
        served = 0
        for _ in range(EVENTS // AT_A_TIME):
            ids += emit(world_of(sandbox), AT_A_TIME)
            served += (await control(sandbox, "GET", "/health")).status == 200
        async with asyncio.timeout(300):
            await is_done.wait()
    for server in servers:
        server.close()
        await server.wait_closed()
    return ids, healthy, slow, served


def test_the_healthy_endpoint_gets_all_of_thousands_in_order(sandbox):
    # The loop that a server runs on.
    with refusing() as dead, asyncio.Runner(loop_factory=new_event_loop) as runner:
        ids, healthy, slow, served = runner.run(deliver_many(sandbox, dead))

    outbox = world_of(sandbox).outbox
    deliveries = [outbox.deliveries_of(id) for id in ids]
    for endpoint, arrived in ((1, healthy), (2, slow)):
        tried = [
            (one[endpoint].message_id, one[endpoint].attempts[0].duration_ms)
            for one in deliveries
            if one[endpoint].attempts and one[endpoint].message_id in arrived
        ]
        assert overtakers(tried, arrived) == []
    assert sorted(healthy) == sorted(ids)
    assert 0 < len(slow) < EVENTS
    assert served == EVENTS // AT_A_TIME


@pytest.mark.parametrize("filters", [{}, {"status": ["active"]}])
def test_what_waits_holds_no_bodies(sandbox, filters):
    endpoints = 3
    for _ in range(endpoints):
        add(sandbox, filters=filters)
    text = "x" * 50_000

    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    ids = emit(world_of(sandbox), 1_000)
    plain, _ = tracemalloc.get_traced_memory()
    ids = emit(world_of(sandbox), 1_000, text)
    after, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    jobs = len(ids) * endpoints
    at_hand = 256 * len(text) * 1.1
    assert plain - before < 2 * jobs * PER_JOB_BYTES_MAX
    assert after - plain < jobs * PER_JOB_BYTES_MAX + at_hand < len(ids) * len(text)

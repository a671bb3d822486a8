"""Requests that the sandbox sends to its own platform, without a socket.

Each goes through the same pipeline as any other request. Its key is given as a record, so that the
plaintext need not be kept.
"""

import asyncio
from collections.abc import Mapping
from time import perf_counter
from typing import Final

from msgspec import Struct

from sandbox.domain.keys import ApiKey
from sandbox.domain.transport_faults import LOST
from sandbox.platform.application import Platform
from sandbox.platform.context import IncomingRequest, PresentedKey
from sandbox.platform.routes import MOUNTS
from sandbox.platform.routing import find_match
from sandbox.worlds.due_timers import catch_up
from sandbox.worlds.world import World

_WITHOUT_KEY: Final = PresentedKey(reason="no API key was sent")


class InternalAnswer(Struct, frozen=True, kw_only=True, gc=False):
    """What a client would have received. `status` is None if the connection would be closed."""

    request_id: str
    status: int | None
    headers: dict[str, str]
    body: bytes
    fault: str | None
    duration_ms: float


def build_request(
    method: str, path: str, query: str, headers: Mapping[str, str], payload: bytes
) -> IncomingRequest:
    """Return a request with these headers, in lower case, and those that every client sends."""
    sent = {"accept": "application/json"}
    if payload:
        sent |= {"content-type": "application/json", "content-length": str(len(payload))}
    sent |= headers
    raw = [(name.encode(), value.encode("latin-1")) for name, value in sent.items()]
    return IncomingRequest(method, path, query.encode(), raw, payload)


class InternalClient:
    """Sends requests to a platform of this process."""

    def __init__(self, platform: Platform) -> None:
        self._platform = platform
        self._running: set[asyncio.Task[InternalAnswer]] = set()

    def begin(self, world: World, request: IncomingRequest, key: ApiKey | None) -> str:
        """Send it without waiting for the answer; return the id of its future journal entry."""
        request_id = world.journal.next_id()
        task = asyncio.create_task(self.send(world, request, key, request_id))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return request_id

    async def close(self) -> None:
        """Cancel the requests that still wait, as a server does with those of its clients."""
        running = tuple(self._running)
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    async def send(
        self, world: World, request: IncomingRequest, key: ApiKey | None, request_id: str = ""
    ) -> InternalAnswer:
        """Send it, and return the answer. A payment may wait minutes for a card.

        Coverage does not count the request.
        """
        started, request_id = perf_counter(), request_id or world.journal.next_id()
        presented = _WITHOUT_KEY if key is None else PresentedKey(world, key)
        request.origin = "console"
        request.match = find_match(MOUNTS, request.method, request.path)
        if request.row is None or request.row.body is None:
            request.body = b""
        answer = await self._platform.answer(request, presented, world, request_id)
        await catch_up(world)
        if answer.delay_ms:
            await asyncio.sleep(answer.delay_ms / 1000)
        fault = None if answer.fault is None else answer.fault.key
        is_lost = fault in LOST
        headers = {name.decode(): value.decode("latin-1") for name, value in answer.headers}
        return InternalAnswer(
            request_id=request_id,
            status=None if is_lost else answer.status,
            headers={} if is_lost else headers,
            body=b"" if is_lost else answer.arriving_body,
            fault=fault,
            duration_ms=(perf_counter() - started) * 1000,
        )

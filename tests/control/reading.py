"""How tests read along what happens in a world: in process, in the form that servers use."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from sandbox.platform.security import HEADERS_OF, AnswerKind
from tests.driving import InProcess
from tests.in_process import http_scope

WAIT_S = 5
"""So long a test waits at most for something to be sent."""


@dataclass
class Reading:
    """A stream that is being read in process, in the form in which a server asks for it."""

    sent: "asyncio.Queue[dict[str, Any]]" = field(default_factory=asyncio.Queue)
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    reads: asyncio.Event = field(default_factory=asyncio.Event)

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        self.sent.put_nowait(message)

    async def text(self) -> str:
        """The next part of the body; empty where it was the last."""
        message = await asyncio.wait_for(self.sent.get(), WAIT_S)
        assert message["type"] == "http.response.body"
        assert message.get("more_body", False) == bool(message["body"])
        return str(message["body"], "utf-8")

    async def event(self) -> tuple[str, int, Any]:
        """The next event: its kind, its number, its data."""
        text = await self.text()
        *lines, end, rest = text.split("\n")
        assert (end, rest) == ("", ""), text
        kind, number, data = [line.partition(": ") for line in lines]
        assert (kind[0], number[0], data[0]) == ("event", "id", "data")
        return kind[2], int(number[2]), json.loads(data[2])

    async def events(self, count: int) -> list[tuple[str, int, Any]]:
        return [await self.event() for _ in range(count)]


Deliver = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


@asynccontextmanager
async def reading(
    sandbox: InProcess, query: str = "", *, by: Deliver | None = None, **more: Any
) -> AsyncIterator[Reading]:
    """A stream of the world that has begun, until the client goes, which lets it end.

    `more` is what the server puts into the scope of the request.
    """
    one = Reading()
    one.reads.set()
    serve = by or sandbox.sandbox.app
    scope = http_scope("GET", f"/_sandbox/worlds/{sandbox.world}/stream", query=query)
    task = asyncio.ensure_future(serve(scope | more, one.receive, one.send))
    start = await asyncio.wait_for(one.sent.get(), WAIT_S)
    headers = [(b"content-type", b"text/event-stream"), *HEADERS_OF[AnswerKind.CONTROL]]
    assert start == {"type": "http.response.start", "status": 200, "headers": headers}
    assert await one.text() == ": here\n\n"
    yield one
    one.gone.set()
    await asyncio.wait_for(task, WAIT_S)


def told(
    sandbox: InProcess, does: Callable[[], Any], count: int, query: str = ""
) -> list[tuple[str, int, Any]]:
    """The first events that a reader gets of what is done."""

    async def read() -> list[tuple[str, int, Any]]:
        async with sandbox.living(), reading(sandbox, query=query) as stream:
            does()
            return await stream.events(count)

    return asyncio.run(read())

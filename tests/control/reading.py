"""How tests read along what happens in a world: in process, in the form that servers use."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sandbox.platform.security import HEADERS_OF, AnswerKind
from tests.driving import InProcess
from tests.in_process import http_scope
from tests.support.open_requests import Run

WAIT_S = 5
"""So long a test waits at most for something to be sent."""

Deliver = Callable[[dict[str, Any], Any, Any], Awaitable[None]]


class Reading:
    """A stream that is being read in process, in the form in which a server asks for it."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self.sent: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self.gone, self.reads = asyncio.Event(), asyncio.Event()
        self.reads.set()

    async def receive(self) -> dict[str, Any]:
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        await self.reads.wait()
        self.sent.put_nowait(message)

    def message(self) -> dict[str, Any]:
        """The next message to the server."""
        message: dict[str, Any] = self._run(asyncio.wait_for(self.sent.get(), WAIT_S))
        return message

    def text(self) -> str:
        """The next part of the body; empty where it was the last."""
        message = self.message()
        assert message["type"] == "http.response.body"
        assert message.get("more_body", False) == bool(message["body"])
        return str(message["body"], "utf-8")

    def event(self) -> tuple[str, int, Any]:
        """The next event: its kind, its number, its data."""
        text = self.text()
        *lines, end, rest = text.split("\n")
        assert (end, rest) == ("", ""), text
        kind, number, data = [line.partition(": ") for line in lines]
        assert (kind[0], number[0], data[0]) == ("event", "id", "data")
        return kind[2], int(number[2]), json.loads(data[2])

    def events(self, count: int) -> list[tuple[str, int, Any]]:
        return [self.event() for _ in range(count)]


@contextmanager
def reading(
    sandbox: InProcess, run: Run, query: str = "", *, by: Deliver | None = None, **more: Any
) -> Iterator[Reading]:
    """A stream of the world that has begun, until the client goes, which lets it end.

    `more` is what the server puts into the scope of the request.
    """
    one = Reading(run)
    serve = by or sandbox.sandbox.app
    scope = http_scope("GET", f"/_sandbox/worlds/{sandbox.world}/stream", query=query)

    async def begin() -> asyncio.Future[None]:
        return asyncio.ensure_future(serve(scope | more, one.receive, one.send))

    task = run(begin())
    headers = [(b"content-type", b"text/event-stream"), *HEADERS_OF[AnswerKind.CONTROL]]
    assert one.message() == {"type": "http.response.start", "status": 200, "headers": headers}
    assert one.text() == ": here\n\n"
    yield one
    one.gone.set()
    run(asyncio.wait_for(task, WAIT_S))


def told(
    sandbox: InProcess, does: Callable[[], Any], count: int, query: str = ""
) -> list[tuple[str, int, Any]]:
    """The first events that a reader gets of what is done, while the application lives."""
    over = asyncio.Event()

    async def live() -> None:
        async with sandbox.living():
            does()
            await over.wait()

    with asyncio.Runner() as runner, reading(sandbox, runner.run, query) as stream:
        life = runner.get_loop().create_task(live())
        happened = stream.events(count)
        over.set()
        runner.run(asyncio.wait_for(life, WAIT_S))
    return happened

"""The control endpoint that streams the events of a world as server-sent events."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Collection
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from sandbox.control import stream_views
from sandbox.control.rows import ControlFault, ControlRequest, must_be_known
from sandbox.control.stream_views import Shown
from sandbox.platform import wire
from sandbox.platform.responses import ABORT
from sandbox.platform.security_headers import HEADERS_OF, AnswerKind
from sandbox.worlds.event_stream import KINDS, USUAL, StreamEvent, Subscriber
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.shapes import StreamQuery

STREAMS_MAX: Final = 100
"""Streams of one world that are open at a time. All that happens is written out for each of them;
tools and tests that read along need one or two each."""

SILENCE_S: Final = 15.0
"""After this many seconds without an event the stream sends a sign of life."""

LAST_WORDS_S: Final = 0.5
"""Time that an ending stream waits for its client to read the rest."""

_HERE: Final = b": here\n\n"
_HEADERS: Final = [(b"content-type", b"text/event-stream"), *HEADERS_OF[AnswerKind.CONTROL]]


class Stream:
    """One subscriber of a world, and the sending of its events."""

    def __init__(
        self,
        world: World,
        kinds: Collection[str],
        on_silence: Callable[[], None],
        shown: Shown = stream_views.FULL,
    ) -> None:
        self._world, self._shown = world, shown
        self._subscriber = world.subscriptions.join(kinds)
        self._on_silence = on_silence

    def close(self) -> None:
        """Leave before anything was sent: only the headers were asked for."""
        self._world.subscriptions.leave(self._subscriber)

    async def deliver(
        self,
        scope: Scope,
        receive: Receive,
        send: Send,
        *,
        silence_s: float = SILENCE_S,
        last_words_s: float = LAST_WORDS_S,
    ) -> None:
        """Send events until the client goes away or the world ends."""
        subscriber = self._subscriber
        sending = asyncio.ensure_future(self._send(subscriber, send, silence_s))
        leaving = asyncio.ensure_future(wire.until_gone(receive))
        ending = asyncio.ensure_future(subscriber.over.wait())
        tasks = (sending, leaving, ending)
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            through = (sending, leaving)
            await asyncio.wait(through, timeout=last_words_s, return_when=asyncio.FIRST_COMPLETED)
            if not any(task.done() for task in through) and ABORT in scope:
                # The client does not read, and the rest would keep the server from stopping.
                scope[ABORT]()
                await leaving
        finally:
            self._world.subscriptions.leave(subscriber)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not sending.cancelled():
            sending.result()

    async def _send(self, subscriber: Subscriber, send: Send, silence_s: float) -> None:
        # Some servers report a disconnected client this way.
        with suppress(OSError):
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            async for part in self._parts(subscriber, silence_s):
                await send({"type": "http.response.body", "body": part, "more_body": True})
                # Requests get their turn between two events.
                await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": b""})

    async def _parts(self, subscriber: Subscriber, silence_s: float) -> AsyncGenerator[bytes]:
        yield _HERE
        while True:
            try:
                async with asyncio.timeout(silence_s):
                    event = await subscriber.next()
            except TimeoutError:
                self._on_silence()
                yield _HERE
                continue
            if event is None:
                return
            yield self._written(event)

    def _written(self, event: StreamEvent) -> bytes:
        shown = to_json(self._shown[event.kind](self._world, event.content))
        return b"event: %b\nid: %d\ndata: %b\n\n" % (
            event.kind.encode(),
            event.number,
            shown,
        )


def read_along(request: ControlRequest) -> Stream:
    """Stream the events of a world from now on."""
    query: StreamQuery = request.query
    kinds = USUAL if query.kinds is None else query.kinds.split(",")
    for kind in kinds:
        must_be_known("kinds", kind, KINDS)
    world = request.world
    if len(world.subscriptions) >= STREAMS_MAX:
        raise ControlFault(
            429,
            "too_many_streams",
            f"{STREAMS_MAX} streams of this world are already open, which is the most",
            details="a stream ends when its client hangs up",
        )
    # A world with a subscriber is in use.
    shown = stream_views.ROWS if query.shape == "row" else stream_views.FULL
    return Stream(world, kinds, lambda: request.services.worlds.touch(world), shown)

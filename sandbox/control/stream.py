"""The stream of a world: its events as server-sent events, whole or as rows."""

import asyncio
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Literal

from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from sandbox.control.batches import batch_row
from sandbox.control.clock import view_timer
from sandbox.control.context import ControlFault, ControlRequest, parse_words
from sandbox.control.journal import request_row, view_entry
from sandbox.control.messages import message_row, view_attempt, view_content
from sandbox.control.models import Query
from sandbox.control.outcomes import TapView
from sandbox.control.payments import payment_row
from sandbox.control.routing import WORLD, get
from sandbox.control.worlds import world_row
from sandbox.domain.batches import Batch
from sandbox.domain.instants import to_wire
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.webhooks import Endpoint
from sandbox.platform import wire
from sandbox.platform.responses import ABORT
from sandbox.platform.security import HEADERS_OF, AnswerKind
from sandbox.worlds import event_stream as events
from sandbox.worlds.world import World


class StreamQuery(Query):
    """The kinds of events to read, separated by commas, and whether whole or as rows.

    Without `kinds` they are request, message, attempt and clock.
    """

    kinds: str | None = None
    shape: Literal["row", "full"] = "full"


Views = Mapping[str, Callable[[World, Any], Any]]
"""For each kind of event, the function that makes its data."""


def _attempt(world: World, tried: events.AttemptEvent) -> dict[str, Any]:
    attempt = view_attempt(tried.delivery.attempts[-1], tried.message.id)
    return {**_attempt_row(world, tried), **vars(attempt)}


def _attempt_row(world: World, tried: events.AttemptEvent) -> dict[str, Any]:
    message, delivery, attempt = tried.message, tried.delivery, tried.delivery.attempts[-1]
    return {
        **{"message_id": message.id, "event_type": message.event_type},
        **{"request_id": message.request_id, "endpoint_id": delivery.endpoint_id, "url": tried.url},
        **{"at": to_wire(attempt.at), "status_code": attempt.status_code, "error": attempt.error},
        **{"delivery_status": delivery.status, "rule": delivery.rule},
    }


def _record(world: World, record: Any) -> dict[str, Any]:
    """Return a record as its list shows it. `row` is null for kinds without one."""
    kind = "key" if isinstance(record, ApiKey) else type(record).__name__.lower()
    shown = {"kind": kind, "id": record.id, "status": getattr(record, "status", None), "row": None}
    shown["removed"] = getattr(record, "deleted_at", None) is not None
    if isinstance(record, Payment):
        shown["row"] = payment_row(record)
    elif isinstance(record, Batch):
        shown["row"] = batch_row(world, record)
    return shown


def _endpoint(world: World, endpoint: Endpoint | events.RemovedEndpoint) -> dict[str, Any]:
    """Return an endpoint without its secrets."""
    told = {name: getattr(endpoint, name, None) for name in ("id", "url", "disabled_reason")}
    return {**told, "removed": isinstance(endpoint, events.RemovedEndpoint)}


def _agenda(world: World, nothing: None) -> dict[str, Any]:
    """List what falls due next, and count all that falls due."""
    timers, first = world.store.timers, world.store.timers.soonest
    return {"next": first and view_timer(world, first), "total": len(timers.by_id)}


FULL_VIEWS: Final[Views] = {
    "request": view_entry,
    "message": lambda world, message: view_content(message),
    "attempt": _attempt,
    "clock": lambda world, clock: clock,
    "tap": lambda world, event: vars(TapView.of(event.tap)) | {"waits": event.is_waiting},
    "record": _record,
    "endpoint": _endpoint,
    "agenda": _agenda,
    "scenario": lambda world, nothing: {"name": world_row(world).scenario},
    "world": lambda world, nothing: world_row(world),
    "gap": lambda world, missed: {"missed": missed},
}
"""Requests, messages and attempts whole."""

ROW_VIEWS: Final[Views] = {
    **FULL_VIEWS,
    "request": request_row,
    "message": message_row,
    "attempt": _attempt_row,
}
"""Requests, messages and attempts as rows."""

STREAMS_MAX: Final = 100
"""How many streams of a world may be open at once. Every event is encoded for each of them; a tool
or a test needs one or two."""

SILENCE_S: Final = 15.0
"""After this many seconds without an event the stream sends a sign of life."""

LAST_WORDS_S: Final = 0.5
"""How long an ending stream waits for its client to read the rest."""

_HERE: Final = b": here\n\n"
_HEADERS: Final = [(b"content-type", b"text/event-stream"), *HEADERS_OF[AnswerKind.CONTROL]]


@dataclass
class Stream:
    """One subscriber of a world, and the sending of its events while it may read them.

    A sign of life calls `touch`, because a world with a subscriber is in use.
    """

    world: World
    kinds: Collection[str]
    touch: Callable[[], None]
    may_read: Callable[[], bool] = lambda: True
    shape: str = "full"
    silence_s: float = SILENCE_S
    last_words_s: float = LAST_WORDS_S

    def __post_init__(self) -> None:
        self._views = ROW_VIEWS if self.shape == "row" else FULL_VIEWS
        self._subscriber = self.world.subscriptions.join(self.kinds)

    async def deliver(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send events until the client goes away or the world ends."""
        work = (self._send(scope, send), wire.until_gone(receive), self._end())
        sending, leaving, ending = tasks = [asyncio.ensure_future(one) for one in work]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if done == {ending} and ABORT in scope:
                # The client does not read, and the rest would keep the server from stopping.
                scope[ABORT]()
                await leaving
        finally:
            self.world.subscriptions.leave(self._subscriber)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        if not sending.cancelled():
            sending.result()

    async def _end(self) -> None:
        """Return when the client has had its time to read the last event."""
        await self._subscriber.over.wait()
        await asyncio.sleep(self.last_words_s)

    async def _send(self, scope: Scope, send: Send) -> None:
        # Some servers report a disconnected client this way.
        with suppress(OSError):
            await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
            if scope["method"] != "HEAD":
                async for part in self._parts():
                    await send({"type": "http.response.body", "body": part, "more_body": True})
                    # Requests get their turn between two events.
                    await asyncio.sleep(0)
            await send({"type": "http.response.body", "body": b""})

    async def _parts(self) -> AsyncIterator[bytes]:
        """Yield signs of life, and each event as it is sent.

        A token that was deleted or has expired ends the stream (assumed D25-teams).
        """
        part = _HERE
        while self.may_read():
            yield part
            try:
                async with asyncio.timeout(self.silence_s):
                    event = await self._subscriber.next()
            except TimeoutError:
                self.touch()
                part = _HERE
            else:
                if event is None:
                    return
                part = self._encode(event)

    def _encode(self, event: events.StreamEvent) -> bytes:
        shown = to_json(self._views[event.kind](self.world, event.content))
        return b"event: %b\nid: %d\ndata: %b\n\n" % (event.kind.encode(), event.number, shown)


@get(f"{WORLD}/stream", "stream.read", is_stream=True, refuses=(429,))
def read_stream(request: ControlRequest, query: StreamQuery) -> Stream:
    """Stream the events of a world as server-sent events."""
    kinds = parse_words("kinds", query.kinds, events.KINDS) or events.USUAL
    world = request.world
    if len(world.subscriptions) >= STREAMS_MAX:
        why = f"{STREAMS_MAX} streams of this world are already open, which is the limit"
        how = "a stream ends when its client disconnects"
        raise ControlFault(429, "too_many_streams", why, details=how)
    touch = partial(request.services.worlds.touch, world)
    may_read = partial(request.services.tokens.is_still, request.who)
    return Stream(world, kinds, touch, may_read, query.shape)

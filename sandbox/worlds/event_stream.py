"""Subscribers to the events of a world, each with its own queue.

Without subscribers nothing is recorded. A queue has the objects themselves; the endpoint renders
them.
"""

from asyncio import Event, Queue
from collections.abc import Collection, Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.batches import Batch
from sandbox.domain.directory import Account, Credential, Location, Terminal
from sandbox.domain.events import Message
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.cards import Tap
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.webhooks import Delivery, Endpoint
from sandbox.store.store import Store, UnitOfWork
from sandbox.store.world_state import WorldState
from sandbox.webhooks.delivery_faults import Job
from sandbox.webhooks.outbox import Outbox
from sandbox.worlds.clock import Clock
from sandbox.worlds.journal import Journal

USUAL: Final = ("request", "message", "attempt", "clock")
"""The kinds of events by default."""

WAITED: Final = ("message", "attempt")
"""The kinds of events for a request that waits for a message."""

KINDS: Final = (*USUAL, "tap", "record", "endpoint", "agenda", "scenario", "world")

_OF_COMMITS: Final = frozenset({"record", "endpoint", "agenda", "scenario", "world"})
"""The kinds that follow from committed changes; skipped while no subscriber reads any of them."""

_RECORDS: Final[Mapping[type, str]] = {
    **dict.fromkeys((Payment, Batch, Account, Terminal, Location, Credential, ApiKey), "record"),
    Endpoint: "endpoint",
}
"""The kind of event for a change of each kind of record."""

WAITING_MAX: Final = 1_000
"""How many events can wait for one subscriber."""


class AttemptEvent(NamedTuple):
    """An attempt at a webhook: the last one of the delivery, as it was then."""

    message: Message
    url: str
    delivery: Delivery


class TapEvent(NamedTuple):
    """A payment that began or stopped waiting for a tap."""

    tap: Tap
    is_waiting: bool


class RemovedEndpoint(NamedTuple):
    """An endpoint that was removed. All other records stay, marked as deleted."""

    id: str


class StreamEvent(Struct):
    """An event: its number, which grows, its kind, and its content.

    The content is an Entry, a Message, an AttemptEvent, a clock's view, a TapEvent, a record, or a
    RemovedEndpoint. For a gap it is the number of missed events, and None if the control API looks
    it up.
    """

    number: int
    kind: str
    content: Any


class Subscriber:
    """A subscriber. While its queue is full it misses events, which become one gap.

    `over` is set after the last event.
    """

    def __init__(self, kinds: Collection[str]) -> None:
        self.kinds = kinds
        self._queue: Queue[StreamEvent | None] = Queue()
        # The last entry of a full queue, which counts further events until it is read.
        self._gap: StreamEvent | None = None
        self.over = Event()

    def push(self, event: StreamEvent) -> None:
        """Queue an event for reading."""
        if self._gap is not None:
            self._gap.number = event.number
            self._gap.content += 1
        elif self._queue.qsize() >= WAITING_MAX:
            self._gap = StreamEvent(event.number, "gap", 1)
            self._queue.put_nowait(self._gap)
        else:
            self._queue.put_nowait(event)

    def end(self) -> None:
        """End the stream; waiting events can still be read."""
        self._queue.put_nowait(None)
        self.over.set()

    async def next(self) -> StreamEvent | None:
        """Wait for the next event and return it; None after the last one."""
        event = await self._queue.get()
        if event is self._gap:
            self._gap = None
        return event


class Subscriptions:
    """The subscribers of one world."""

    def __init__(self, journal: Journal, outbox: Outbox, clock: Clock, store: Store) -> None:
        self._outbox, self._world_clock, self._store = outbox, clock, store
        # A dictionary as an ordered set.
        self._subscribers: dict[Subscriber, None] = {}
        self._numbered = 0
        self._clock: dict[str, Any] | None = None
        self._is_closed = False
        journal.on_add = partial(self._tell, "request")
        outbox.on_attempt = self._note_attempt
        clock.on_set = self._note_clock

    def __len__(self) -> int:
        return len(self._subscribers) - self.waits

    @property
    def waits(self) -> int:
        """How many subscribers are requests that wait for a message, not streams."""
        return sum(one.kinds is WAITED for one in self._subscribers)

    def join(self, kinds: Collection[str] = USUAL) -> Subscriber:
        """Add a subscriber for events of these kinds; `leave` removes it."""
        subscriber = Subscriber(kinds)
        if self._is_closed:
            subscriber.end()
            return subscriber
        self._subscribers[subscriber] = None
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """Remove a subscriber."""
        self._subscribers.pop(subscriber, None)

    def close(self) -> None:
        """End all subscriptions, now and later, because the world is gone."""
        self._is_closed = True
        for subscriber in self._subscribers:
            subscriber.end()
        self._subscribers = {}

    def _tell(self, kind: str, content: object) -> None:
        if not self._subscribers:
            return
        self._numbered += 1
        event = StreamEvent(self._numbered, kind, content)
        for subscriber in self._subscribers:
            if kind in subscriber.kinds:
                subscriber.push(event)

    def note_tap(self, tap: Tap, is_waiting: bool) -> None:
        """Publish that a payment began or stopped waiting for a tap."""
        self._tell("tap", TapEvent(tap, is_waiting))

    def _note_attempt(self, job: Job, delivery: Delivery) -> None:
        endpoint = self._outbox.endpoints.get(delivery.endpoint_id)
        url = "" if endpoint is None else endpoint.url
        self._tell("attempt", AttemptEvent(job.message, url, delivery))

    def _note_clock(self) -> None:
        view = self._world_clock.view()
        # An advance sets the clock to an instant that it may have reached already.
        if self._subscribers and view != self._clock:
            self._clock = view
            self._tell("clock", view)

    def note_commit(self, unit: UnitOfWork, before: WorldState) -> None:
        """Publish the messages and changes of a committed unit; `before` was the world's state."""
        if not self._subscribers:
            return
        for message in unit.emitted:
            self._tell("message", message)
        if all(_OF_COMMITS.isdisjoint(one.kinds) for one in self._subscribers):
            return
        for (rows, id), record in unit.changed.items():
            if isinstance(record, WorldState):
                self._note_state(record, before)
            elif (kind := rows.table.kind) in _RECORDS:
                self._tell(_RECORDS[kind], record or RemovedEndpoint(id))
        if any(rows is self._store.timers for rows, _ in unit.changed):
            self._tell("agenda", None)

    def _note_state(self, state: WorldState, before: WorldState) -> None:
        if state.scenario is not before.scenario:
            self._tell("scenario", None)
        # The clock has its own kind of event.
        if replace(state, clock=before.clock) != before:
            self._tell("world", None)

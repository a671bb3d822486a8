"""Subscribers to the events of a world: each has a queue of its own.

Without subscribers nothing is recorded. A queue holds the objects themselves, which the endpoint
renders.
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
"""The kinds for who names none."""

WAITED: Final = ("message", "attempt")
"""The kinds for a request that waits for a message."""

KINDS: Final = (*USUAL, "tap", "record", "endpoint", "agenda", "scenario", "world")

_OF_COMMITS: Final = frozenset({"record", "endpoint", "agenda", "scenario", "world"})
"""The kinds that follow from what is stored: not numbered while no subscriber reads them."""

_RECORDS: Final[Mapping[type, str]] = {
    **dict.fromkeys((Payment, Batch, Account, Terminal, Location, Credential, ApiKey), "record"),
    Endpoint: "endpoint",
}
"""The kinds of events, by the kinds of records that change."""

WAITING_MAX: Final = 1_000
"""The most events that wait for one subscriber."""


class AttemptEvent(NamedTuple):
    """One attempt at a webhook, the last one of the delivery as it was then."""

    message: Message
    url: str
    delivery: Delivery


class TapEvent(NamedTuple):
    """A payment that waits for a tap, or no longer."""

    tap: Tap
    is_waiting: bool


class Removed(NamedTuple):
    """A record that is gone: its type and its id."""

    kind: type
    id: str


class StreamEvent(Struct):
    """Something that happened: a number that grows, its kind, and the thing itself.

    The thing is an Entry, a Message, an AttemptEvent, a clock's view, a TapEvent, a record, or one
    that was Removed. For a gap it is the number of missed events, and None for what is looked up
    when it is shown.
    """

    number: int
    kind: str
    content: Any


class Subscriber:
    """One subscriber. When its queue is full it misses events until it has caught up: a gap.

    `over` is set after the last event.
    """

    def __init__(self, kinds: Collection[str]) -> None:
        self.kinds = kinds
        self._queue: Queue[StreamEvent | None] = Queue()
        # The last of a full queue: it counts what comes until it is read.
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
        """End the stream; events that wait can still be read."""
        self._queue.put_nowait(None)
        self.over.set()

    async def next(self) -> StreamEvent | None:
        """Return the next event, as soon as it happens; None after the last one."""
        event = await self._queue.get()
        if event is self._gap:
            self._gap = None
        return event


class Subscriptions:
    """All who read along in one world."""

    def __init__(self, journal: Journal, outbox: Outbox, clock: Clock, store: Store) -> None:
        self._outbox, self._world_clock, self._store = outbox, clock, store
        # A dictionary as an ordered set.
        self._subscribers: dict[Subscriber, None] = {}
        self._state: WorldState | None = None
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
        """How many subscribers are no streams, but wait for a message."""
        return sum(one.kinds is WAITED for one in self._subscribers)

    def join(self, kinds: Collection[str] = USUAL) -> Subscriber:
        """One more, who reads these kinds from now on and leaves in the end."""
        subscriber = Subscriber(kinds)
        if self._is_closed:
            subscriber.end()
            return subscriber
        self._subscribers[subscriber] = None
        self._state = next(iter(self._store.all(WorldState).values()), None)
        return subscriber

    def leave(self, subscriber: Subscriber) -> None:
        """Remove a subscriber that reads no more."""
        self._subscribers.pop(subscriber, None)

    def close(self) -> None:
        """End all subscriptions, and every later one: the world is gone."""
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
        """Tell of a payment that waits for a tap, or no longer."""
        self._tell("tap", TapEvent(tap, is_waiting))

    def _note_attempt(self, job: Job, delivery: Delivery) -> None:
        endpoint = self._outbox.endpoints.get(delivery.endpoint_id)
        url = "" if endpoint is None else endpoint.url
        self._tell("attempt", AttemptEvent(job.message, url, delivery))

    def _note_clock(self) -> None:
        view = self._world_clock.view()
        # A clock that is set ahead gets there first, and is set then.
        if self._subscribers and view != self._clock:
            self._clock = view
            self._tell("clock", view)

    def note_commit(self, unit: UnitOfWork) -> None:
        """Tell of messages and changes that were committed."""
        if not self._subscribers:
            return
        for message in unit.emitted:
            self._tell("message", message)
        if all(_OF_COMMITS.isdisjoint(one.kinds) for one in self._subscribers):
            return
        for (rows, id), record in unit.changed.items():
            if isinstance(record, WorldState):
                self._note_state(record)
            elif (kind := rows.table.kind) in _RECORDS:
                self._tell(_RECORDS[kind], record or Removed(kind, id))
        if unit.timed:
            self._tell("agenda", None)

    def _note_state(self, state: WorldState) -> None:
        before, self._state = self._state, state
        if before is None or state.scenario is not before.scenario:
            self._tell("scenario", None)
        # Its clock has a kind of its own.
        if before is None or replace(state, clock=before.clock) != before:
            self._tell("world", None)

"""Waiting for a message."""

import asyncio
from collections import deque
from time import perf_counter
from typing import Annotated, Final

from pydantic import Field

from sandbox.control.context import ControlFault, ControlRequest, must_be_known, not_found
from sandbox.control.messages import MessageView, view_message
from sandbox.control.models import Query, View
from sandbox.control.routing import WORLD, Router
from sandbox.domain.events import EVENTS, EventType, Message, status_of
from sandbox.worlds.world import World

router = Router()


WAIT_S_MAX = 300
"""A connection should not stay open for longer."""


class WaitQuery(Query):
    """The message to wait for, and the timeout.

    `delivered` waits until some endpoint has accepted it. `after` is the id of a message: only
    later ones count.
    """

    event_type: str | None = None
    status: str | None = None
    subject: str | None = None
    delivered: bool = False
    after: str | None = None
    timeout_s: Annotated[float, Field(ge=0, le=WAIT_S_MAX, allow_inf_nan=False)] = 5.0


WAITS_MAX: Final = 100
"""Waits for a message at a time, in one world. Each new message is compared with all of them; tests
that run side by side need one each."""

NEAR_MISSES_MAX: Final = 5
"""Near misses that a wait names when nothing came."""

_SEARCHES_S: Final = 0.005
"""The seconds that all searches of one world may run before other requests get a turn."""


class NearMiss(View):
    """A message that almost matched, and the reason why it did not."""

    id: str
    event_type: EventType
    subject: str
    why: str


@router.get(f"{WORLD}/wait", "messages.wait", ends_with_client=True, refuses=(408, 429))
async def wait_for_message(request: ControlRequest, query: WaitQuery) -> MessageView:
    """Wait for a message.

    Answers 408 with near misses if none comes.
    """
    must_be_known("event_type", query.event_type, EVENTS)
    world = request.world
    if query.after is not None and world.store.message(query.after) is None:
        raise not_found("after: the world has no message with this id")
    if world.waits >= WAITS_MAX:
        raise ControlFault(
            429,
            "too_many_waits",
            f"{WAITS_MAX} requests already wait for a message of this world, which is the most",
            details="a wait ends with its message, at its timeout_s, or when its client hangs up",
        )
    world.waits += 1
    try:
        return view_message(world, await _first_match(world, query))
    finally:
        world.waits -= 1


async def _first_match(world: World, query: WaitQuery) -> Message:
    """The first message that matches. Raises ControlFault if none came in time."""
    deadline = asyncio.get_running_loop().time() + query.timeout_s
    search = Search(world, query)
    # However short the time is, all existing messages are checked once.
    found = await search.go_on()
    try:
        async with asyncio.timeout_at(deadline):
            while found is None:
                await world.changed()
                found = await search.go_on()
    except TimeoutError:
        # A message of the same moment counts, because the loop may be late.
        found = await search.go_on()
    if found is None:
        raise _nothing_came(world, search)
    return found


class Search:
    """Looks for a message that fits: once at each message, and again once that is delivered.

    `near` are the newest that nearly fit.
    """

    def __init__(self, world: World, query: WaitQuery) -> None:
        self._world = world
        self.query = query
        self._begin()

    def _begin(self) -> None:
        self._messages = self._world.store.messages()
        self._delivered = self._world.outbox.delivered
        self._delivered_place = len(self._delivered)
        # The start of the search, and the next position.
        self._first: int | None = None
        self._place = 0
        self.near: deque[Message] = deque(maxlen=NEAR_MISSES_MAX)

    def _beginning(self) -> int | None:
        """The position of the first message that counts; None while there is none."""
        if self.query.after is None:
            return 0
        after = self._world.store.place_of(self.query.after)
        return None if after is None else after + 1

    async def go_on(self) -> Message | None:
        """The first new message that matches, or None."""
        while True:
            until = perf_counter() + _SEARCHES_S / max(1, self._world.waits)
            while perf_counter() < until:
                message = self._next()
                if message is None:
                    return None
                if mismatch(self._world, message, self.query) is None:
                    return message
            await asyncio.sleep(0)

    def _next(self) -> Message | None:
        """The next message to check, or None."""
        if self._messages is not self._world.store.messages():
            # The world was reset: these are others.
            self._begin()
        if self._first is None:
            self._first = self._beginning()
            if self._first is None:
                return None
            self._place = self._first
        while self.query.delivered and self._delivered_place < len(self._delivered):
            place = self._world.store.place_of(self._delivered[self._delivered_place])
            self._delivered_place += 1
            if place is not None and self._first <= place < self._place:
                return self._messages[place]
        if self._place >= len(self._messages):
            return None
        message = self._messages[self._place]
        self._place += 1
        if self._is_near(message):
            self.near.append(message)
        return message

    def _is_near(self, message: Message) -> bool:
        """Whether it is of the event, or about the subject."""
        query = self.query
        return query.event_type in (None, message.event_type) or query.subject == message.subject


def mismatch(world: World, message: Message, query: WaitQuery) -> str | None:
    """Why this is not the message that is waited for; None when it is."""
    if query.event_type is not None and message.event_type != query.event_type:
        return f"it is {message.event_type}"
    if query.subject is not None and message.subject != query.subject:
        return f"it is about {message.subject}"
    if query.status is not None and (status := status_of(message)) != query.status:
        return f"its status is {status}"
    if query.delivered:
        deliveries = world.outbox.deliveries_of(message.id)
        if not deliveries:
            return "it is for no endpoint"
        if all(one.status != "delivered" for one in deliveries):
            return "its deliveries are " + ", ".join(one.status for one in deliveries)
    return None


def _nothing_came(world: World, search: Search) -> ControlFault:
    """The messages that come nearest, newest first."""
    near = [
        NearMiss.of(message, why=why)
        for message in reversed(search.near)
        if (why := mismatch(world, message, search.query)) is not None
    ]
    return ControlFault(
        408,
        "nothing_came",
        f"no such message within {search.query.timeout_s:g} s",
        details="" if near else "nothing like it was emitted",
        more={"near_misses": near},
    )

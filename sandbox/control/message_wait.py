"""Waiting for a message."""

import asyncio
from asyncio import Queue
from collections import deque
from contextlib import suppress
from typing import Annotated, Final

from pydantic import Field

from sandbox.control.context import ControlFault, ControlRequest, must_be_known, not_found
from sandbox.control.messages import MessageView, view_message
from sandbox.control.models import Query, View
from sandbox.control.routing import WORLD, get
from sandbox.domain.events import EVENTS, EventType, Message, status_of
from sandbox.worlds.world import World

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

_IN_A_ROW: Final = 200
"""Messages that are compared before other requests get a turn."""


class NearMiss(View):
    """A message that almost matched, and the reason why it did not."""

    id: str
    event_type: EventType
    subject: str
    why: str


@get(f"{WORLD}/wait", "messages.wait", ends_with_client=True, refuses=(408, 429))
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
    with world.watch_messages() as news:
        return view_message(world, await _first_match(world, query, news))


async def _first_match(world: World, query: WaitQuery, news: Queue[Message]) -> Message:
    """The first message that matches, of those that are there and of the news.

    Raises ControlFault if none came in time.
    """
    deadline = asyncio.get_running_loop().time() + query.timeout_s
    near: deque[Message] = deque(maxlen=NEAR_MISSES_MAX)
    # However short the time is, all existing messages are checked once.
    for number, message in enumerate(world.store.messages_now(), 1):
        if _fits(world, message, query, near):
            return message
        if number % _IN_A_ROW == 0:
            await asyncio.sleep(0)
    with suppress(TimeoutError):
        async with asyncio.timeout_at(deadline):
            while not _fits(world, message := await news.get(), query, near):
                pass
            return message
    # A message of the same moment counts, because the loop may be late.
    while not news.empty():
        if _fits(world, message := news.get_nowait(), query, near):
            return message
    raise _nothing_came(world, query, near)


def _fits(world: World, message: Message, query: WaitQuery, near: deque[Message]) -> bool:
    """Whether it is the message that is waited for; what nearly is becomes one of the `near`."""
    if not _is_after(world, message, query.after):
        return False
    if mismatch(world, message, query) is None:
        return True
    is_near = query.event_type in (None, message.event_type) or query.subject == message.subject
    if is_near and message not in near:
        near.append(message)
    return False


def _is_after(world: World, message: Message, after: str | None) -> bool:
    """Whether the world has it, after the message with this id if one is given."""
    first = -1 if after is None else world.store.place_of(after)
    place = world.store.place_of(message.id)
    return first is not None and place is not None and first < place


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


def _nothing_came(world: World, query: WaitQuery, near: deque[Message]) -> ControlFault:
    """The messages that come nearest, newest first."""
    misses = [
        NearMiss.of(message, why=why)
        for message in reversed(near)
        if (why := mismatch(world, message, query)) is not None
    ]
    return ControlFault(
        408,
        "nothing_came",
        f"no such message within {query.timeout_s:g} s",
        details="" if misses else "nothing like it was emitted",
        more={"near_misses": misses},
    )

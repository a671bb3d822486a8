"""Fires the due timers of a world in order."""

import asyncio
import logging
from collections.abc import Callable
from datetime import datetime
from typing import Final

from sandbox.domain.clock import WEBHOOK_RETRY, ClockSetting, Timer
from sandbox.store.store import UnitOfWork
from sandbox.worlds.world import World

TIMERS_IN_A_ROW: Final = 30
"""How many timers to fire before other tasks of the loop get a turn."""

log = logging.getLogger("sandbox.worlds")


def fire_due(world: World, now: datetime | None = None) -> list[Timer]:
    """Fire the timers due by `now` in order, a limited number of them, and return them.

    The world is woken up for the rest in the next rounds of the loop; `catch_up` waits for all.
    """
    fired: list[Timer] = []
    now = now or world.clock.now()
    while (timer := world.store.timers.soonest) is not None and timer.due <= now:
        if len(fired) >= TIMERS_IN_A_ROW:
            break
        _fire(world, timer)
        fired.append(timer)
    if world.watched is not timer:
        world.watch(timer)
    return fired


def wake(world: World) -> None:
    """Fire the due timers of a world whose wake-up time has come."""
    world.watched = None
    fire_due(world)


async def catch_up(world: World) -> list[Timer]:
    """Fire all due timers, however many, and return them in order."""
    fired = more = fire_due(world)
    while len(more) == TIMERS_IN_A_ROW:
        await asyncio.sleep(0)
        more = fire_due(world)
        fired = fired + more
    return fired


async def advance(world: World, find_end: Callable[[], datetime]) -> list[Timer]:
    """Advance the world's clock to a moment, and return the timers that fired on the way.

    Every timer fires at its due time, including those that are created on the way. The clock moves
    on only after all due webhooks were sent. `find_end` returns the moment once no other request
    advances the clock.
    """
    # A reset replaces `busy`, and the clock begins again.
    busy = world.busy
    async with world.advancing:
        fired: list[Timer] = []
        to = find_end()
        await world.wait_idle()
        while (
            world.busy is busy
            and (timer := world.store.timers.soonest) is not None
            and timer.due <= to
        ):
            if timer.due > world.clock.now():
                world.clock.set(ClockSetting(now=timer.due))
            fired += fire_due(world)
            await asyncio.sleep(0)
            await world.wait_idle()
        if world.busy is busy and to > world.clock.now():
            world.clock.set(ClockSetting(now=to))
        return fired


def _begin_without(world: World, timer: Timer) -> UnitOfWork:
    unit = world.store.begin()
    unit.cancel(timer.kind, timer.subject, timer.tag)
    return unit


def _fire(world: World, timer: Timer) -> None:
    """Fire a timer, which is gone afterwards even if it failed."""
    unit = _begin_without(world, timer)
    try:
        if timer.kind == WEBHOOK_RETRY:
            world.outbox.fall_due(timer.subject)
            # The outbox removes the timer with its delivery, if that still exists.
            if world.store.timers.soonest is timer:
                unit.commit()
            return
        world.background.on_timer(world, unit, timer)
    except Exception:
        log.exception("timer %s of %s failed: a defect of the sandbox", timer.kind, timer.subject)
        unit = _begin_without(world, timer)
    unit.commit()

"""What falls due in a world, each thing at its own moment, in order."""

import logging

from sandbox.domain.timers import Timer
from sandbox.operations.call import Call
from sandbox.operations.payments.expiring import FALLS_DUE
from sandbox.world.world import World

log = logging.getLogger("sandbox.world")


def fire_due(world: World) -> list[Timer]:
    """Let everything happen that is due by now; what happened, in order."""
    fired = []
    while (timer := world.store.next_timer()) is not None and timer.due <= world.clock.now():
        _fire(world, timer)
        fired.append(timer)
    return fired


def _fire(world: World, timer: Timer) -> None:
    """Carry out one timer, which is gone afterwards even if that failed."""
    call = Call(world=world, unit=world.store.begin(), now=timer.due, request_id=None)
    call.unit.cancel(timer.kind, timer.subject)
    try:
        FALLS_DUE[timer.kind](call, timer)
    except Exception:
        log.exception("timer %s of %s failed: a defect of the sandbox", timer.kind, timer.subject)
        call.unit = world.store.begin()
        call.unit.cancel(timer.kind, timer.subject)
    call.unit.commit()

"""Control endpoints on schedules that close batches by themselves. Source: assumed B16."""

from typing import TYPE_CHECKING, TypedDict

from sandbox.control.rows import ControlFault, ControlRequest, invalid
from sandbox.domain.batches import DayCode, UnknownZone, batch_schedule
from sandbox.domain.clock import BATCH_CLOSES, Timer
from sandbox.domain.directory import Terminal
from sandbox.domain.instants import to_wire
from sandbox.platform.batches import schedules

if TYPE_CHECKING:
    from sandbox.control.shapes import BatchScheduleBody


class BatchScheduleView(TypedDict):
    """When the batches of a terminal close; `next` is the moment of the next time."""

    terminal_id: str
    times: list[str]
    days: list[DayCode]
    zone: str
    next: str


class BatchSchedules(TypedDict):
    """The terminals whose batches close by themselves."""

    schedules: list[BatchScheduleView]
    total: int


def list_all(request: ControlRequest) -> BatchSchedules:
    """The schedules of the world, in the order of its terminals."""
    store = request.world.store
    there = (id for id, one in store.all(Terminal).items() if one.deleted_at is None)
    timers = (store.timer(BATCH_CLOSES, id) for id in there)
    shown = [_view(timer) for timer in timers if timer is not None]
    return {"schedules": shown, "total": len(shown)}


def set_one(request: ControlRequest) -> BatchScheduleView:
    """Close the terminal's batches at these local times from now on."""
    body: BatchScheduleBody = request.body
    terminal_id, world = _terminal(request), request.world
    days = None if body.days is None else tuple(body.days)
    try:
        schedule = batch_schedule(tuple(body.times), days, body.zone)
    except UnknownZone as error:
        raise invalid(str(error), error.nearest) from None
    timer = schedules.timer_of(terminal_id, schedule, world.clock.now())
    unit = world.store.begin()
    unit.schedule(timer)
    unit.commit()
    return _view(timer)


def remove(request: ControlRequest) -> None:
    """Close the terminal's batches only when somebody asks for it."""
    unit = request.world.store.begin()
    unit.cancel(BATCH_CLOSES, _terminal(request))
    unit.commit()


def _terminal(request: ControlRequest) -> str:
    terminal = request.world.store.get(Terminal, request.params["id"])
    if terminal is None or terminal.deleted_at is not None:
        raise ControlFault(404, "not_found", "the world has no terminal with this id")
    return terminal.terminal_id


def _view(timer: Timer) -> BatchScheduleView:
    schedule = schedules.schedule_of(timer)
    return {
        "terminal_id": timer.subject,
        "times": list(schedule.times),
        "days": list(schedule.days),
        "zone": schedule.zone,
        "next": to_wire(timer.due),
    }

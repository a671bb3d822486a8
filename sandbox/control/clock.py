"""The clock of a world, its agenda, and maintenance.

The agenda lists what falls due, with the effect that it has as things are now. During maintenance,
every request to the platform is refused with 503.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from sandbox.control.context import ControlRequest, invalid, must_be_known
from sandbox.control.models import Body, DurationText, PageLimit, Query, Time, View, either
from sandbox.control.routing import WORLD, delete, get, post, put
from sandbox.domain import clock
from sandbox.domain.clock import LATEST, RATE_MAX, TIMER_KINDS, ClockSetting, Timer, WorldTime
from sandbox.domain.currencies import format_amount
from sandbox.domain.instants import MILLISECOND, Instant, parse_duration
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.text import expects
from sandbox.platform.context import OperationContext
from sandbox.platform.timers import TIMERS, SubjectKind
from sandbox.worlds.background import collect
from sandbox.worlds.due_timers import advance, catch_up
from sandbox.worlds.lifecycle import schedule_expiries
from sandbox.worlds.world import World


class ClockView(View):
    """A clock as the control API shows it."""

    now: str
    mode: clock.Mode
    rate: float


class ClockBody(Body, example={"mode": "frozen"}):
    """How to set a clock; omitted values stay."""

    now: WorldTime | None = None
    mode: clock.Mode | None = None
    rate: Annotated[float, Field(gt=0, le=RATE_MAX, allow_inf_nan=False)] | None = None


_NEXT_OR_INSTANT: Final = expects(
    "must be next, or an RFC 3339 date-time with an offset, like 2030-01-31T00:00:00Z"
)


class Advance(Body, example={"by": "3d"}):
    """How far to advance a clock: by a duration, to an instant, or to what falls due next.

    With `before` it stops just before that moment, so what falls due then does not happen yet.
    """

    by: DurationText | None = None
    to: Annotated[Literal["next"] | Instant, _NEXT_OR_INSTANT] | None = None
    before: bool = False
    _has_one = either("by", "to")

    def end(self, now: Instant, due: Instant | None) -> Instant:
        """Return the instant to advance to; `due` is when something falls due next.

        Raises ControlFault if there is none.
        """
        end = self.to if self.to != "next" else due and max(due, now)
        if self.to == "next" and end is None:
            raise invalid("to: nothing falls due in this world")
        with suppress(OverflowError):
            end = now + parse_duration(self.by) if self.by is not None else end
        if end is None or end > LATEST:
            raise invalid(f"the clock goes no further than the year {LATEST.year}")
        if end < now:
            raise invalid("to: a clock is never advanced to the past; PUT .../clock sets it back")
        return max(end - MILLISECOND, now) if self.before else end


class FiredTimer(View):
    """Something that fell due while a clock was advanced."""

    at: Time = Field(validation_alias="due")
    kind: str
    subject: str


class Advanced(View):
    """The new time of a clock, and the events on the way."""

    now: Time
    fired: list[FiredTimer]


@get(f"{WORLD}/clock", "clock.read")
def read_clock(request: ControlRequest) -> ClockView:
    """Read a world's clock."""
    return ClockView(**request.world.clock.view())


@put(f"{WORLD}/clock", "clock.set")
async def set_clock(request: ControlRequest, body: ClockBody) -> ClockView:
    """Set a world's clock.

    When it moves ahead, everything due on the way happens at its own time (assumed D23).
    """
    world, now, before = request.world, body.now, request.world.now()
    busy = world.busy
    if now is not None and now > world.clock.now():
        await advance(world, lambda: now)
    # Not if the world was reset meanwhile.
    if world.busy is busy:
        world.clock.set(ClockSetting(**vars(body)))
        # Those that were due before lie ahead again if it was set back.
        schedule_expiries(world, until=before)
    world.watched = None
    await catch_up(world)
    return read_clock(request)


@post(f"{WORLD}/clock/advance", "clock.advance")
async def advance_clock(request: ControlRequest, body: Advance) -> Advanced:
    """Advance a world's clock; everything due on the way happens."""
    world = request.world

    def find_end() -> Instant:
        soonest = world.store.timers.soonest
        return body.end(world.clock.now(), None if soonest is None else soonest.due)

    fired = await advance(world, find_end)
    return Advanced(now=world.clock.now(), fired=fired)


class AgendaQuery(Query):
    """Which entries of the agenda: of a kind, about one record, until an instant.

    `after` is the id of an entry; the list continues after it.
    """

    kind: str | None = None
    subject: str | None = None
    until: Instant | None = None
    limit: PageLimit = 100
    after: str | None = None


class Subject(View):
    """What something happens to: its kind, its id, and its name for people.

    A payment has its amount, in minor units, and its currency; otherwise both are null.
    """

    kind: SubjectKind
    id: str
    says: str
    amount: int | None
    currency: str | None


class NextState(View):
    """The state that it leads to."""

    status: str
    status_reason: str | None


class DueView(View):
    """Something that falls due. `then` is null if it changes no status."""

    id: str
    due: Time
    kind: str
    subject: Subject
    says: str
    then: NextState | None
    clause: str


class Agenda(View):
    """What falls due, the soonest first; `next` continues the list as `after`."""

    now: Time
    agenda: list[DueView]
    by_kind: dict[str, int]
    total: int
    next: str | None


@get(f"{WORLD}/agenda", "agenda.read")
async def list_agenda(request: ControlRequest, query: AgendaQuery) -> Agenda:
    """List the events that fall due in a world, with their effects.

    With `until` it is what an advance to that moment begins with. What follows from that, such as
    webhooks and their retries, is not listed.
    """
    world = request.world
    must_be_known("kind", query.kind, TIMER_KINDS)
    fitting = await collect(_select_timers(world, query))
    places = {None: 0} | {timer.id: place for place, timer in enumerate(fitting, start=1)}
    if (first := places.get(query.after)) is None:
        raise invalid("after: nothing with this id falls due now; begin without it")
    page = fitting[first : first + query.limit]
    return Agenda(
        now=world.now(),
        agenda=[view_timer(world, timer) for timer in page],
        by_kind=dict(Counter(timer.kind for timer in fitting).most_common()),
        total=len(fitting),
        next=page[-1].id if first + len(page) < len(fitting) else None,
    )


def _select_timers(world: World, query: AgendaQuery) -> Iterator[Timer]:
    for timer in world.store.timers.by_due():
        if query.until is not None and timer.due > query.until:
            return
        if query.kind in (None, timer.kind) and query.subject in (None, timer.subject):
            yield timer


def view_timer(world: World, timer: Timer) -> DueView:
    """Show something that falls due, and what it leads to as things are now."""
    kind, find_effect = TIMERS[timer.kind]
    effect = find_effect(OperationContext.of_world(world, timer.due), timer)
    payment = world.store.get(Payment, timer.subject)
    about: dict[str, Any] = {"says": effect.name, "amount": None, "currency": None}
    if payment is not None:
        tx = payment.transaction
        amount, currency = tx.total_amount, tx.currency
        says = f"{tx.history[0].transaction_type} of {format_amount(amount, currency)}"
        about = {"says": says, "amount": amount, "currency": currency}
    subject = Subject(kind=kind, id=timer.subject, **about)
    then = effect.then and NextState(status=effect.then[0], status_reason=effect.then[1])
    return DueView.of(timer, subject=subject, says=effect.says, then=then, clause=effect.clause)


# --- maintenance ------------------------------------------------------------------------------


class MaintenanceBody(Body, example={"lasts": "10m"}):
    """How long the maintenance lasts from now, on the world's clock."""

    lasts: DurationText


class Maintenance(View):
    """When the maintenance of the platform ends; null if there is none."""

    until: Time | None


@get(f"{WORLD}/maintenance", "maintenance.read")
def read_maintenance(request: ControlRequest) -> Maintenance:
    """Read when the maintenance of a world ends."""
    until = request.world.state.maintenance_until
    return Maintenance(until=None if until is None or until <= request.world.now() else until)


@put(f"{WORLD}/maintenance", "maintenance.begin")
def begin_maintenance(request: ControlRequest, body: MaintenanceBody) -> Maintenance:
    """Begin maintenance of a world, or change how long it lasts.

    Source: assumed 5.3-gateway.
    """
    lasts, now = parse_duration(body.lasts), request.world.now()
    if not lasts:
        raise invalid("lasts: a maintenance lasts longer than that; DELETE ends it")
    if lasts > LATEST - now:
        raise invalid(f"lasts: the clock goes no further than the year {LATEST.year}")
    request.world.put_state(maintenance_until=now + lasts)
    return read_maintenance(request)


@delete(f"{WORLD}/maintenance", "maintenance.end")
def end_maintenance(request: ControlRequest) -> None:
    """End the maintenance of a world. Without one, nothing changes."""
    request.world.put_state(maintenance_until=None)

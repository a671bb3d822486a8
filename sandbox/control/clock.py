"""The clock of a world, its agenda, and maintenance.

The agenda lists what falls due, and previews what the handlers in `sandbox.platform.timers` will
do. During maintenance, every request to the platform is refused with 503.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Annotated, Any, Final, Literal, NamedTuple

from pydantic import Field

from sandbox.control.context import ControlRequest, invalid, must_be_known
from sandbox.control.models import Body, DurationText, PageLimit, Query, Time, View, either
from sandbox.control.routing import WORLD, delete, get, post, put
from sandbox.domain import clock
from sandbox.domain.batches import BATCH_LIFE, TRIGGER_OF_ANSWER, Batch
from sandbox.domain.clock import LATEST, RATE_MAX, TIMER_KINDS, ClockSetting, Timer, WorldTime
from sandbox.domain.currencies import format_amount
from sandbox.domain.directory import TERMINALS
from sandbox.domain.events import Message
from sandbox.domain.instants import MILLISECOND, Instant, parse_duration
from sandbox.domain.keys import KEY_LIFE, ApiKey
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.payments.transitions import transitions_from
from sandbox.domain.text import expects
from sandbox.platform.context import OperationContext
from sandbox.platform.payments import late_answers
from sandbox.platform.settlement import coming_result, members_of
from sandbox.worlds.background import collect
from sandbox.worlds.due_timers import advance, catch_up
from sandbox.worlds.lifecycle import schedule_expiries
from sandbox.worlds.world import KINDS, World


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
        soonest = world.store.next_timer()
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


SubjectKind = Literal["payment", "batch", "key", "terminal", "delivery"]


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


class _Told(NamedTuple):
    """What a timer will do, by which clause, and the status and reason it leads to.

    `name` is the name of its subject for people, unless it is a payment.
    """

    says: str
    clause: str
    then: tuple[str, str | None] | None = None
    name: str = ""


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
    kind, tell = _TELLS[timer.kind]
    told, payment = tell(world, timer), world.store.get(Payment, timer.subject)
    about: dict[str, Any] = {"says": told.name, "amount": None, "currency": None}
    if payment is not None:
        tx = payment.transaction
        amount, currency = tx.total_amount, tx.currency
        says = f"{tx.history[0].transaction_type} of {format_amount(amount, currency)}"
        about = {"says": says, "amount": amount, "currency": currency}
    subject = Subject(kind=kind, id=timer.subject, **about)
    then = told.then and NextState(status=told.then[0], status_reason=told.then[1])
    return DueView.of(timer, subject=subject, says=told.says, then=then, clause=told.clause)


def _nothing(why: str, clause: str, name: str = "") -> _Told:
    return _Told(f"nothing happens: {why}", clause, name=name)


# --- payments ---------------------------------------------------------------------------------


def _ends(world: World, timer: Timer) -> _Told:
    """Describe how the timer's row ends a payment."""
    says, clause = _ENDS[timer.kind]
    payment = world.store.get(Payment, timer.subject)
    rows = transitions_from(timer.kind, payment.status) if payment else ()
    if not rows:
        return _too_late(payment, clause)
    return _Told(says, rows[0].source, (rows[0].next_status, rows[0].reason))


def _late_answer(world: World, timer: Timer) -> _Told:
    payment = world.store.get(Payment, timer.subject)
    if payment is None:
        return _too_late(payment, "assumed D24")
    outcome, _, event_id = timer.detail.partition(" ")
    context = OperationContext.of_world(world, timer.due)
    effect = late_answers.preview(context, payment, outcome, event_id)
    if effect is None:
        return _nothing(*late_answers.why_no_effect(context, payment, outcome))
    what = f" to the {effect.taken.trigger.replace('_', ' ')}" if event_id else ""
    says, after = f"the processor answers late{what}: {outcome}", effect.record
    return _Told(says, effect.taken.source, (after.status, after.transaction.status_reason))


def _too_late(payment: Payment | None, clause: str) -> _Told:
    now = f"{payment.status} by now" if payment else "gone"
    return _nothing(f"the payment is {now}", clause)


def _describe_batch(batch: Batch) -> str:
    return f"batch {batch.processor_batch_id} with {batch.transaction_count} entries"


def _batch_result(world: World, timer: Timer) -> _Told:
    batch = world.store.get(Batch, timer.subject)
    if batch is None or batch.status != "submitted":
        why = f"the batch is {batch.status} by now" if batch else "it is gone"
        return _nothing(why, "assumed D4")
    name, context = _describe_batch(batch), OperationContext.of_world(world, timer.due)
    result = coming_result(context, batch, timer.detail, members_of(context, batch))
    if result is None:
        return _Told("the processor gives no result", "assumed 6.2-settlement", name=name)
    step = BATCH_LIFE.step(batch.status, TRIGGER_OF_ANSWER[result.answer])
    says = f"the processor answers: {result.answer.replace('_', ' ')}"
    return _Told(says, step.source, (step.target, result.reason), name)


def _batch_closes(world: World, timer: Timer) -> _Told:
    found, _ = world.store.begin().find(Batch, {"open_at_terminal": timer.subject}, limit=1)
    if not found:
        return _nothing("no batch is open at the terminal", "assumed B16")
    says, then = "the batch closes on schedule", ("submitted", None)
    return _Told(says, "assumed B16", then, _describe_batch(found[0]))


# --- keys, terminals, webhooks ----------------------------------------------------------------


def _key_expires(world: World, timer: Timer) -> _Told:
    key = world.store.get(ApiKey, timer.subject)
    says = "the key expires: from then on its requests get 401"
    return _Told(says, "spec 3.1-expiry", name=key.name if key else "")


def _moves(world: World, timer: Timer) -> _Told:
    """Describe a change of a key or a terminal by a scenario."""
    trigger, _, kind = timer.kind.partition("_")
    life = KEY_LIFE if kind == "key" else TERMINALS.life
    record = world.store.get(KINDS[kind], timer.subject)
    if record is None:
        return _nothing("it is gone", "assumed D24")
    state = "deleted" if record.deleted_at is not None else record.status
    if not life.has_step(state, trigger):
        return _nothing(f"it is {state} by now", "assumed D24", record.name)
    step = life.step(state, trigger)
    return _Told(f"a scenario has it: {trigger}", step.source, (step.target, None), record.name)


def _retry(world: World, timer: Timer) -> _Told:
    delivery = world.outbox.delivery(timer.subject)
    if not delivery or not (message := world.store.get(Message, delivery.message_id)):
        return _nothing("the webhook is gone", "assumed 8.3-retry")
    says = f"the webhook is sent again, attempt {len(delivery.attempts) + 1}"
    name = f"{message.event_type} to {delivery.endpoint_id}"
    return _Told(says, "assumed 8.3-retry", name=name)


_ENDS: Final[Mapping[str, tuple[str, str]]] = {
    clock.AUTHORIZATION_EXPIRES: ("the authorization expires uncaptured", "assumed F21"),
    clock.SURCHARGE_EXPIRES: ("the surcharge prompt expired unanswered", "assumed F4"),
    clock.TAP_EXPIRES: ("no card was tapped in time", "assumed F9"),
    clock.HOLD_REVERSED: ("the host reverses an orphaned hold", "assumed F42"),
    clock.CANCEL: ("a scenario cancels the payment", "assumed F5"),
}
"""How each kind of timer ends a payment, and by which clause."""

_TELLS: Final[Mapping[str, tuple[SubjectKind, Callable[[World, Timer], _Told]]]] = {
    **dict.fromkeys(_ENDS, ("payment", _ends)),
    clock.LATE_ANSWER: ("payment", _late_answer),
    clock.BATCH_RESULT: ("batch", _batch_result),
    clock.BATCH_CLOSES: ("terminal", _batch_closes),
    clock.KEY_EXPIRES: ("key", _key_expires),
    **dict.fromkeys((clock.REVOKE_KEY, clock.REINSTATE_KEY), ("key", _moves)),
    **dict.fromkeys((clock.BLOCK_TERMINAL, clock.UNBLOCK_TERMINAL), ("terminal", _moves)),
    clock.WEBHOOK_RETRY: ("delivery", _retry),
}
"""For each kind of timer: the kind of its subject, and the function that describes it."""


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

"""The control endpoint on the agenda: what falls due in a world, and what each thing leads to.

The rules are those of the handlers in `sandbox.platform.timers`, read without a change.
"""

from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final, Literal, TypedDict

from msgspec import Struct

from sandbox.control.long import written_list
from sandbox.control.rows import ControlRequest, Written, invalid, must_be_known
from sandbox.domain.batches import BATCH_LIFE, TRIGGER_OF_ANSWER, Batch
from sandbox.domain.clock import (
    AUTHORIZATION_EXPIRES,
    BATCH_CLOSES,
    BATCH_RESULT,
    BLOCK_TERMINAL,
    CANCEL,
    HOLD_REVERSED,
    KEY_EXPIRES,
    LATE_ANSWER,
    REINSTATE_KEY,
    REVOKE_KEY,
    SURCHARGE_EXPIRES,
    TAP_EXPIRES,
    TIMER_KINDS,
    UNBLOCK_TERMINAL,
    WEBHOOK_RETRY,
    Timer,
)
from sandbox.domain.currencies import written
from sandbox.domain.directory import TERMINALS, Terminal
from sandbox.domain.directory import state_of as state_of_terminal
from sandbox.domain.instants import to_ms, to_wire
from sandbox.domain.keys import KEY_LIFE, ApiKey
from sandbox.domain.keys import state_of as state_of_key
from sandbox.domain.payments import follow_ups, initiation
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.payments.transitions import Transition, transitions_from
from sandbox.domain.states import Machine
from sandbox.platform.batches.operations import coming_result, members_of
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.timers import may_answer_late
from sandbox.store.steps import OFTEN, Steps
from sandbox.store.tables import in_scope
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import AgendaQuery

SubjectKind = Literal["payment", "batch", "key", "terminal", "delivery"]


class Subject(TypedDict):
    """What something happens to: its kind, its id, and how people know it.

    A payment has its amount in minor units, and its currency; for everything else both are null.
    """

    kind: SubjectKind
    id: str
    says: str
    amount: int | None
    currency: str | None


class NextState(TypedDict):
    """The state that it leads to."""

    status: str
    status_reason: str | None


class DueView(TypedDict):
    """Something that falls due. `then` is null if it changes no status."""

    id: str
    due: str
    kind: str
    subject: Subject
    says: str
    then: NextState | None
    clause: str


class Agenda(TypedDict):
    """What falls due, the soonest first; `next` continues the list as `after`."""

    now: str
    agenda: list[DueView]
    by_kind: dict[str, int]
    total: int
    next: str | None


class _Leads(Struct, frozen=True, gc=False):
    """What a timer leads to."""

    kind: SubjectKind
    name: str
    says: str
    clause: str
    then: tuple[str, str | None] | None = None
    payment: Transaction | None = None


_Tells = Callable[[World, Timer], _Leads]

_NOTHING: Final = "nothing happens: "


async def read(request: ControlRequest) -> Written[Agenda]:
    """What falls due in a world, in words.

    With `until` it is what an advance to that moment begins with. What comes of these things, such
    as the webhooks and their retries, is not in it.
    """
    query: AgendaQuery = request.query
    world, slices = request.world, request.services.worlds.slices
    must_be_known("kind", query.kind, TIMER_KINDS)
    fitting = await slices.run(_fitting(world, query))
    first = 0
    if query.after is not None:
        places = {timer.id: place for place, timer in enumerate(fitting, start=1)}
        if query.after not in places:
            raise invalid("after: nothing with this id falls due any more; begin without it")
        first = places[query.after]
    page = fitting[first : first + query.limit]
    answer = Agenda(
        now=to_wire(world.now()),
        agenda=[],
        by_kind=dict(Counter(timer.kind for timer in fitting).most_common()),
        total=len(fitting),
        next=page[-1].id if first + len(page) < len(fitting) else None,
    )
    return await slices.run(written_list(answer, "agenda", (view(world, timer) for timer in page)))


def _fitting(world: World, query: "AgendaQuery") -> Steps[list[Timer]]:
    found = []
    for place, (_, timer) in enumerate(world.store.timers.numbered()):
        if query.until is not None and timer.due > query.until:
            break
        if query.kind in (None, timer.kind) and query.subject in (None, timer.subject):
            found.append(timer)
        if not place % OFTEN:
            yield
    return found


def view(world: World, timer: Timer) -> DueView:
    """Something that falls due, and what it leads to as things are now."""
    leads = _TELLS[timer.kind](world, timer)
    then: NextState | None = None
    if leads.then is not None:
        then = {"status": leads.then[0], "status_reason": leads.then[1]}
    tx = leads.payment
    return {
        "id": timer.id,
        "due": to_wire(timer.due),
        "kind": timer.kind,
        "subject": {
            "kind": leads.kind,
            "id": timer.subject,
            "says": leads.name,
            "amount": None if tx is None else tx.amounts.total,
            "currency": None if tx is None else tx.origin.site.currency,
        },
        "says": leads.says,
        "then": then,
        "clause": leads.clause,
    }


# --- payments ---------------------------------------------------------------------------------


def _payment(tx: Transaction) -> str:
    return f"{tx.transaction_type} of {written(tx.amounts.total, tx.origin.site.currency)}"


def _ended(tx: Transaction, row: Transition, after: Transaction, says: str) -> _Leads:
    then = (after.status, after.status_reason)
    return _Leads("payment", _payment(tx), says, row.source, then, tx)


def _unless(tx: Transaction | None, clause: str) -> _Leads:
    """Nothing happens to the payment."""
    if tx is None:
        return _Leads("payment", "", _NOTHING + "the payment is gone", clause)
    says = f"{_NOTHING}the payment is {tx.status} by now"
    return _Leads("payment", _payment(tx), says, clause, payment=tx)


def _ends(says: str, clause: str) -> _Tells:
    """A payment ends by itself, as the row of the timer says."""

    def tell(world: World, timer: Timer) -> _Leads:
        tx = world.store.get(Transaction, timer.subject)
        rows = () if tx is None else transitions_from(timer.kind, tx.status)
        if tx is None or not rows:
            return _unless(tx, clause)
        after = follow_ups.expire(tx, rows[0], event_id=tx.event_id, at=to_ms(timer.due)).record
        return _ended(tx, rows[0], after, says)

    return tell


def _late_answer(world: World, timer: Timer) -> _Leads:
    tx = world.store.get(Transaction, timer.subject)
    outcome = OUTCOMES[timer.detail]
    if tx is None or not may_answer_late(tx, outcome):
        return _unless(tx, "assumed D24")
    start = initiation.answered_late(tx, outcome)
    row = initiation.transition_for(start)
    after = initiation.conclude(start, row, at=to_ms(timer.due)).record
    return _ended(tx, row, after, f"the processor answers late: {outcome.key}")


def _batch(world: World, timer: Timer) -> _Leads:
    unit = world.store.begin()
    batch = unit.get(Batch, timer.subject)
    if batch is None or batch.status != "submitted":
        why = "it is gone" if batch is None else f"the batch is {batch.status} by now"
        return _Leads("batch", "", _NOTHING + why, "assumed D4")
    name = f"batch {batch.processor_batch_id} with {batch.transaction_count} entries"
    context = OperationContext(world=world, unit=unit, now=timer.due, request_id=None)
    result = coming_result(context, batch, timer.detail, members_of(context, batch))
    if result is None:
        return _Leads("batch", name, "the processor gives no result", "assumed 6.2-settlement")
    step = BATCH_LIFE.step(batch.status, TRIGGER_OF_ANSWER[result.answer])
    says = f"the processor answers: {result.answer.replace('_', ' ')}"
    return _Leads("batch", name, says, step.source, (step.target, result.reason))


def _batch_closes(world: World, timer: Timer) -> _Leads:
    where = {"terminal_status": in_scope(timer.subject, "open")}
    found, _ = world.store.begin().find(Batch, where, limit=1)
    if not found:
        return _Leads("terminal", "", _NOTHING + "no batch is open at the terminal", "assumed B16")
    (batch,) = found
    name = f"batch {batch.processor_batch_id} with {batch.transaction_count} entries"
    says = "the batch closes on schedule"
    return _Leads("batch", name, says, "assumed B16", ("submitted", None))


# --- keys, terminals, webhooks ----------------------------------------------------------------


def _key_expires(world: World, timer: Timer) -> _Leads:
    key = world.store.get(ApiKey, timer.subject)
    says = "the key expires: from then on its requests get 401"
    return _Leads("key", "" if key is None else key.name, says, "spec 3.1-expiry")


def _moved(machine: Machine, trigger: str, state: str | None) -> tuple[str, str, str | None]:
    """What is said, the clause, and the state that the step leads to."""
    if state is None or not machine.has_step(state, trigger):
        why = "it is gone" if state is None else f"it is {state} by now"
        return _NOTHING + why, "assumed D24", None
    step = machine.step(state, trigger)
    return f"a scenario has it: {trigger}", step.source, step.target


def _key(trigger: str) -> _Tells:
    def tell(world: World, timer: Timer) -> _Leads:
        key = world.store.get(ApiKey, timer.subject)
        says, clause, to = _moved(KEY_LIFE, trigger, None if key is None else state_of_key(key))
        then = None if to is None else (to, None)
        return _Leads("key", "" if key is None else key.name, says, clause, then)

    return tell


def _terminal(trigger: str) -> _Tells:
    def tell(world: World, timer: Timer) -> _Leads:
        one = world.store.get(Terminal, timer.subject)
        state = None if one is None else state_of_terminal(one)
        says, clause, to = _moved(TERMINALS.life, trigger, state)
        then = None if to is None else (to, None)
        return _Leads("terminal", "" if one is None else one.name, says, clause, then)

    return tell


def _retry(world: World, timer: Timer) -> _Leads:
    delivery = world.outbox.delivery(timer.subject)
    message = None if delivery is None else world.store.message(delivery.message_id)
    if delivery is None or message is None:
        return _Leads("delivery", "", _NOTHING + "the webhook is gone", "assumed 8.3-retry")
    name = f"{message.event_type} to {delivery.endpoint_id}"
    says = f"the webhook is sent again, attempt {len(delivery.attempts) + 1}"
    return _Leads("delivery", name, says, "assumed 8.3-retry")


_TELLS: Final[Mapping[str, _Tells]] = {
    AUTHORIZATION_EXPIRES: _ends("the authorization expires uncaptured", "assumed F21"),
    SURCHARGE_EXPIRES: _ends("nobody answered the surcharge prompt", "assumed F4"),
    TAP_EXPIRES: _ends("nobody tapped a card", "assumed F9"),
    HOLD_REVERSED: _ends("the host reverses a hold that nobody knows of", "assumed F42"),
    CANCEL: _ends("a scenario cancels the payment", "assumed F5"),
    LATE_ANSWER: _late_answer,
    BATCH_RESULT: _batch,
    BATCH_CLOSES: _batch_closes,
    KEY_EXPIRES: _key_expires,
    REVOKE_KEY: _key("revoke"),
    REINSTATE_KEY: _key("reinstate"),
    BLOCK_TERMINAL: _terminal("block"),
    UNBLOCK_TERMINAL: _terminal("unblock"),
    WEBHOOK_RETRY: _retry,
}
"""How each kind of timer is told."""

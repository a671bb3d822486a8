"""What timers do: deadlines, batch results, follow-ups of scenarios.

Each kind of timer has one function, which finds the effect that the timer has as things are now.
The agenda shows the effect, and `carry_out` carries it out once the timer is due.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain import clock
from sandbox.domain.batches import BATCH_LIFE, TRIGGER_OF_ANSWER, Batch
from sandbox.domain.clock import Timer
from sandbox.domain.directory import TERMINALS
from sandbox.domain.events import Message
from sandbox.domain.keys import KEY_LIFE, ApiKey
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.payments.transitions import Transition, release, transitions_from
from sandbox.platform import apikeys, directory, settlement
from sandbox.platform.context import OperationContext
from sandbox.platform.payments import attempts, conclusions, late_answers
from sandbox.store.store import UnitOfWork
from sandbox.worlds.world import KINDS, World

SubjectKind = Literal["payment", "batch", "key", "terminal", "delivery"]


class Effect(Struct, frozen=True):
    """What a timer does, by which clause, and the status and reason that it leads to.

    `name` is the name of its subject for people, unless it is a payment. `do` carries it out; it is
    None if no record changes, or if the outbox does it.
    """

    says: str
    clause: str
    then: tuple[str, str | None] | None = None
    name: str = ""
    do: Callable[[], object] | None = None


FindEffect = Callable[[OperationContext, Timer], Effect]
"""The time of the context is the moment at which the timer is due."""


def _nothing(why: str, clause: str, name: str = "") -> Effect:
    return Effect(f"nothing happens: {why}", clause, name=name)


# --- payments ---------------------------------------------------------------------------------


def _end(context: OperationContext, timer: Timer) -> Effect:
    """End a payment by the row of this timer, unless its status has changed."""
    says, clause = _ENDS[timer.kind]
    payment = context.unit.get(Payment, timer.subject)
    if payment is None or not (rows := transitions_from(timer.kind, payment.status)):
        return _too_late(payment, clause)
    then, do = (rows[0].next_status, rows[0].reason), partial(_release, context, payment, rows[0])
    return Effect(says, rows[0].source, then, do=do)


def _release(context: OperationContext, payment: Payment, row: Transition) -> None:
    # A pending payment and its expiry are one attempt (assumed D11).
    event_id = payment.transaction.event_id
    if payment.status != "pending":
        event_id = attempts.new_event_id(context, payment.account_id)
    # The history shows the moment at which the timer was due (assumed 8.1).
    conclusion = release(payment, row, event_id=event_id, at=context.now_ms)
    conclusions.save(context, conclusion, payment)


def _answer_late(context: OperationContext, timer: Timer) -> Effect:
    """Give the late answer of a processor, if the attempt still waits for it.

    Source: assumed D24.
    """
    payment = context.unit.get(Payment, timer.subject)
    if payment is None:
        return _too_late(payment, "assumed D24")
    outcome, _, event_id = timer.detail.partition(" ")
    conclusion = late_answers.preview(context, payment, outcome, event_id)
    if conclusion is None:
        return _nothing(*late_answers.why_no_effect(context, payment, outcome))
    taken, after = conclusion.taken, conclusion.record
    what = f" to the {taken.trigger.replace('_', ' ')}" if event_id else ""
    then = (after.status, after.transaction.status_reason)
    do = partial(late_answers.answer, context, payment, outcome, event_id)
    return Effect(f"the processor answers late{what}: {outcome}", taken.source, then, do=do)


def _too_late(payment: Payment | None, clause: str) -> Effect:
    now = f"{payment.status} by now" if payment else "gone"
    return _nothing(f"the payment is {now}", clause)


# --- batches ----------------------------------------------------------------------------------


def _answer_batch(context: OperationContext, timer: Timer) -> Effect:
    """Answer as the processor: by a scenario's plan, or else by the members' amounts.

    Source: assumed 6.2-settlement, D4.
    """
    batch = context.unit.get(Batch, timer.subject)
    if batch is None or batch.status != "submitted":
        why = f"the batch is {batch.status} by now" if batch else "it is gone"
        return _nothing(why, "assumed D4")
    name, members = _describe_batch(batch), settlement.members_of(context, batch)
    result = settlement.coming_result(context, batch, timer.detail, members)
    if result is None:
        return Effect("the processor gives no result", "assumed 6.2-settlement", name=name)
    step = BATCH_LIFE.step(batch.status, TRIGGER_OF_ANSWER[result.answer])
    says = f"the processor answers: {result.answer.replace('_', ' ')}"
    do = partial(settlement.answer, context, batch, result, members)
    return Effect(says, step.source, (step.target, result.reason), name, do)


def _close_batch(context: OperationContext, timer: Timer) -> Effect:
    """Close the terminal's open batch, if any, and schedule the next time."""
    clause, do = "assumed B16", partial(settlement.close_when_due, context, timer)
    batch = settlement.open_batch_of(context, timer.subject)
    if batch is None:
        return Effect("nothing happens: no batch is open at the terminal", clause, do=do)
    then, name = ("submitted", None), _describe_batch(batch)
    return Effect("the batch closes on schedule", clause, then, name, do)


def _describe_batch(batch: Batch) -> str:
    return f"batch {batch.processor_batch_id} with {batch.transaction_count} entries"


# --- keys, terminals, webhooks ----------------------------------------------------------------


def _expire(context: OperationContext, timer: Timer) -> Effect:
    """Let a key expire: it only stops authenticating, and its record stays the same."""
    key = context.unit.get(ApiKey, timer.subject)
    says = "the key expires: from then on its requests get 401"
    return Effect(says, "spec 3.1-expiry", name=key.name if key else "")


def _move(context: OperationContext, timer: Timer) -> Effect:
    """Change a key or a terminal as a scenario has it."""
    trigger, _, kind = timer.kind.partition("_")
    life = KEY_LIFE if kind == "key" else TERMINALS.life
    record = context.unit.get(KINDS[kind], timer.subject)
    if record is None:
        return _nothing("it is gone", "assumed D24")
    state = "deleted" if record.deleted_at is not None else record.status
    if not life.has_step(state, trigger):
        return _nothing(f"it is {state} by now", "assumed D24", record.name)
    step, says = life.step(state, trigger), f"a scenario {trigger}s it"
    do: Callable[[], object] = partial(directory.change, context, record, {}, trigger)
    if kind == "key":
        do = partial(apikeys.move, context, record, trigger)
    return Effect(says, step.source, (step.target, None), record.name, do)


def _retry(context: OperationContext, timer: Timer) -> Effect:
    """Send a webhook again."""
    delivery = context.world.outbox.delivery(timer.subject)
    if not delivery or not (message := context.unit.get(Message, delivery.message_id)):
        return _nothing("the webhook is gone", "assumed 8.3-retry")
    says = f"the webhook is sent again, attempt {len(delivery.attempts) + 1}"
    name = f"{message.event_type} to {delivery.endpoint_id}"
    return Effect(says, "assumed 8.3-retry", name=name)


_ENDS: Final[Mapping[str, tuple[str, str]]] = {
    clock.AUTHORIZATION_EXPIRES: ("the authorization expires uncaptured", "assumed F21"),
    clock.SURCHARGE_EXPIRES: ("the surcharge prompt expires unanswered", "assumed F4"),
    clock.TAP_EXPIRES: ("no card was tapped in time", "assumed F9"),
    clock.HOLD_REVERSED: ("the host reverses an orphaned hold", "assumed F42"),
    clock.CANCEL: ("a scenario cancels the payment", "assumed F5"),
}
"""How each kind of timer ends a payment, and by which clause."""

TIMERS: Final[Mapping[str, tuple[SubjectKind, FindEffect]]] = {
    **dict.fromkeys(_ENDS, ("payment", _end)),
    clock.LATE_ANSWER: ("payment", _answer_late),
    clock.BATCH_RESULT: ("batch", _answer_batch),
    clock.BATCH_CLOSES: ("terminal", _close_batch),
    clock.KEY_EXPIRES: ("key", _expire),
    **dict.fromkeys((clock.REVOKE_KEY, clock.REINSTATE_KEY), ("key", _move)),
    **dict.fromkeys((clock.BLOCK_TERMINAL, clock.UNBLOCK_TERMINAL), ("terminal", _move)),
    clock.WEBHOOK_RETRY: ("delivery", _retry),
}
"""For each kind of timer: the kind of its subject, and the function that finds its effect."""


def carry_out(world: World, unit: UnitOfWork, timer: Timer) -> None:
    """Carry out the effect of a timer in the unit of work, as of the moment at which it was due."""
    waiting = world.tap_desk.get(timer.subject)
    if waiting and timer.kind == clock.LATE_ANSWER:
        # A processor cannot answer before a card is read (assumed D29).
        unit.schedule(replace(timer, due=waiting.tap.until))
        return
    # A payment that waits for its tap still belongs to its request.
    request_id = waiting.request_id if waiting else None
    context = OperationContext(world=world, unit=unit, now=timer.due, request_id=request_id)
    _, find_effect = TIMERS[timer.kind]
    effect = find_effect(context, timer)
    if effect.do is not None:
        effect.do()
    if waiting:
        waiting.events += context.events

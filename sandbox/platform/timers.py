"""Handlers of due timers: deadlines, batch results, follow-ups of scenarios."""

from collections.abc import Callable, Mapping
from typing import Final

from msgspec.structs import replace

from sandbox.domain import clock
from sandbox.domain.clock import Timer
from sandbox.domain.directory import TERMINALS, Terminal
from sandbox.domain.directory import state_of as state_of_terminal
from sandbox.domain.keys import KEY_LIFE, ApiKey
from sandbox.domain.keys import state_of as state_of_key
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.payments.transitions import release, transitions_from
from sandbox.platform import apikeys, directory, settlement
from sandbox.platform.context import OperationContext
from sandbox.platform.payments import attempts, conclusions, late_answers
from sandbox.store.store import UnitOfWork
from sandbox.worlds.world import World

FallsDue = Callable[[OperationContext, Timer], None]
"""A timer handler. The time of its context is the moment at which the timer was due."""

# --- payments ---------------------------------------------------------------------------------


def _end(context: OperationContext, timer: Timer) -> None:
    """End a payment by the row of this timer, unless its status has changed."""
    payment = context.unit.get(Payment, timer.subject)
    if payment is None or not (rows := transitions_from(timer.kind, payment.status)):
        return
    # A pending payment and its expiry are one attempt (assumed D11).
    event_id = payment.transaction.event_id
    if payment.status != "pending":
        event_id = attempts.new_event_id(context, payment.account_id)
    # The history shows the moment at which the timer was due (assumed 8.1).
    conclusion = release(payment, rows[0], event_id=event_id, at=context.now_ms)
    conclusions.save(context, conclusion, payment)


def _late_answer(context: OperationContext, timer: Timer) -> None:
    """Give the late answer of a processor, if the attempt still waits for it.

    Source: assumed D24.
    """
    payment = context.unit.get(Payment, timer.subject)
    if payment is not None:
        outcome, _, event_id = timer.detail.partition(" ")
        late_answers.answer(context, payment, outcome, event_id)


# --- keys and terminals -----------------------------------------------------------------------


def _move_key(context: OperationContext, timer: Timer) -> None:
    key, trigger = context.unit.get(ApiKey, timer.subject), timer.kind.removesuffix("_key")
    if key is not None and KEY_LIFE.has_step(state_of_key(key), trigger):
        apikeys.move(context, key, trigger)


def _move_terminal(context: OperationContext, timer: Timer) -> None:
    terminal = context.unit.get(Terminal, timer.subject)
    trigger = timer.kind.removesuffix("_terminal")
    if terminal is not None and TERMINALS.life.has_step(state_of_terminal(terminal), trigger):
        directory.change(context, terminal, {}, trigger)


def _nothing(context: OperationContext, timer: Timer) -> None:
    """Do nothing: an expired key only stops authenticating; its record stays the same."""


TIMER_HANDLERS: Final[Mapping[str, FallsDue]] = {
    clock.AUTHORIZATION_EXPIRES: _end,
    clock.SURCHARGE_EXPIRES: _end,
    clock.TAP_EXPIRES: _end,
    clock.HOLD_REVERSED: _end,
    clock.CANCEL: _end,
    clock.LATE_ANSWER: _late_answer,
    clock.BATCH_RESULT: settlement.answer_when_due,
    clock.BATCH_CLOSES: settlement.close_when_due,
    clock.KEY_EXPIRES: _nothing,
    clock.REVOKE_KEY: _move_key,
    clock.REINSTATE_KEY: _move_key,
    clock.BLOCK_TERMINAL: _move_terminal,
    clock.UNBLOCK_TERMINAL: _move_terminal,
}
"""The handler of each kind of timer."""


def carry_out(world: World, unit: UnitOfWork, timer: Timer) -> None:
    """Handle the timer in the unit of work, at the moment at which it was due."""
    waiting = world.tap_desk.get(timer.subject)
    if waiting and timer.kind == clock.LATE_ANSWER:
        # A processor cannot answer before a card is read (assumed D29).
        unit.schedule(replace(timer, due=waiting.tap.until))
        return
    # A payment that waits for its tap still belongs to its request.
    request_id = waiting.request_id if waiting else None
    context = OperationContext(world=world, unit=unit, now=timer.due, request_id=request_id)
    TIMER_HANDLERS[timer.kind](context, timer)
    if waiting:
        waiting.events += context.events

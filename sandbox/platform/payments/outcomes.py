"""The outcome of an attempt: its choice, noted for the journal, and its follow-ups."""

from collections.abc import Callable, Iterable
from typing import Any

from sandbox.domain.faults import Refusal
from sandbox.domain.payments.cards import Card
from sandbox.domain.payments.outcomes import LOST_AS_DECLINED, Operation, Outcome
from sandbox.domain.payments.taps import Tapped
from sandbox.domain.payments.transactions import Transaction, TransactionSite
from sandbox.domain.payments.transport import TransportFault
from sandbox.domain.readings.payments import LOST_CARDS
from sandbox.domain.timers import (
    BLOCK_TERMINAL,
    LATE_ANSWER,
    REINSTATE_KEY,
    REVOKE_KEY,
    SURCHARGE_EXPIRES,
    UNBLOCK_TERMINAL,
    Timer,
)
from sandbox.platform.context import OperationContext
from sandbox.scenarios.matcher import Words
from sandbox.scenarios.outcome_choice import AttemptFacts, ChosenOutcome, choose, choose_at_tap
from sandbox.scenarios.rules import FollowUp


class Dropped(Exception):
    """The connection is closed without an answer, before anything was done."""


def decide(
    context: OperationContext,
    operation: Operation,
    *,
    amount: int | None,
    card: Card,
    terminal_id: str,
    more: Callable[[], Words],
    armed: tuple[Operation, str, int] | None = None,
) -> ChosenOutcome:
    """Choose the outcome, and note for the journal why. A fault that comes first is raised.

    `more` gives further facts for scenarios.

    Raises Refusal for an HTTP fault, and Dropped for a connection that is cut, with nothing done
    (assumed 5.3).
    """
    world = context.world
    facts = AttemptFacts(
        operation,
        amount,
        card,
        terminal_id,
        context.forced,
        world.terminal_outcomes.get(terminal_id),
        armed,
        world.switches["triggers.enabled"],
        world.scenario,
        more,
    )
    choice = context.choice = _as_read(context, choose(facts, context.world.queue))
    if choice.source != "default":
        context.decided("outcome", choice.key, choice.by, "assumed D4")
    if choice.fault is not None and choice.fault.when == "before":
        _fail_before(choice.fault)
    return choice


def _as_read(context: OperationContext, choice: ChosenOutcome) -> ChosenOutcome:
    """The choice, with the reason that the world's reading gives lost cards (D35-lost)."""
    if (
        choice.outcome.status_reason == "invalid_card"
        and context.world.readings[LOST_CARDS] == "declined"
    ):
        return choice.but(
            outcome=LOST_AS_DECLINED.get(choice.outcome.key, choice.outcome),
        )
    return choice


def decide_at_tap(
    context: OperationContext,
    waiting: ChosenOutcome,
    operation: Operation,
    amount: int,
    tapped: Tapped,
    terminal_id: str,
) -> ChosenOutcome:
    """The outcome of the attempt after a tap, a cancellation or an outcome at the tap desk."""
    if tapped.outcome is not None:
        choice = _as_read(context, waiting.but(outcome=tapped.outcome))
        why = "at the tap desk"
    else:
        assert tapped.card
        facts = AttemptFacts(
            operation=operation,
            amount=amount,
            card=tapped.card,
            terminal_id=terminal_id,
            terminal_outcome=context.world.terminal_outcomes.get(terminal_id),
            heeds_amounts=context.world.switches["triggers.enabled"],
        )
        choice = _as_read(context, choose_at_tap(facts, waiting))
        why = f"{tapped.card.token} was tapped"
    context.choice = choice
    context.decided("outcome", choice.key, f"{why}; {choice.by}", "assumed D24")
    return choice


def words_of(context: OperationContext, site: TransactionSite, **more: Any) -> Words:
    """The facts of every attempt that the rules of a scenario can use."""
    return {
        "currency": site.currency,
        "location": site.location_id,
        "account": site.account_id,
        "key": context.known_caller.key.id,
        "processor": site.processor,
        **more,
    }


def _fail_before(fault: TransportFault) -> None:
    if fault.answer is None:
        raise Dropped(fault.key)
    raise Refusal(fault.answer, reason=f"{fault.key} was requested", step="outcome")


def repeated(context: OperationContext, outcome: Outcome, sent: str | None) -> ChosenOutcome:
    """The choice for an attempt whose event_id was used before. Source: assumed D35-duplicate."""
    choice = context.choice = ChosenOutcome(outcome, "rule", f"{sent} was used before")
    context.decided("outcome", choice.key, choice.rule, "assumed D35-duplicate")
    return choice


def delay_ms(context: OperationContext, choice: ChosenOutcome) -> int:
    """The real time that the answer takes: the scripted delay, and the scaled latency."""
    # A slow answer is late on its way back, when all is done.
    is_slow_only = choice.fault is not None and choice.fault.key == "slow"
    scale: float = context.world.switches["latency.scale"]
    return (0 if is_slow_only else choice.delay_ms) + round(choice.outcome.latency_ms * scale)


# --- follow-ups ---

_ABOUT_KEY = (REVOKE_KEY, REINSTATE_KEY)
_ABOUT_TERMINAL = (BLOCK_TERMINAL, UNBLOCK_TERMINAL)


def follow_meanwhile(context: OperationContext, choice: ChosenOutcome, tx: Transaction) -> None:
    """Schedule what happens while a payment waits for its tap, counted from its beginning."""
    schedule_follow_ups(
        context,
        [one for one in choice.follow if one.do != LATE_ANSWER],
        terminal_id=tx.origin.site.terminal_id,
        payment=tx.transaction_id,
    )


def follow_outcome(
    context: OperationContext, choice: ChosenOutcome, tx: Transaction, *, was_tapped: bool = False
) -> None:
    """Schedule the follow-ups with the outcome, from which they are counted. Source: assumed D39.

    Those of a payment that waited for its tap are there already, but for a late answer.
    """
    schedule_follow_ups(
        context,
        [one for one in choice.follow if not was_tapped or one.do == LATE_ANSWER],
        terminal_id=tx.origin.site.terminal_id,
        payment=tx.transaction_id,
    )


def schedule_follow_ups(
    context: OperationContext, follow: Iterable[FollowUp], *, terminal_id: str, payment: str = ""
) -> None:
    """Schedule follow-ups of a scenario from now on. Source: assumed D24.

    The expiry of a prompt is set with the prompt (see `persist`).
    """
    for number, one in enumerate(follow):
        if one.do == SURCHARGE_EXPIRES:
            continue
        subject = payment
        if one.do in _ABOUT_KEY:
            if context.caller is None:
                # A batch that closes on schedule is closed by no key (assumed B16).
                continue
            subject = context.known_caller.key.id
        elif one.do in _ABOUT_TERMINAL:
            subject = terminal_id
        context.unit.schedule(
            Timer(
                kind=one.do,
                subject=subject,
                due=context.now + one.wait,
                tag=f"{context.request_id}/{number}",
                detail=one.outcome or "",
            )
        )

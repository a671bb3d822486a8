"""The outcome of an attempt: its choice, noted for the journal, and what follows it."""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from sandbox.domain.clock import (
    BLOCK_TERMINAL,
    LATE_ANSWER,
    REINSTATE_KEY,
    REVOKE_KEY,
    SURCHARGE_EXPIRES,
    UNBLOCK_TERMINAL,
    Timer,
)
from sandbox.domain.payments.cards import Card, Tapped
from sandbox.domain.payments.outcomes import LOST_AS_DECLINED, Operation, Outcome
from sandbox.domain.payments.transactions import Payment, Transaction
from sandbox.domain.readings import LOST_CARDS
from sandbox.platform.context import OperationContext, RequestContext
from sandbox.platform.gateway import let_happen, request_words
from sandbox.platform.payments.points_of_sale import KnownPlace
from sandbox.scenarios.matcher import Words
from sandbox.scenarios.outcome_choice import AttemptFacts, ChosenOutcome, choose, choose_at_tap
from sandbox.scenarios.rules import FollowUp


def decide(
    context: RequestContext,
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
        world.state.terminal_outcomes.get(terminal_id),
        armed,
        world.switches["triggers.enabled"],
        world.scenario,
        more,
    )
    choice = context.choice = _as_read(context, choose(facts, context.world.queue))
    if choice.source != "default":
        context.explain("outcome", choice.key, choice.by, "assumed D4")
    let_happen(context, choice)
    return choice


def _as_read(context: OperationContext, choice: ChosenOutcome) -> ChosenOutcome:
    """Return the choice, with the reason that the world's reading gives lost cards (D35-lost)."""
    if (
        choice.outcome.status_reason == "invalid_card"
        and context.world.readings[LOST_CARDS] == "declined"
    ):
        return replace(
            choice,
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
    """Decide the outcome of the attempt by what came of the tap desk.

    That is a tap, a cancellation or an outcome.
    """
    if tapped.outcome is not None:
        choice = _as_read(context, replace(waiting, outcome=tapped.outcome))
        why = "at the tap desk"
    else:
        assert tapped.card
        facts = AttemptFacts(
            operation=operation,
            amount=amount,
            card=tapped.card,
            terminal_id=terminal_id,
            terminal_outcome=context.world.state.terminal_outcomes.get(terminal_id),
            should_heed_amounts=context.world.switches["triggers.enabled"],
        )
        choice = _as_read(context, choose_at_tap(facts, waiting))
        why = f"{tapped.card.token} was tapped"
    context.choice = choice
    context.explain("outcome", choice.key, f"{why}; {choice.by}", "assumed D24")
    return choice


def words_of(context: RequestContext, place: KnownPlace | Transaction, **more: Any) -> Words:
    """Return the facts of every attempt that the rules of a scenario can use."""
    return {
        **request_words(context),
        "currency": place.currency,
        "location": place.location_id,
        "account": place.account_id,
        "processor": place.processor,
        **more,
    }


def choose_repeated(context: OperationContext, outcome: Outcome, sent: str | None) -> ChosenOutcome:
    """Return the choice for an attempt whose event_id was used before.

    Source: assumed D35-duplicate.
    """
    choice = context.choice = ChosenOutcome(outcome, "rule", f"{sent} was used before")
    context.explain("outcome", choice.key, choice.rule, "assumed D35-duplicate")
    return choice


# --- follow-ups of a scenario -------------------------------------------------------------------

_ABOUT_KEY = (REVOKE_KEY, REINSTATE_KEY)
_ABOUT_TERMINAL = (BLOCK_TERMINAL, UNBLOCK_TERMINAL)


def follow_outcome(
    context: OperationContext,
    choice: ChosenOutcome,
    payment: Payment,
    *,
    is_late: bool | None = None,
    event_id: str = "",
) -> None:
    """Schedule the follow-ups of a payment, from now on. Source: assumed D39.

    With `is_late` those are meant that are late answers, or those that are not: while a payment
    waits for its tap, they are counted from its beginning, but for a late answer. That of an action
    names its `event_id`.
    """
    schedule_follow_ups(
        context,
        [one for one in choice.follow if is_late in (None, one.do == LATE_ANSWER)],
        terminal_id=payment.transaction.tid,
        payment=payment.id,
        event_id=event_id,
    )


def schedule_follow_ups(
    context: OperationContext,
    follow: Iterable[FollowUp],
    *,
    terminal_id: str,
    payment: str = "",
    event_id: str = "",
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
                detail=f"{one.outcome or ''} {event_id}".strip(),
            )
        )

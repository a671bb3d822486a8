"""An attempt at a payment: its event_id, its outcome, and its follow-ups.

A repeated event_id gets the earlier answer. Source: assumed 7.1, 2.6, F38.
"""

from collections.abc import Callable, Iterable
from typing import Any

from msgspec.structs import replace

from sandbox.domain import clock
from sandbox.domain.faults import DUPLICATE_EVENT, Refusal
from sandbox.domain.payments.action_plans import ActionRequest
from sandbox.domain.payments.action_records import record_with
from sandbox.domain.payments.amounts import percent_of
from sandbox.domain.payments.cards import Card, Tapped
from sandbox.domain.payments.outcomes import (
    INITIATING,
    LOST_AS_DECLINED,
    OUTCOMES,
    Operation,
    Outcome,
)
from sandbox.domain.payments.transactions import Attempt, Payment, Transaction
from sandbox.platform.context import OperationContext, RequestContext
from sandbox.platform.gateway import let_happen, request_words
from sandbox.platform.payments.points_of_sale import KnownPlace
from sandbox.scenarios.matcher import Words
from sandbox.scenarios.outcome_choice import AttemptFacts, ChosenOutcome, choose, choose_at_tap
from sandbox.scenarios.rules import FollowUp
from sandbox.store.tables import event_claim


def new_event_id(context: OperationContext, account_id: str) -> str:
    """Return an event_id in capitals that no attempt of the merchant has (assumed 7.1, 2.6).

    A reset world generates the same ids again, so a client may have sent the next one already.
    """
    while True:
        event_id = context.world.draws.uuid().upper()
        used = event_claim(account_id, event_id)
        is_taken = used in context.world.taken_events
        if not is_taken and context.unit.one(Payment, "used_event", used) is None:
            return event_id


def earlier_use(
    context: OperationContext,
    account_id: str,
    sent: str | None,
    asked: ActionRequest,
    acted_on: str | None = None,
) -> Payment | Outcome | None:
    """Return the transaction to answer again if this event_id was used before.

    Returns None if the event_id is new, or an outcome if a repetition counts as an attempt. Any
    other repetition is refused without an event, before the state is checked (assumed F38, 2.6).
    The reading duplicate_event_id decides. `acted_on` is the id of the payment to act on, None for
    an initiation.
    """
    if sent is None:
        return None
    used = event_claim(account_id, sent)
    payment = context.unit.one(Payment, "used_event", used)
    if payment is None and used not in context.world.taken_events:
        return None
    reading = context.world.readings["duplicate_event_id"]
    if (
        payment is not None
        and reading == "replay"
        and acted_on in (None, payment.id)
        and _is_same(payment, sent, asked, begins=acted_on is None)
    ):
        context.explain("rule", "replay", f"{payment.id} is answered again", "assumed 2.6")
        return record_with(payment, sent)
    if reading == "failed_attempt":
        return OUTCOMES["duplicate_event"]
    user = payment.id if payment is not None else context.world.taken_events[used]
    raise Refusal(DUPLICATE_EVENT, f"event_id was used by transaction {user}", step="rule")


def _is_same(payment: Payment, event_id: str, asked: ActionRequest, *, begins: bool) -> bool:
    """Whether the event_id belongs to this operation with this amount.

    The event_id of the initiation belongs to the first attempt, and to no action on the payment.
    """
    shown = "sale" if asked.operation is Operation.CONFIRM else asked.operation.value
    return begins == (payment.history[0].event_id == event_id) and any(
        attempt.event_id == event_id
        and attempt.transaction_type == shown
        and _has_amount(attempt, asked)
        for attempt in payment.history
    )


def _has_amount(attempt: Attempt, asked: ActionRequest) -> bool:
    """Whether the attempt is for this amount; without one, all that there was.

    The platform may have added a tax or a surcharge to what an initiation asked for, and a
    surcharge to a breakdown that states it as a percentage.
    """
    if asked.operation is Operation.CONFIRM:
        # Only the cardholder's refusal is for the total without the surcharge.
        is_refusal = attempt.status == "canceled" and attempt.amount == attempt.total_amount
        if asked.is_confirmed == is_refusal:
            return False
    if asked.percentage is not None:
        return attempt.amount == percent_of(attempt.subtotal, asked.percentage)
    possible = {None, attempt.amount}
    if asked.operation in INITIATING or asked.breakdown is not None:
        possible.add(attempt.amount - attempt.surcharge_amount)
    if asked.operation in INITIATING:
        untaxed = attempt.amount - attempt.tax_amount
        possible |= {untaxed, untaxed - attempt.surcharge_amount}
    return asked.amount in possible


# --- outcomes -----------------------------------------------------------------------------------


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
    """Choose the outcome, and explain it in the journal.

    `more` gives further facts for scenarios. Raises Refusal for an HTTP fault, and Dropped for a
    connection that is cut before anything is done (assumed 5.3).
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
    choice = context.choice = _as_read(context, choose(facts, world.queue, context.near_misses))
    if choice.source != "default":
        context.explain("outcome", choice.key, choice.by, "assumed D4")
    let_happen(context, choice)
    return choice


def _as_read(context: OperationContext, choice: ChosenOutcome) -> ChosenOutcome:
    """Return the choice, with the status_reason that the reading gives lost cards (D35-lost)."""
    outcome, reading = choice.outcome, context.world.readings["lost_cards"]
    if outcome.status_reason == "invalid_card" and reading == "declined":
        return replace(choice, outcome=LOST_AS_DECLINED.get(outcome.key, outcome))
    return choice


def decide_at_tap(
    context: OperationContext, operation: Operation, amount: int, tapped: Tapped, terminal_id: str
) -> ChosenOutcome:
    """Decide the outcome of the attempt by what happened at the tap desk.

    That is a tap, a cancellation or a chosen outcome.
    """
    waiting = context.choice
    assert waiting
    if tapped.outcome is not None:
        choice, why = replace(waiting, outcome=tapped.outcome), "at the tap desk"
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
        choice = choose_at_tap(facts, waiting, context.near_misses)
        why = f"{tapped.card.token} was tapped"
    choice = context.choice = _as_read(context, choice)
    context.explain("outcome", choice.key, f"{why}; {choice.by}", "assumed D24")
    return choice


def words_of(context: RequestContext, place: KnownPlace | Transaction, **more: Any) -> Words:
    """Return the facts about an attempt that rules of a scenario can match."""
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


def schedule_follow_ups(
    context: OperationContext,
    follow: Iterable[FollowUp],
    terminal_id: str,
    payment: str = "",
    event_id: str = "",
) -> None:
    """Schedule follow-ups of a scenario from now on. Source: assumed D24, D39.

    The late answer to an action names its `event_id`. The expiry of a prompt is set with the prompt
    (see `conclusions`).
    """
    for number, one in enumerate(follow):
        if one.do == clock.SURCHARGE_EXPIRES:
            continue
        subject = payment
        if one.do in clock.ABOUT_KEY:
            if context.caller is None:
                # No key closes a batch on schedule (assumed B16).
                continue
            subject = context.caller.key.id
        elif one.do in clock.ABOUT_TERMINAL:
            subject = terminal_id
        context.unit.schedule(
            clock.Timer(
                kind=one.do,
                subject=subject,
                due=context.now + one.wait,
                tag=f"{context.request_id}/{number}",
                detail=f"{one.outcome or ''} {event_id}".strip(),
            )
        )

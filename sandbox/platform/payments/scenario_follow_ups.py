"""Follow-ups of a scenario: what happens after an attempt, or while its payment waits for a tap."""

from collections.abc import Iterable

from sandbox.domain.clock import (
    BLOCK_TERMINAL,
    LATE_ANSWER,
    REINSTATE_KEY,
    REVOKE_KEY,
    SURCHARGE_EXPIRES,
    UNBLOCK_TERMINAL,
    Timer,
)
from sandbox.domain.payments.transactions import Payment
from sandbox.platform.context import OperationContext
from sandbox.scenarios.outcome_choice import ChosenOutcome
from sandbox.scenarios.rules import FollowUp

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

"""What every attempt goes through: its event_id, its outcome, the faults on its way."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.domain.faults import DUPLICATE_EVENT, Refusal
from sandbox.domain.payments.cards import Card
from sandbox.domain.payments.outcomes import Operation, Outcome
from sandbox.domain.payments.taps import Tapped
from sandbox.domain.payments.transactions import Site, Transaction
from sandbox.domain.payments.transport import TransportFault
from sandbox.domain.timers import (
    BLOCK_TERMINAL,
    REINSTATE_KEY,
    REVOKE_KEY,
    SURCHARGE_EXPIRES,
    UNBLOCK_TERMINAL,
    Timer,
)
from sandbox.operations.call import Call
from sandbox.scenarios.choosing import Choice, Facts, choose, choose_at_tap
from sandbox.scenarios.running import Words
from sandbox.store.tables import used_event

if TYPE_CHECKING:
    from sandbox.scenarios.attempts import FollowUp


class Dropped(Exception):
    """The connection is closed without an answer, before anything was done."""


def event_id_for(call: Call, account_id: str, sent: str | None) -> str:
    """The event_id of this attempt: the client's, else a new one in capitals (assumed 7.1)."""
    return sent or new_event_id(call, account_id)


def new_event_id(call: Call, account_id: str) -> str:
    """An event_id that no attempt of the merchant has: assumed 7.1, 2.6.

    Draws repeat after a reset, so a client may have sent the one that comes next. It is skipped.
    """
    while True:
        event_id = call.world.draws.uuid().upper()
        used = used_event(account_id, event_id)
        if used in call.world.taken_events:
            continue
        if call.unit.one(Transaction, "used_event", used) is None:
            return event_id


def earlier_use(
    call: Call,
    account_id: str,
    sent: str | None,
    operation: Operation,
    amount: int | None,
    payment: str | None = None,
) -> Transaction | None:
    """The transaction to answer again, where this event_id was used for the very same before.

    None where it is new. Any other repetition is refused, silently, before the state is looked at
    (assumed F38, 2.6); whether it is ever answered again is the switch idempotency.duplicate.
    `payment` is the one to act on, None where one begins.
    """
    if sent is None:
        return None
    used = used_event(account_id, sent)
    tx = call.unit.one(Transaction, "used_event", used)
    if tx is None and used not in call.world.taken_events:
        return None
    if (
        tx is not None
        and call.world.switches["idempotency.duplicate"] == "replay"
        and payment in (None, tx.transaction_id)
        and _is_same(tx, sent, operation, amount, begins=payment is None)
    ):
        call.decided("rule", "replay", f"{tx.transaction_id} is answered again", "assumed 2.6")
        return tx
    user = tx.transaction_id if tx is not None else call.world.taken_events[used]
    raise Refusal(DUPLICATE_EVENT, f"event_id was used by transaction {user}", step="rule")


def _is_same(
    tx: Transaction, event_id: str, operation: Operation, amount: int | None, *, begins: bool
) -> bool:
    """Whether this operation with this amount is what the event_id stood for.

    What a payment began with is the event_id of its first attempt, and of no action on it.
    """
    shown = "sale" if operation is Operation.CONFIRM else operation.value
    return begins == (tx.history[0].event_id == event_id) and any(
        attempt.event_id == event_id
        and attempt.transaction_type == shown
        and amount in (None, attempt.amount)
        for attempt in tx.history
    )


def decide(
    call: Call,
    operation: Operation,
    *,
    amount: int | None,
    card: Card,
    terminal_id: str,
    more: Callable[[], Words],
    armed: tuple[Operation, str, int] | None = None,
) -> Choice:
    """Choose the outcome, and note for the journal why. A fault that comes first is raised.

    `more` gives what a scenario can ask for besides what stands here.

    Raises Refusal for an HTTP fault, and Dropped for a connection that is cut, with nothing done
    (assumed 5.3).
    """
    facts = Facts(
        operation=operation,
        amount=amount,
        card=card,
        terminal_id=terminal_id,
        header=call.forced,
        terminal_outcome=call.world.terminal_outcomes.get(terminal_id),
        armed=armed,
        heeds_amounts=call.world.switches["triggers.enabled"],
        scenario=call.world.scenario,
        more=more,
    )
    choice = call.choice = choose(facts, call.world.queue)
    if choice.source != "default":
        call.decided("outcome", choice.key, f"{choice.source}: {choice.rule}", "assumed D4")
    if choice.fault is not None and choice.fault.when == "before":
        _fail_before(choice.fault)
    return choice


def decide_at_tap(
    call: Call, waiting: Choice, operation: Operation, amount: int, tapped: Tapped, terminal_id: str
) -> Choice:
    """How the attempt ends now that there was a tap, or something else at the desk."""
    if tapped.outcome is not None:
        choice = replace(waiting, outcome=tapped.outcome, fault=waiting.fault)
        why = "at the tap desk"
    else:
        assert tapped.card
        facts = Facts(
            operation=operation,
            amount=amount,
            card=tapped.card,
            terminal_id=terminal_id,
            terminal_outcome=call.world.terminal_outcomes.get(terminal_id),
            heeds_amounts=call.world.switches["triggers.enabled"],
        )
        choice = choose_at_tap(facts, waiting)
        why = f"{tapped.card.token} was tapped"
    call.choice = choice
    call.decided("outcome", choice.key, f"{why}; {choice.source}: {choice.rule}", "assumed D24")
    return choice


_ABOUT_KEY = (REVOKE_KEY, REINSTATE_KEY)
_ABOUT_TERMINAL = (BLOCK_TERMINAL, UNBLOCK_TERMINAL)


def schedule_follow_ups(
    call: Call, follow: "Iterable[FollowUp]", *, terminal_id: str, payment: str = ""
) -> None:
    """Put on the agenda what a scenario has follow. Source: assumed D24.

    When a prompt expires stands with the prompt (see `keeping`).
    """
    for number, one in enumerate(follow):
        if one.do == SURCHARGE_EXPIRES:
            continue
        subject = payment
        if one.do in _ABOUT_KEY:
            subject = call.known_caller.key.id
        elif one.do in _ABOUT_TERMINAL:
            subject = terminal_id
        call.unit.schedule(
            Timer(
                kind=one.do,
                subject=subject,
                due=call.now + one.wait,
                tag=f"{call.request_id}/{number}",
                detail=one.outcome or "",
            )
        )


def words_of(call: Call, site: Site, **more: Any) -> Words:
    """What the rules of a scenario can ask for that every attempt has."""
    return {
        "currency": site.currency,
        "location": site.location_id,
        "account": site.account_id,
        "key": call.known_caller.key.id,
        "processor": site.processor,
        **more,
    }


def _fail_before(fault: TransportFault) -> None:
    if fault.answer is None:
        raise Dropped(fault.key)
    raise Refusal(fault.answer, reason=f"{fault.key} was asked for", step="outcome")


def delay_ms(call: Call, choice: Choice, outcome: Outcome) -> int:
    """How long the answer takes, on the wall: what was scripted, and the scaled latency."""
    # A slow answer is late on its way back, when all is done.
    is_slow_only = choice.fault is not None and choice.fault.key == "slow"
    scale: float = call.world.switches["latency.scale"]
    return (0 if is_slow_only else choice.delay_ms) + round(outcome.latency_ms * scale)

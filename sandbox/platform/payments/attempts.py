"""Steps that all attempts share: the event_id, the outcome, transport faults."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

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
from sandbox.domain.faults import DUPLICATE_EVENT, VALIDATION_ERROR, Refusal
from sandbox.domain.payments.cards import Card, Tapped, card_of
from sandbox.domain.payments.outcomes import (
    LOST_AS_DECLINED,
    OUTCOMES,
    Operation,
    Outcome,
    TransportFault,
)
from sandbox.domain.payments.pricing import Breakdown
from sandbox.domain.payments.transactions import Transaction, TransactionSite
from sandbox.domain.readings import DUPLICATE_EVENT_ID, LOST_CARDS, RATES_BELOW_ONE
from sandbox.platform.operation_context import OperationContext
from sandbox.scenarios.choosing import AttemptFacts, ChosenOutcome, choose, choose_at_tap
from sandbox.scenarios.running import Words
from sandbox.store.tables import used_event

if TYPE_CHECKING:
    from sandbox.platform.payments.bodies import BreakdownBody, Refund, StartPayment
    from sandbox.scenarios.attempts import FollowUp


class Dropped(Exception):
    """The connection is closed without an answer, before anything was done."""


def card_in(body: "StartPayment | Refund") -> Card:
    """The card of the body's reader data. Raises Refusal for one that is not in the table."""
    try:
        return card_of(body.card_data)
    except ValueError as error:
        raise Refusal(
            VALIDATION_ERROR, f"card_reader_data: {error}", source="assumed 6.4-unknown"
        ) from None


def parts_of(context: OperationContext, body: "BreakdownBody | None") -> Breakdown | None:
    """The breakdown as the domain takes it.

    Rates below 1 are noted in the journal, or are fractions of 1 if the reading says so.
    """
    if body is None:
        return None
    parts = body.parts()
    if context.world.readings[RATES_BELOW_ONE] == "fraction":
        # The percentage beside a surcharge's amount is the one that agrees with it.
        is_agreed = body.surcharge is not None and body.surcharge.amount is not None
        return replace(
            parts,
            tax_rate=as_percent(parts.tax_rate),
            tip_rate=as_percent(parts.tip_rate),
            surcharge_rate=parts.surcharge_rate if is_agreed else as_percent(parts.surcharge_rate),
        )
    for name, rate in (
        ("taxRate", parts.tax_rate),
        ("tipRate", parts.tip_rate),
        ("surcharge", parts.surcharge_rate),
    ):
        note_small_rate(context, f"breakdown.{name}", rate)
    return parts


def as_percent(rate: float | None) -> float | None:
    """A rate below 1 as a fraction: 0.0875 is 8.75 %. Source: assumed D35-rates."""
    # The product of two floats is not quite the decimal that was meant.
    return round(rate * 100, 6) if rate is not None and 0 < rate < 1 else rate


def note_small_rate(context: OperationContext, name: str, rate: float | None) -> None:
    """Note a rate below one percent: many clients mean a fraction of 1 (assumed 2.8-units)."""
    if rate is not None and 0 < rate < 1:
        reason = f"{name}: {rate:g} is read as {rate:g} %, not as {rate * 100:g} %"
        context.decided("rule", "note", reason, "assumed 2.8-units")


def event_id_for(context: OperationContext, account_id: str, sent: str | None) -> str:
    """The event_id of this attempt: the client's, else a new one in capitals (assumed 7.1)."""
    return sent or new_event_id(context, account_id)


def new_event_id(context: OperationContext, account_id: str) -> str:
    """An event_id that no attempt of the merchant has: assumed 7.1, 2.6.

    Draws repeat after a reset, so a client may have sent the one that comes next. It is skipped.
    """
    while True:
        event_id = context.world.draws.uuid().upper()
        used = used_event(account_id, event_id)
        if used in context.world.taken_events:
            continue
        if context.unit.one(Transaction, "used_event", used) is None:
            return event_id


def earlier_use(
    context: OperationContext,
    account_id: str,
    sent: str | None,
    operation: Operation,
    amount: int | None,
    payment: str | None = None,
) -> Transaction | Outcome | None:
    """The transaction to answer again, if this event_id was used for the same attempt before.

    None if the event_id is new, and the outcome of the attempt if a repetition counts as one. Any
    other repetition is refused silently, before the state is checked (assumed F38, 2.6). The
    reading duplicate_event_id decides. `payment` is the one to act on, None for an initiation.
    """
    if sent is None:
        return None
    used = used_event(account_id, sent)
    tx = context.unit.one(Transaction, "used_event", used)
    if tx is None and used not in context.world.taken_events:
        return None
    if (
        tx is not None
        and context.world.readings[DUPLICATE_EVENT_ID.id] == "replay"
        and payment in (None, tx.transaction_id)
        and _is_same(tx, sent, operation, amount, begins=payment is None)
    ):
        context.decided("rule", "replay", f"{tx.transaction_id} is answered again", "assumed 2.6")
        return tx
    if context.world.readings[DUPLICATE_EVENT_ID.id] == "failed_attempt":
        return OUTCOMES["duplicate_event"]
    user = tx.transaction_id if tx is not None else context.world.taken_events[used]
    raise Refusal(DUPLICATE_EVENT, f"event_id was used by transaction {user}", step="rule")


def _is_same(
    tx: Transaction, event_id: str, operation: Operation, amount: int | None, *, begins: bool
) -> bool:
    """Whether the event_id belongs to this operation with this amount.

    The event_id of the initiation belongs to the first attempt, and to no action on the payment.
    """
    shown = "sale" if operation is Operation.CONFIRM else operation.value
    return begins == (tx.history[0].event_id == event_id) and any(
        attempt.event_id == event_id
        and attempt.transaction_type == shown
        and amount in (None, attempt.amount)
        for attempt in tx.history
    )


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
    """The outcome of the attempt after a tap, a cancellation or an outcome at the tap desk."""
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
            terminal_outcome=context.world.terminal_outcomes.get(terminal_id),
            heeds_amounts=context.world.switches["triggers.enabled"],
        )
        choice = _as_read(context, choose_at_tap(facts, waiting))
        why = f"{tapped.card.token} was tapped"
    context.choice = choice
    context.decided("outcome", choice.key, f"{why}; {choice.by}", "assumed D24")
    return choice


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
    context: OperationContext, follow: "Iterable[FollowUp]", *, terminal_id: str, payment: str = ""
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

"""Sale and preauthorization. Source: spec 4.4-paths-payments; details assumed 1.8, I1 to I10."""

from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any

from sandbox.domain.access import Need, need
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.payments import initiation
from sandbox.domain.payments.cards import Card, card_of
from sandbox.domain.payments.initiation import Start
from sandbox.domain.payments.outcomes import (
    AFTER_PROMPT,
    APPROVED,
    MISCONFIGURED,
    OUTCOMES,
    Operation,
    Outcome,
    Verdict,
)
from sandbox.domain.payments.pricing import PointOfSale, Price, price
from sandbox.domain.payments.taps import Tap, Tapped
from sandbox.domain.payments.transactions import Origin, Transaction, TransactionSite
from sandbox.domain.timers import TAP_EXPIRES, Timer
from sandbox.platform.operation_context import OperationContext, PendingPayment
from sandbox.platform.payments import attempts, persist, points_of_sale
from sandbox.platform.payments.points_of_sale import KnownPlace
from sandbox.scenarios.choosing import ChosenOutcome

if TYPE_CHECKING:
    from sandbox.platform.payments.bodies import StartPayment

_NEED_OF_PLATFORM = {"ios": need("payments:tap-ios"), "android": need("payments:tap-android")}
_EITHER = need("payments:tap-ios", "payments:tap-android")


def need_to_tap(sent: dict[str, Any]) -> Need:
    """The permission for the platform that the body names or implies. Source: assumed 1.9, D16."""
    platform = sent.get("platform")
    if platform is None and sent.get("apple_transaction_id"):
        platform = "ios"
    return _NEED_OF_PLATFORM.get(platform, _EITHER) if isinstance(platform, str) else _EITHER


def pay(context: OperationContext) -> Any:
    """A sale, or an authorization if the body says so. Source: assumed 1.8-start."""
    body: StartPayment = context.body
    return _start(context, Operation(body.type or "sale"))


def preauthorize(context: OperationContext) -> Any:
    """An authorization, whatever type the body says. Source: assumed 1.8-start."""
    return _start(context, Operation.AUTH)


def _start(context: OperationContext, operation: Operation) -> Any:
    body: StartPayment = context.body
    known = points_of_sale.find(context, (body.terminal_id, body.location_id, body.account_id))
    site = known.site
    if body.currency not in (None, site.currency):
        raise points_of_sale.invalid(
            f"currency: must be {site.currency} here", "assumed 1.8-currency"
        )
    try:
        card = card_of(body.card_data)
    except ValueError as error:
        raise Refusal(
            VALIDATION_ERROR, f"card_reader_data: {error}", source="assumed 6.4-unknown"
        ) from None
    again = attempts.earlier_use(context, site.account_id, body.event_id, operation, body.amount)
    if again is not None:
        return again
    decision = _decide(context, operation, known, card)
    cost = _price(context, operation, known.place, card, decision)
    event_id = attempts.event_id_for(context, site.account_id, body.event_id)
    origin = _origin(context, operation, site, card)
    choice = decision.choice
    tx = initiation.created(
        origin,
        cost,
        event_id,
        armed=choice.arms if choice else None,
        settlement=choice.settlement if choice else None,
    )
    context.unit.put(tx)
    context.emit("transaction.create", tx)
    begun = _Begun(origin, cost, decision)
    if choice is None:
        return PendingPayment(0, begun.finish, origin.transaction_id)
    if choice.follow:
        attempts.schedule_follow_ups(
            context, choice.follow, terminal_id=site.terminal_id, payment=origin.transaction_id
        )
    awaiting = PendingPayment(
        attempts.delay_ms(context, choice, decision.outcome),
        begun.finish,
        origin.transaction_id,
        choice.fault,
    )
    if choice.tap is not None:
        _wait_for_tap(
            context, awaiting, _AtTheDesk(context, begun, known, tx), context.now + choice.tap
        )
    return awaiting


# --- carrying out -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Decision:
    """The plan of an initiation, decided before its record exists.

    `choice` is None if no processor is involved: a passthrough or misconfigured terminal.
    """

    outcome: Outcome
    choice: ChosenOutcome | None = None
    is_passthrough: bool = False
    is_misconfigured: bool = False


def _decide(
    context: OperationContext, operation: Operation, known: KnownPlace, card: Card
) -> _Decision:
    body: StartPayment = context.body
    terminal_id = known.site.terminal_id
    if known.problem is not None:
        context.decided("outcome", MISCONFIGURED.key, known.problem, "assumed I10")
        context.choice = ChosenOutcome(MISCONFIGURED, "terminal", terminal_id)
        return _Decision(MISCONFIGURED, is_misconfigured=True)
    if known.is_passthrough:
        context.decided("outcome", "pending", "the processor is told of later", "assumed I7")
        return _Decision(APPROVED, is_passthrough=True)
    choice = attempts.decide(
        context,
        operation,
        amount=body.amount,
        card=card,
        terminal_id=terminal_id,
        more=lambda: attempts.words_of(
            context,
            known.site,
            tip_amount=body.breakdown.parts().tip if body.breakdown else 0,
            platform=body.platform,
            attempt=1,
        ),
    )
    return _Decision(choice.outcome, choice)


_PROMPTS = AFTER_PROMPT | {"surcharge_prompt"}


def _price(
    context: OperationContext,
    operation: Operation,
    place: PointOfSale,
    card: Card,
    decision: _Decision,
) -> Price:
    """The price. A requested prompt that cannot be shown becomes an ordinary approval."""
    body: StartPayment = context.body
    is_sale = operation is Operation.SALE
    try:
        cost = price(
            body.amount,
            body.breakdown.parts() if body.breakdown else None,
            place,
            is_sale=is_sale,
            is_credit=card.is_credit,
            forces_prompt=is_sale and decision.outcome.key in _PROMPTS,
        )
    except ValueError as error:
        raise points_of_sale.invalid(str(error), "assumed 1.8-sum") from None
    if decision.outcome.verdict is Verdict.SURCHARGE_PENDING:
        decision.outcome = APPROVED
        if not cost.needs_prompt and decision.choice is not None:
            decision.choice.outcome = APPROVED
            decision.choice.near_misses.append(
                "surcharge_prompt: nothing can be surcharged here (the card, the state, the "
                "operation, or what the request states)"
            )
    return cost


def _origin(
    context: OperationContext, operation: Operation, site: TransactionSite, card: Card
) -> Origin:
    body: StartPayment = context.body
    device = body.device_id or body.reader_identifier or site.device_id
    return Origin(
        context.world.draws.uuid(),
        operation,
        site,
        card,
        context.now_ms,
        device,
        body.reader_identifier or device,
        body.apple_transaction_id or "",
        body.payment_method or "contactlessIcc",
        body.additional_details,
    )


@dataclass(slots=True)
class _Begun:
    """A payment whose record exists and whose processor has still to answer.

    After a tap `card` is the one that was held to the reader.
    """

    origin: Origin
    cost: Price
    decision: _Decision
    card: Card | None = None

    def finish(self, context: OperationContext, key_was_lost: bool) -> Transaction:
        """The second phase: the processor has answered."""
        tx = context.unit.get(Transaction, self.origin.transaction_id)
        assert tx
        if tx.status != "pending":
            # It ended meanwhile through a timer, and stays ended.
            return tx
        decision = self.decision
        choice = decision.choice
        if self.card is not None:
            tx = self._with_card(tx, self.card)
        start = Start(
            tx,
            self.cost,
            OUTCOMES["payment_failed"] if key_was_lost else decision.outcome,
            is_passthrough=decision.is_passthrough,
            is_misconfigured=decision.is_misconfigured,
            approved_amount=choice.approved_amount if choice else None,
        )
        if initiation.resolves_prompt(start):
            conclusion = initiation.prompt_and_resolve(start, context.now_ms)
            persist.save(context, conclusion, tx)
            return conclusion.shown
        taken = initiation.transition_for(start)
        batch = persist.batch_for_entry(context, tx) if taken.batch_entry else None
        conclusion = initiation.conclude(
            start, taken, at=context.now_ms, batch_id=batch.id if batch else None
        )
        persist.save(context, conclusion, tx, batch)
        return conclusion.shown

    def _with_card(self, tx: Transaction, card: Card) -> Transaction:
        """The pending record as it would be had this card been known from the beginning."""
        choice = self.decision.choice
        assert choice
        begun = initiation.created(
            tx.origin._replace(card=card),
            self.cost,
            tx.event_id,
            armed=choice.arms,
            settlement=choice.settlement,
        )
        return begun._replace(history=tx.history)


# --- the tap desk -----------------------------------------------------------------------------


def _wait_for_tap(
    context: OperationContext, awaiting: PendingPayment, tap_desk: "_AtTheDesk", until: datetime
) -> None:
    """Have the payment wait for its tap, first of all. Source: assumed D24, 8.2-deadline."""
    origin = tap_desk.begun.origin
    awaiting.tap = Tap(
        transaction_id=origin.transaction_id,
        operation=origin.operation,
        amount=tap_desk.tx.amounts.total,
        terminal_id=origin.site.terminal_id,
        since=context.now,
        until=until,
    )
    awaiting.tapped = tap_desk.tapped
    awaiting.why_not_with = tap_desk.why_not_with
    context.unit.schedule(Timer(kind=TAP_EXPIRES, subject=origin.transaction_id, due=until))


@dataclass(slots=True)
class _AtTheDesk:
    """A payment that waits for its tap, and the request that began it."""

    context: OperationContext
    begun: _Begun
    known: KnownPlace
    tx: Transaction

    def why_not_with(self, card: Card) -> str | None:
        """Why this card cannot pay: an explicit surcharge on a debit card (assumed D12)."""
        operation = self.begun.origin.operation
        try:
            _price(self.context, operation, self.known.place, card, _Decision(APPROVED))
        except Refusal as refusal:
            return refusal.details
        return None

    def tapped(self, context: OperationContext, tapped: Tapped) -> int:
        """Apply the result of the tap; returns the processor's delay in ms."""
        begun, operation = self.begun, self.begun.origin.operation
        waiting = begun.decision.choice
        assert waiting
        body: StartPayment = self.context.body
        terminal_id = begun.origin.site.terminal_id
        choice = attempts.decide_at_tap(
            context, waiting, operation, body.amount, tapped, terminal_id
        )
        decision = begun.decision = _Decision(choice.outcome, choice)
        if tapped.card is not None:
            begun.card = tapped.card
            begun.cost = _price(self.context, operation, self.known.place, tapped.card, decision)
        return attempts.delay_ms(context, choice, decision.outcome)

"""Sale and preauthorization. Source: spec 4.4-paths-payments; details assumed 1.8, I1 to I10."""

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.access import Need, need
from sandbox.domain.clock import TAP_EXPIRES, Timer
from sandbox.domain.directory import AccountType
from sandbox.domain.faults import Refusal
from sandbox.domain.payments import initiation, transaction_view
from sandbox.domain.payments.cards import NOT_READ, Card, Tap, Tapped
from sandbox.domain.payments.initiation import Start
from sandbox.domain.payments.outcomes import (
    AFTER_PROMPT,
    APPROVED,
    AT_THE_READER,
    MISCONFIGURED,
    OUTCOMES,
    PARTIAL,
    Operation,
    Outcome,
    Verdict,
)
from sandbox.domain.payments.pricing import Breakdown, PointOfSale, Price, price
from sandbox.domain.payments.transactions import Origin, Transaction, TransactionSite
from sandbox.domain.readings import RECEIPT_DATA, RESPONSE_FIELDS, TOTAL_OF_PARTIAL_APPROVAL
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.payments import attempts, persist, points_of_sale
from sandbox.platform.payments.points_of_sale import KnownPlace
from sandbox.scenarios.choosing import ChosenOutcome
from sandbox.scenarios.near_misses import NearMisses

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


def pay(context: OperationContext) -> "PendingInitiation | Transaction":
    """A sale, or an authorization if the body says so. Source: assumed 1.8-start."""
    body: StartPayment = context.body
    return _start(context, Operation(body.type or "sale"))


def preauthorize(context: OperationContext) -> "PendingInitiation | Transaction":
    """An authorization, whatever type the body says. Source: assumed 1.8-start."""
    return _start(context, Operation.AUTH)


# --- the second phase -------------------------------------------------------------------------


class PendingInitiation(Struct, frozen=True, gc=False):
    """A payment whose record exists and whose processor has still to answer.

    `amount` and `stated` are what the client asked for. `choice` is None at a passthrough terminal,
    whose processor reports later. With a `tap` the payment waits for a card first; `tapped_card`
    is the one that was then held to the reader.
    """

    origin: Origin
    known: KnownPlace
    amount: int
    stated: Breakdown | None
    cost: Price
    choice: ChosenOutcome | None
    delay_ms: int = 0
    tap: Tap | None = None
    tapped_card: Card | None = None

    @property
    def subject(self) -> str:
        """The id of the payment."""
        return self.origin.transaction_id

    @property
    def event(self) -> None:
        """The record holds the event_id already."""

    def why_not_with(self, card: Card) -> str | None:
        """Why this card cannot pay: an explicit surcharge on a debit card (assumed D12)."""
        try:
            self._price_with(card, None)
        except Refusal as refusal:
            return refusal.details
        return None

    def after_tap(self, context: OperationContext, tapped: Tapped | None) -> "PendingInitiation":
        """The payment after its tap, or after it ended without one (None)."""
        assert self.choice
        if tapped is None:
            ended = context.unit.get(Transaction, self.subject)
            if ended is not None and ended.status_reason in OUTCOMES:
                context.choice = replace(self.choice, outcome=OUTCOMES[ended.status_reason])
            return replace(self, delay_ms=0)
        operation, terminal_id = self.origin.operation, self.origin.site.terminal_id
        choice = attempts.decide_at_tap(
            context, self.choice, operation, self.amount, tapped, terminal_id
        )
        cost, card = self.cost, tapped.card
        if card is not None:
            cost = self._price_with(card, choice.outcome)
            choice = context.choice = _as_priced(choice, cost)
        else:
            choice = context.choice = _as_partial(choice, cost)
        delay_ms = attempts.delay_ms(context, choice)
        return replace(self, cost=cost, choice=choice, delay_ms=delay_ms, tapped_card=card)

    def finish(self, context: OperationContext, is_key_lost: bool) -> Transaction:
        """The second phase: the processor has answered. With a lost key it failed (assumed D2)."""
        tx = context.unit.get(Transaction, self.origin.transaction_id)
        assert tx
        if tx.status != "pending":
            # It ended meanwhile through a timer, and stays ended.
            return tx
        choice = self.choice
        outcome = choice.outcome if choice else None
        if choice is not None:
            attempts.follow_outcome(context, choice, tx, was_tapped=self.tap is not None)
        begun = self._as_read(tx)
        readings = context.world.readings
        if readings[RECEIPT_DATA] == "emv" and choice and choice.outcome.response_code:
            begun = transaction_view.with_receipt(begun)
        if readings[RESPONSE_FIELDS] == "amounts":
            begun = replace(begun, tells_amounts=True)
        start = Start(
            tx=begun,
            price=self.cost,
            outcome=OUTCOMES["payment_failed"] if is_key_lost else outcome,
            is_passthrough=self.known.is_passthrough,
            is_misconfigured=self.known.problem is not None,
            approved_amount=choice.approved_amount if choice else None,
            shows_approved=readings[TOTAL_OF_PARTIAL_APPROVAL] == "approved",
        )
        if initiation.resolves_prompt(start):
            conclusion = initiation.prompt_and_resolve(start, context.now_ms)
            persist.save(context, conclusion, start.tx)
            return conclusion.shown
        taken = initiation.transition_for(start)
        batch = persist.batch_for_entry(context, start.tx) if taken.batch_entry else None
        conclusion = initiation.conclude(
            start, taken, at=context.now_ms, batch_id=batch.id if batch else None
        )
        persist.save(context, conclusion, start.tx, batch)
        return conclusion.shown

    def _price_with(self, card: Card, outcome: Outcome | None) -> Price:
        place, operation = self.known.place, self.origin.operation
        return _price(operation, place, self.amount, self.stated, card, outcome)

    def _as_read(self, tx: Transaction) -> Transaction:
        """The record with the card that was tapped, or the one of the request.

        Nothing was read if the payment was canceled at the reader first (assumed D29).
        """
        card = self.tapped_card
        if card is None:
            if tx.origin.card is not NOT_READ or (
                self.choice is not None and self.choice.outcome.key in AT_THE_READER
            ):
                return tx
            card = self.origin.card
        return self._with_card(tx, card)

    def _with_card(self, tx: Transaction, card: Card) -> Transaction:
        """The pending record as it would be had this card been known from the beginning."""
        assert self.choice
        begun = initiation.created(
            replace(tx.origin, card=card),
            self.cost,
            tx.event_id,
            armed=self.choice.arms,
            settlement=self.choice.settlement,
        )
        return replace(begun, history=tx.history)


# --- the first phase --------------------------------------------------------------------------


def _start(context: OperationContext, operation: Operation) -> PendingInitiation | Transaction:
    """Everything but the processor's answer; an attempt that is answered again has its record."""
    body: StartPayment = context.body
    known = points_of_sale.find(context, _place(context, body))
    site = known.site
    if body.currency not in (None, site.currency):
        raise points_of_sale.invalid(
            f"currency: must be {site.currency} here", "assumed 1.8-currency"
        )
    card = attempts.card_in(body)
    again = attempts.earlier_use(context, site.account_id, body.event_id, operation, body.amount)
    if isinstance(again, Transaction):
        return again
    stated = attempts.parts_of(context, body.breakdown)
    if again is None:
        choice = _choose(context, operation, known, card, stated)
    else:
        choice = attempts.repeated(context, again, body.event_id)
    outcome = choice.outcome if choice else None
    cost = _price(operation, known.place, body.amount, stated, card, outcome)
    if choice is not None:
        choice = context.choice = _as_priced(choice, cost)
    sent = body.event_id if again is None else None
    event_id = attempts.event_id_for(context, site.account_id, sent)
    origin = _origin(context, operation, site, card)
    tx = initiation.created(
        origin if _is_read_at_once(choice) else replace(origin, card=NOT_READ),
        cost,
        event_id,
        armed=choice.arms if choice else None,
        settlement=choice.settlement if choice else None,
    )
    context.unit.put(tx)
    context.emit("transaction.create", tx)
    if choice is None or known.problem is not None:
        # No processor is asked.
        return PendingInitiation(origin, known, body.amount, stated, cost, choice)
    delay_ms = attempts.delay_ms(context, choice)
    tap = None
    if choice.tap is not None:
        attempts.follow_meanwhile(context, choice, tx)
        tap = _tap(context, tx, choice.tap)
    return PendingInitiation(origin, known, body.amount, stated, cost, choice, delay_ms, tap)


def _is_read_at_once(choice: ChosenOutcome | None) -> bool:
    """Whether a card is read before anything else. Source: assumed D29."""
    return choice is None or (choice.tap is None and choice.outcome.key not in AT_THE_READER)


def _place(context: OperationContext, body: "StartPayment") -> points_of_sale.Named:
    """The place that the body names, else the merchant account of the key. Source: assumed D27."""
    place = body.place
    if place == (None, None, None):
        own = context.known_caller.account
        if own.type is AccountType.MERCHANT:
            context.decided("rule", "own account", "the body names no place", "assumed D27")
            return None, None, own.id
    return place


def _choose(
    context: OperationContext,
    operation: Operation,
    known: KnownPlace,
    card: Card,
    stated: Breakdown | None,
) -> ChosenOutcome | None:
    """The outcome; None at a passthrough terminal."""
    body: StartPayment = context.body
    terminal_id = known.site.terminal_id
    if known.problem is not None:
        context.decided("outcome", MISCONFIGURED.key, known.problem, "assumed I10")
        context.choice = ChosenOutcome(MISCONFIGURED, "terminal", terminal_id)
        return context.choice
    if known.is_passthrough:
        context.decided("outcome", "pending", "the processor is told of later", "assumed I7")
        return None
    return attempts.decide(
        context,
        operation,
        amount=body.amount,
        card=card,
        terminal_id=terminal_id,
        more=lambda: attempts.words_of(
            context,
            known.site,
            tip_amount=stated.tip if stated else 0,
            platform=body.platform,
            attempt=1,
        ),
    )


_PROMPTS = AFTER_PROMPT | {"surcharge_prompt"}


def _price(
    operation: Operation,
    place: PointOfSale,
    amount: int,
    stated: Breakdown | None,
    card: Card,
    outcome: Outcome | None,
) -> Price:
    """The price with this card. Raises Refusal where the stated parts cannot be."""
    is_sale = operation is Operation.SALE
    try:
        return price(
            amount,
            stated,
            place,
            is_sale=is_sale,
            is_credit=card.is_credit,
            forces_prompt=is_sale and outcome is not None and outcome.key in _PROMPTS,
        )
    except ValueError as error:
        raise points_of_sale.invalid(str(error), "assumed 1.8-sum") from None


def _as_partial(choice: ChosenOutcome, cost: Price) -> ChosenOutcome:
    """The choice; a partial approval that leaves nothing over is an approval (assumed 2.7)."""
    total = cost.amounts.total
    if choice.outcome is not PARTIAL or initiation.part_of(total, choice.approved_amount):
        return choice
    near = NearMisses()
    near.take(choice.near_misses)
    near.append(f"partial_approval: the issuer approves all of {total}")
    return replace(choice, outcome=APPROVED, approved_amount=None, near_misses=near)


def _as_priced(choice: ChosenOutcome, cost: Price) -> ChosenOutcome:
    """The choice; a prompt that cannot be shown becomes an ordinary approval.

    The header asks for this one attempt, and is refused instead (assumed D41).
    """
    choice = _as_partial(choice, cost)
    if cost.needs_prompt or choice.outcome.verdict is not Verdict.SURCHARGE_PENDING:
        return choice
    why = (
        "surcharge_prompt: nothing can be surcharged here (the card, the state, the "
        "operation, or what the request states)"
    )
    if choice.source == "header":
        raise points_of_sale.invalid(f"x-sandbox-outcome: {why}", "assumed D41")
    near = NearMisses()
    near.take(choice.near_misses)
    near.append(why)
    return replace(choice, outcome=APPROVED, near_misses=near)


def _origin(
    context: OperationContext, operation: Operation, site: TransactionSite, card: Card
) -> Origin:
    body: StartPayment = context.body
    device = body.device_id or body.reader_identifier or site.device_id
    return Origin(
        transaction_id=context.world.draws.uuid(),
        operation=operation,
        site=site,
        card=card,
        created_at=context.now_ms,
        device_id=device,
        reader_identifier=body.reader_identifier or device,
        apple_transaction_id=body.apple_transaction_id or "",
        payment_method=body.payment_method or "contactlessIcc",
        details=body.additional_details,
    )


def _tap(context: OperationContext, tx: Transaction, lasts: timedelta) -> Tap:
    """The tap that the payment waits for, first of all. Source: assumed D24, 8.2-deadline."""
    until = context.now + lasts
    context.unit.schedule(Timer(kind=TAP_EXPIRES, subject=tx.transaction_id, due=until))
    return Tap(
        transaction_id=tx.transaction_id,
        operation=tx.origin.operation,
        amount=tx.amounts.total,
        currency=tx.origin.site.currency,
        terminal_id=tx.origin.site.terminal_id,
        since=context.now,
        until=until,
    )

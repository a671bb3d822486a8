"""Sale and preauthorization. Source: spec 4.4-paths-payments; details assumed 1.8, I1 to I10."""

from datetime import timedelta
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.access import Need, need
from sandbox.domain.clock import TAP_EXPIRES, Timer
from sandbox.domain.directory import AccountType, Location, Terminal
from sandbox.domain.faults import DUPLICATE_EVENT, Refusal
from sandbox.domain.payments import initiation
from sandbox.domain.payments.cards import NOT_READ, READER_FIELD, Card, Tap, Tapped
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
from sandbox.domain.payments.transactions import Payment, Transaction, change, created, with_receipt
from sandbox.domain.readings import RECEIPT_DATA, RESPONSE_FIELDS, TOTAL_OF_PARTIAL_APPROVAL
from sandbox.platform.context import RequestContext
from sandbox.platform.gateway import let_happen
from sandbox.platform.operation import Target, operation
from sandbox.platform.payments import (
    conclusions,
    event_ids,
    outcomes,
    points_of_sale,
    processor,
)
from sandbox.platform.payments.bodies import StartPayment, card_in, example_of_sale, parts_of
from sandbox.platform.payments.points_of_sale import KnownPlace
from sandbox.scenarios.matcher import NearMisses
from sandbox.scenarios.outcome_choice import ChosenOutcome

_PLACE: Final = Target(
    "body",
    "terminal_id",
    Terminal,
    others=(
        # Other names are those by which clients write it, in the reader's data or beside it (D27).
        Target(
            "body",
            "location_id",
            Location,
            aliases=((None, "locationID"), (READER_FIELD, "locationID")),
        ),
        Target("body", "account_id"),
    ),
)

_NEED_OF_PLATFORM = {"ios": need("payments:tap-ios"), "android": need("payments:tap-android")}
_EITHER = need("payments:tap-ios", "payments:tap-android")


def need_to_tap(sent: dict[str, Any]) -> Need:
    """Return the permission for the platform that the body names or implies.

    Source: assumed 1.9, D16.
    """
    platform = sent.get("platform")
    if platform is None and sent.get("apple_transaction_id"):
        platform = "ios"
    return _NEED_OF_PLATFORM.get(platform, _EITHER) if isinstance(platform, str) else _EITHER


@operation(
    "payments.create",
    "POST",
    "/v3/payment",
    needs=_EITHER,
    narrow=need_to_tap,
    target=_PLACE,
    response=Transaction,
    events=(
        "transaction.create",
        "batch.opened",
        "transaction.sale",
        "transaction.authorize",
        "transaction.cancel",
    ),
    can_be_blocked=True,
    attempts=Operation.SALE,
    words=("sale", "auth"),
    refuses=(DUPLICATE_EVENT,),
    source="spec 4.4-paths-payments",
    example=example_of_sale(),
)
async def create(context: RequestContext, body: StartPayment) -> Payment | Refusal:
    """Take a payment.

    It is an authorization if the body says so. Source: assumed 1.8-start.
    """
    return await _start(context, body, Operation.AUTH if body.type == "auth" else Operation.SALE)


@operation(
    "payments.preauth",
    "POST",
    "/v3/preauth",
    needs=_EITHER,
    narrow=need_to_tap,
    target=_PLACE,
    response=Transaction,
    events=("transaction.create", "batch.opened", "transaction.authorize", "transaction.cancel"),
    can_be_blocked=True,
    attempts=Operation.SALE,
    words=("auth",),
    refuses=(DUPLICATE_EVENT,),
    source="spec 4.4-paths-payments",
    example=example_of_sale(),
)
async def preauthorize(context: RequestContext, body: StartPayment) -> Payment | Refusal:
    """Authorize a payment, to be captured later.

    The type in the body does not matter. Source: assumed 1.8-start.
    """
    return await _start(context, body, Operation.AUTH)


# --- the two phases ---------------------------------------------------------------------------


class _Initiation(Struct):
    """A payment that has begun: what the client asked for, and what is known of its outcome.

    `fields` are those of the transaction that price and card do not decide. `card` is that of the
    request. `choice` is None at a passthrough terminal, whose processor reports later.
    `tapped_card` is the card that was held to the reader, if the payment waited for one.
    """

    fields: dict[str, Any]
    operation: Operation
    known: KnownPlace
    card: Card
    amount: int
    stated: Breakdown | None
    cost: Price
    choice: ChosenOutcome | None
    tapped_card: Card | None = None

    @property
    def id(self) -> str:
        """The id of the payment."""
        return str(self.fields["transaction_id"])

    def created(self, card: Card) -> Payment:
        """Return the pending payment, with the card that was read."""
        choice, place, cost = self.choice, self.known.place, self.cost
        return created(
            self.fields,
            card,
            amounts=cost.amounts_at_first,
            rates=cost.rates,
            tip_type=cost.tip_type,
            operation=self.operation,
            mcc=place.terminal.merchant_category_code or place.account.mcc,
            armed=choice.arms if choice else None,
            settlement=choice.settlement if choice else None,
        )

    def price_with(self, card: Card, outcome: Outcome | None) -> Price:
        """Return the price with this card. Raises Refusal."""
        place = self.known.place
        return _price(self.operation, place, self.amount, self.stated, card, outcome)

    def why_not_with(self, card: Card) -> str | None:
        """Why this card cannot pay: an explicit surcharge on a debit card (assumed D12)."""
        try:
            self.price_with(card, None)
        except Refusal as refusal:
            return refusal.details
        return None


async def _start(
    context: RequestContext, body: StartPayment, operation: Operation
) -> Payment | Refusal:
    """Begin the payment, let card and processor answer, and finish it.

    An attempt that is answered again has its record.
    """
    known = points_of_sale.find(context, _place(context, body))
    if body.currency not in (None, known.currency):
        raise points_of_sale.invalid(
            f"currency: must be {known.currency} here", "assumed 1.8-currency"
        )
    card = card_in(body)
    again = event_ids.earlier_use(context, known.account_id, body.event_id, operation, body.amount)
    if isinstance(again, Payment):
        return again
    begun, payment = _begin(context, body, operation, known, card, again)
    choice = begun.choice
    if choice is None or known.problem is not None:
        # No processor is asked.
        return _finish(context, begun)
    delay_ms, tap = processor.delay_ms(context, choice), None
    if choice.tap is not None:
        outcomes.follow_outcome(context, choice, payment, is_late=False)
        tap = _tap(context, payment, choice.tap)
    if tap is None and delay_ms == 0:
        # No request can see it in between, and one commit is enough.
        return _finish(context, begun)
    async with processor.in_flight(context, payment.id):
        if tap is not None:
            tapped = await processor.wait_for_tap(context, tap, begun)
            delay_ms = _note_tap(context, begun, tapped)
        if delay_ms > 0:
            await processor.wait_for_answer(context, payment.id, delay_ms)
        lost = processor.begin_second_phase(context)
        if tap is not None:
            context.unit.cancel(TAP_EXPIRES, payment.id)
        payment = _finish(context, begun, was_tapped=tap is not None, is_key_lost=lost is not None)
        return lost or payment


def _begin(
    context: RequestContext,
    body: StartPayment,
    operation: Operation,
    known: KnownPlace,
    card: Card,
    again: Outcome | None,
) -> tuple[_Initiation, Payment]:
    """Begin the first phase: choose the outcome, price the payment, and store it as pending."""
    stated = parts_of(context, body.breakdown)
    if again is None:
        choice = _choose(context, body, operation, known, card, stated)
    else:
        choice = outcomes.choose_repeated(context, again, body.event_id)
    outcome = choice.outcome if choice else None
    cost = _price(operation, known.place, body.amount, stated, card, outcome)
    if choice is not None:
        choice = context.choice = _as_priced(choice, cost)
    sent = body.event_id if again is None else None
    event_id = sent or event_ids.new_event_id(context, known.account_id)
    fields = _fields(context, body, known, operation, event_id)
    begun = _Initiation(fields, operation, known, card, body.amount, stated, cost, choice)
    payment = begun.created(card if _is_read_at_once(choice) else NOT_READ)
    context.unit.put(payment)
    context.emit("transaction.create", payment)
    return begun, payment


def _note_tap(context: RequestContext, begun: _Initiation, tapped: Tapped | None) -> int:
    """Note the outcome after the tap, or after the payment ended without one (None).

    Returns the time that the processor takes.
    """
    choice = begun.choice
    assert choice
    if tapped is None:
        ended = context.unit.get(Payment, begun.id)
        if ended is not None and ended.transaction.status_reason in OUTCOMES:
            context.choice = replace(choice, outcome=OUTCOMES[ended.transaction.status_reason])
        return 0
    terminal_id = begun.known.place.terminal.terminal_id
    choice = outcomes.decide_at_tap(
        context, choice, begun.operation, begun.amount, tapped, terminal_id
    )
    if tapped.card is not None:
        begun.cost = begun.price_with(tapped.card, choice.outcome)
        choice = _as_priced(choice, begun.cost)
    else:
        choice = _as_partial(choice, begun.cost)
    begun.choice = context.choice = choice
    begun.tapped_card = tapped.card
    let_happen(context, choice)
    return processor.delay_ms(context, choice)


def _finish(
    context: RequestContext,
    begun: _Initiation,
    *,
    was_tapped: bool = False,
    is_key_lost: bool = False,
) -> Payment:
    """Finish the second phase, after the processor. With a lost key it failed (assumed D2)."""
    payment = context.unit.get(Payment, begun.id)
    assert payment
    if payment.status != "pending":
        # It ended meanwhile through a timer, and stays ended.
        return payment
    choice = begun.choice
    if choice is not None:
        is_late = True if was_tapped else None
        outcomes.follow_outcome(context, choice, payment, is_late=is_late)
    payment = _as_read(begun, payment)
    readings = context.world.readings
    if readings[RECEIPT_DATA] == "emv" and choice and choice.outcome.response_code:
        payment = with_receipt(payment)
    if readings[RESPONSE_FIELDS] == "amounts":
        payment = replace(payment, tells_amounts=True)
    outcome = choice.outcome if choice else None
    start = Start(
        payment=payment,
        price=begun.cost,
        outcome=OUTCOMES["payment_failed"] if is_key_lost else outcome,
        is_passthrough=begun.known.is_passthrough,
        is_misconfigured=begun.known.problem is not None,
        approved_amount=choice.approved_amount if choice else None,
        should_show_approved=readings[TOTAL_OF_PARTIAL_APPROVAL] == "approved",
    )
    if initiation.should_resolve_prompt(start):
        conclusion = initiation.prompt_and_resolve(start, context.now_ms)
        conclusions.save(context, conclusion, start.payment)
        return conclusion.shown
    return conclusions.save_initiation(context, start)


def _as_read(begun: _Initiation, payment: Payment) -> Payment:
    """Return the payment with the card that was tapped, or the one of the request.

    Nothing was read if the payment was canceled at the reader first (assumed D29).
    """
    card, choice = begun.tapped_card, begun.choice
    if card is None:
        if payment.card is not NOT_READ or (
            choice is not None and choice.outcome.key in AT_THE_READER
        ):
            return payment
        card = begun.card
    # The pending payment as it would be had this card been known from the beginning.
    return change(begun.created(card), history=payment.history)


# --- the parts of the first phase -------------------------------------------------------------


def _is_read_at_once(choice: ChosenOutcome | None) -> bool:
    """Whether a card is read before anything else. Source: assumed D29."""
    return choice is None or (choice.tap is None and choice.outcome.key not in AT_THE_READER)


def _place(context: RequestContext, body: StartPayment) -> points_of_sale.Named:
    """Return the place that the body names, else the merchant account of the key.

    Source: assumed D27.
    """
    place = body.place
    if place == (None, None, None):
        own = context.known_caller.account
        if own.type is AccountType.MERCHANT:
            context.explain("rule", "own account", "the body names no place", "assumed D27")
            return None, None, own.id
    return place


def _choose(
    context: RequestContext,
    body: StartPayment,
    operation: Operation,
    known: KnownPlace,
    card: Card,
    stated: Breakdown | None,
) -> ChosenOutcome | None:
    """Return the outcome; None at a passthrough terminal."""
    terminal_id = known.place.terminal.terminal_id
    if known.problem is not None:
        context.explain("outcome", MISCONFIGURED.key, known.problem, "assumed I10")
        context.choice = ChosenOutcome(MISCONFIGURED, "terminal", terminal_id)
        return context.choice
    if known.is_passthrough:
        context.explain("outcome", "pending", "the processor is told of later", "assumed I7")
        return None
    return outcomes.decide(
        context,
        operation,
        amount=body.amount,
        card=card,
        terminal_id=terminal_id,
        more=lambda: outcomes.words_of(
            context,
            known,
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
    """Return the price with this card. Raises Refusal where the stated parts cannot be."""
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
    """Return the choice, with its partial approval checked.

    A partial approval that leaves nothing over is an approval (assumed 2.7).
    """
    total = cost.amounts.total
    if choice.outcome is not PARTIAL or initiation.part_of(total, choice.approved_amount):
        return choice
    why = f"partial_approval: the issuer approves all of {total}"
    near = NearMisses(choice.near_misses, [why])
    return replace(choice, outcome=APPROVED, approved_amount=None, near_misses=near)


def _as_priced(choice: ChosenOutcome, cost: Price) -> ChosenOutcome:
    """Return the choice; a prompt that cannot be shown becomes an ordinary approval.

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
    near = NearMisses(choice.near_misses, [why])
    return replace(choice, outcome=APPROVED, near_misses=near)


NO_MONEY: Final = {"authorized_amount": 0, "captured_amount": 0}
"""The details of most payments at their creation, which they share."""


def _fields(
    context: RequestContext,
    body: StartPayment,
    known: KnownPlace,
    operation: Operation,
    event_id: str,
) -> dict[str, Any]:
    """Return the fields of the transaction that its price and card do not decide."""
    device = body.device_id or body.reader_identifier
    device = device or points_of_sale.device_of(known.place.terminal.terminal_id)
    own = body.additional_details
    return {
        **points_of_sale.fields_of(known),
        "transaction_id": context.world.draws.uuid(),
        "event_id": event_id,
        "device_id": device,
        "created_at": context.now_ms,
        "payment_method": body.payment_method or "contactlessIcc",
        "additional_details": {**own, **NO_MONEY} if own else NO_MONEY,
        "transaction_type": operation.value,
        "apple_transaction_id": body.apple_transaction_id or "",
        "reader_identifier": body.reader_identifier or device,
    }


def _tap(context: RequestContext, payment: Payment, lasts: timedelta) -> Tap:
    """Return the tap that the payment waits for, first of all.

    Source: assumed D24, 8.2-deadline.
    """
    until = context.now + lasts
    context.unit.schedule(Timer(kind=TAP_EXPIRES, subject=payment.id, due=until))
    return Tap(
        transaction_id=payment.id,
        operation=payment.operation,
        amount=payment.transaction.total_amount,
        currency=payment.transaction.currency,
        terminal_id=payment.transaction.tid,
        since=context.now,
        until=until,
    )

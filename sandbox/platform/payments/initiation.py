"""Sale and preauthorization. Source: spec 4.4-paths-payments; details assumed 1.8, I1 to I10."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from msgspec.structs import replace

from sandbox.domain.access import Need, need
from sandbox.domain.clock import LATE_ANSWER, TAP_EXPIRES, Timer
from sandbox.domain.directory import PASSTHROUGH, Location, Terminal, gateway_of
from sandbox.domain.faults import DUPLICATE_EVENT, Refusal
from sandbox.domain.payments import initiation, outcomes
from sandbox.domain.payments.action_plans import ActionRequest
from sandbox.domain.payments.cards import NOT_READ, READER_FIELD, Card, Tap, Tapped
from sandbox.domain.payments.outcomes import APPROVED, OUTCOMES, PARTIAL, Operation, Outcome
from sandbox.domain.payments.pricing import Price, price
from sandbox.domain.payments.transactions import Payment, Transaction, created, with_receipt
from sandbox.platform import settlement
from sandbox.platform.context import RequestContext
from sandbox.platform.gateway import let_happen
from sandbox.platform.operation import Target, operation
from sandbox.platform.payments import attempts, conclusions, points_of_sale, processor
from sandbox.platform.payments.bodies import (
    StartPayment,
    card_in,
    example_of_sale,
    parts_of,
    platform_of,
)
from sandbox.platform.payments.points_of_sale import KnownPlace
from sandbox.scenarios.outcome_choice import ChosenOutcome
from sandbox.scenarios.rules import FollowUp

_PLACE: Final = Target(
    "body",
    "terminal_id",
    Terminal,
    others=(
        # Clients also write it under other names, in the reader's data or beside it (D27).
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
    platform = platform_of(sent.get("platform"), sent.get("apple_transaction_id"))
    return _NEED_OF_PLATFORM.get(platform, _EITHER) if isinstance(platform, str) else _EITHER


_STARTS: Final[dict[str, Any]] = {
    "needs": _EITHER,
    "narrow": need_to_tap,
    "target": _PLACE,
    "response": Transaction,
    "can_be_blocked": True,
    "attempts": Operation.SALE,
    "refuses": (DUPLICATE_EVENT,),
    "source": "spec 4.4-paths-payments",
    "example": example_of_sale(),
}
"""What the rows of a sale and of a preauthorization share."""


@operation(
    "payments.create",
    "POST",
    "/v3/payment",
    events=(
        "transaction.create",
        "batch.opened",
        "transaction.sale",
        "transaction.authorize",
        "transaction.cancel",
    ),
    words=("sale", "auth"),
    **_STARTS,
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
    events=("transaction.create", "batch.opened", "transaction.authorize", "transaction.cancel"),
    words=("auth",),
    **_STARTS,
)
async def preauthorize(context: RequestContext, body: StartPayment) -> Payment | Refusal:
    """Authorize a payment, to be captured later.

    The type in the body does not matter. Source: assumed 1.8-start.
    """
    return await _start(context, body, Operation.AUTH)


# --- the two phases ---------------------------------------------------------------------------


async def _start(
    context: RequestContext, body: StartPayment, operation: Operation
) -> Payment | Refusal:
    """Begin the payment, let card and processor answer, and finish it.

    A repeated attempt returns the payment of the first one.
    """
    known = points_of_sale.find(context, body)
    if body.currency not in (None, known.currency):
        raise points_of_sale.invalid(
            f"currency: must be {known.currency} here", "assumed 1.8-currency"
        )
    begun = _Initiation(context, body, operation, known, card_in(body))
    asked = ActionRequest(operation=operation, amount=body.amount)
    again = attempts.earlier_use(context, known.account_id, body.event_id, asked)
    if isinstance(again, Payment):
        return again
    payment = begun.begin(again)
    choice = context.choice
    if choice is None or known.problem is not None:
        # No processor is asked.
        return begun.finish(payment)
    delay_ms, tap = processor.delay_ms(context, choice), None
    if choice.tap is not None:
        # Follow-ups count from the beginning, except a late answer (assumed D39).
        begun.schedule([one for one in choice.follow if one.do != LATE_ANSWER])
        tap = _tap(context, payment, choice.tap)
    if tap is None and delay_ms == 0:
        # No request can come between the two phases, so one commit is enough.
        return begun.finish(payment)
    context.unit.put(payment)
    async with processor.in_flight(context, payment.id):
        if tap is not None:
            tapped = await processor.wait_for_tap(context, tap, begun.why_not_with)
            delay_ms = begun.note_tap(tapped)
        if delay_ms > 0:
            await processor.wait_for_answer(context, payment.id, delay_ms)
        lost = processor.begin_second_phase(context, known.account_id)
        if tap is not None:
            context.unit.cancel(TAP_EXPIRES, payment.id)
        waiting = context.unit.get(Payment, payment.id)
        assert waiting
        payment = begun.finish(waiting, was_tapped=tap is not None, is_key_lost=lost is not None)
        return lost or payment


@dataclass(eq=False, repr=False)
class _Initiation:
    """A payment that has begun: what the client asked for, and what is known of its outcome.

    `card` is that of the request, and `tapped_card` the one that was tapped, if the payment waited
    for a tap. At a passthrough terminal, whose processor reports later, the context has no choice.
    """

    context: RequestContext
    body: StartPayment
    operation: Operation
    known: KnownPlace
    card: Card
    tapped_card: Card | None = None

    def begin(self, again: Outcome | None) -> Payment:
        """Begin the first phase: choose the outcome, and price and announce the pending payment."""
        context, body, sent = self.context, self.body, self.body.event_id
        self.stated = parts_of(context, body.breakdown)
        # Refused amounts must not use up a queued outcome or the rule of a scenario.
        self.cost = self.price_with(self.card, None)
        if again is None:
            choice = self._choose()
        else:
            choice, sent = attempts.choose_repeated(context, again, sent), None
        if choice is not None:
            if choice.outcome.key in _PROMPTS:
                self.cost = self.price_with(self.card, choice.outcome)
            choice = context.choice = self._as_priced(choice)
        self.event_id = sent or attempts.new_event_id(context, self.known.account_id)
        self.id, self.begun_ms = context.world.draws.uuid(), context.now_ms
        # A payment that waits for its tap, or ends at the reader, has no card yet (assumed D29).
        is_called_off = choice is not None and choice.outcome.key in outcomes.AT_THE_READER
        is_read = choice is None or (choice.tap is None and not is_called_off)
        payment = self.created(self.card if is_read else NOT_READ)
        context.emit("transaction.create", payment)
        return payment

    def note_tap(self, tapped: Tapped | None) -> int:
        """Note the outcome after the tap, or after the payment ended without one (None).

        Returns how long the processor takes, in milliseconds.
        """
        if tapped is None:
            return 0
        context, terminal_id = self.context, self.known.terminal.terminal_id
        choice = attempts.decide_at_tap(
            context, self.operation, self.body.amount, tapped, terminal_id
        )
        # Card and outcome may differ from those for which it was priced.
        self.cost = self.price_with(tapped.card or self.card, choice.outcome)
        choice = context.choice = self._as_priced(choice)
        self.tapped_card = tapped.card
        let_happen(context, choice)
        return processor.delay_ms(context, choice)

    def finish(
        self, payment: Payment, *, was_tapped: bool = False, is_key_lost: bool = False
    ) -> Payment:
        """Finish the payment after the processor, which failed if the key was lost (assumed D2)."""
        context, choice = self.context, self.context.choice
        if payment.transaction.status != "pending":
            # A timer ended it meanwhile, and it stays ended.
            reason = payment.transaction.status_reason
            if choice is not None and reason in OUTCOMES:
                context.choice = replace(choice, outcome=OUTCOMES[reason])
                context.explain("outcome", reason, "it ended while it waited", "assumed D24")
            return payment
        if choice is not None and choice.follow:
            self.schedule([one for one in choice.follow if not was_tapped or one.do == LATE_ANSWER])
        card, outcome = self.tapped_card, choice.outcome if choice else None
        is_called_off = outcome is not None and outcome.key in outcomes.AT_THE_READER
        if card is None and payment.card is NOT_READ and not is_called_off:
            card = self.card
        if card is not None:
            # As if this card had been known from the beginning.
            payment = self.created(card, payment)
        readings = context.world.readings
        if readings["receipt_data"] == "emv" and outcome and outcome.response_code:
            payment = with_receipt(payment)
        if readings["response_fields"] == "amounts":
            payment = replace(payment, tells_amounts=True)
        start = initiation.Start(
            payment=payment,
            price=self.cost,
            outcome=OUTCOMES["payment_failed"] if is_key_lost else outcome,
            is_misconfigured=self.known.problem is not None,
            approved_amount=choice.approved_amount if choice else None,
            should_show_approved=readings["total_of_partial_approval"] == "approved",
        )
        if initiation.should_resolve_prompt(start):
            conclusion = initiation.prompt_and_resolve(start, context.now_ms)
        else:
            taken, batch_id = initiation.transition_for(start), None
            if taken.batch_entry:
                batch_id = settlement.batch_for_entry(context, payment).id
            conclusion = initiation.conclude(start, taken, at=context.now_ms, batch_id=batch_id)
        conclusions.save(context, conclusion, payment)
        return conclusion.shown

    def schedule(self, follow: list[FollowUp]) -> None:
        """Schedule follow-ups of the scenario that chose the outcome."""
        terminal_id = self.known.terminal.terminal_id
        attempts.schedule_follow_ups(self.context, follow, terminal_id, self.id)

    def created(self, card: Card, earlier: Payment | None = None) -> Payment:
        """Return the pending payment, with the card that was read.

        Its history is that of the `earlier` one, or begins now.
        """
        choice, known = self.context.choice, self.known
        return created(
            self._transaction(earlier),
            card,
            operation=self.operation,
            mcc=known.terminal.merchant_category_code or known.account.mcc,
            armed=choice.arms if choice else None,
            settlement=choice.settlement if choice else None,
        )

    def _transaction(self, earlier: Payment | None) -> Transaction:
        """Return its transaction, without the card. Source: assumed 7.1."""
        body, known, cost = self.body, self.known, self.cost
        account, terminal, amounts = known.account, known.terminal, cost.amounts_at_first
        device = body.device_id or body.reader_identifier
        device = device or points_of_sale.device_of(terminal.terminal_id)
        own, on_ios = body.additional_details, self.id if body.platform == "ios" else ""
        tx = Transaction(
            transaction_id=self.id,
            event_id=self.event_id,
            mid=account.id,
            tid=terminal.terminal_id,
            processor_mid=terminal.mid,
            processor_tid=terminal.tid,
            account_id=account.id,
            device_id=device,
            location_id=known.location_id,
            processor=known.processor,
            gateway=gateway_of(known.processor),
            currency=known.currency,
            subtotal=amounts.subtotal,
            tip_amount=amounts.tip,
            tax_amount=amounts.tax,
            total_amount=amounts.total,
            surcharge_amount=amounts.surcharge,
            tip_type=cost.tip_type,
            tip_capture_mode="sale" if amounts.tip else None,
            surcharge_applied=amounts.surcharge > 0,
            created_at=self.begun_ms,
            payment_method=body.payment_method or "contactlessIcc",
            additional_details={**own, **NO_MONEY} if own else NO_MONEY,
            transaction_type=str(self.operation),
            apple_transaction_id=body.apple_transaction_id or on_ios,
            reader_identifier=body.reader_identifier or device,
            owner_id=account.owner_id,
            parent_account_ids=account.parent_account_ids,
            merchant_name=terminal.merchant_name or account.name,
            history=earlier.history if earlier else (),
        )
        return replace(tx, **cost.rates) if cost.rates else tx

    def price_with(self, card: Card, outcome: Outcome | None) -> Price:
        """Return the price with this card. Raises Refusal if the stated parts do not add up."""
        is_sale = self.operation is Operation.SALE
        try:
            return price(
                self.body.amount,
                self.stated,
                self.known,
                is_sale=is_sale,
                is_credit=card.is_credit,
                forces_prompt=is_sale and outcome is not None and outcome.key in _PROMPTS,
            )
        except ValueError as error:
            raise points_of_sale.invalid(str(error), "assumed 1.8-sum") from None

    def why_not_with(self, card: Card) -> str | None:
        """Return why this card cannot pay: an explicit surcharge on a debit card (assumed D12)."""
        try:
            self.price_with(card, None)
        except Refusal as refusal:
            return refusal.details
        return None

    def _choose(self) -> ChosenOutcome | None:
        """Choose the outcome; None at a passthrough terminal."""
        context, known, tip = self.context, self.known, self.stated.tip if self.stated else 0
        terminal_id = known.terminal.terminal_id
        if known.problem is not None:
            outcome = outcomes.MISCONFIGURED
            context.explain("outcome", outcome.key, *known.problem)
            return ChosenOutcome(outcome, "terminal", terminal_id)
        is_passthrough = known.processor == PASSTHROUGH
        if (word := context.forced) in OUTCOMES:
            why_not = outcomes.why_not_for(word, self.operation)
            if is_passthrough and word != APPROVED.key:
                why_not = (
                    f"{word} cannot happen here: no processor is asked; "
                    "PUT /v1/transactions/{id} reports the outcome"
                )
            if why_not is not None:
                raise points_of_sale.invalid(f"x-sandbox-outcome: {why_not}", "assumed D41")
        if is_passthrough:
            context.explain("outcome", "pending", "the outcome is reported later", "assumed I7")
            return None
        platform = platform_of(self.body.platform, self.body.apple_transaction_id)
        return attempts.decide(
            context,
            self.operation,
            amount=self.body.amount,
            card=self.card,
            terminal_id=terminal_id,
            more=lambda: attempts.words_of(
                context, known, tip_amount=tip, platform=platform, attempt=1
            ),
        )

    def _as_priced(self, choice: ChosenOutcome) -> ChosenOutcome:
        """Return the choice, or an ordinary approval if the price rules the choice out.

        The price rules out a partial approval that would cover the whole (assumed 2.7), and a
        prompt without a surcharge. If the header asks for such a prompt, it is refused (assumed
        D41).
        """
        cost, outcome, part = self.cost, choice.outcome, choice.approved_amount
        is_prompt = outcome.verdict == "surcharge_pending"
        if outcome is PARTIAL and not initiation.part_of(cost.amounts_at_first.total, part):
            why = f"partial_approval: the issuer approves all of {cost.amounts_at_first.total}"
        elif is_prompt and not cost.needs_prompt:
            why = f"surcharge_prompt: nothing can be surcharged here: {self._why_no_surcharge()}"
            if choice.source == "header":
                raise points_of_sale.invalid(f"x-sandbox-outcome: {why}", "assumed D41")
        else:
            return choice
        self.context.near_misses.append(why)
        return replace(choice, outcome=APPROVED, approved_amount=None)

    def _why_no_surcharge(self) -> str:
        """Return why this payment has no surcharge that could be proposed."""
        stated = self.stated
        if stated is not None and (
            stated.bypass or (stated.surcharge_amount, stated.surcharge_rate) != (None, None)
        ):
            return "the request states the surcharge"
        if not self.card.is_credit:
            return "debit and prepaid cards are never surcharged"
        if not self.known.may_surcharge:
            return f"the state is {self.known.state}"
        return "it comes to 0"


_PROMPTS: Final = outcomes.AFTER_PROMPT | {"surcharge_prompt"}

NO_MONEY: Final = {"authorized_amount": 0, "captured_amount": 0}
"""The details of most payments when they are created."""


def _tap(context: RequestContext, payment: Payment, lasts: timedelta) -> Tap:
    """Return the tap that the payment waits for, and schedule its deadline.

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

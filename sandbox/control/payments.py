"""The payments of a world: lists, and what happened to each."""

from collections.abc import Iterator, Sequence
from operator import itemgetter
from typing import Annotated, Any, Final, Literal

from msgspec import to_builtins
from pydantic import Field

from sandbox.control.clock import view_timer
from sandbox.control.context import ControlRequest, conflict, invalid, must_be_known, parse_words
from sandbox.control.journal import OutcomeView, has_named, is_refused
from sandbox.control.models import Body, LikeType, RecordsQuery, Time, View, Words, attribute, shows
from sandbox.control.routing import WORLD, get, post
from sandbox.domain.batches import Batch
from sandbox.domain.clock import BATCH_CLOSES
from sandbox.domain.directory import Account, Terminal
from sandbox.domain.events import Message
from sandbox.domain.instants import Instant, to_ms
from sandbox.domain.payments import transactions
from sandbox.domain.payments.action_records import record_id
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.payments.follow_ups import why_no_answer
from sandbox.domain.payments.outcomes import OUTCOMES
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.text import nearest
from sandbox.platform.context import OperationContext
from sandbox.platform.payments import late_answers
from sandbox.platform.payments.late_answers import OpenAttempt
from sandbox.store.tables import NEWEST_FIRST, OLDEST_FIRST, Order
from sandbox.worlds.journal import Entry
from sandbox.worlds.world import World

_Amount = Annotated[int, Field(ge=0, le=99_999_999)]


class PaymentsQuery(RecordsQuery):
    """Which payments, in which order, as rows or whole.

    `status`, `status_reason` and `type` are one or several words, separated by commas. `account`
    and `terminal` are ids or names of the cast, and amounts are minor units. `before` is the `next`
    of the previous page.
    """

    q: Words | None = None
    status_reason: Words | None = None
    type: Words | None = None
    batch: Words | None = None
    card_brand: Words | None = None
    amount_min: _Amount | None = None
    amount_max: _Amount | None = None
    since: Instant | None = None
    until: Instant | None = None
    order: Literal["newest", "oldest", "largest", "smallest"] = "newest"
    shape: Literal["row", "full"] = "row"


PaymentShown = Annotated[Any, LikeType(transactions.Transaction)]
_BRANDS: Final = sorted({card.brand for card in CARDS.values()})
_ORDERS: Final = {
    "newest": NEWEST_FIRST,
    "oldest": OLDEST_FIRST,
    "largest": Order("total_amount"),
    "smallest": Order("total_amount", is_descending=False),
}


class PaymentRow(View):
    """A payment in a list. Amounts are minor units."""

    id: str
    created_at: Time = attribute("transaction.created_at")
    updated_at: Time
    type: str = attribute("transaction.transaction_type")
    status: str
    status_reason: str = attribute("transaction.status_reason")
    currency: str = attribute("transaction.currency")
    total: int = attribute("transaction.total_amount")
    tip: int = attribute("transaction.tip_amount")
    refunded: int = attribute("transaction.refunded")
    reversed: int = attribute("transaction.reversed")
    brand: str = attribute("card.brand")
    last4: str = attribute("card.last4")
    account_id: str
    merchant: str | None = attribute("transaction.merchant_name")
    terminal_id: str = attribute("transaction.tid")
    batch_id: str | None


class PaymentsPage(View):
    """Payments, as rows or whole. `next` is the `before` of the next page, null on the last."""

    payments: list[PaymentRow | PaymentShown]
    total: int
    next: int | None


def payment_row(payment: Payment) -> PaymentRow:
    """Return a payment as lists show it."""
    return PaymentRow.of(payment, updated_at=payment.history[-1].created_at)


@get(f"{WORLD}/payments", "payments.search")
def search_payments(request: ControlRequest, query: PaymentsQuery) -> PaymentsPage:
    """Search the payments of a world, of all its accounts."""
    where, order = _where(request, query), _ORDERS[query.order]
    rows, total, after = request.find_page(Payment, where, query, order)
    shape = payment_row if query.shape == "row" else _view
    return PaymentsPage(payments=list(map(shape, rows)), total=total, next=after)


def _view(payment: Payment) -> Any:
    return to_builtins(transactions.show(payment))


def _where(request: ControlRequest, query: PaymentsQuery) -> dict[str, Any]:
    """Return the conditions for the indexes and filters of the store."""
    must_be_known("card_brand", query.card_brand, _BRANDS)
    reasons = transactions.STATUS_REASONS
    return {
        "scope": request.find_id(Account, query.account),
        "status": parse_words("status", query.status, transactions.STATUSES),
        "transaction_type": parse_words("type", query.type, transactions.TRANSACTION_TYPES),
        "status_reason": parse_words("status_reason", query.status_reason, reasons),
        "terminal_id": request.find_id(Terminal, query.terminal),
        "batch_id": query.batch,
        "card_brand": query.card_brand,
        "min_amount": query.amount_min,
        "max_amount": query.amount_max,
        "start_ms": query.since and to_ms(query.since),
        "end_ms": query.until and to_ms(query.until),
        "search_term": query.q,
    }


class Money(View):
    """The money of a payment in minor units.

    `released` is the part of the hold that the capture did not take, or all of it once the payment
    is canceled; `remaining` is what is still held before the capture, or can still be refunded.
    """

    authorized: int
    captured: int
    released: int
    reversed_before: int = attribute("voided")
    reversed_after: int = attribute("reversed")
    refunded: int
    refundable: int
    remaining: int


class BatchOfPayment(View):
    """The batch in which a payment settles."""

    id: str
    status: str
    number: str | None = attribute("processor_batch_id")


class StoryStep(View):
    """Something that happened to a payment, or is due. `amount` is in minor units."""

    at: Time
    kind: Literal["attempt", "request", "message", "due"]
    id: str
    amount: int | None = None
    says: str


@shows(OpenAttempt)
class UnansweredAttempt(View):
    """An attempt that timed out or was left pending; its answer may still come, or be given."""


class Story(View):
    """A payment with its money, its outcome, its batch and its story, oldest first.

    `outcome` is that of its first attempt, and what chose it; null once the journal dropped it.
    `unanswered` are the attempts that the processor may still answer.
    """

    payment: PaymentShown
    ledger: Money
    outcome: OutcomeView | None
    batch: BatchOfPayment | None
    unanswered: list[UnansweredAttempt]
    story: list[StoryStep]


@get(f"{WORLD}/payments/{{id}}", "payments.story")
def read_payment(request: ControlRequest) -> Story:
    """Read a payment with its money, its batch and everything that happened to it.

    Source: assumed 2.2, 2.10.
    """
    payment = request.get_record(Payment, "payment")
    found = request.world.store.messages()
    messages = [one for id in list_records(payment) for one in found if one.subject == id]
    return view_story(request.world, payment, messages)


def list_records(payment: Payment) -> list[str]:
    """Return the id of the payment, and those of its actions' own records."""
    own = (record_id(payment, event_id) for event_id in payment.recorded)
    return [payment.id, *filter(None, own)]


def view_story(world: World, payment: Payment, messages: Sequence[Message]) -> Story:
    """Show a payment with all that happened to it or is due; `messages` are about it."""
    asked = next((one.request_id for one in messages if one.request_id is not None), "")
    first = world.journal.entry(asked)
    # Those of all clients.
    entries = world.journal.entries()
    refused = (one for one in entries if is_refused(one) and has_named(one, payment.id))
    steps = [(one.created_at, _attempt_step(one)) for one in payment.history]
    steps += [(_moment_of(one), _message_step(world, one)) for one in messages]
    steps += [(to_ms(one.at), _refusal_step(world, one)) for one in refused]
    steps.sort(key=itemgetter(0))
    return Story(
        payment=_view(payment),
        ledger=_money(payment),
        outcome=first and first.choice,
        batch=world.store.get(Batch, payment.batch_id or ""),
        unanswered=late_answers.open_attempts(OperationContext.of_world(world), payment),
        story=[*(step for _, step in steps), *_due(world, payment)],
    )


class LateAnswerBody(Body, example={"outcome": "approved"}):
    """The processor's late answer. Without an `event_id` it is for the newest open attempt."""

    outcome: str = "approved"
    event_id: str | None = None


@post(f"{WORLD}/payments/{{id}}/answer", "payments.answer", refuses=(409,))
def answer_payment(request: ControlRequest, body: LateAnswerBody) -> Story:
    """Give the processor's late answer to an attempt that timed out or was left pending.

    Source: assumed D24, D24-late.
    """
    context = OperationContext.of_world(request.world)
    payment = request.get_record(Payment, "payment")
    must_be_known("outcome", body.outcome, OUTCOMES)
    attempt = _choose_attempt(late_answers.open_attempts(context, payment), body.event_id)
    if why_not := why_no_answer(body.outcome, attempt.operation):
        raise invalid(f"outcome: {why_not}")
    if not late_answers.answer(context, payment, body.outcome, attempt.event_id):
        why, _ = late_answers.why_no_effect(context, payment, body.outcome)
        about = f"{body.outcome} would change nothing about the {attempt.operation}: {why}"
        raise conflict("no_effect", about)
    context.unit.commit()
    return read_payment(request)


def _choose_attempt(attempts: list[OpenAttempt], event_id: str | None) -> OpenAttempt:
    if not attempts:
        how = (
            "an attempt waits if it timed out, as with the outcome processor_timeout, or if "
            "pending_forever left it pending"
        )
        why = "no attempt at the payment waits for its processor"
        raise conflict("not_waiting", why, details=how)
    found = {one.event_id: one for one in attempts}
    wanted = attempts[-1].event_id if event_id is None else event_id
    if wanted not in found:
        why = f"event_id: no attempt with {wanted[:80]!r} waits for its processor"
        raise invalid(why, nearest(wanted, found))
    return found[wanted]


def _money(payment: Payment) -> Money:
    money = payment.ledger
    if payment.status == "canceled":
        return Money.of(money, released=money.held, remaining=0)
    if not money.captured:
        return Money.of(money, released=0, remaining=money.held)
    released = max(money.held + money.added - money.captured, 0)
    return Money.of(money, released=released, remaining=money.refundable)


def _attempt_step(one: transactions.Attempt) -> StoryStep:
    says = f"{one.transaction_type}: {one.status} ({one.status_reason})"
    return StoryStep.of(one, kind="attempt", id=one.event_id, at=one.created_at, says=says)


def _refusal_step(world: World, entry: Entry) -> StoryStep:
    _, _, why, clause = entry.decisions[-1]
    status = f"refused with {entry.status}" if entry.status else "closed without an answer"
    says = f"{entry.method} {entry.path} was {status}: {world.profile.scrub(why)} ({clause})"
    return StoryStep.of(entry, kind="request", says=says)


def _moment_of(message: Message) -> int:
    """Return when a message was emitted, in Unix milliseconds: not before the attempt it is about.

    Attempts of the same moment are a millisecond apart.
    """
    history = getattr(message.record, "history", ())
    return max(to_ms(message.created_at), history[-1].created_at if history else 0)


def _message_step(world: World, message: Message) -> StoryStep:
    deliveries = world.outbox.deliveries_of(message.id)
    accepted = sum(one.status == "delivered" for one in deliveries)
    told = f"delivered to {accepted} of {len(deliveries)} endpoints" if deliveries else "not sent"
    says = f"{message.event_type}: {told}"
    return StoryStep.of(message, kind="message", at=message.created_at, says=says)


def _due(world: World, payment: Payment) -> Iterator[StoryStep]:
    """Yield what is due for the payment and for its batch, the soonest first."""
    ids = (payment.id, payment.batch_id or "")
    timers = [timer for id in ids for timer in world.store.timers.about(id)]
    batch = world.store.get(Batch, payment.batch_id or "")
    if batch is not None and batch.status == "open":
        closing = world.store.timer(BATCH_CLOSES, batch.terminal_id)
        timers += [closing] if closing is not None else []
    for timer in sorted(timers, key=lambda timer: timer.due):
        then = view_timer(world, timer).then
        leads_to = f": {then.status} ({then.status_reason})" if then and then.status_reason else ""
        says = f"{timer.kind}{leads_to}"
        yield StoryStep.of(timer, kind="due", at=timer.due, says=says)

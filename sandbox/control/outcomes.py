"""What is set to happen next: outcomes of attempts, faults of deliveries, and awaited taps."""

from typing import Annotated, Any, Literal

from pydantic import Field

from sandbox.control.catalogues import FaultKey, OperationName, OutcomeKey
from sandbox.control.context import ControlRequest, conflict, invalid, must_be_known, not_found
from sandbox.control.models import TOTAL, Body, View, attribute, shows
from sandbox.control.routing import WORLD, delete, get, post
from sandbox.domain.field_types import DelayMs, PositiveAmount
from sandbox.domain.operations import API_WORDS, METHODS, PathText, find_operations
from sandbox.domain.payments import outcomes
from sandbox.domain.payments.cards import CANCELED_BY, CARDS, TOKEN_PREFIX, Tap, Tapped
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.transport_faults import TRANSPORT_FAULTS
from sandbox.domain.webhooks import TIMES_MAX, WebhookFault
from sandbox.scenarios.parser import ScenarioError
from sandbox.worlds.tap_desk import Waiting


class NextOutcome(Body, example={"outcome": "lost_card", "operation": "sale"}):
    """An outcome or a fault for the next request that matches. Source: assumed D24.

    `operation` is an action on payments, or the name of any operation of the platform; `path` can
    contain `*`. Outcomes only apply to payments and the actions on them. `amount` and
    `approved_amount` are minor units; `delay_ms` is how long the processor takes.
    """

    outcome: str | None = None
    operation: str | None = None
    method: str | None = None
    path: PathText | None = None
    amount: PositiveAmount | None = None
    delay_ms: DelayMs = 0
    fault: str | None = None
    approved_amount: PositiveAmount | None = None


class TapBody(Body, example={"card": "tok_visa_credit"}):
    """What to do with a waiting payment: exactly one of the three."""

    card: Annotated[str, Field(max_length=100)] | None = None
    outcome: Annotated[str, Field(max_length=100)] | None = None
    cancel: Literal["user", "merchant"] | None = None


# --- the queue --------------------------------------------------------------------------------


@shows(outcomes.Queued)
class QueuedView(View):
    """An outcome queued for the next request that matches. Amounts are minor units."""

    outcome: OutcomeKey | None
    operation: OperationName | None
    method: str | None
    path: str | None
    fault: FaultKey | None


class Queue(View):
    """The queued outcomes, the next one first."""

    queue: list[QueuedView]
    total: int = TOTAL


@post(f"{WORLD}/scenario/next", "next.add", status=201, refuses=(409,))
def queue_outcome(request: ControlRequest, body: NextOutcome) -> QueuedView:
    """Queue an outcome, or a transport fault, for the next request that matches.

    Source: assumed 6.3, D24.
    """
    must_be_known("outcome", body.outcome, outcomes.OUTCOMES)
    must_be_known("fault", body.fault, TRANSPORT_FAULTS)
    must_be_known("operation", body.operation, API_WORDS)
    must_be_known("method", body.method, METHODS)
    if body.outcome is None and body.fault is None:
        raise invalid("outcome or fault is required")
    _must_be_possible(request, body)
    if body.approved_amount is not None and body.outcome != outcomes.PARTIAL.key:
        raise invalid(f"approved_amount: is only for the outcome {outcomes.PARTIAL.key}")
    if body.amount and body.approved_amount and body.approved_amount >= body.amount:
        raise invalid(
            f"approved_amount: must be less than the amount {body.amount}, and is "
            f"{body.approved_amount}"
        )
    return QueuedView.of(request.world.queue.add(outcomes.Queued(**vars(body))))


def _must_be_possible(request: ControlRequest, body: NextOutcome) -> None:
    """Raise ControlFault if no request can have the outcome or the fault."""
    words = (one and [one] for one in (body.operation, body.method, body.path))
    fitting = find_operations(*words)
    if (why_not := request.world.why_not(body.fault, fitting)) is not None:
        raise invalid(f"fault: {why_not}")
    if body.outcome is None and body.amount is None:
        return
    attempts = {word for one in fitting for word in one.words} & {*outcomes.Operation}
    if body.operation in attempts:
        attempts = {body.operation}
    if not attempts:
        raise invalid(f"operation: {fitting[0].name} asks no processor; it can only have a fault")
    if body.outcome and not attempts.intersection(outcomes.operations_of(body.outcome)):
        _find_outcome(body.outcome, outcomes.Operation(min(attempts)), "operation")


@get(f"{WORLD}/scenario/next", "next.list")
def list_queued_outcomes(request: ControlRequest) -> Queue:
    """List the queued outcomes."""
    return Queue(queue=request.world.queue.entries)


@delete(f"{WORLD}/scenario/next/{{id}}", "next.delete")
def delete_queued_outcome(request: ControlRequest) -> None:
    """Remove a queued outcome."""
    if not request.world.queue.remove(request.id):
        raise not_found("no outcome with this id waits: it was used or cleared, or never existed")


@delete(f"{WORLD}/scenario/next", "next.clear")
def clear_queued_outcomes(request: ControlRequest) -> None:
    """Clear the queued outcomes."""
    request.world.queue.clear()


@shows(Tap)
class TapView(View):
    """A payment that waits for a card."""


class Taps(View):
    """The payments that wait for a card, the oldest first."""

    taps: list[TapView]
    total: int = TOTAL


class TappedView(TapView):
    """The result of a payment that waited for a card."""

    status: str | None = attribute("payment.status", None)
    status_reason: str | None = attribute("payment.transaction.status_reason", None)


@get(f"{WORLD}/taps", "taps.list")
def list_taps(request: ControlRequest) -> Taps:
    """List the payments that wait for a tap."""
    return Taps(taps=[one.tap for one in request.world.tap_desk])


@post(f"{WORLD}/taps/{{id}}", "taps.tap", refuses=(409,))
async def tap_card(request: ControlRequest, body: TapBody) -> TappedView:
    """Tap a card for a waiting payment, choose its outcome, or cancel it.

    Answers once the payment has ended, or once its processor delays the answer.

    Source: assumed D24.
    """
    waiting = _find_waiting(request)
    waiting.came.set_result(_tapped(body, waiting))
    await waiting.left.wait()
    payment = request.world.store.get(Payment, waiting.tap.transaction_id)
    return TappedView.of(waiting.tap, payment=payment)


def _find_waiting(request: ControlRequest) -> Waiting:
    if (waiting := request.world.tap_desk.get(request.id)) is not None:
        return waiting
    payment = request.get_record(Payment, "transaction")
    raise conflict(
        "not_waiting",
        f"the payment does not wait for a tap: it is {payment.status}",
        details="a payment waits where a scenario says tap = 'wait'; GET taps lists those that do",
    )


def _tapped(body: TapBody, waiting: Waiting) -> Tapped:
    """Return the tap of the body. Raises ControlFault, and the payment keeps waiting."""
    if [*vars(body).values()].count(None) != 2:
        raise invalid("give one of card, outcome and cancel")
    if body.cancel is not None:
        return Tapped(outcome=CANCELED_BY[body.cancel])
    if body.outcome is not None:
        must_be_known("outcome", body.outcome, outcomes.OUTCOMES)
        return Tapped(outcome=_find_outcome(body.outcome, waiting.tap.operation, "outcome"))
    assert body.card is not None
    if body.card[:4] != TOKEN_PREFIX:
        # It may be a card number, which must not be repeated.
        raise invalid("card: name a test card by its token, like tok_visa_credit")
    must_be_known("card", body.card, CARDS)
    card = CARDS[body.card]
    if (problem := waiting.why_not(card)) is not None:
        raise invalid(f"card: {card.token} cannot pay this: {problem}")
    return Tapped(card=card)


def _find_outcome(word: str, operation: outcomes.Operation, field: str) -> Any:
    """Return the outcome for this operation. Raises ControlFault for the field if it has none."""
    outcome = outcomes.for_operation(word, operation)
    if outcome is None:
        raise invalid(f"{field}: {outcomes.why_not_for(word, operation)}")
    return outcome


class NewWebhookFault(
    Body,
    example={
        "then": {"delay_ms": 1500, "contradict": {"status": "declined"}},
        "when": {"event": "transaction.sale"},
    },
):
    """What to do to the next deliveries that match: `when` and `then` of a webhook rule."""

    then: dict[str, Any]
    when: dict[str, Any] = Field(default_factory=dict)
    times: Annotated[int, Field(ge=1, le=TIMES_MAX)] = 1


@shows(WebhookFault, without=("fitted",))
class WebhookFaultView(View):
    """A fault for the next deliveries: `left` is how many more it applies to."""


class WebhookFaultQueue(View):
    """The faults for the next deliveries, in the order of their use."""

    queue: list[WebhookFaultView]
    total: int = TOTAL


@post(f"{WORLD}/webhooks/next", "webhooks.next.add", status=201, refuses=(409,))
def add_fault(request: ControlRequest, body: NewWebhookFault) -> WebhookFaultView:
    """Inject a fault into the next delivery that matches.

    Source: assumed D24.
    """
    if "times" in body.then:
        raise invalid("then.times: give `times` beside `then`")
    try:
        entry = request.world.webhook_faults.add(body.when, body.then, body.times)
    except ScenarioError as error:
        said = str(error).partition("webhook 1, ")[2] or str(error)
        raise invalid(said, error.nearest) from None
    return WebhookFaultView.of(entry)


@get(f"{WORLD}/webhooks/next", "webhooks.next.list")
def list_faults(request: ControlRequest) -> WebhookFaultQueue:
    """List the faults for the next deliveries."""
    return WebhookFaultQueue(queue=request.world.webhook_faults.entries)


@delete(f"{WORLD}/webhooks/next", "webhooks.next.clear")
def clear_faults(request: ControlRequest) -> None:
    """Clear the faults for the next deliveries."""
    request.world.webhook_faults.clear()

"""Control endpoints on the tap desk: payments that wait for a card, and taps."""

from typing import TYPE_CHECKING, Any, TypedDict

from sandbox.control.rows import ControlFault, ControlRequest, invalid, must_be_known
from sandbox.domain.instants import to_wire
from sandbox.domain.payments.cards import CANCELED_BY, CARDS, TOKEN_PREFIX, Tap, Tapped
from sandbox.domain.payments.outcomes import OUTCOMES, Operation, for_operation, why_not_for
from sandbox.domain.payments.transactions import Transaction
from sandbox.worlds.tap_desk import Waiting

if TYPE_CHECKING:
    from sandbox.control.shapes import TapBody


class TapView(TypedDict):
    """A payment that waits for a card."""

    transaction_id: str
    operation: Operation
    amount: int
    currency: str
    terminal_id: str
    since: str
    until: str


class Taps(TypedDict):
    """The payments that wait, the oldest first."""

    taps: list[TapView]
    total: int


class TappedView(TapView):
    """What became of a payment that waited."""

    status: str | None
    status_reason: str | None


def list_all(request: ControlRequest) -> Taps:
    """The payments that wait, the oldest first."""
    taps = [view(waiting.tap) for waiting in request.world.tap_desk if not waiting.came.done()]
    return {"taps": taps, "total": len(taps)}


def view(tap: Tap) -> TapView:
    """A payment that waits, as the control API shows it."""
    return {
        "transaction_id": tap.transaction_id,
        "operation": tap.operation,
        "amount": tap.amount,
        "currency": tap.currency,
        "terminal_id": tap.terminal_id,
        "since": to_wire(tap.since),
        "until": to_wire(tap.until),
    }


async def tap(request: ControlRequest) -> TappedView:
    """Tap a card, choose the outcome, or cancel; what became of the payment. Source: assumed D24.

    Answers once the payment has ended, or once its processor delays the answer.
    """
    waiting = _found(request)
    tapped = _tapped(request.body, waiting)
    waiting.came.set_result(tapped)
    await waiting.left.wait()
    tx = request.world.store.begin().get(Transaction, waiting.tap.transaction_id)
    return {
        **view(waiting.tap),
        "status": None if tx is None else tx.status,
        "status_reason": None if tx is None else tx.status_reason,
    }


def _found(request: ControlRequest) -> Waiting:
    id = request.params["id"]
    waiting = request.world.tap_desk.get(id)
    if waiting is not None:
        return waiting
    tx = request.world.store.begin().get(Transaction, id)
    if tx is None:
        raise ControlFault(404, "not_found", "the world has no transaction with this id")
    raise ControlFault(
        409,
        "not_waiting",
        f"the payment does not wait for a tap: it is {tx.status}",
        details="a payment waits where a scenario says tap = 'wait'; GET taps lists those that do",
    )


def _tapped(body: "TapBody", waiting: Waiting) -> Tapped:
    """The tap of the body. Raises ControlFault; then the payment continues to wait."""
    given = [one for one in (body.card, body.outcome, body.cancel) if one is not None]
    if len(given) != 1:
        raise invalid("give one of card, outcome and cancel")
    if body.cancel is not None:
        return Tapped(outcome=CANCELED_BY[body.cancel])
    if body.outcome is not None:
        return Tapped(outcome=_outcome(body.outcome, waiting.tap.operation))
    assert body.card is not None
    if body.card[:4] != TOKEN_PREFIX:
        # It may be a card number, which must not be repeated.
        raise invalid("card: name a test card by its token, like tok_visa_credit")
    must_be_known("card", body.card, CARDS)
    card = CARDS[body.card]
    problem = waiting.payment.why_not_with(card)
    if problem is not None:
        raise invalid(f"card: {card.token} cannot pay this: {problem}")
    return Tapped(card=card)


def _outcome(word: str, operation: Operation) -> Any:
    must_be_known("outcome", word, OUTCOMES)
    outcome = for_operation(word, operation)
    if outcome is None:
        raise invalid(f"outcome: {why_not_for(word, operation)}")
    return outcome

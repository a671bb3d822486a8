"""Sale and preauthorization. Source: spec 4.4-paths-payments; details assumed 1.8, I1 to I10."""

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from sandbox.domain.access import Need, need
from sandbox.domain.faults import VALIDATION_ERROR, Refusal
from sandbox.domain.payments import initiating
from sandbox.domain.payments.cards import Card, card_of
from sandbox.domain.payments.initiating import Start
from sandbox.domain.payments.outcomes import (
    AFTER_PROMPT,
    APPROVED,
    MISCONFIGURED,
    OUTCOMES,
    Operation,
    Outcome,
    Verdict,
)
from sandbox.domain.payments.pricing import Place, Price, price
from sandbox.domain.payments.transactions import Origin, Site, Transaction
from sandbox.operations.call import Awaiting, Call
from sandbox.operations.payments import attempting, keeping, places
from sandbox.operations.payments.places import KnownPlace
from sandbox.scenarios.choosing import Choice

if TYPE_CHECKING:
    from sandbox.operations.bodies.payments import StartPayment

_NEED_OF_PLATFORM = {"ios": need("payments:tap-ios"), "android": need("payments:tap-android")}
_EITHER = need("payments:tap-ios", "payments:tap-android")


def need_to_tap(sent: dict[str, Any]) -> Need:
    """The permission for the platform that the body tells, or shows. Source: assumed 1.9, D16."""
    platform = sent.get("platform")
    if platform is None and sent.get("apple_transaction_id"):
        platform = "ios"
    return _NEED_OF_PLATFORM.get(platform, _EITHER) if isinstance(platform, str) else _EITHER


def pay(call: Call) -> Any:
    """A sale, or an authorization where the body says so. Source: assumed 1.8-start."""
    body: StartPayment = call.body
    return _start(call, Operation(body.type or "sale"))


def preauthorize(call: Call) -> Any:
    """An authorization, whatever type the body says. Source: assumed 1.8-start."""
    return _start(call, Operation.AUTH)


def _start(call: Call, operation: Operation) -> Any:
    body: StartPayment = call.body
    known = places.find(call, (body.terminal_id, body.location_id, body.account_id))
    site = known.site
    if body.currency not in (None, site.currency):
        raise places.invalid(f"currency: must be {site.currency} here", "assumed 1.8-currency")
    try:
        card = card_of(body.card_data)
    except ValueError as error:
        raise Refusal(
            VALIDATION_ERROR, f"card_reader_data: {error}", source="assumed 6.4-unknown"
        ) from None
    again = attempting.earlier_use(call, site.account_id, body.event_id, operation, body.amount)
    if again is not None:
        return again
    decision = _decide(call, operation, known, card)
    cost = _price(call, operation, known.place, card, decision)
    event_id = attempting.event_id_for(call, body.event_id)
    origin = _origin(call, operation, site, card)
    choice = decision.choice
    tx = initiating.created(
        origin,
        cost,
        event_id,
        armed=choice.arms if choice else None,
        settlement=choice.settlement if choice else None,
    )
    call.unit.put(tx)
    call.emit("transaction.create", tx)
    return Awaiting(
        attempting.delay_ms(call, choice, decision.outcome) if choice else 0,
        partial(_finish, origin.transaction_id, cost, decision),
        origin.transaction_id,
        choice.fault if choice else None,
    )


# --- what happens -----------------------------------------------------------------------------


@dataclass(slots=True)
class _Decision:
    """How the initiation will end, decided before its record exists.

    `choice` is None where nobody was asked: a passthrough or misconfigured terminal.
    """

    outcome: Outcome
    choice: Choice | None = None
    is_passthrough: bool = False
    is_misconfigured: bool = False


def _decide(call: Call, operation: Operation, known: KnownPlace, card: Card) -> _Decision:
    body: StartPayment = call.body
    terminal_id = known.site.terminal_id
    if known.problem is not None:
        call.decided("outcome", MISCONFIGURED.key, known.problem, "assumed I10")
        call.choice = Choice(MISCONFIGURED, "terminal", terminal_id)
        return _Decision(MISCONFIGURED, is_misconfigured=True)
    if known.is_passthrough:
        call.decided("outcome", "pending", "the processor is told of later", "assumed I7")
        return _Decision(APPROVED, is_passthrough=True)
    choice = attempting.decide(
        call,
        operation,
        amount=body.amount,
        card=card,
        terminal_id=terminal_id,
        more=lambda: attempting.words_of(
            call,
            known.site,
            tip_amount=body.breakdown.parts().tip if body.breakdown else 0,
            platform=body.platform,
            attempt=1,
        ),
    )
    return _Decision(choice.outcome, choice)


_PROMPTS = AFTER_PROMPT | {"surcharge_prompt"}


def _price(
    call: Call, operation: Operation, place: Place, card: Card, decision: _Decision
) -> Price:
    """The price; a prompt that was asked for and cannot be shown is an ordinary approval."""
    body: StartPayment = call.body
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
        raise places.invalid(str(error), "assumed 1.8-sum") from None
    if decision.outcome.verdict is Verdict.SURCHARGE_PENDING:
        decision.outcome = APPROVED
        if not cost.needs_prompt and decision.choice is not None:
            decision.choice.outcome = APPROVED
            decision.choice.near_misses.append(
                "surcharge_prompt: nothing can be surcharged here (the card, the state, the "
                "operation, or what the request states)"
            )
    return cost


def _origin(call: Call, operation: Operation, site: Site, card: Card) -> Origin:
    body: StartPayment = call.body
    device = body.device_id or body.reader_identifier or site.device_id
    return Origin(
        call.world.draws.uuid(),
        operation,
        site,
        card,
        call.now_ms,
        device,
        body.reader_identifier or device,
        body.apple_transaction_id or "",
        body.payment_method or "contactlessIcc",
        body.additional_details,
    )


def _finish(
    transaction_id: str, cost: Price, decision: _Decision, call: Call, key_was_lost: bool
) -> Transaction:
    """The second breath: the processor has answered."""
    tx = call.unit.get(Transaction, transaction_id)
    assert tx
    if tx.status != "pending":
        # It ended by itself meanwhile, and stays as it ended.
        return tx
    outcome = OUTCOMES["payment_failed"] if key_was_lost else decision.outcome
    choice = decision.choice
    start = Start(
        tx,
        cost,
        outcome,
        is_passthrough=decision.is_passthrough,
        is_misconfigured=decision.is_misconfigured,
        approved_amount=choice.approved_amount if choice else None,
    )
    if initiating.resolves_prompt(start):
        conclusion = initiating.prompt_and_resolve(start, call.now_ms)
        keeping.keep(call, conclusion, tx)
        return conclusion.shown
    taken = initiating.move_for(start)
    batch = keeping.batch_for_entry(call, tx) if taken.joins else None
    conclusion = initiating.conclude(
        start, taken, at=call.now_ms, batch_id=batch.id if batch else None
    )
    keeping.keep(call, conclusion, tx, batch)
    return conclusion.shown

"""Control endpoints on outcomes: next outcomes, batch results, catalogues."""

from typing import TYPE_CHECKING, Annotated, Final, TypedDict

from sandbox.control.rows import ControlFault, ControlRequest, Written, invalid, must_be_known
from sandbox.domain.batches import REASONS, Batch, Result
from sandbox.domain.clock import BATCH_RESULT
from sandbox.domain.payments.cards import CARDS, Card
from sandbox.domain.payments.outcomes import (
    OUTCOMES,
    TRANSPORT_FAULTS,
    TRIGGERS,
    Operation,
    Outcome,
    Queued,
    TransportFault,
    Trigger,
    When,
    why_not_for,
)
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.records import to_bytes
from sandbox.domain.text import OneOf
from sandbox.platform.batches import operations as batches
from sandbox.platform.operation_context import OperationContext
from sandbox.scenarios.queue import QueueFull

if TYPE_CHECKING:
    from sandbox.control.shapes import BatchAnswer, NextOutcome

OutcomeKey = Annotated[str, OneOf(OUTCOMES)]
FaultKey = Annotated[str, OneOf(TRANSPORT_FAULTS)]

_PARTIAL: Final = "partial_approval"


# --- the queue --------------------------------------------------------------------------------


class QueuedView(TypedDict):
    """An outcome that waits for the next attempt that fits. Amounts are minor units.

    `id` is null for entries of files of earlier versions.
    """

    id: str | None
    outcome: OutcomeKey | None
    operation: Operation | None
    amount: int | None
    delay_ms: int
    fault: FaultKey | None
    approved_amount: int | None


class Queue(TypedDict):
    """The outcomes that wait, the next one first."""

    queue: list[QueuedView]
    total: int


def add_next(request: ControlRequest) -> QueuedView:
    """Queue an outcome for the next attempt that fits. Source: assumed 6.3, D24."""
    body: NextOutcome = request.body
    must_be_known("outcome", body.outcome, OUTCOMES)
    must_be_known("fault", body.fault, TRANSPORT_FAULTS)
    if body.outcome is None and body.fault is None:
        raise invalid("outcome or fault is required")
    if body.outcome and body.operation and (why := why_not_for(body.outcome, body.operation)):
        raise invalid(f"operation: {why}")
    if body.approved_amount is not None and body.outcome != _PARTIAL:
        raise invalid(f"approved_amount: belongs to the outcome {_PARTIAL} alone")
    if body.amount and body.approved_amount and body.approved_amount >= body.amount:
        raise invalid(
            f"approved_amount: a part of {body.amount} is less than that, not "
            f"{body.approved_amount}"
        )
    entry = Queued(**body.__dict__)
    try:
        entry = request.world.queue.add(entry)
    except QueueFull as error:
        raise ControlFault(
            409, "queue_full", str(error), details="DELETE .../scenario/next forgets them"
        ) from None
    return _queued_view(entry)


def _queued_view(entry: Queued) -> QueuedView:
    return {
        "id": entry.id or None,
        "outcome": entry.outcome,
        "operation": entry.operation,
        "amount": entry.amount,
        "delay_ms": entry.delay_ms,
        "fault": entry.fault,
        "approved_amount": entry.approved_amount,
    }


def list_next(request: ControlRequest) -> Queue:
    """The outcomes that wait, the next one first."""
    waiting = [_queued_view(entry) for entry in request.world.queue.entries]
    return {"queue": waiting, "total": len(waiting)}


def remove_next(request: ControlRequest) -> None:
    """Forget one outcome that waits."""
    if not request.world.queue.remove(request.params["id"]):
        raise ControlFault(
            404,
            "not_found",
            "no outcome with this id waits: it was used or cleared, or never was there",
        )


def clear_next(request: ControlRequest) -> None:
    """Forget the outcomes that wait."""
    request.world.queue.clear()


# --- batches ----------------------------------------------------------------------------------


def answer_batch(request: ControlRequest) -> Written[Batch]:
    """The processor's result for a submitted batch, by hand. Source: assumed B9 to B12."""
    world = request.world
    context = OperationContext(
        world=world, unit=world.store.begin(), now=world.clock.now(), request_id=None
    )
    batch = context.unit.get(Batch, request.params["id"])
    if batch is None:
        raise ControlFault(404, "not_found", "the world has no batch with this id")
    if batch.status != "submitted":
        raise ControlFault(
            409,
            "not_submitted",
            f"the batch is {batch.status}",
            details="only a submitted batch waits for its result; with the switch "
            "batch.settlement at manual it does so until this is called",
        )
    members = batches.members_of(context, batch)
    result = _result(request.body, members)
    context.unit.cancel(BATCH_RESULT, batch.id)
    answered = batches.answer(context, batch, result, members)
    context.unit.commit()
    return Written(to_bytes(answered))


def _result(body: "BatchAnswer", members: list[Transaction]) -> Result:
    if body.reason is not None and body.answer != "rejected":
        raise invalid("reason: belongs to the answer rejected alone")
    if body.rejected is not None and body.answer != "partially_accepted":
        raise invalid("rejected: belongs to the answer partially_accepted alone")
    if body.answer == "rejected":
        # A sentence is passed on unchanged; a single word must be a known one.
        if body.reason is not None and " " not in body.reason:
            must_be_known("reason", body.reason, REASONS)
        return Result(answer="rejected", reason=body.reason)
    if body.answer == "accepted":
        return Result(answer="accepted")
    return Result(answer="partially_accepted", rejected=_rejected(body.rejected, members))


def _rejected(wanted: int | list[str] | None, members: list[Transaction]) -> tuple[str, ...]:
    """The ids of the members that are refused: as named, or so many of the first."""
    if wanted is None:
        raise invalid("rejected: say which members, by their ids, or how many")
    ids = [tx.transaction_id for tx in members]
    if isinstance(wanted, int):
        if not 1 <= wanted <= len(ids):
            raise invalid(f"rejected: the batch has {len(ids)} members")
        return tuple(ids[:wanted])
    stranger = next((id for id in wanted if id not in ids), None)
    if stranger is not None or not wanted:
        raise invalid(f"rejected: {(stranger or 'an empty id')[:80]} is not a member of the batch")
    return tuple(dict.fromkeys(wanted))


# --- the catalogues ---------------------------------------------------------------------------


class CatalogueOutcome(TypedDict):
    """A row of the catalogue of outcomes."""

    key: OutcomeKey
    operations: list[str]
    status: str
    status_reason: str
    response_code: str | None
    processor_response_code: str | None
    message: str | None
    latency_ms: int
    retry: str


class FaultView(TypedDict):
    """A transport fault; `status` is the answer that it sends instead, if any."""

    key: FaultKey
    when: When
    status: int | None
    effect: str


class Outcomes(TypedDict):
    """The catalogue of outcomes, and the transport faults."""

    outcomes: list[CatalogueOutcome]
    total: int
    faults: list[FaultView]


def list_outcomes(request: ControlRequest) -> Outcomes:
    """The outcomes and the transport faults. Source: assumed 5.2, 5.3."""
    return {
        "outcomes": [outcome_view(row) for row in OUTCOMES.values()],
        "total": len(OUTCOMES),
        "faults": [fault_view(row) for row in TRANSPORT_FAULTS.values()],
    }


def outcome_view(row: Outcome) -> CatalogueOutcome:
    """An outcome as it is shown."""
    return {
        "key": row.key,
        "operations": sorted(row.scope),
        "status": row.verdict,
        "status_reason": row.status_reason,
        "response_code": row.response_code,
        "processor_response_code": row.host_code,
        "message": row.message,
        "latency_ms": row.latency_ms,
        "retry": row.retry,
    }


def fault_view(row: TransportFault) -> FaultView:
    """A transport fault as it is shown."""
    status = row.answer.status if row.answer else None
    return {"key": row.key, "when": row.when, "status": status, "effect": row.effect}


class CardView(TypedDict):
    """A test card, which a payment names by its `token`; the `number` is masked.

    Above `above_amount` it is approved in part; `later` is for later operations.
    """

    token: str
    number: str
    brand: str
    type: str
    outcome: OutcomeKey
    above_amount: int | None
    later: dict[str, str]


class Cards(TypedDict):
    """The test cards."""

    cards: list[CardView]
    total: int


def list_cards(request: ControlRequest) -> Cards:
    """The test cards. Source: assumed 6.4."""
    return {"cards": [card_view(card) for card in CARDS.values()], "total": len(CARDS)}


def card_view(card: Card) -> CardView:
    """A test card as it is shown."""
    return {
        "token": card.token,
        "number": card.masked,
        "brand": card.brand,
        "type": card.type,
        "outcome": card.outcome or (_PARTIAL if card.limit is not None else "approved"),
        "above_amount": card.limit,
        "later": {str(operation): outcome for operation, outcome in card.later.items()},
    }


class TriggerView(TypedDict):
    """An amount that chooses an outcome."""

    amount: int
    kind: str
    key: str
    operation: str | None
    about: str


class Triggers(TypedDict):
    """The amounts that choose."""

    triggers: list[TriggerView]
    total: int


def list_triggers(request: ControlRequest) -> Triggers:
    """The amounts that choose an outcome. Source: assumed 6.2."""
    return {"triggers": [trigger_view(row) for row in TRIGGERS.values()], "total": len(TRIGGERS)}


def trigger_view(row: Trigger) -> TriggerView:
    """An amount that chooses an outcome, as it is shown."""
    return {
        "amount": row.amount,
        "kind": row.kind,
        "key": row.key,
        "operation": row.operation,
        "about": row.about,
    }

"""Control endpoint on one payment: its money, its batch, and all that happened to it, in order."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, Literal, TypedDict

from sandbox.control.payment_lists import payment_of
from sandbox.control.rows import ControlRequest
from sandbox.domain.batches import Batch
from sandbox.domain.clock import BATCH_RESULT, Timer
from sandbox.domain.events import Message
from sandbox.domain.instants import from_ms, to_wire
from sandbox.domain.payments.transaction_view import TransactionView, view
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.payments.transitions import BY_ITSELF, transitions_from
from sandbox.store.steps import OFTEN, Steps
from sandbox.worlds.journal import Entry, OutcomeView
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.store.memory.messages import Messages

_REFUSED_FROM: Final = 400
_FOLLOW_UPS_MAX: Final = 16
"""So many follow-ups of one request are looked for."""

_KINDS: Final = tuple(dict.fromkeys(row.trigger for row in BY_ITSELF))


class Money(TypedDict):
    """The money of a payment in minor units.

    `released` is what was given up of the hold at the capture; `remaining` is what is still held,
    before the capture, or can still be refunded, after it.
    """

    authorized: int
    captured: int
    released: int
    reversed_before: int
    reversed_after: int
    refunded: int
    refundable: int
    remaining: int


class BatchOfPayment(TypedDict):
    """The batch in which a payment settles."""

    id: str
    status: str
    number: str | None


class StoryStep(TypedDict):
    """Something that happened to a payment, or is due. `amount` is in minor units."""

    at: str
    kind: Literal["attempt", "request", "message", "due"]
    id: str
    amount: int | None
    says: str


class Story(TypedDict):
    """A payment with its money, its outcome, its batch and its story, oldest first.

    `outcome` is what its first attempt got and who chose it; null once the journal has dropped it.
    """

    payment: TransactionView
    ledger: Money
    outcome: OutcomeView | None
    batch: BatchOfPayment | None
    story: list[StoryStep]


async def read(request: ControlRequest) -> Story:
    """A payment with all that happened to it and is due. Source: assumed 2.2, 2.10."""
    steps = story_of(request.world, payment_of(request))
    return await request.services.worlds.slices.run(steps)


def story_of(world: World, tx: Transaction) -> Steps[Story]:
    """The payment with all that happened to it and is due."""
    messages = yield from _about(world.store.messages_now(), tx.transaction_id)
    asked = list(dict.fromkeys(one.request_id for one in messages if one.request_id is not None))
    entries = world.journal.entries()
    first = next((one for one in entries if asked and one.id == asked[0]), None)
    steps = [
        *_attempts(tx),
        *(_message(world, one) for one in messages),
        *(_refused(world, one) for one in entries if _is_refusal(one, tx.transaction_id)),
    ]
    steps.sort(key=lambda step: step["at"])
    shown: Any = view(tx)
    return {
        "payment": shown,
        "ledger": _money(tx),
        "outcome": None if first is None else world.journal.view(first)["outcome"],
        "batch": _batch(world, tx),
        "story": [*steps, *_due(world, tx, asked)],
    }


def _about(messages: "Messages", subject: str) -> Steps[list[Message]]:
    """The messages about the subject, oldest first."""
    found = []
    for place in range(len(messages)):
        if messages.subject(place) == subject:
            found.append(messages[place])
        if not place % OFTEN:
            yield
    return found


def _money(tx: Transaction) -> Money:
    money = tx.ledger
    is_captured = money.captured > 0
    return {
        "authorized": money.authorized,
        "captured": money.captured,
        "released": max(money.held + money.added - money.captured, 0) if is_captured else 0,
        "reversed_before": money.voided,
        "reversed_after": money.reversed,
        "refunded": money.refunded,
        "refundable": money.refundable,
        "remaining": money.refundable if is_captured else money.held,
    }


def _batch(world: World, tx: Transaction) -> BatchOfPayment | None:
    batch = None if tx.batch_id is None else world.store.get(Batch, tx.batch_id)
    if batch is None:
        return None
    return {"id": batch.id, "status": batch.status, "number": batch.processor_batch_id}


def _attempts(tx: Transaction) -> Iterator[StoryStep]:
    for one in tx.history:
        yield {
            "at": to_wire(from_ms(one.created_at)),
            "kind": "attempt",
            "id": one.event_id,
            "amount": one.amount,
            "says": f"{one.transaction_type}: {one.status} ({one.status_reason})",
        }


def _is_refusal(entry: Entry, id: str) -> bool:
    """Whether the request was refused and named the payment, whoever sent it."""
    is_refused = entry.status == 0 or entry.status >= _REFUSED_FROM
    return is_refused and (
        id in entry.path or (entry.request is not None and id.encode() in entry.request)
    )


def _refused(world: World, entry: Entry) -> StoryStep:
    shown = world.journal.view(entry)
    why = shown["decisions"][-1] if shown["decisions"] else None
    reason = "" if why is None else f": {why['reason']} ({why['clause']})"
    status = f"refused with {entry.status}" if entry.status else "closed without an answer"
    return {
        "at": to_wire(entry.at),
        "kind": "request",
        "id": entry.id,
        "amount": None,
        "says": f"{entry.method} {entry.path} was {status}{reason}",
    }


def _message(world: World, message: Message) -> StoryStep:
    deliveries = world.outbox.deliveries_of(message.id)
    accepted = sum(one.status == "delivered" for one in deliveries)
    told = f"delivered to {accepted} of {len(deliveries)} endpoints" if deliveries else "not sent"
    return {
        "at": to_wire(message.created_at),
        "kind": "message",
        "id": message.id,
        "amount": None,
        "says": f"{message.event_type}: {told}",
    }


def _due(world: World, tx: Transaction, asked: list[str]) -> list[StoryStep]:
    """What is due for the payment and for its batch, the soonest first."""
    tags = ["", *(f"{id}/{number}" for id in asked for number in range(_FOLLOW_UPS_MAX))]
    timers = [world.store.timer(kind, tx.transaction_id, tag) for kind in _KINDS for tag in tags]
    if tx.batch_id is not None:
        timers.append(world.store.timer(BATCH_RESULT, tx.batch_id))
    due = sorted((one for one in timers if one is not None), key=lambda timer: timer.due)
    return [_falls_due(tx, timer) for timer in due]


def _falls_due(tx: Transaction, timer: Timer) -> StoryStep:
    rows = transitions_from(timer.kind, tx.status)
    leads_to = f": {rows[0].next_status} ({rows[0].reason})" if rows else ""
    return {
        "at": to_wire(timer.due),
        "kind": "due",
        "id": timer.id,
        "amount": None,
        "says": f"{timer.kind}{leads_to}",
    }

"""The control endpoint on a whole world at a glance: what the console shows first."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal, TypedDict

from sandbox.control import agenda, messages, taps
from sandbox.control.agenda import DueView
from sandbox.control.finding import found_in
from sandbox.control.messages import DeliveryMark
from sandbox.control.observe import RequestRow, waiting_rows
from sandbox.control.observe import row_of as row_of_request
from sandbox.control.rows import ControlRequest
from sandbox.control.scenarios import RunningScenario, running_in
from sandbox.domain.batches import Batch
from sandbox.domain.currencies import in_letters
from sandbox.domain.directory import Terminal
from sandbox.domain.instants import from_ms, to_wire
from sandbox.domain.keys import ApiKey, why_unusable
from sandbox.domain.payments.transactions import STATUSES, Transaction
from sandbox.domain.webhooks import DeliveryStatus, Endpoint
from sandbox.store.steps import OFTEN, Steps
from sandbox.store.tables import EVERYTHING, in_scope
from sandbox.worlds.journal import Entry
from sandbox.worlds.world import World

NeedKind = Literal["tap", "surcharge", "endpoint", "batch", "key"]

FEED_MAX: Final = 50
"""The newest requests of the feed."""

DUE_MAX: Final = 10
"""So much of what falls due."""

DELIVERIES_MAX: Final = 20
"""The newest deliveries to an endpoint by which its health is judged."""

_NEEDS_OF_A_KIND_MAX: Final = 50
_BATCHES_MAX: Final = 20
_MESSAGES_MAX: Final = 200
"""The newest messages whose deliveries are looked at."""


class Need(TypedDict):
    """Something that waits for somebody, or is broken: `id` names the record of its kind.

    `amount` is in minor units of `currency`; both are null for an endpoint and a key. `since` is
    null where the world does not know it.
    """

    kind: NeedKind
    id: str
    says: str
    since: str | None
    amount: int | None
    currency: str | None


class EndpointHealth(TypedDict):
    """A webhook endpoint with the statuses of its last deliveries, the oldest first.

    `failing_since` is the first failure after the last success.
    """

    id: str
    url: str
    description: str
    disabled: bool
    failing_since: str | None
    last: list[DeliveryStatus]


class FeedEvent(TypedDict):
    """An event of a request, with a mark for each delivery."""

    id: str
    event_type: str
    marks: list[DeliveryMark]


class FeedRow(RequestRow):
    """A request with its events."""

    sent: list[FeedEvent]


class OverviewView(TypedDict):
    """A world at a glance.

    `scenario` is the one that runs, null without one. `needs` are what waits for somebody; of each
    kind the newest. `due` is what falls due next,
    `due_total` how much falls due in all. `statuses` counts all payments. `waiting` are the
    requests that have no answer yet. `feed` has the newest requests, the newest first.
    """

    now: str
    scenario: RunningScenario | None
    needs: list[Need]
    due: list[DueView]
    due_total: int
    endpoints: list[EndpointHealth]
    statuses: dict[str, int]
    waiting: list[RequestRow]
    feed: list[FeedRow]
    requests_total: int


async def read(request: ControlRequest) -> OverviewView:
    """What needs somebody, what happened last, what falls due, and how the endpoints do."""
    world, slices = request.world, request.services.worlds.slices
    statuses = await _statuses(request)
    entries = world.journal.entries()
    needs = [
        *_taps(world),
        *await _surcharges(request),
        *_failing(world),
        *await _batches(request),
        *await slices.run(_keys(world, entries)),
    ]
    timers = world.store.timers.numbered()
    return {
        "now": to_wire(world.now()),
        "scenario": running_in(world),
        "needs": needs,
        "due": [agenda.view(world, timer) for _, timer in timers[:DUE_MAX]],
        "due_total": len(timers),
        "endpoints": await slices.run(_endpoints(world)),
        "statuses": statuses,
        "waiting": waiting_rows(world),
        "feed": await slices.run(_feed(world, entries[: -FEED_MAX - 1 : -1])),
        "requests_total": len(entries),
    }


async def _statuses(request: ControlRequest) -> dict[str, int]:
    """How many payments have each status, without those that no payment has."""
    found: dict[str, int] = {}
    for status in STATUSES:
        where = {"scope_status": in_scope(EVERYTHING, status)}
        _, total = await found_in(request, Transaction, where, limit=1)
        if total:
            found[status] = total
    return found


# --- what needs somebody ----------------------------------------------------------------------


def _taps(world: World) -> Iterator[Need]:
    for waiting in world.tap_desk:
        if not waiting.came.done():
            tap = taps.view(waiting.tap)
            yield {
                "kind": "tap",
                "id": tap["transaction_id"],
                "says": "waits for a card",
                "since": tap["since"],
                "amount": tap["amount"],
                "currency": tap["currency"],
            }


async def _surcharges(request: ControlRequest) -> list[Need]:
    where = {"scope_status": in_scope(EVERYTHING, "surcharge_pending")}
    found, _ = await found_in(request, Transaction, where, limit=_NEEDS_OF_A_KIND_MAX)
    return [
        {
            "kind": "surcharge",
            "id": tx.transaction_id,
            "says": "waits for an answer to its surcharge",
            "since": to_wire(from_ms(tx.origin.created_at)),
            "amount": tx.amounts.total,
            "currency": tx.origin.site.currency,
        }
        for tx in found
    ]


def _failing(world: World) -> Iterator[Need]:
    for one in world.outbox.endpoints.values():
        if one.is_disabled or one.failing_since is not None:
            why = f"is disabled: {one.disabled_reason}" if one.is_disabled else "takes no webhooks"
            since = one.failing_since
            yield {
                "kind": "endpoint",
                "id": one.id,
                "says": why,
                "since": None if since is None else to_wire(since),
                "amount": None,
                "currency": None,
            }


async def _batches(request: ControlRequest) -> list[Need]:
    """Batches that were sent back, and those with records that no batch has taken since."""
    world = request.world
    words = [in_scope(EVERYTHING, word) for word in ("rejected", "partially_accepted")]
    found, _ = await found_in(request, Batch, {"scope_status": words}, limit=_BATCHES_MAX)
    needs: list[Need] = []
    for batch in found:
        if batch.status == "rejected":
            says, amount = "was sent back: edit it and close it again", batch.captured_amount
        else:
            refused, _ = await found_in(request, Transaction, {"refused_in": batch.id})
            left = [tx for tx in refused if tx.batch_id is None and tx.ledger.kept]
            if not left:
                continue
            count = f"{len(left)} record{'s' if len(left) > 1 else ''}"
            says, amount = f"{count} came back and in no batch", sum(tx.ledger.kept for tx in left)
        terminal = world.store.get(Terminal, batch.terminal_id)
        needs.append(
            {
                "kind": "batch",
                "id": batch.id,
                "says": says,
                "since": None if batch.closed_at is None else to_wire(batch.closed_at),
                "amount": amount,
                "currency": in_letters(None if terminal is None else terminal.currency_code),
            }
        )
    return needs


def _keys(world: World, entries: Sequence[Entry]) -> Steps[list[Need]]:
    """The keys that cannot be used, and with which a request of the journal came."""
    last: dict[str, Entry] = {}
    for place, entry in enumerate(entries):
        if entry.key_id is not None:
            last[entry.key_id] = entry
        if not place % OFTEN:
            yield
    needs: list[Need] = []
    for id, entry in reversed(last.items()):
        key = world.store.get(ApiKey, id)
        unusable = None if key is None else why_unusable(key, world.now())
        if key is not None and unusable is not None and len(needs) < _NEEDS_OF_A_KIND_MAX:
            needs.append(
                {
                    "kind": "key",
                    "id": id,
                    "says": f"{key.name!r} is asked with, but {unusable[0]} ({unusable[1]})",
                    "since": to_wire(entry.at),
                    "amount": None,
                    "currency": None,
                }
            )
    return needs


# --- endpoints --------------------------------------------------------------------------------


def _endpoints(world: World) -> Steps[list[EndpointHealth]]:
    known = list(world.outbox.endpoints.values())
    last: dict[str, list[DeliveryStatus]] = {one.id: [] for one in known}
    messages = world.store.messages_now() if known else ()
    for place in range(len(messages) - 1, max(len(messages) - _MESSAGES_MAX, 0) - 1, -1):
        for delivery in world.outbox.deliveries_of(messages[place].id):
            statuses = last.get(delivery.endpoint_id)
            if statuses is not None and len(statuses) < DELIVERIES_MAX:
                statuses.append(delivery.status)
        yield
    return [_health(one, last[one.id][::-1]) for one in known]


def _health(one: Endpoint, last: list[DeliveryStatus]) -> EndpointHealth:
    since = one.failing_since
    return {
        "id": one.id,
        "url": one.url,
        "description": one.description,
        "disabled": one.is_disabled,
        "failing_since": None if since is None else to_wire(since),
        "last": last,
    }


# --- the feed ---------------------------------------------------------------------------------


def _feed(world: World, entries: Sequence[Entry]) -> Steps[list[FeedRow]]:
    rows = []
    for entry in entries:
        rows.append(_feed_row(world, entry))
        yield
    return rows


def _feed_row(world: World, entry: Entry) -> FeedRow:
    return {**row_of_request(world, entry), "sent": list(_sent(world, entry))}


def _sent(world: World, entry: Entry) -> Iterator[FeedEvent]:
    for id in entry.events:
        message = world.store.message(id)
        if message is not None:
            yield {
                "id": id,
                "event_type": message.event_type,
                "marks": messages.marks_of(world, id),
            }

"""A whole world at a glance: what the console shows first."""

from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Final, Literal

from sandbox.control.batches import batch_row
from sandbox.control.clock import DueView, view_timer
from sandbox.control.context import ControlRequest
from sandbox.control.journal import RequestRow, find_messages, request_row
from sandbox.control.messages import DeliveryMark
from sandbox.control.models import Time, View, attribute
from sandbox.control.routing import WORLD, get
from sandbox.control.scenarios import RunningScenario, view_running
from sandbox.domain.batches import Batch
from sandbox.domain.directory import Account
from sandbox.domain.keys import ApiKey, why_unusable
from sandbox.domain.payments.transactions import STATUSES, Payment
from sandbox.domain.webhooks import DeliveryStatus
from sandbox.worlds.journal import Entry
from sandbox.worlds.world import World

NeedKind = Literal["tap", "surcharge", "endpoint", "batch", "key"]

FEED_MAX: Final = 50
"""How many requests the feed has."""

DUE_MAX: Final = 10
"""How many of the next timers to list."""

DELIVERIES_MAX: Final = 20
"""How many of the latest deliveries to an endpoint show its health."""

NEEDS_OF_A_KIND_MAX: Final = 50

_MESSAGES_MAX: Final = 200
"""How many of the newest messages are searched for those deliveries."""


class Need(View):
    """Something that waits for the operator, or is broken: `id` is that of the record.

    `amount` is in minor units of `currency`; both are null for an endpoint and a key. `since` is
    null if the world does not know it.
    """

    kind: NeedKind
    id: str
    says: str
    since: Time | None = attribute("created_at")
    amount: int | None = attribute("total_amount", None)
    currency: str | None = None


class EndpointHealth(View):
    """A webhook endpoint with the statuses of its last deliveries, the oldest first.

    `failing_since` is the first failure after the last success.
    """

    id: str
    url: str
    description: str
    disabled: bool = attribute("is_disabled")
    failing_since: Time | None
    last: list[DeliveryStatus]


class FeedEvent(View):
    """An event of a request, with a mark for each delivery."""

    id: str
    event_type: str
    marks: list[DeliveryMark]


class FeedRow(RequestRow):
    """A request with its events."""

    sent: list[FeedEvent]


class OverviewView(View):
    """A world at a glance.

    `scenario` is the one that runs, or null. `needs` is what needs attention, at most 50 of each
    kind. `due` lists what falls due next, and `due_total` counts all of it. `statuses` counts all
    payments. `waiting` are the requests that have no answer yet. `feed` has the newest requests,
    the newest first.
    """

    now: Time
    scenario: RunningScenario | None
    needs: list[Need]
    due: list[DueView]
    due_total: int
    endpoints: list[EndpointHealth]
    statuses: dict[str, int]
    waiting: list[RequestRow]
    feed: list[FeedRow]
    requests_total: int


@get(f"{WORLD}/overview", "overview")
async def read_overview(request: ControlRequest) -> OverviewView:
    """Read a world at a glance: what needs attention, what happened, what falls due."""
    world = request.world
    entries = world.journal.entries()
    timers = world.store.timers.by_due()
    needs = (_taps, _surcharges, _failing, _batches, _keys)
    return OverviewView(
        now=world.now(),
        scenario=view_running(world),
        needs=[need for find in needs for need in islice(find(world), NEEDS_OF_A_KIND_MAX)],
        due=[view_timer(world, timer) for timer in timers[:DUE_MAX]],
        due_total=len(timers),
        endpoints=_endpoints(world),
        statuses=_statuses(world),
        waiting=[request_row(world, one) for one in world.journal.waiting.values()],
        feed=[_feed_row(world, entry) for entry in entries[: -FEED_MAX - 1 : -1]],
        requests_total=len(entries),
    )


def _statuses(world: World) -> dict[str, int]:
    """Count the payments of each status that occurs.

    Records of single actions do not count as payments (assumed D35-action).
    """
    payments = world.store.all(Payment).values()
    totals = Counter(one.status for one in payments if one.original_id is None)
    return {status: totals[status] for status in STATUSES if status in totals}


# --- what needs attention ---------------------------------------------------------------------


def _taps(world: World) -> Iterator[Need]:
    for tap in (waiting.tap for waiting in world.tap_desk):
        yield Need.of(tap, kind="tap", id=tap.transaction_id, says="waits for a card")


def _surcharges(world: World) -> Iterator[Need]:
    found, _ = world.store.begin().find(Payment, {"status": "surcharge_pending"})
    for one in found:
        says = "waits for an answer to its surcharge"
        yield Need.of(one.transaction, kind="surcharge", id=one.id, says=says)


def _failing(world: World) -> Iterator[Need]:
    for one in world.outbox.endpoints.values():
        if one.is_disabled or one.failing_since is not None:
            why = f"is disabled: {one.disabled_reason}" if one.is_disabled else "is failing"
            yield Need(kind="endpoint", id=one.id, says=why, since=one.failing_since)


def _batches(world: World) -> Iterator[Need]:
    """Yield batches that were sent back, and those with returned records that are in no batch."""
    unit = world.store.begin()
    found, _ = unit.find(Batch, {"status": ("rejected", "partially_accepted")})
    for batch in found:
        says, amount = "was sent back: edit it and close it again", batch.captured_amount
        if batch.status != "rejected":
            entered, _ = unit.find(Payment, {"in_batch": batch.id})
            refused = [one for one in entered if batch.id in one.refused_in]
            left = [one.ledger.kept for one in refused if one.batch_id is None and one.ledger.kept]
            if not left:
                continue
            says = f"has {len(left)} returned record{'s' if len(left) > 1 else ''} in no batch"
            amount = sum(left)
        currency = batch_row(world, batch).currency
        more = {"since": batch.closed_at, "amount": amount, "currency": currency}
        yield Need(kind="batch", id=batch.id, says=says, **more)


def _keys(world: World) -> Iterator[Need]:
    """Yield the unusable keys whose last request in the journal was refused for its key."""
    entries = world.journal.entries()
    last = {entry.key_id: entry for entry in entries if entry.key_id is not None}
    for id, entry in reversed(last.items()):
        key, (step, *_) = world.store.get(ApiKey, id), entry.decisions[-1]
        if key is None or step != "authenticate":
            continue
        account = world.store.get(Account, key.account_id)
        if unusable := why_unusable(key, account, world.now()):
            says = f"{key.name!r} is still used, but {unusable[0]} ({unusable[1]})"
            yield Need(kind="key", id=id, says=says, since=entry.at)


# --- endpoints --------------------------------------------------------------------------------


def _endpoints(world: World) -> list[EndpointHealth]:
    last = defaultdict[str, list[DeliveryStatus]](list)
    for message in world.store.messages()[-_MESSAGES_MAX:]:
        for delivery in world.outbox.deliveries_of(message.id):
            last[delivery.endpoint_id].append(delivery.status)
    known = world.outbox.endpoints.values()
    return [EndpointHealth.of(one, last=last[one.id][-DELIVERIES_MAX:]) for one in known]


# --- the feed ---------------------------------------------------------------------------------


def _feed_row(world: World, entry: Entry) -> FeedRow:
    messages = find_messages(world, entry.events)
    sent = [FeedEvent.of(one, marks=world.outbox.deliveries_of(one.id)) for one in messages]
    return FeedRow.of(request_row(world, entry), sent=sent)

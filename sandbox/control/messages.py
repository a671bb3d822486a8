"""Messages: samples, deliveries, and resending."""

import asyncio
from contextlib import suppress
from itertools import islice
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field
from pydantic_core import from_json

from sandbox import library
from sandbox.control.context import ControlFault, ControlRequest, conflict, must_be_known
from sandbox.control.models import Body, Milliseconds, OlderListing, Query, View, attribute, shows
from sandbox.control.routing import WORLD, get, post
from sandbox.domain import webhooks
from sandbox.domain.directory import Account
from sandbox.domain.events import EVENTS, EventType, Message, MessageHead, body_of, field_of
from sandbox.domain.instants import Instant
from sandbox.store.files.port import Unavailable
from sandbox.store.ids import Ids
from sandbox.worlds.background import collect, select
from sandbox.worlds.event_stream import WAITED
from sandbox.worlds.world import DEFAULT_WORLD, World


class Sample(Body, example={"event_type": "transaction.sale"}):
    """A sample of an event to send, with changes to its body."""

    event_type: str
    changes: dict[str, Any] = Field(default_factory=dict)


class Resend(Body):
    """Where to resend a message: an endpoint, or by default all that subscribe to it."""

    endpoint_id: str | None = None


class MessagesQuery(OlderListing):
    """Which messages: of a type, at or after an instant, about a resource, of an account.

    `account` is an id or a name of the cast. `status` is that of the record, and `delivery` that
    of a delivery (to the `endpoint`, if one is named). `q` is part of an id or of the event type.
    `before` is the id of a message, and lists older ones. `shape` is row or full.
    """

    event_type: str | None = None
    since: Instant | None = None
    subject: str | None = None
    account: str | None = None
    status: str | None = None
    endpoint: str | None = None
    delivery: str | None = None
    q: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    shape: Literal["row", "full"] = "full"


@shows(webhooks.SentHead, without=("age_s", "size"))
class SentView(View):
    """What an attempt sent, without the secret; `spoilt` names what a scenario changed in it."""

    id: str
    bytes: int = attribute("size")


@shows(webhooks.DeliveryAttempt)
class DeliveryAttemptView(View):
    """One attempt at a delivery; `response` is the beginning of the receiver's answer.

    `sent` is null if nothing was sent.
    """

    duration_ms: Milliseconds
    sent: SentView | None


@shows(webhooks.Delivery, without=("message_id", "failures"))
class DeliveryView(View):
    """The delivery of a message to an endpoint; `rule` is the scenario rule that changed it."""

    attempts: list[DeliveryAttemptView]


@shows(MessageHead, without=("only_for",))
class _MessageHead(View):
    event_type: EventType


class MessageContent(_MessageHead):
    """One event that happened, with the body of its webhook."""

    body: dict[str, Any]


class MessageView(MessageContent):
    """One event that happened, with the body of its webhook and its deliveries."""

    deliveries: list[DeliveryView]


class DeliveryMark(View):
    """The status of a delivery to an endpoint, and its number of attempts."""

    endpoint_id: str
    status: webhooks.DeliveryStatus
    attempts: Annotated[int, BeforeValidator(len)]


class MessageRow(_MessageHead):
    """A message in a list, with the status and merchant from its body, and its deliveries."""

    status: str | None
    merchant: str | None
    deliveries: list[DeliveryMark]


class Messages(View):
    """Messages, oldest first, whole or as rows.

    Pass `next` as `before` to list the messages before the first of them.
    """

    messages: list[MessageView | MessageRow]
    total: int
    limit: int
    offset: int
    next: str | None


class Resent(View):
    """The endpoints that get one more attempt."""

    endpoints: list[str]


@get(f"{WORLD}/messages", "messages.list")
async def list_messages(request: ControlRequest, query: MessagesQuery) -> Messages:
    """List a world's messages, newest last."""
    world = request.world
    must_be_known("event_type", query.event_type, EVENTS)
    must_be_known("delivery", query.delivery, webhooks.DELIVERY_STATUSES)
    account = request.find_id(Account, query.account, "account")

    def matches(one: Message) -> bool:
        return account in (None, one.account_id) and _matches(world, one, query)

    unknown = "the world has no message with this id"
    page = await request.find_older(world.store.messages(), matches, query, unknown)
    shape = message_row if query.shape == "row" else view_message
    shown = await collect(shape(world, one) for one in page.items)
    return Messages.of(page, messages=shown)


def _matches(world: World, message: Message, query: MessagesQuery) -> bool:
    ids = (message.id, message.subject, message.account_id, message.request_id or "")
    return (
        query.event_type in (None, message.event_type)
        and query.subject in (None, message.subject)
        and (query.since is None or message.created_at >= query.since)
        and (query.status is None or field_of(message, "status") == query.status)
        and (query.q is None or query.q.lower() in "\n".join((message.event_type, *ids)).lower())
        and (query.endpoint is query.delivery is None or _is_sent(world, message, query))
    )


def _is_sent(world: World, message: Message, query: MessagesQuery) -> bool:
    return any(
        query.endpoint in (None, one.endpoint_id) and query.delivery in (None, one.status)
        for one in world.outbox.deliveries_of(message.id)
    )


@get(f"{WORLD}/messages/{{id}}", "messages.read")
def read_message(request: ControlRequest) -> MessageView:
    """Read a message."""
    return view_message(request.world, request.get_record(Message, "message"))


def view_message(world: World, message: Message) -> MessageView:
    """Return the message as the control API shows it, with its deliveries."""
    deliveries = [
        DeliveryView.of(one, attempts=[view_attempt(each, message.id) for each in one.attempts])
        for one in world.outbox.deliveries_of(message.id)
    ]
    return MessageView.of(message, body=from_json(body_of(message)), deliveries=deliveries)


def view_content(message: Message) -> MessageContent:
    """Return the message without its deliveries."""
    return MessageContent.of(message, body=from_json(body_of(message)))


def message_row(world: World, message: Message) -> MessageRow:
    """Return a message as lists show it."""
    body = from_json(body_of(message))
    # A sample may have anything there.
    texts = {name: one for name, one in body.items() if isinstance(one, str)}
    told = {"status": texts.get("status"), "merchant": texts.get("merchant_name")}
    return MessageRow.of(message, **told, deliveries=world.outbox.deliveries_of(message.id))


def view_attempt(attempt: webhooks.DeliveryAttempt, message_id: str) -> DeliveryAttemptView:
    """Show an attempt at a delivery of that message."""
    sent = attempt.sent and SentView.of(attempt.sent, id=message_id)
    return DeliveryAttemptView.of(attempt, sent=sent)


# --- sending ----------------------------------------------------------------------------------


@post(f"{WORLD}/messages", "messages.send", status=202)
def send_sample(request: ControlRequest, body: Sample) -> MessageView:
    """Send a sample of an event: a real body, as if the operation had just happened here.

    Changes may add fields (assumed D22).
    """
    must_be_known("event_type", body.event_type, EVENTS)
    world = request.world
    written = Ids(seed=1, world_id=DEFAULT_WORLD)
    text = library.sample(body.event_type)
    # Samples were recorded in the demo world: replace its ids with those of this world.
    for kind in ("account", "terminal", "location"):
        for name, id in world.cast.ids_of(kind).items():
            text = text.replace(written.uuid_of(f"{kind}:{name}"), id)
    fields = {**from_json(text), **body.changes}
    own_id = str(fields.get("id", ""))
    about = {"account_id": str(fields.get("account_id") or own_id), "subject": own_id}
    if body.event_type.startswith(("transaction.", "terminal.")):
        about["subject"] = str(fields.get("transaction_id") or fields.get("terminal_id") or own_id)
    head: Any = {"id": world.draws.message_id(), "event_type": body.event_type, "request_id": None}
    message = Message(**head, **about, created_at=world.clock.now(), record=fields)
    with world.store.begin() as unit:
        unit.emit(message)
    return view_message(world, message)


@post(f"{WORLD}/messages/{{id}}/resend", "messages.resend", status=202, refuses=(409,))
def resend_message(request: ControlRequest, body: Resend) -> Resent:
    """Resend a message.

    Source: assumed D22.
    """
    message, outbox = request.get_record(Message, "message"), request.world.outbox
    endpoints = list(outbox.subscribers(message))
    if body.endpoint_id is not None:
        endpoints = [request.require(outbox.endpoints.get(body.endpoint_id), "endpoint")]
        if endpoints[0].is_disabled:
            why = f"the endpoint is disabled: {endpoints[0].disabled_reason}"
            raise conflict("endpoint_disabled", why)
    for endpoint in endpoints:
        outbox.resend(message, endpoint)
    return Resent(endpoints=[endpoint.id for endpoint in endpoints])


# --- waiting ------------------------------------------------------------------------------

WAIT_S_MAX = 300
"""How long a wait may keep its connection open."""


class WaitQuery(Query):
    """The message to wait for, and the timeout.

    `delivered` waits until an endpoint has accepted it. `after` is the id of a message: only later
    ones count.
    """

    event_type: str | None = None
    status: str | None = None
    subject: str | None = None
    delivered: bool = False
    after: str | None = None
    timeout_s: Annotated[float, Field(ge=0, le=WAIT_S_MAX, allow_inf_nan=False)] = 5.0


WAITS_MAX: Final = 100
"""How many requests may wait for messages of a world at once. Each new message is compared with all
of them; tests that run in parallel need one each."""

NEAR_MISSES_MAX: Final = 5
"""How many near misses to list after a wait without success."""


class NearMiss(View):
    """A message that almost matched, and the reason why it did not."""

    id: str
    event_type: EventType
    subject: str
    why: str


@get(f"{WORLD}/wait", "messages.wait", is_ended_by_client=True, refuses=(408, 429))
async def wait_for_message(request: ControlRequest, query: WaitQuery) -> MessageView:
    """Wait for a message.

    Answers 408 with near misses if none comes, and 404 if the world is deleted meanwhile.
    """
    must_be_known("event_type", query.event_type, EVENTS)
    world = request.world
    if query.after is not None:
        request.require(world.store.get(Message, query.after), "message", at="after: ")
    if world.subscriptions.waits >= WAITS_MAX:
        why = f"{WAITS_MAX} requests are already waiting in this world, which is the limit"
        how = "a wait ends with its message, at its timeout_s, or when its client disconnects"
        raise ControlFault(429, "too_many_waits", why, details=how)

    deadline = asyncio.get_running_loop().time() + query.timeout_s
    while (found := await _find_until(deadline, request, query)) is None:
        if request.world is world:
            raise _nothing_came(world, query)
        # It was replaced, as by a snapshot, and the wait continues.
        world = request.world
    return view_message(world, found)


async def _find_until(deadline: float, request: ControlRequest, query: WaitQuery) -> Message | None:
    """Return the first message that fits; None at the deadline, or once the world was replaced."""
    world = request.world

    def is_found(message: Message) -> bool:
        return _is_after(world, message, query.after) and not _mismatch(world, message, query)

    news = world.subscriptions.join(WAITED)
    try:
        # However short the time is, all existing messages are checked once.
        found = await select(world.store.messages(), is_found)
        with suppress(TimeoutError):
            async with asyncio.timeout_at(deadline):
                while not found:
                    if (event := await news.next()) is None:
                        # The world was deleted or replaced, or the server stops.
                        request.find_world()
                        if request.world is not world:
                            return None
                        raise Unavailable("the server is stopping; the wait was not completed")
                    came = getattr(event.content, "message", event.content)
                    # If events were missed, their number came instead.
                    is_one = isinstance(came, Message)
                    found = await select([came] if is_one else world.store.messages(), is_found)
    finally:
        world.subscriptions.leave(news)
    # Check once more: the loop may be late, and a message may have come in time.
    found = found or await select(world.store.messages(), is_found)
    return found[0] if found else None


def _is_after(world: World, message: Message, after: str | None) -> bool:
    """Whether the world has the message, and it came after the one with this id, if given."""
    first = -1 if after is None else world.store.place_of(after)
    place = world.store.place_of(message.id)
    return first is not None and place is not None and first < place


def _mismatch(world: World, message: Message, query: WaitQuery) -> str | None:
    """Return why the message does not match the query; None if it does."""
    if query.event_type not in (None, message.event_type):
        return f"it is {message.event_type}"
    if query.subject not in (None, message.subject):
        return f"it is about {message.subject}"
    if query.status is not None and (status := field_of(message, "status")) != query.status:
        return f"its status is {status}"
    statuses = [one.status for one in world.outbox.deliveries_of(message.id)]
    if query.delivered and "delivered" not in statuses:
        return f"its deliveries are {', '.join(statuses)}" if statuses else "it is for no endpoint"
    return None


def _nothing_came(world: World, query: WaitQuery) -> ControlFault:
    """Return the refusal of a wait that timed out, with the nearest messages, newest first."""
    near = (
        NearMiss.of(one, why=why)
        for one in reversed(world.store.messages())
        if _is_after(world, one, query.after)
        and (query.event_type in (None, one.event_type) or query.subject == one.subject)
        and (why := _mismatch(world, one, query)) is not None
    )
    misses = list(islice(near, NEAR_MISSES_MAX))
    details = "" if misses else "nothing like it was emitted"
    message = f"no such message within {query.timeout_s:g} s"
    more = {"near_misses": misses}
    return ControlFault(408, "nothing_came", message, details=details, more=more)

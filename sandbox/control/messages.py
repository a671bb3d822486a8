"""Control endpoints on messages: samples, deliveries, and resending."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypedDict

from pydantic_core import from_json

from sandbox.control.long import written_list
from sandbox.control.rows import (
    ControlFault,
    ControlRequest,
    Written,
    invalid,
    must_be_known,
    window,
)
from sandbox.domain.events import EVENTS, EventType, Message, body_of, status_of
from sandbox.domain.instants import to_wire
from sandbox.domain.webhooks import (
    DELIVERY_STATUSES,
    AttemptTrigger,
    Delivery,
    DeliveryAttempt,
    DeliveryStatus,
)
from sandbox.store.steps import OFTEN, Steps
from sandbox.webhooks.samples import sample
from sandbox.worlds.ids import Ids
from sandbox.worlds.world import DEFAULT_WORLD, World

if TYPE_CHECKING:
    from sandbox.control.shapes import MessagesQuery, Resend, Sample


class SentView(TypedDict):
    """What an attempt sent, without the secret; `spoilt` names what a scenario changed in it."""

    id: str
    timestamp: int
    signature: str | None
    bytes: int
    sha256: str
    spoilt: list[str]


class DeliveryAttemptView(TypedDict):
    """One attempt at a delivery; `response` is the beginning of the receiver's answer.

    `sent` is null if nothing was sent.
    """

    at: str
    status_code: int | None
    duration_ms: float
    response: str
    error: str | None
    trigger: AttemptTrigger
    sent: SentView | None


class DeliveryView(TypedDict):
    """How a message fares at an endpoint; `rule` is the rule of a scenario that changed it."""

    endpoint_id: str
    status: DeliveryStatus
    attempts: list[DeliveryAttemptView]
    next_attempt_at: str | None
    rule: str | None


class MessageContent(TypedDict):
    """One event that happened, with the body of its webhook."""

    id: str
    event_type: EventType
    account_id: str
    subject: str
    request_id: str | None
    created_at: str
    body: dict[str, Any]


class MessageView(MessageContent):
    """One event that happened, with the body of its webhook and its deliveries."""

    deliveries: list[DeliveryView]


class DeliveryMark(TypedDict):
    """How a message fares at an endpoint, after so many attempts."""

    endpoint_id: str
    status: DeliveryStatus
    attempts: int


class MessageRow(TypedDict):
    """A message in short: the status and the merchant that its body tells, and its deliveries."""

    id: str
    event_type: EventType
    account_id: str
    subject: str
    request_id: str | None
    created_at: str
    status: str | None
    merchant: str | None
    deliveries: list[DeliveryMark]


class Messages(TypedDict):
    """Messages, oldest first, whole or as rows.

    `next` as `before` gives those before the first of them.
    """

    messages: list[MessageView | MessageRow]
    total: int
    limit: int
    offset: int
    next: str | None


class Resent(TypedDict):
    """The endpoints that get one more attempt."""

    endpoints: list[str]


async def list_all(request: ControlRequest) -> Written[Messages]:
    """The messages of a world, newest last."""
    query: MessagesQuery = request.query
    must_be_known("event_type", query.event_type, EVENTS)
    slices, world = request.services.worlds.slices, request.world
    must_be_known("delivery", query.delivery, DELIVERY_STATUSES)
    messages = world.store.messages_now()
    fitting = await slices.run(_fitting(world, messages, query))
    end = len(fitting)
    if query.before is not None:
        place = world.store.place_of(query.before)
        if place is None:
            raise invalid("before: the world has no message with this id")
        end = bisect_left(fitting, place)
    page = window(fitting[:end], query.limit, query.offset)
    answer = Messages(
        messages=[],
        total=len(fitting),
        limit=page.limit,
        offset=page.offset,
        next=messages[page.items[0]].id if page.items and page.offset else None,
    )
    shape = row_of if query.shape == "row" else view
    views = (shape(world, messages[place]) for place in page.items)
    return await slices.run(written_list(answer, "messages", views))


def _fitting(
    world: World, messages: Sequence[Message], query: "MessagesQuery"
) -> Steps[Sequence[int]]:
    """The places of the messages that the query is about, oldest first."""
    if query.names_all:
        return range(len(messages))
    fitting = []
    for place in range(len(messages)):
        if _fits(world, messages[place], query):
            fitting.append(place)
        if not place % OFTEN:
            yield
    return fitting


def _fits(world: World, message: Message, query: "MessagesQuery") -> bool:
    wanted = (
        (query.event_type, message.event_type),
        (query.subject, message.subject),
        (query.account, message.account_id),
    )
    if any(one is not None and one != told for one, told in wanted):
        return False
    if query.since is not None and message.created_at < query.since:
        return False
    if query.status is not None and status_of(message) != query.status:
        return False
    if query.q is not None and not _mentions(message, query.q.lower()):
        return False
    if query.endpoint is None and query.delivery is None:
        return True
    return any(
        query.endpoint in (None, one.endpoint_id) and query.delivery in (None, one.status)
        for one in world.outbox.deliveries_of(message.id)
    )


def _mentions(message: Message, text: str) -> bool:
    told = (message.id, message.event_type, message.subject, message.account_id)
    return any(text in one.lower() for one in (*told, message.request_id or ""))


def read(request: ControlRequest) -> MessageView:
    """One message, with its body and its deliveries."""
    return view(request.world, found_message(request))


def found_message(request: ControlRequest) -> Message:
    """The message that the path names. Raises ControlFault."""
    found = request.world.store.message(request.params["id"])
    if found is None:
        raise ControlFault(404, "not_found", "the world has no message with this id")
    return found


def view(world: World, message: Message) -> MessageView:
    """The message as the control API shows it, with its deliveries."""
    deliveries = [_delivery(one) for one in world.outbox.deliveries_of(message.id)]
    return {**shown(message), "deliveries": deliveries}


def shown(message: Message) -> MessageContent:
    """The message without its deliveries."""
    return {
        "id": message.id,
        "event_type": message.event_type,
        "account_id": message.account_id,
        "subject": message.subject,
        "request_id": message.request_id,
        "created_at": to_wire(message.created_at),
        "body": from_json(body_of(message)),
    }


def row_of(world: World, message: Message) -> MessageRow:
    """A message as lists show it."""
    told = shown(message)
    return {
        "id": told["id"],
        "event_type": told["event_type"],
        "account_id": told["account_id"],
        "subject": told["subject"],
        "request_id": told["request_id"],
        "created_at": told["created_at"],
        "status": told["body"].get("status"),
        "merchant": told["body"].get("merchant_name"),
        "deliveries": marks_of(world, message.id),
    }


def marks_of(world: World, id: str) -> list[DeliveryMark]:
    """How the message with this id fares at each endpoint that gets it."""
    return [
        {"endpoint_id": one.endpoint_id, "status": one.status, "attempts": len(one.attempts)}
        for one in world.outbox.deliveries_of(id)
    ]


def _delivery(delivery: Delivery) -> DeliveryView:
    due = delivery.next_attempt_at
    return {
        "endpoint_id": delivery.endpoint_id,
        "status": delivery.status,
        "attempts": [view_attempt(one, delivery.message_id) for one in delivery.attempts],
        "next_attempt_at": None if due is None else to_wire(due),
        "rule": delivery.rule,
    }


def view_attempt(attempt: DeliveryAttempt, message_id: str) -> DeliveryAttemptView:
    """One attempt at a delivery of that message."""
    head, sent = attempt.sent, None
    if head is not None:
        sent = SentView(
            id=message_id,
            timestamp=head.timestamp,
            signature=head.signature,
            bytes=head.size,
            sha256=head.sha256,
            spoilt=list(head.spoilt),
        )
    return {
        "at": to_wire(attempt.at),
        "status_code": attempt.status_code,
        "duration_ms": round(attempt.duration_ms, 3),
        "response": attempt.response,
        "error": attempt.error,
        "trigger": attempt.trigger,
        "sent": sent,
    }


# --- sending ----------------------------------------------------------------------------------


def send_sample(request: ControlRequest) -> MessageView:
    """A sample of an event, sent for real to the endpoints that subscribe to it."""
    body: Sample = request.body
    must_be_known("event_type", body.event_type, EVENTS)
    world = request.world
    message = sample(
        body.event_type,
        request.services.samples(body.event_type),
        body.changes,
        ids=_ids_of(world),
        id=world.draws.message_id(),
        now=world.clock.now(),
    )
    unit = world.store.begin()
    unit.emit(message)
    unit.commit()
    return view(world, message)


def _ids_of(world: World) -> dict[str, str]:
    """For the ids of the demo world, in which samples were written, those of this one."""
    written = Ids(seed=1, world_id=DEFAULT_WORLD)
    kinds = {
        "account": world.cast.accounts,
        "terminal": world.cast.terminals,
        "location": world.cast.locations,
    }
    return {
        written.named_uuid(f"{kind}:{name}"): id
        for kind, cast in kinds.items()
        for name, id in cast.items()
    }


def resend(request: ControlRequest) -> Resent:
    """One more attempt at a message. Source: assumed D22."""
    body: Resend = request.body
    message, outbox = found_message(request), request.world.outbox
    if body.endpoint_id is None:
        endpoints = list(outbox.subscribers(message))
    else:
        endpoint = outbox.endpoints.get(body.endpoint_id)
        if endpoint is None:
            raise ControlFault(404, "not_found", "the world has no endpoint with this id")
        if endpoint.is_disabled:
            raise ControlFault(
                409,
                "endpoint_disabled",
                f"the endpoint is disabled: {endpoint.disabled_reason}",
            )
        endpoints = [endpoint]
    for endpoint in endpoints:
        outbox.resend(message, endpoint)
    return {"endpoints": [endpoint.id for endpoint in endpoints]}

"""Built-in receivers of webhooks, and signature checks as receivers do them.

Source: assumed D25-receivers.
"""

from hashlib import sha256
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from sandbox.control.context import ControlRequest, conflict, invalid
from sandbox.control.endpoints import EndpointView, add_endpoint, view_endpoint
from sandbox.control.journal import view_body
from sandbox.control.models import TOTAL, Body, HeaderFields, Listing, Query, View, either, shows
from sandbox.control.routing import WORLD, delete, get, post
from sandbox.domain import receivers
from sandbox.domain.events import Message, body_of
from sandbox.domain.field_types import WebhookSecret
from sandbox.domain.text import nearest
from sandbox.domain.webhooks import Delivery, Endpoint
from sandbox.webhooks.receivers import Received
from sandbox.webhooks.signing import Verification, verify
from sandbox.worlds.world import World

_AnswerStatus = Annotated[int, Field(ge=receivers.ANSWER_MIN, le=receivers.ANSWER_MAX)]


class NewReceiver(Body, example={"answers": [500, 500, 200]}):
    """A built-in receiver: its status for each attempt at a message, after a delay.

    Later attempts get the last of `answers`. Without event types it gets all of them.
    """

    answers: list[_AnswerStatus] = Field([200], min_length=1, max_length=receivers.ANSWERS_MAX)
    delay_ms: Annotated[int, Field(ge=0, le=receivers.DELAY_MS_MAX)] = 0
    description: Annotated[str, Field(max_length=255)] | None = None
    event_types: list[str] = Field(default=[])


class ReceiverView(View):
    """A built-in receiver: an endpoint with the same id, its programmed answers, and its secret.

    The first attempt at each message gets the first of `answers`, and so on; later ones get the
    last. `received` counts its deliveries.
    """

    id: str
    answers: list[int]
    delay_ms: int
    received: int
    secret: str
    endpoint: EndpointView


class Receivers(View):
    """The built-in receivers of a world."""

    receivers: list[ReceiverView]
    total: int = TOTAL


@shows(Received, without=("check",))
class ReceivedView(View):
    """A delivery as it was received. `answer` is null if the receiver took too long.

    `says` is the result of its signature check, with all secrets that were in force. `body` is text
    if a scenario injected invalid JSON.
    """

    event_type: str | None
    headers: dict[str, str]
    body: Any
    genuine: bool
    says: str


class ReceivedPage(View):
    """The last deliveries to a receiver, oldest first; `total` counts those that are kept."""

    received: list[ReceivedView]
    total: int
    limit: int
    offset: int


@post(f"{WORLD}/receivers", "receivers.create", status=201, refuses=(409,))
def create_receiver(request: ControlRequest, body: NewReceiver) -> ReceiverView:
    """Create a built-in receiver of webhooks, with programmed answers."""
    url = receivers.url_of(receivers.Program(tuple(body.answers), body.delay_ms))
    description, types = body.description or "Built-in receiver", body.event_types
    sent = {"url": url, "description": description, "event_types": types}
    return _view_receiver(request.world, add_endpoint(request, sent))


@get(f"{WORLD}/receivers", "receivers.list")
def list_receivers(request: ControlRequest) -> Receivers:
    """List the built-in receivers."""
    known = request.world.outbox.endpoints.values()
    views = [_view_receiver(request.world, one) for one in known if receivers.is_inside(one.url)]
    return Receivers(receivers=views)


@delete(f"{WORLD}/receivers/{{id}}", "receivers.delete")
def delete_receiver(request: ControlRequest) -> None:
    """Delete a built-in receiver."""
    id = _find_receiver(request).id
    request.world.outbox.remove(id)
    request.world.inbox.forget(id)


@get(f"{WORLD}/receivers/{{id}}/received", "receivers.received")
def list_received(request: ControlRequest, query: Listing) -> ReceivedPage:
    """List the deliveries to a built-in receiver."""
    world, id = request.world, _find_receiver(request).id
    page = query.cut(world.inbox.received(id))
    return ReceivedPage.of(page, received=[_view_received(world, one) for one in page.items])


def _find_receiver(request: ControlRequest) -> Endpoint:
    found = request.world.outbox.endpoints.get(request.id)
    return request.require(found if found and receivers.is_inside(found.url) else None, "receiver")


def _view_receiver(world: World, endpoint: Endpoint) -> ReceiverView:
    program, id, secret = receivers.program_of(endpoint.url), endpoint.id, endpoint.secret
    received, shown = world.inbox.total(id), view_endpoint(world, endpoint)
    return ReceiverView.of(program, id=id, received=received, secret=secret, endpoint=shown)


def _view_received(world: World, one: Received) -> ReceivedView:
    message, check = world.store.get(Message, one.message_id), one.check
    told = {"event_type": message and message.event_type, "body": view_body(one.body)}
    return ReceivedView.of(one, **told, genuine=check.step is None, says=check.says)


class VerifyQuery(Query):
    """Which attempt to check, counted from 1; by default the last."""

    endpoint_id: str | None = None
    attempt: Annotated[int, Field(ge=1)] | None = None


_KEY: Final = "whsec_c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LTEyMzQ="
_SIGNED: Final = {"webhook-id": "msg_1", "webhook-timestamp": "1", "webhook-signature": "v1,x"}


class VerifyBody(Body, example={"secret": _KEY, "headers": _SIGNED, "body": "{}"}):
    """A webhook as it was received: its headers, and its exact body as text.

    The secret is given, or is that of an endpoint.
    """

    headers: HeaderFields
    body: str
    secret: WebhookSecret | None = None
    endpoint_id: Annotated[str, Field(min_length=1, max_length=100)] | None = None
    _has_one = either("secret", "endpoint_id")


@shows(Verification)
class VerifyView(View):
    """The result of a signature check. `step` is the one that fails, or null.

    `signed` is the signed text. `secrets` are masked. `age_s` is the age of the timestamp.
    """

    verdict: Literal["genuine", "refused"]
    signed: str
    secrets: list[str]


def _check(
    secrets: tuple[str, ...], prefix: str, headers: dict[str, str], body: bytes, *, now_s: int
) -> VerifyView:
    found = verify(secrets, prefix, headers, body, now_s=now_s)
    id, timestamp = (headers.get(f"{prefix}-{part}", "") for part in ("id", "timestamp"))
    signed = f"{id}.{timestamp}.{body.decode('utf-8', 'replace')}"
    masked = [f"whsec_****{secret[-4:]}" for secret in secrets]
    verdict = "refused" if found.step else "genuine"
    return VerifyView.of(found, verdict=verdict, signed=signed, secrets=masked)


@get(f"{WORLD}/messages/{{id}}/verify", "messages.verify", refuses=(409,))
def verify_message(request: ControlRequest, query: VerifyQuery) -> VerifyView:
    """Check the signature of an attempt as its receiver does."""
    message = request.get_record(Message, "message")
    delivery = _choose_delivery(request.world.outbox.deliveries_of(message.id), query.endpoint_id)
    return check_attempt(request.world, message, delivery, query.attempt)


def check_attempt(
    world: World, message: Message, delivery: Delivery, number: int | None = None
) -> VerifyView:
    """Return what the receiver found in an attempt, by default the last. Raises ControlFault."""
    attempts = delivery.attempts
    if not attempts or (number or 1) > len(attempts):
        count = f"{len(attempts)} attempts" if attempts else "no attempt yet"
        raise conflict("no_attempt", f"the delivery to {delivery.endpoint_id} has {count}")
    attempt = attempts[(number or 0) - 1]
    if (head := attempt.sent) is None:
        raise conflict("not_sent", "that attempt sent nothing", details=attempt.error or "")
    body = body_of(message)[: head.size]
    if sha256(body).hexdigest() != head.sha256:
        why = "the bytes that were sent are no longer available"
        how = "the attempt was made by another version of the sandbox"
        raise conflict("body_changed", why, details=how)
    secrets = _get_endpoint(world, delivery.endpoint_id).secrets_at(attempt.at)
    timestamp, signature = str(head.timestamp), head.signature or ""
    headers = {"sent-id": message.id, "sent-timestamp": timestamp, "sent-signature": signature}
    return _check(secrets, "sent", headers, body, now_s=head.timestamp + head.age_s)


def _choose_delivery(deliveries: list[Delivery], endpoint_id: str | None) -> Delivery:
    known = {one.endpoint_id: one for one in deliveries}
    if endpoint_id is None and len(known) != 1:
        there = f"it is for {', '.join(known) or 'no endpoint'}"
        raise invalid(f"endpoint_id: name an endpoint of the message: {there}")
    wanted = deliveries[0].endpoint_id if endpoint_id is None else endpoint_id
    if wanted not in known:
        why = f"endpoint_id: the message is not for {wanted[:80]!r}"
        raise invalid(why, nearest(wanted, known))
    return known[wanted]


def _get_endpoint(world: World, id: str) -> Endpoint:
    endpoints = world.outbox.endpoints
    if id not in endpoints:
        raise invalid(f"endpoint_id: the world has no endpoint {id[:80]!r}", nearest(id, endpoints))
    return endpoints[id]


@post(f"{WORLD}/verify", "verify")
def verify_webhook(request: ControlRequest, body: VerifyBody) -> VerifyView:
    """Check the signature of a webhook that you have."""
    world = request.world
    secrets: tuple[str, ...] = (body.secret or "",)
    if body.endpoint_id is not None:
        secrets = _get_endpoint(world, body.endpoint_id).secrets_at(world.now())
    prefix = request.services.worlds.profile.webhook_header_prefix.lower()
    sent = {name.lower(): value for name, value in body.headers.items()}
    payload = body.body.encode("utf-8", "surrogatepass")
    return _check(secrets, prefix, sent, payload, now_s=int(world.webhook_time()))

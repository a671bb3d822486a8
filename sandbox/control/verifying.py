"""Control endpoints that check signatures of webhooks, as receivers do."""

from hashlib import sha256
from typing import TYPE_CHECKING, Final, Literal, TypedDict

from sandbox.control.messages import found_message
from sandbox.control.rows import ControlFault, ControlRequest, invalid
from sandbox.domain.events import Message
from sandbox.domain.text import nearest
from sandbox.domain.webhooks import Delivery, Endpoint
from sandbox.webhooks.verifying import Verification, VerifyStep, verify
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import VerifyBody, VerifyQuery

Verdict = Literal["genuine", "refused"]

_SHOWN_CHARS: Final = 4


class VerifyView(TypedDict):
    """What a receiver finds. `step` is the one that fails, null if none does.

    `signed` is the text that is signed. `secrets` are masked. `age_s` is the age of the timestamp.
    """

    verdict: Verdict
    step: VerifyStep | None
    says: str
    signed: str
    secrets: list[str]
    expected: list[str]
    sent: list[str]
    age_s: int | None


def _masked(secret: str) -> str:
    return f"whsec_****{secret[-_SHOWN_CHARS:]}"


def _view(found: Verification, signed: bytes, secrets: tuple[str, ...]) -> VerifyView:
    return {
        "verdict": "genuine" if found.step is None else "refused",
        "step": found.step,
        "says": found.says,
        "signed": signed.decode("utf-8", "replace"),
        "secrets": [_masked(secret) for secret in secrets],
        "expected": list(found.expected),
        "sent": list(found.sent),
        "age_s": found.age_s,
    }


def verify_message(request: ControlRequest) -> VerifyView:
    """What the receiver of an attempt found when it checked the signature."""
    query: VerifyQuery = request.query
    message = found_message(request)
    delivery = _delivery(request.world.outbox.deliveries_of(message.id), query.endpoint_id)
    return check_of(request.world, message, delivery, query.attempt)


def check_of(
    world: World, message: Message, delivery: Delivery, number: int | None = None
) -> VerifyView:
    """What the receiver found in that attempt, by default the last. Raises ControlFault."""
    attempts = delivery.attempts
    number = len(attempts) if number is None else number
    if not attempts or number > len(attempts):
        count = f"{len(attempts)} attempts" if attempts else "no attempt yet"
        raise ControlFault(409, "no_attempt", f"the delivery to {delivery.endpoint_id} has {count}")
    attempt = attempts[number - 1]
    if attempt.sent is None:
        why = attempt.error or ""
        raise ControlFault(409, "not_sent", "that attempt sent nothing", details=why)
    head, body = attempt.sent, world.outbox.body(message)[: attempt.sent.size]
    if sha256(body).hexdigest() != head.sha256:
        raise ControlFault(
            409,
            "body_changed",
            "the bytes that were sent are not there any more",
            details="the attempt was made by another version of the sandbox",
        )
    secrets = _endpoint(world, delivery.endpoint_id).secrets_at(attempt.at)
    result = verify(
        secrets,
        id=message.id,
        timestamp=str(head.timestamp),
        signature=head.signature,
        body=body,
        now_s=head.timestamp + head.age_s,
    )
    return _view(result, b"%b.%d.%b" % (message.id.encode(), head.timestamp, body), secrets)


def _delivery(deliveries: list[Delivery], endpoint_id: str | None) -> Delivery:
    ids = [one.endpoint_id for one in deliveries]
    if endpoint_id is None:
        if len(deliveries) != 1:
            there = f"it is for {', '.join(ids)}" if ids else "it is for no endpoint"
            raise invalid(f"endpoint_id: name an endpoint of the message: {there}")
        return deliveries[0]
    for one in deliveries:
        if one.endpoint_id == endpoint_id:
            return one
    raise invalid(
        f"endpoint_id: the message is not for {endpoint_id[:80]!r}", nearest(endpoint_id, ids)
    )


def _endpoint(world: World, id: str) -> Endpoint:
    endpoints = world.outbox.endpoints
    if id not in endpoints:
        raise invalid(f"endpoint_id: the world has no endpoint {id[:80]!r}", nearest(id, endpoints))
    return endpoints[id]


def verify_one_of_yours(request: ControlRequest) -> VerifyView:
    """What a receiver finds in the headers and the body of a webhook that you have."""
    body: VerifyBody = request.body
    if body.secret is not None:
        secrets: tuple[str, ...] = (body.secret,)
    else:
        assert body.endpoint_id is not None
        secrets = _endpoint(request.world, body.endpoint_id).secrets_at(request.world.now())
    prefix = request.services.worlds.profile.webhook_header_prefix
    sent = {name.lower(): value for name, value in body.headers.items()}
    id, timestamp, signature = (
        sent.get(f"{prefix.lower()}-{part}") for part in ("id", "timestamp", "signature")
    )
    payload = body.body.encode("utf-8", "surrogatepass")
    result = verify(
        secrets,
        id=id,
        timestamp=timestamp,
        signature=signature,
        body=payload,
        now_s=int(request.world.system_clock()),
    )
    signed = f"{id or ''}.{timestamp or ''}.".encode() + payload
    return _view(result, signed, secrets)

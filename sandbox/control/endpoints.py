"""Webhook endpoints: registration, secrets, recovery."""

from collections import defaultdict
from datetime import timedelta
from typing import Annotated, Any, Final
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace
from pydantic import Field

from sandbox.control.context import ControlRequest, conflict, invalid, must_be_known
from sandbox.control.models import TOTAL, Body, Time, View, attribute, shows
from sandbox.control.routing import WORLD, delete, get, patch, post
from sandbox.domain import webhooks
from sandbox.domain.directory import Account
from sandbox.domain.events import EVENTS, EventType
from sandbox.domain.field_types import EndpointDescription, EndpointId, HttpUrl, WebhookSecret
from sandbox.domain.instants import Instant
from sandbox.domain.secrets import find_secret
from sandbox.webhooks.signing import KEY_BYTES, write_secret
from sandbox.worlds.background import collect
from sandbox.worlds.world import World

_EndpointWords = Annotated[list[str], Field(max_length=100)]


class Filters(Body):
    """A filter of bodies: each named field must have one of its values."""

    transaction_type: _EndpointWords | None = None
    status: _EndpointWords | None = None
    processor: _EndpointWords | None = None


class ChangeEndpoint(Body, example={"disabled": True}):
    """Changes of an endpoint.

    `account_id` is the id of an account or its name in the cast; null subscribes to the whole
    world.
    """

    url: HttpUrl | None = None
    description: EndpointDescription | None = None
    account_id: str | None = None
    event_types: _EndpointWords | None = None
    filters: Filters | None = None
    secret: WebhookSecret | None = None
    disabled: bool | None = None


_HOOK: Final = {"url": "http://127.0.0.1:9000/hook", "account_id": "{accounts.merchant}"}


class CreateEndpoint(ChangeEndpoint, example={**_HOOK, "event_types": ["transaction.sale"]}):
    """Where webhooks go, and which ones. No event types means all of them."""

    id: EndpointId | None = None
    url: HttpUrl


class Rotate(Body, example={"grace_s": 3600}):
    """A new secret for an endpoint; for `grace_s` seconds of the world the old one signs too."""

    secret: WebhookSecret | None = None
    grace_s: Annotated[float, Field(ge=0, le=604_800, allow_inf_nan=False)] | None = None


class Recover(Body, example={"since": "2026-03-01T12:00:00Z"}):
    """The time of the world from which missed messages are sent again."""

    since: Instant


OLD_SECRETS_MAX: Final = 10
"""How many replaced secrets of an endpoint may still sign: each adds a signature."""


@shows(webhooks.OldSecret)
class OldSecretView(View):
    """A secret that was replaced, and the time until which it still signs too."""


@shows(webhooks.Endpoint, without=("replaced_secret",))
class EndpointView(View):
    """A webhook endpoint with its secret. No event types means all of them.

    `failing_since` is the first failure after the last success. Unless an attempt succeeds, the
    endpoint is disabled at the first failure from `disables_at` on.
    """

    application_id: str | None
    event_types: list[EventType]
    filters: dict[str, list[str]]
    old_secrets: list[OldSecretView]
    disabled: bool = attribute("is_disabled")
    disables_at: Time | None


class Endpoints(View):
    """The endpoints of a world."""

    endpoints: list[EndpointView]
    total: int = TOTAL


class ApplicationView(View):
    """The webhook application of an account, with the ids of its endpoints."""

    id: str
    account_id: str
    created_at: Time
    endpoints: list[str]


class Applications(View):
    """The webhook applications of a world."""

    applications: list[ApplicationView]
    total: int = TOTAL


class Recovered(View):
    """How many messages are sent again."""

    messages: int


def view_endpoint(world: World, endpoint: webhooks.Endpoint) -> EndpointView:
    """Return the endpoint as the control API shows it now."""
    since, now = endpoint.failing_since, world.now()
    return EndpointView.of(
        endpoint,
        application_id=endpoint.account_id and webhooks.application_id(endpoint.account_id),
        old_secrets=[one for one in endpoint.old_secrets if now < one.until],
        disables_at=None if since is None or endpoint.is_disabled else since + webhooks.DEAD_AFTER,
    )


@post(f"{WORLD}/endpoints", "endpoints.create", status=201, refuses=(409,))
def create_endpoint(request: ControlRequest, body: CreateEndpoint) -> EndpointView:
    """Register a webhook endpoint."""
    if body.id is not None and body.id in request.world.outbox.endpoints:
        raise conflict("endpoint_taken", f"an endpoint {body.id!r} already exists")
    made = add_endpoint(request, body.model_dump(exclude_unset=True))
    return view_endpoint(request.world, made)


def add_endpoint(request: ControlRequest, sent: dict[str, Any]) -> webhooks.Endpoint:
    """Return a new endpoint with these fields of a body. Raises ControlFault."""
    world = request.world
    if len(world.outbox.endpoints) >= webhooks.ENDPOINTS_MAX:
        why = f"{webhooks.ENDPOINTS_MAX} endpoints are already in this world, which is the limit"
        how = "DELETE one of them first, or take another world"
        raise conflict("too_many_endpoints", why, details=how)
    fields, at = _checked(request, sent), world.clock.now()
    secret = fields.pop("secret", None) or write_secret(world.draws.secret_bytes(KEY_BYTES))
    id = fields.pop("id", None) or _free_id(world)
    reason = webhooks.BY_HAND if fields.pop("disabled", False) else None
    made = webhooks.Endpoint(id=id, secret=secret, created_at=at, disabled_reason=reason, **fields)
    return world.outbox.store_endpoint(made)


def _free_id(world: World) -> str:
    """Return a new id. A reset world generates the same ids again, but keeps its endpoints."""
    while (id := f"ep_{world.draws.plain_chars(27)}") in world.outbox.endpoints:
        pass
    return id


def _checked(request: ControlRequest, sent: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that were sent, as they are stored; null counts as not sent.

    Raises ControlFault for an unknown word in them.
    """
    fields = {name: one for name, one in sent.items() if one is not None or name == "account_id"}
    if "url" in fields:
        _check_url(request, fields["url"])
    if "account_id" in fields:
        fields["account_id"] = request.find_id(Account, fields["account_id"], "account_id")
    if "event_types" in fields:
        fields["event_types"] = tuple(dict.fromkeys(fields["event_types"]))
        for event_type in fields["event_types"]:
            must_be_known("event_types", event_type, EVENTS)
    if "filters" in fields:
        filters = {name: tuple(values) for name, values in fields["filters"].items() if values}
        for name in filters.keys() & webhooks.FILTER_VALUES:
            for value in filters[name]:
                must_be_known(f"filters.{name}", value, webhooks.FILTER_VALUES[name])
        fields["filters"] = filters
    return fields


def _check_url(request: ControlRequest, url: str) -> None:
    services = request.services
    if (secret := find_secret(unquote(url), services.worlds.profile.key_format)) is not None:
        raise invalid(f"url: {secret.sentence}")
    if problem := services.why_not_to(urlsplit(url).hostname or ""):
        raise invalid(f"url: {problem}")


@get(f"{WORLD}/applications", "applications.list")
def list_applications(request: ControlRequest) -> Applications:
    """List the webhook applications of a world's accounts.

    An account that was not created under v2 gets one with its first endpoint. Source: assumed
    8.3-application.
    """
    world = request.world
    found = dict(world.store.all(webhooks.Application).items())
    endpoints = defaultdict[str, list[str]](list)
    for endpoint in world.outbox.endpoints.values():
        if (id := endpoint.account_id) is not None:
            endpoints[id].append(endpoint.id)
            new = webhooks.Application(account_id=id, created_at=endpoint.created_at)
            found.setdefault(id, new)
    views = [ApplicationView.of(one, endpoints=endpoints[id]) for id, one in found.items()]
    return Applications(applications=views)


@get(f"{WORLD}/endpoints", "endpoints.list")
def list_endpoints(request: ControlRequest) -> Endpoints:
    """List a world's webhook endpoints."""
    world = request.world
    views = [view_endpoint(world, endpoint) for endpoint in world.outbox.endpoints.values()]
    return Endpoints(endpoints=views)


def _find_endpoint(request: ControlRequest) -> webhooks.Endpoint:
    return request.require(request.world.outbox.endpoints.get(request.id), "endpoint")


@get(f"{WORLD}/endpoints/{{id}}", "endpoints.read")
def read_endpoint(request: ControlRequest) -> EndpointView:
    """Read a webhook endpoint."""
    return view_endpoint(request.world, _find_endpoint(request))


@patch(f"{WORLD}/endpoints/{{id}}", "endpoints.change")
def change_endpoint(request: ControlRequest, body: ChangeEndpoint) -> EndpointView:
    """Change a webhook endpoint."""
    endpoint, outbox = _find_endpoint(request), request.world.outbox
    fields = _checked(request, body.model_dump(exclude_unset=True))
    disabled = fields.pop("disabled", endpoint.is_disabled)
    outbox.store_endpoint(replace(endpoint, **fields))
    if disabled and not endpoint.is_disabled:
        outbox.disable(endpoint.id, webhooks.BY_HAND)
    elif endpoint.is_disabled and not disabled:
        outbox.enable(endpoint.id)
    return view_endpoint(request.world, outbox.endpoints[endpoint.id])


@delete(f"{WORLD}/endpoints/{{id}}", "endpoints.delete")
def delete_endpoint(request: ControlRequest) -> None:
    """Delete a webhook endpoint.

    Deliveries that still wait are canceled.
    """
    request.world.outbox.remove(_find_endpoint(request).id)


@post(f"{WORLD}/endpoints/{{id}}/rotate-secret", "endpoints.rotate", refuses=(409,))
def rotate_secret(request: ControlRequest, body: Rotate) -> EndpointView:
    """Give a webhook endpoint a new secret.

    The old one also signs for a while. Source: assumed D22.
    """
    endpoint, world = _find_endpoint(request), request.world
    now, replaced = world.clock.now(), endpoint.secret
    grace = webhooks.GRACE if body.grace_s is None else timedelta(seconds=body.grace_s)
    old = [one for one in endpoint.old_secrets if now < one.until]
    if grace:
        if len(old) >= OLD_SECRETS_MAX:
            raise conflict("too_many_secrets", f"{len(old)} old secrets are still in use")
        old.insert(0, webhooks.OldSecret(secret=replaced, until=now + grace))
    secret = body.secret or write_secret(world.draws.secret_bytes(KEY_BYTES))
    more = {"secret": secret, "replaced_secret": replaced, "old_secrets": tuple(old)}
    return view_endpoint(world, world.outbox.store_endpoint(replace(endpoint, **more)))


@post(f"{WORLD}/endpoints/{{id}}/enable", "endpoints.enable")
def enable_endpoint(request: ControlRequest) -> EndpointView:
    """Enable a disabled webhook endpoint."""
    world, endpoint = request.world, _find_endpoint(request)
    return view_endpoint(world, world.outbox.enable(endpoint.id))


@post(f"{WORLD}/endpoints/{{id}}/recover", "endpoints.recover", status=202, refuses=(409,))
async def recover_messages(request: ControlRequest, body: Recover) -> Recovered:
    """Send a webhook endpoint the messages that it missed.

    Source: assumed D22.
    """
    endpoint = _find_endpoint(request)
    if endpoint.is_disabled:
        why = f"the endpoint is disabled: {endpoint.disabled_reason}"
        how = f"POST .../endpoints/{endpoint.id}/enable comes first"
        raise conflict("endpoint_disabled", why, details=how)
    sent = await collect(request.world.outbox.recover(endpoint.id, body.since))
    return Recovered(messages=sum(sent))

"""Control endpoints on webhook endpoints: registration, secrets, recovery."""

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, TypedDict
from urllib.parse import unquote, urlsplit

from msgspec.structs import replace

from sandbox.control.rows import ControlFault, ControlRequest, invalid, must_be_known
from sandbox.domain.directory import Account
from sandbox.domain.events import EVENTS, EventType
from sandbox.domain.instants import to_wire
from sandbox.domain.secrets import find_secret
from sandbox.domain.webhooks import (
    BY_HAND,
    DEAD_AFTER,
    ENDPOINTS_MAX,
    FILTER_VALUES,
    GRACE,
    Application,
    Endpoint,
    OldSecret,
    application_id,
)
from sandbox.webhooks.inside import is_inside, program_of
from sandbox.webhooks.signing import KEY_BYTES, write_secret
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.shapes import ChangeEndpoint, CreateEndpoint, Recover, Rotate

OLD_SECRETS_MAX: Final = 10
"""Replaced secrets of one endpoint that sign at a time: each is one more signature to make."""

LOOKED_AT_IN_A_ROW: Final = 200
"""Messages that are looked at, and perhaps sent again, before other requests have a turn: some
milliseconds."""


class OldSecretView(TypedDict):
    """A secret that was replaced, and until when it still signs beside the new one."""

    secret: str
    until: str


class EndpointView(TypedDict):
    """A webhook endpoint with its secret. No event types means all of them.

    `failing_since` is the first failure after the last success. If nothing succeeds before, the
    endpoint is disabled with the first failure from `disables_at` on.
    """

    id: str
    url: str
    description: str
    account_id: str | None
    application_id: str | None
    event_types: list[EventType]
    filters: dict[str, list[str]]
    secret: str
    old_secrets: list[OldSecretView]
    disabled: bool
    disabled_reason: str | None
    failing_since: str | None
    disables_at: str | None
    created_at: str


class Endpoints(TypedDict):
    """The endpoints of a world."""

    endpoints: list[EndpointView]
    total: int


class ApplicationView(TypedDict):
    """The webhook application of an account, with the ids of its endpoints."""

    id: str
    account_id: str
    created_at: str
    endpoints: list[str]


class Applications(TypedDict):
    """The webhook applications of a world."""

    applications: list[ApplicationView]
    total: int


class Recovered(TypedDict):
    """How many messages are sent again."""

    messages: int


def view(endpoint: Endpoint, now: datetime) -> EndpointView:
    """The endpoint as the control API shows it at that moment of the world."""
    since = endpoint.failing_since
    dead_at = None if since is None or endpoint.is_disabled else to_wire(since + DEAD_AFTER)
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "description": endpoint.description,
        "account_id": endpoint.account_id,
        "application_id": application_id(endpoint.account_id) if endpoint.account_id else None,
        "event_types": list(endpoint.event_types),
        "filters": {name: list(values) for name, values in endpoint.filters.items()},
        "secret": endpoint.secret,
        "old_secrets": [
            {"secret": one.secret, "until": to_wire(one.until)}
            for one in endpoint.old_secrets
            if now < one.until
        ],
        "disabled": endpoint.is_disabled,
        "disabled_reason": endpoint.disabled_reason,
        "failing_since": None if since is None else to_wire(since),
        "disables_at": dead_at,
        "created_at": to_wire(endpoint.created_at),
    }


def create(request: ControlRequest) -> EndpointView:
    """Have webhooks go to a URL, signed with a secret of its own."""
    body: CreateEndpoint = request.body
    if body.id is not None and body.id in request.world.outbox.endpoints:
        raise ControlFault(409, "endpoint_taken", f"there is an endpoint {body.id!r} already")
    return view(add(request, body.model_dump(exclude_unset=True)), request.world.now())


def add(request: ControlRequest, sent: dict[str, Any]) -> Endpoint:
    """A new endpoint with these fields of a body. Raises ControlFault."""
    world = request.world
    if len(world.outbox.endpoints) >= ENDPOINTS_MAX:
        raise ControlFault(
            409,
            "too_many_endpoints",
            f"{ENDPOINTS_MAX} endpoints are in this world already, which is the most",
            details="DELETE one of them first, or take another world",
        )
    fields = _checked(request, sent)
    secret = fields.pop("secret", None) or write_secret(world.draws.secret_bytes(KEY_BYTES))
    endpoint = Endpoint(
        id=fields.pop("id", None) or _free_id(world),
        secret=secret,
        created_at=world.clock.now(),
        disabled_reason=BY_HAND if fields.pop("disabled", False) else None,
        **fields,
    )
    return world.outbox.store_endpoint(endpoint)


def _free_id(world: World) -> str:
    """A new id. Draws begin anew with a reset, and endpoints of before it stay."""
    while (id := f"ep_{world.draws.plain_chars(27)}") in world.outbox.endpoints:
        pass
    return id


def _checked(request: ControlRequest, sent: dict[str, Any]) -> dict[str, Any]:
    """The fields that were sent, null as if they were not, every word in them known."""
    fields = {
        name: value for name, value in sent.items() if value is not None or name == "account_id"
    }
    if "url" in fields:
        _check_url(request, fields["url"])
    _check_audience(request, fields)
    return fields


def _check_audience(request: ControlRequest, fields: dict[str, Any]) -> None:
    """Filters by account, type and content; lists are converted for storing."""
    account_id = fields.get("account_id")
    if account_id is not None and request.world.store.get(Account, account_id) is None:
        raise invalid("account_id: the world has no account with this id")
    for event_type in fields.get("event_types", ()):
        must_be_known("event_types", event_type, EVENTS)
    for name, values in fields.get("filters", {}).items():
        for value in values or ():
            if name in FILTER_VALUES:
                must_be_known(f"filters.{name}", value, FILTER_VALUES[name])
    if "event_types" in fields:
        fields["event_types"] = tuple(dict.fromkeys(fields["event_types"]))
    if "filters" in fields:
        fields["filters"] = {
            name: tuple(values) for name, values in fields["filters"].items() if values
        }


def _check_url(request: ControlRequest, url: str) -> None:
    secret = find_secret(unquote(url), request.services.worlds.profile.key_format)
    if secret is not None:
        raise invalid(f"url: {secret.sentence}")
    if is_inside(url):
        try:
            program_of(url)
        except ValueError as error:
            raise invalid(f"url: a receiver inside: {error}") from None
        return
    problem = request.services.why_not_to(urlsplit(url).hostname or "")
    if problem is not None:
        raise invalid(f"url: {problem}")


def list_applications(request: ControlRequest) -> Applications:
    """The webhook applications of a world's accounts. Source: assumed 8.3-application.

    An account that was not created under v2 has one with its first endpoint.
    """
    world = request.world
    found = dict(world.store.all(Application).items())
    endpoints: dict[str, list[str]] = {}
    for endpoint in world.outbox.endpoints.values():
        if (id := endpoint.account_id) is not None:
            endpoints.setdefault(id, []).append(endpoint.id)
            found.setdefault(id, Application(account_id=id, created_at=endpoint.created_at))
    views: list[ApplicationView] = [
        {
            "id": one.id,
            "account_id": one.account_id,
            "created_at": to_wire(one.created_at),
            "endpoints": endpoints.get(one.account_id, []),
        }
        for one in found.values()
    ]
    return {"applications": views, "total": len(views)}


def list_all(request: ControlRequest) -> Endpoints:
    """The endpoints of a world, in the order in which they came."""
    now = request.world.now()
    views = [view(endpoint, now) for endpoint in request.world.outbox.endpoints.values()]
    return {"endpoints": views, "total": len(views)}


def _found(request: ControlRequest) -> Endpoint:
    endpoint = request.world.outbox.endpoints.get(request.params["id"])
    if endpoint is None:
        raise ControlFault(404, "not_found", "the world has no endpoint with this id")
    return endpoint


def read(request: ControlRequest) -> EndpointView:
    """One endpoint, with its secret."""
    return view(_found(request), request.world.now())


def change(request: ControlRequest) -> EndpointView:
    """Change the given fields."""
    body: ChangeEndpoint = request.body
    endpoint, outbox = _found(request), request.world.outbox
    fields = _checked(request, body.model_dump(exclude_unset=True))
    disabled = fields.pop("disabled", None)
    outbox.store_endpoint(replace(endpoint, **fields))
    if disabled is True and not endpoint.is_disabled:
        outbox.disable(endpoint.id, BY_HAND)
    elif disabled is False and endpoint.is_disabled:
        outbox.enable(endpoint.id)
    return view(outbox.endpoints[endpoint.id], request.world.now())


def delete(request: ControlRequest) -> None:
    """Forget an endpoint; what still waited for it is canceled."""
    request.world.outbox.remove(_found(request).id)


def rotate_secret(request: ControlRequest) -> EndpointView:
    """A new secret; the old one signs too for a while. Source: assumed D22."""
    body: Rotate = request.body
    endpoint, world = _found(request), request.world
    fields = _checked(request, {"secret": body.secret})
    now = world.clock.now()
    grace_s = GRACE.total_seconds() if body.grace_s is None else body.grace_s
    old = [one for one in endpoint.old_secrets if now < one.until]
    if grace_s > 0:
        if len(old) >= OLD_SECRETS_MAX:
            raise ControlFault(409, "too_many_secrets", f"{len(old)} old secrets are still in use")
        old.insert(0, OldSecret(secret=endpoint.secret, until=now + timedelta(seconds=grace_s)))
    secret = fields.get("secret") or write_secret(world.draws.secret_bytes(KEY_BYTES))
    changed = replace(
        endpoint, secret=secret, old_secrets=tuple(old), replaced_secret=endpoint.secret
    )
    return view(world.outbox.store_endpoint(changed), now)


def enable(request: ControlRequest) -> EndpointView:
    """Send to an endpoint again, from the next event on."""
    endpoint = _found(request)
    return view(request.world.outbox.enable(endpoint.id), request.world.now())


async def recover(request: ControlRequest) -> Recovered:
    """Send the messages that an endpoint has missed since a moment. Source: assumed D22."""
    body: Recover = request.body
    endpoint = _found(request)
    if endpoint.is_disabled:
        raise ControlFault(
            409,
            "endpoint_disabled",
            f"the endpoint is disabled: {endpoint.disabled_reason}",
            details=f"POST .../endpoints/{endpoint.id}/enable comes first",
        )
    count = 0
    for place, is_sent in enumerate(request.world.outbox.recover(endpoint.id, body.since), start=1):
        count += is_sent
        if place % LOOKED_AT_IN_A_ROW == 0:
            await asyncio.sleep(0)
    return {"messages": count}

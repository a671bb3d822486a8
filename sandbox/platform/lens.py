"""What a key would be answered, asked of the very steps of the pipeline, without a request.

It stops before the body is checked, so an operation that is allowed may still be refused for what
it is sent. Nothing is counted, noted or changed.
"""

from json import dumps

from msgspec import Struct

from sandbox.domain.access import Holds
from sandbox.domain.faults import PERMISSION_DENIED, Refusal
from sandbox.domain.keys import ApiKey
from sandbox.platform.pipeline import usable
from sandbox.platform.request_context import IncomingRequest, RequestContext
from sandbox.platform.routing import Match
from sandbox.platform.rows import Row
from sandbox.platform.targets import check_visibility, find_target
from sandbox.worlds.journal import Decision
from sandbox.worlds.presented import PresentedKey
from sandbox.worlds.world import World


class Seen(Struct, frozen=True, gc=False):
    """The status that the key would get, every decision, and the permissions that are missing.

    One of the missing permissions is enough; there are none where no permission would help.
    """

    status: int
    decisions: tuple[Decision, ...]
    missing: tuple[str, ...]
    error: str | None

    @property
    def is_allowed(self) -> bool:
        """Whether the key may do it."""
        return self.error is None


def look(world: World, key: ApiKey, row: Row, target: str | None) -> Seen:
    """What `key` would be answered for the operation of `row` on the record with this id."""
    context = RequestContext(
        unit=world.store.begin(),
        now=world.clock.now(),
        request_id="lens",
        world=world,
        incoming=_request(row, target),
        presented=PresentedKey(world, key),
    )
    try:
        context.step = "authenticate"
        _, account = usable(context.presented, context.unit, context.now)
        context.caller = context.presented.caller(account)
        context.decided("authenticate", "ok", f"{key.id} of {account.id} may be used", "spec 5.1")
        context.step = "visibility"
        check_visibility(context, row)
        context.step = "target"
        find_target(context, row)
    except Refusal as refusal:
        step, status = refusal.step or context.step, refusal.fault.status
        context.decided(step, str(status), refusal.reason, refusal.source)
        missing = _missing(context, row, refusal)
        return Seen(status, context.decisions, missing, refusal.fault.code)
    if row.needs_besides:
        context.decided("body", "note", row.about_besides, "assumed D37")
    return Seen(row.status, context.decisions, (), None)


def _missing(context: RequestContext, row: Row, refusal: Refusal) -> tuple[str, ...]:
    if refusal.fault is PERMISSION_DENIED:
        # A 401 names what it requires. Source: spec 5.9.
        return tuple(refusal.details.removeprefix("requires ").split(" or "))
    if context.step == "visibility" and context.holds is Holds.NONE and row.need is not None:
        return (*row.need.base, *((row.need.sub,) if row.need.sub else ()))
    return ()


def _request(row: Row, target: str | None) -> IncomingRequest:
    """A request of the row that names the target, and nothing else."""
    params: dict[str, str] = {}
    query, body = b"", b"{}"
    if target is not None and row.target is not None:
        where, name = row.target.where, row.target.name
        if where == "path":
            params[name] = target
        elif where == "query":
            query = f"{name}={target}".encode()
        else:
            body = dumps({name: target}).encode()
    headers = [(b"content-type", b"application/json"), (b"accept", b"application/json")]
    return IncomingRequest(
        row.method, row.path, query, headers, body, dict(headers), Match(row, params)
    )

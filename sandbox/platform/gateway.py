"""The gateway before the platform: maintenance, and quotas of requests for each key.

It comes once the key is known, and before everything else: what it refuses was not looked at.
Source: assumed 5.3-gateway.
"""

from math import ceil
from typing import Final

from sandbox.domain.faults import RATE_LIMITED, UNAVAILABLE, Refusal
from sandbox.platform.context import Headers, RequestContext
from sandbox.worlds.quotas import QUOTAS, Quota

_SOURCE: Final = "assumed 5.3-gateway"


def enter(context: RequestContext) -> None:
    """Let the request in and count it. Raises Refusal in a maintenance, or above a quota."""
    world, now = context.world, context.now
    context.step = "gateway"
    until = world.state.maintenance_until
    if until is not None and now < until:
        context.again_at = until
        raise Refusal(UNAVAILABLE, "The platform is under maintenance.", source=_SOURCE)
    if context.quota is not None:
        # It was counted, and waited for another one.
        return
    limits = {name: int(world.switches[name]) for name in QUOTAS if world.switches[name]}
    if not limits:
        return
    quota = context.quota = world.quotas.take(context.known_caller.key.id, limits, now)
    if quota.is_exceeded:
        context.again_at = quota.ends_at
        raise Refusal(RATE_LIMITED, f"{quota.name} is {quota.limit} for each key.", source=_SOURCE)


def headers_of(context: RequestContext, quota: Quota) -> Headers:
    """Return the fields of the IETF draft draft-ietf-httpapi-ratelimit-headers-06."""
    reset_s = ceil((quota.ends_at - context.now).total_seconds())
    return [
        (b"ratelimit-limit", b"%d" % quota.limit),
        (b"ratelimit-remaining", b"%d" % quota.remaining),
        (b"ratelimit-reset", b"%d" % reset_s),
        (b"ratelimit-policy", quota.policy.encode()),
    ]

"""The gateway before the platform: maintenance, quotas for each key, and transport faults.

Maintenance and quotas apply once the key is known, before anything else about the request is looked
at (assumed 5.3-gateway). Transport faults are chosen by header, queue or scenario, for every
operation. An attempt at a payment chooses its outcome and its fault together, when the processor is
asked. Any other request has its fault chosen here, once it is known to be valid. Both kinds take
effect here (assumed 5.3-anywhere).
"""

from math import ceil
from typing import Any, Final

from sandbox.domain.faults import RATE_LIMITED, UNAVAILABLE, Refusal
from sandbox.domain.instants import to_wire
from sandbox.platform.context import Headers, RequestContext
from sandbox.scenarios.outcome_choice import ChosenOutcome, choose_fault
from sandbox.worlds.quotas import Quota

_SOURCE: Final = "assumed 5.3-gateway"


def enter(context: RequestContext) -> None:
    """Admit the request and count it. Raises Refusal during maintenance, or above a quota."""
    world, now = context.world, context.now
    context.step = "gateway"
    until = world.state.maintenance_until
    if until is not None and now < until:
        context.again_at = until
        text = "The platform is under maintenance."
        why = f"maintenance lasts until {to_wire(until)}"
        raise Refusal(UNAVAILABLE, text, reason=why, source=_SOURCE)
    if context.quota is not None:
        # It was counted before it waited for another request.
        return
    if not world.quotas.limits:
        return
    quota = context.quota = world.quotas.take(context.known_caller.key.id, now)
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


# --- transport faults -------------------------------------------------------------------------


class Dropped(Exception):
    """The connection is closed without an answer, before anything was done."""


def strike(context: RequestContext) -> None:
    """Choose the fault of a request that asks no processor, and apply it.

    Raises Refusal or Dropped for a fault that comes before anything is done.
    """
    world = context.world
    if context.forced is None and world.scenario is None and not world.queue.entries:
        return
    account = context.account or context.known_caller.account
    terminal_id = getattr(context.record, "terminal_id", None)
    words = {**request_words(context), "account": account.id, "terminal": terminal_id}
    choice = choose_fault(words, context.forced, world.queue, world.scenario, context.near_misses)
    if choice is not None:
        context.choice = choice
        context.explain("outcome", choice.key, choice.by, "assumed D4")
        let_happen(context, choice)


def let_happen(context: RequestContext, choice: ChosenOutcome) -> None:
    """Apply the fault of a choice. Raises Refusal or Dropped for one before the work is done."""
    fault = choice.fault
    context.again_at, context.late_ms = choice.until, choice.late_ms
    if fault is None or fault.when == "after":
        context.fault = fault
        return
    if fault.answer is None:
        context.fault = fault
        raise Dropped(fault.key)
    raise Refusal(fault.answer, reason=f"{fault.key} was requested", step="outcome")


def request_words(context: RequestContext) -> dict[str, Any]:
    """Return the facts about a request that rules can match."""
    incoming, row = context.incoming, context.incoming.row
    assert row
    return {
        "operation": row.names,
        "method": row.method,
        "path": incoming.path,
        "time": context.now,
        "key": context.known_caller.key.id,
        "has_body": incoming.method != "HEAD" and context.world.has_body(row),
    }

"""Transport faults of requests: chosen by header, queue or scenario, for every operation.

An attempt at a payment chooses its outcome and its fault together, once the processor is asked. Any
other request has its fault chosen here, once it is known to be valid. Both happen here.
Source: assumed 5.3-anywhere.
"""

from typing import Any

from sandbox.domain.faults import Refusal
from sandbox.domain.operations import API
from sandbox.platform.context import RequestContext
from sandbox.scenarios.matcher import NearMisses
from sandbox.scenarios.outcome_choice import ChosenOutcome, choose_fault


class Dropped(Exception):
    """The connection is closed without an answer, before anything was done."""


def strike(context: RequestContext) -> None:
    """Choose the fault of a request that asks no processor, and let it happen.

    Raises Refusal or Dropped for a fault that comes before anything is done.
    """
    world = context.world
    if context.forced is None and world.scenario is None and not world.queue.entries:
        return
    account = context.account or context.known_caller.account
    terminal_id = getattr(context.record, "terminal_id", None)
    words = {**request_words(context), "account": account.id, "terminal": terminal_id}
    near = context.near_misses = NearMisses()
    choice = choose_fault(words, context.forced, world.queue, world.scenario, near)
    if choice is not None:
        context.choice = choice
        context.explain("outcome", choice.key, choice.by, "assumed D4")
        let_happen(context, choice)


def let_happen(context: RequestContext, choice: ChosenOutcome) -> None:
    """Let the fault of a choice happen. Raises Refusal or Dropped for one that comes first."""
    fault = choice.fault
    context.again_at, context.late_ms = choice.until, choice.late_ms
    if fault is None or fault.when == "after":
        context.fault = fault
        return
    if fault.answer is None:
        raise Dropped(fault.key)
    raise Refusal(fault.answer, reason=f"{fault.key} was requested", step="outcome")


def request_words(context: RequestContext) -> dict[str, Any]:
    """Return the facts that every request has for rules."""
    incoming = context.incoming
    assert incoming.match
    assert incoming.match.row
    operation = API[incoming.match.row.name]
    return {
        "operation": operation.names,
        "method": operation.method,
        "path": incoming.path,
        "time": context.now,
        "key": context.known_caller.key.id,
        "has_body": incoming.method != "HEAD" and context.world.has_body(operation),
    }

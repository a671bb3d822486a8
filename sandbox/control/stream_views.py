"""How the stream of a world shows what happens: whole, or as rows of a few hundred bytes."""

from collections.abc import Callable, Mapping
from typing import Any, Final

from sandbox.control import agenda, batches, messages, observe, payment_lists, taps, world_rows
from sandbox.domain.batches import Batch
from sandbox.domain.directory import Account, Credential, Location, Terminal
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.webhooks import Endpoint
from sandbox.worlds.event_stream import (
    AGENDA,
    ATTEMPT,
    CLOCK,
    ENDPOINT,
    GAP,
    MESSAGE,
    RECORD,
    REQUEST,
    SCENARIO,
    TAP,
    WORLD,
    AttemptEvent,
    Removed,
    TapEvent,
)
from sandbox.worlds.world import World

Shown = Mapping[str, Callable[[World, Any], Any]]
"""For each kind of event, what its data are."""

_NAMES: Final[dict[type, str]] = {
    Account: "account",
    Terminal: "terminal",
    Location: "location",
    Credential: "credential",
    ApiKey: "key",
    Transaction: "payment",
    Batch: "batch",
}


def _tried(tried: AttemptEvent) -> dict[str, Any]:
    return {**_tried_row(tried), **messages.view_attempt(tried.attempt, tried.message.id)}


def _tried_row(tried: AttemptEvent) -> dict[str, Any]:
    attempt = messages.view_attempt(tried.attempt, tried.message.id)
    return {
        "message_id": tried.message.id,
        "event_type": tried.message.event_type,
        "request_id": tried.message.request_id,
        "endpoint_id": tried.endpoint_id,
        "url": tried.url,
        "at": attempt["at"],
        "status_code": attempt["status_code"],
        "error": attempt["error"],
        "delivery_status": tried.delivery_status,
        "rule": tried.rule,
    }


def _tap(event: TapEvent) -> dict[str, Any]:
    return {**taps.view(event.tap), "waits": event.waits}


def _record(world: World, record: Any) -> dict[str, Any]:
    """A record as its list shows it; `row` is null for kinds without one, and if it was removed."""
    if isinstance(record, Removed):
        kind, id = _NAMES[record.kind], record.id
        return {"kind": kind, "id": id, "status": None, "removed": True, "row": None}
    row: Any = None
    if isinstance(record, Transaction):
        id, row = record.transaction_id, payment_lists.row_of(record)
    elif isinstance(record, Batch):
        id, row = record.id, batches.row_of(world, record)
    elif isinstance(record, Terminal):
        id = record.terminal_id
    else:
        id = record.id
    return {
        "kind": _NAMES[type(record)],
        "id": id,
        "status": getattr(record, "status", None),
        "removed": getattr(record, "deleted_at", None) is not None,
        "row": row,
    }


def _endpoint(endpoint: Endpoint | Removed) -> dict[str, Any]:
    """An endpoint without its secrets."""
    if isinstance(endpoint, Removed):
        return {"id": endpoint.id, "url": None, "disabled_reason": None, "removed": True}
    return {
        "id": endpoint.id,
        "url": endpoint.url,
        "disabled_reason": endpoint.disabled_reason,
        "removed": False,
    }


def _agenda(world: World) -> dict[str, Any]:
    """What falls due next, and how much falls due at all."""
    timers = world.store.timers
    first = timers.soonest
    return {
        "next": None if first is None else agenda.view(world, first),
        "total": len(timers),
    }


def _scenario(world: World) -> dict[str, Any]:
    return {"name": None if world.scenario is None else world.scenario.scenario.name}


FULL: Final[Shown] = {
    REQUEST: observe.view_of,
    MESSAGE: lambda world, message: messages.shown(message),
    ATTEMPT: lambda world, tried: _tried(tried),
    CLOCK: lambda world, clock: clock,
    TAP: lambda world, event: _tap(event),
    RECORD: _record,
    ENDPOINT: lambda world, endpoint: _endpoint(endpoint),
    AGENDA: lambda world, nothing: _agenda(world),
    SCENARIO: lambda world, nothing: _scenario(world),
    WORLD: lambda world, nothing: world_rows.row_of(world),
    GAP: lambda world, missed: {"missed": missed},
}
"""Requests, messages and attempts whole."""

ROWS: Final[Shown] = {
    **FULL,
    REQUEST: observe.row_of,
    MESSAGE: messages.row_of,
    ATTEMPT: lambda world, tried: _tried_row(tried),
}
"""Requests, messages and attempts as rows."""

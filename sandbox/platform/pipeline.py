"""The pipeline: every step of a platform request, in order.

    1 route        a row for this path and method?                        404, 405
    2 authenticate header, key, world; usable at this world's now?         401
                   no maintenance, and within the key's quota?             503, 429
    3 visibility   sees the type? holds the operation?                     404, 401
    4 target       exists, in the hierarchy? which form? not blocked?      404, 401, 423
    5 body         exactly the shape?                                      406, 413, 415, 400
    6 operation    may this be granted, tried, applied?                    403, 400, 409
                   a transport fault comes before it, or as the processor is asked
    7 render       status and fields
    8 commit       records and messages, together or not at all

A payment that waits for its card or its processor commits in step 6 too, before it waits.

Every step notes its decision, the reason and the clause, and refuses by raising `Refusal`. The
order is assumed C5: no answer depends on the existence of something that the caller may not see.
"""

from collections.abc import Iterable
from inspect import iscoroutine
from itertools import chain, repeat
from typing import Any, Final

from sandbox.domain import readings
from sandbox.domain.faults import METHOD_NOT_ALLOWED, NOT_FOUND, RETIRED, Refusal
from sandbox.domain.operations import NO_CONTENT
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.records import to_bytes
from sandbox.domain.text import nearest
from sandbox.platform import gateway
from sandbox.platform.access import authenticate, check_visibility, find_target
from sandbox.platform.context import RequestContext
from sandbox.platform.form import check_form
from sandbox.platform.operation import Row
from sandbox.platform.routes import OPERATIONS
from sandbox.platform.routing import Match
from sandbox.worlds.registry import Worlds

_SEGMENTS_MAX: Final = 12
"""No path of the platform comes close to this."""


async def answer_request(context: RequestContext, worlds: Worlds) -> tuple[int, bytes]:
    """Take all steps, and return the status of a success and the body.

    Raises Refusal. Nothing has changed then, unless the refusal says that it was recorded.
    """
    row = route(context, worlds)
    while True:
        authenticate(context, worlds)
        gateway.enter(context)
        check_visibility(context, row)
        find_target(context, row)
        check_form(context, row)
        record, busy = context.record, None
        if context.world.busy and row.method != "GET" and isinstance(record, Payment):
            busy = context.world.busy.get(record.id)
        if busy is None:
            break
        # Another request on the same payment waits for its processor (assumed 2.6-serial).
        await context.wait_for(busy.wait())
        context.begin_again()
    if row.attempts is None:
        gateway.strike(context)
    context.step = "operation"
    assert row.run
    shown = row.run(context)
    if iscoroutine(shown):
        shown = await shown
    if isinstance(shown, Refusal):
        # It was recorded, so its record and events are committed too.
        context.unit.commit()
        shown.is_recorded = True
        raise shown
    if row.attempts is not None and context.choice is None:
        # The attempt asked no processor: it was a repetition, or the terminal is a passthrough.
        gateway.strike(context)
    # Rendered before the commit, so a result that cannot be rendered is not committed.
    status, body = _render(context, row, shown)
    context.unit.commit()
    return status, body


def _render(context: RequestContext, row: Row, shown: Any) -> tuple[int, bytes]:
    if row.status == NO_CONTENT and shown is None:
        return NO_CONTENT, b""
    as_empty = context.world.readings["unset_strings"] == "as_empty"  # assumed D35-unset
    # assumed D35-deletion
    status = 200 if row.status == NO_CONTENT else row.status
    if row.attempts and shown.status == "declined":
        status = readings.DECLINE_STATUSES[context.world.readings["decline_status"]]
    return status, to_bytes(shown, as_empty=as_empty)


# --- 1: route ---------------------------------------------------------------------------------


def route(context: RequestContext, worlds: Worlds) -> Row:
    """Return the row that the request is for."""
    match = context.incoming.match
    if match is not None and match.row is not None and match.row.run is not None:
        context.explain("route", "ok", match.row.name, match.row.source)
        return match.row
    if context.world.readings["unknown_routes"] == "key":  # assumed D35-routes
        authenticate(context, worlds)
        context.step = "route"
    if match is None:
        path = context.incoming.path
        why = f"no endpoint has the path {path}{_path_hint(path, OPERATIONS)}"
        raise Refusal(NOT_FOUND, reason=why, source="assumed C1")
    if match.row is None:
        why = f"this path serves {methods_of(match) or 'nothing now'}"
        raise Refusal(METHOD_NOT_ALLOWED, reason=why)
    raise Refusal(RETIRED, reason=match.row.summary, source=match.row.source)


def methods_of(match: Match[Row]) -> str:
    """Return the methods of the path that still do something, as an Allow header lists them."""
    return ", ".join(row.method for row in match.others if row.run is not None)


def _path_hint(path: str, rows: Iterable[Row]) -> str:
    """Return a hint like `; did you mean '/v3/payment'?`, or an empty string."""
    segments = path.split("/")
    if len(segments) > _SEGMENTS_MAX:
        return ""
    # Ids count as matching: otherwise they would outweigh a misspelt word.
    filled = (
        "/".join(
            (sent or one) if one.startswith("{") else one
            for one, sent in zip(row.path.split("/"), chain(segments, repeat("")), strict=False)
        )
        for row in rows
        if row.run is not None
    )
    paths = {one.lower(): one for one in filled}
    bare = path.rstrip("/")
    if bare != path and bare.lower() in paths:
        return f"; did you mean {bare!r}, without the slash at the end?"
    match = nearest(path, paths)
    return f"; did you mean {paths[match]!r}?" if match else ""

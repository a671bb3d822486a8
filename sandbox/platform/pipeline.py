"""The pipeline: every step of a platform request, in order.

    1 route        a row for this path and method?                        404, 405
    2 authenticate header, key, world; usable at this world's now?         401
    3 visibility   sees the type? holds the operation?                     404, 401
    4 target       exists, in the hierarchy? which form? not blocked?      404, 401, 423
    5 body         exactly the shape?                                      406, 413, 415, 400
    6 operation    may this be granted, tried, applied?                    403, 400, 409
    7 render       status and fields
    8 commit       records and messages, together or not at all

A payment takes step 6 in two phases, with the processor's answer between them.

Every step notes its decision, the reason and the clause, and refuses by raising `Refusal`. The
order is assumed C5: no answer depends on the existence of something that the caller may not see.
"""

import asyncio
from typing import Any, Final

from sandbox.domain import keys
from sandbox.domain.clock import TAP_EXPIRES, Timer
from sandbox.domain.directory import Account
from sandbox.domain.faults import (
    AUTHENTICATION_FAILED,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    RETIRED,
    Refusal,
)
from sandbox.domain.instants import Instant
from sandbox.domain.keys import ApiKey, KeyUsage
from sandbox.domain.payments.cards import Tap
from sandbox.domain.payments.transactions import BusyPayment, Transaction
from sandbox.domain.readings import UNKNOWN_ROUTES, UNSET_STRINGS
from sandbox.domain.records import filled, rows_of, to_bytes, to_parts
from sandbox.platform.form import check_form
from sandbox.platform.hints import path_hint
from sandbox.platform.payments.actions import PendingAction
from sandbox.platform.payments.initiation import PendingInitiation
from sandbox.platform.request_context import RequestContext
from sandbox.platform.routes import OPERATIONS
from sandbox.platform.routing import Match
from sandbox.platform.rows import Row
from sandbox.platform.targets import check_visibility, find_target, named
from sandbox.platform.wire import Body, in_parts
from sandbox.store.store import UnitOfWork
from sandbox.worlds.due_timers import fire_due
from sandbox.worlds.journal import WaitingRequest, headers_shown_by
from sandbox.worlds.presented import PresentedKey
from sandbox.worlds.registry import Worlds

OK: Final = 200
NO_CONTENT: Final = 204

PendingPayment = PendingInitiation | PendingAction
"""A payment between its two phases; `finish` is the second. A tap returns a new one."""

ROWS_AT_ONCE_MAX: Final = 1_000
"""An answer with more rows is rendered with pauses for other requests."""


async def carry_out(context: RequestContext, worlds: Worlds) -> tuple[int, Body]:
    """Take all steps; the success status and the body.

    Raises Refusal. Then nothing changed, unless the refusal says that it was recorded. A request
    waits only for its processor, for another request on the same payment, or for a long answer.
    """
    try:
        row = route(context)
    except Refusal:
        if context.world.readings[UNKNOWN_ROUTES] == "key":  # assumed D35-routes
            context.step = "authenticate"
            authenticate(context, worlds)
            context.step = "route"
        raise
    _prepare(context, worlds, row)
    if context.world.busy and row.method != "GET":
        while (busy := context.world.busy.get(_payment(context))) is not None:
            await busy.wait()
            _begin_again(context, worlds, row)
    context.step = "operation"
    assert row.run
    shown = row.run(context)
    if row.method == "GET":
        if rows_of(shown) > ROWS_AT_ONCE_MAX:
            return row.status, await worlds.slices.run(in_parts(to_parts(shown)), is_large=True)
    elif isinstance(shown, PendingInitiation | PendingAction):
        context.fault = context.choice.fault if context.choice else None
        if shown.tap is not None or shown.delay_ms > 0:
            return await _run_in_two_phases(context, row, shown)
        # No request can see it in between, and one commit is enough.
        shown = shown.finish(context, False)
    return _conclude(context, row, shown)


def _conclude(context: RequestContext, row: Row, shown: Any) -> tuple[int, bytes]:
    """Render the answer and commit; a refusal that was recorded is raised afterwards."""
    if isinstance(shown, Refusal):
        context.unit.commit()
        shown.is_recorded = True
        raise shown
    if context.world.readings[UNSET_STRINGS] == "as_empty":  # assumed D35-unset
        shown = filled(shown)
    # Rendered before the commit, so a result that cannot be rendered is not committed.
    body, status = b"", row.status
    if status != NO_CONTENT:
        body = to_bytes(shown)
    elif shown is not None:  # assumed D35-deletion
        body, status = to_bytes(shown), OK
    context.unit.commit()
    if context.world.tap_desk:
        context.world.check_tap_desk()
    return status, body


def _prepare(context: RequestContext, worlds: Worlds, row: Row) -> None:
    """The steps before the operation: caller, target, body."""
    context.step = "authenticate"
    authenticate(context, worlds)
    context.step = "visibility"
    check_visibility(context, row)
    context.step = "target"
    find_target(context, row)
    context.step = "body"
    check_form(context, row)


def _begin_again(context: RequestContext, worlds: Worlds, row: Row) -> None:
    context.begin_again()
    _prepare(context, worlds, row)


def _payment(context: RequestContext) -> str:
    """The id of the request's payment; empty if there is none."""
    record = context.record
    return record.transaction_id if isinstance(record, Transaction) else ""


async def _run_in_two_phases(
    context: RequestContext, row: Row, pending: PendingPayment
) -> tuple[int, bytes]:
    """Commit the pending changes, let the processor answer, read the record again, and finish.

    While it waits no unit of work is open, and the payment accepts no other request (assumed
    2.6-serial).
    """
    tap_desk, waiting = context.world.tap_desk, context.world.journal.waiting
    try:
        context.unit.commit()
        waiting[context.request_id] = _waiting(context, row, pending.subject)
        # Follow-ups may be due before the next request.
        fire_due(context.world)
        if pending.tap is not None:
            pending = await _wait_for_tap(context, pending, pending.tap)
        if pending.delay_ms > 0:
            tap_desk.leave(pending.subject)
            await _wait(context, pending)
        context.begin()
        lost = _key_lost_meanwhile(context)
        if pending.tap is not None:
            context.unit.cancel(TAP_EXPIRES, pending.subject)
        shown = pending.finish(context, lost is not None)
        return _conclude(context, row, lost or shown)
    finally:
        tap_desk.leave(pending.subject)
        waiting.pop(context.request_id, None)


def _waiting(context: RequestContext, row: Row, payment: str) -> WaitingRequest:
    """The request as operators see it until it is answered."""
    assert context.caller
    incoming, key = context.incoming, context.caller.key
    return WaitingRequest(
        id=context.request_id,
        at=context.now,
        method=incoming.method,
        path=incoming.path,
        route=row.name,
        key=keys.mask(key.key_last4),
        key_id=key.id,
        account_id=key.account_id,
        origin=incoming.origin,
        headers=headers_shown_by(context.world.profile)(incoming.shown_headers),
        payment=payment,
    )


async def _wait_for_tap(
    context: RequestContext, pending: PendingInitiation, tap: Tap
) -> PendingInitiation:
    """Wait at the tap desk; the payment as the tap leaves it. Source: assumed D24.

    Other actions on the payment do not wait: its merchant can still cancel it.
    """
    tapped = await context.world.tap_desk.wait(tap, context.request_id, pending)
    context.begin()
    pending = pending.after_tap(context, tapped)
    context.fault = context.choice.fault if context.choice else None
    return pending


async def _wait(context: RequestContext, pending: PendingPayment) -> None:
    """Wait for the processor; the payment and its event_id stay locked until then."""
    busy, taken = context.world.busy, context.world.taken_events
    done = busy[pending.subject] = asyncio.Event()
    if pending.event is not None:
        taken[pending.event] = pending.subject
    # If the server dies, the next start ends the payment.
    context.world.store.put(BusyPayment(transaction_id=pending.subject))
    try:
        await asyncio.sleep(pending.delay_ms / 1000)
    except asyncio.CancelledError:
        # The server stops. The payment ends now, and the next start finds it ended.
        if busy is context.world.busy:
            context.begin()
            context.unit.schedule(Timer(kind=TAP_EXPIRES, subject=pending.subject, due=context.now))
            context.unit.commit()
        raise
    finally:
        if busy is context.world.busy:
            unit = context.world.store.begin()
            unit.remove(BusyPayment, pending.subject)
            unit.commit()
        # The next waiting request runs only after the code below, which never pauses.
        done.set()
        del busy[pending.subject]
        if pending.event is not None:
            del taken[pending.event]
    if busy is not context.world.busy:
        raise Refusal(NOT_FOUND, reason="the world was reset while the payment was waiting")


def _key_lost_meanwhile(context: RequestContext) -> Refusal | None:
    """The 401 for a key that was revoked, deleted or expired in flight. Source: assumed D2."""
    assert context.caller
    key = context.unit.get(ApiKey, context.caller.key.id)
    unusable = ("it is gone", "spec 3.1") if key is None else keys.why_unusable(key, context.now)
    if unusable is None:
        return None
    reason, _ = unusable
    return Refusal(
        AUTHENTICATION_FAILED,
        reason=f"while the payment waited, {named(context.caller.key)} stopped: {reason}",
        source="assumed D2",
        step="outcome",
    )


# --- 1 ----------------------------------------------------------------------------------------


def route(context: RequestContext) -> Row:
    """The row that the request is for."""
    match = context.incoming.match
    if match is None:
        raise Refusal(
            NOT_FOUND,
            reason=f"no endpoint has the path {context.incoming.path}"
            + path_hint(context.incoming.path, OPERATIONS),
            source="assumed C1",
        )
    row = match.row
    if row is None:
        raise Refusal(
            METHOD_NOT_ALLOWED, reason=f"this path serves {methods_of(match) or 'nothing any more'}"
        )
    if row.run is None:
        raise Refusal(RETIRED, reason=row.summary, source=row.source)
    context.decisions += (row.found,)
    return row


def methods_of(match: Match[Row]) -> str:
    """The methods of the path that still do something, as an Allow header lists them."""
    return ", ".join(row.method for row in match.others if row.run is not None)


# --- 2 ----------------------------------------------------------------------------------------


def authenticate(context: RequestContext, worlds: Worlds) -> None:
    """Who calls, if the key may be used at this moment of its world."""
    presented = context.presented
    if presented.is_production:
        context.note(presented.reason)
    key, account = usable(presented, context.unit, context.now)
    context.caller = caller = presented.caller(account)
    # An answer need not wait until this is durable.
    context.world.store.put(KeyUsage(key_id=key.id, last_used_at=context.now))
    worlds.touch(context.world)
    context.decisions += (caller.decision,)


def usable(presented: PresentedKey, unit: UnitOfWork, now: Instant) -> tuple[ApiKey, Account]:
    """The presented key, with its account. Raises Refusal if it may not be used now.

    This runs before the body is read, and again with the whole request.
    """
    key = presented.key
    if key is None:
        raise Refusal(AUTHENTICATION_FAILED, reason=presented.reason, source=presented.source)
    unusable = keys.why_unusable(key, now)
    if unusable is not None:
        reason, source = unusable
        raise Refusal(
            AUTHENTICATION_FAILED, reason=f"{named(key)} is not usable: {reason}", source=source
        )
    account = unit.get(Account, key.account_id)
    if account is None or account.deleted_at is not None:
        raise Refusal(
            AUTHENTICATION_FAILED,
            reason=f"the account of {named(key)} was deleted",
            source="assumed C4",
        )
    return key, account

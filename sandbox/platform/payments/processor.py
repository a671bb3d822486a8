"""Payments in flight: they wait for a card at the reader, or for the processor's answer.

While a request waits, no unit of work is open, and the payment accepts no other request (assumed
2.6-serial). Afterwards the record and the key are read again.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sandbox.domain import keys
from sandbox.domain.clock import TAP_EXPIRES, Timer
from sandbox.domain.directory import Account
from sandbox.domain.faults import AUTHENTICATION_FAILED, NOT_FOUND, Refusal
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.cards import Tap, Tapped
from sandbox.domain.payments.transactions import BusyPayment, Payment
from sandbox.platform.access import name_key
from sandbox.platform.context import OperationContext, RequestContext
from sandbox.scenarios.outcome_choice import ChosenOutcome
from sandbox.worlds.due_timers import fire_due
from sandbox.worlds.journal import WaitingRequest, show_headers
from sandbox.worlds.tap_desk import WhyNot


def delay_ms(context: OperationContext, choice: ChosenOutcome) -> int:
    """Return how long the answer takes: the scripted delay, and the scaled latency."""
    # The fault `slow` delays the answer itself, after the work is done.
    is_slow_only = choice.fault is not None and choice.fault.key == "slow"
    scale: float = context.world.switches["latency.scale"]
    return (0 if is_slow_only else choice.delay_ms) + round(choice.outcome.latency_ms * scale)


@asynccontextmanager
async def in_flight(context: RequestContext, payment: str) -> AsyncIterator[None]:
    """Commit the first phase, and show the request as waiting while the block runs."""
    tap_desk, waiting = context.world.tap_desk, context.world.journal.waiting
    incoming, key = context.incoming, context.known_caller.key
    assert incoming.row
    try:
        context.unit.commit()
        waiting[context.request_id] = WaitingRequest(
            id=context.request_id,
            at=context.now,
            method=incoming.method,
            path=incoming.path,
            route=incoming.row.name,
            key=keys.mask(key.key_last4),
            key_id=key.id,
            account_id=key.account_id,
            origin=incoming.origin,
            headers=show_headers(context.world.profile, incoming.shown_headers),
            payment=payment,
        )
        # Follow-ups may be due before the next request.
        fire_due(context.world)
        yield
    finally:
        tap_desk.leave(payment)
        waiting.pop(context.request_id, None)


async def wait_for_tap(context: RequestContext, tap: Tap, why_not: WhyNot) -> Tapped | None:
    """Wait for the tap; None if the payment ended without one.

    The payment is not locked: the merchant can still cancel it (assumed D24).
    """
    tapped, payment = None, context.world.store.get(Payment, tap.transaction_id)
    # A follow-up may have ended it at once.
    if payment is not None and payment.status == "pending":
        waiting = context.world.tap_desk.join(tap, context.request_id, why_not)
        tapped = await context.wait_for(waiting.came)
        context.events += waiting.events
    context.begin()
    return tapped


async def wait_for_answer(
    context: RequestContext, payment: str, delay_ms: int, *, event: str | None = None
) -> None:
    """Wait for the processor; the payment and this event_id stay locked until then."""
    context.world.tap_desk.leave(payment)
    busy, taken = context.world.busy, context.world.taken_events
    done = busy[payment] = asyncio.Event()
    if event is not None:
        taken[event] = payment
    with context.world.store.begin() as unit:
        # A card that was tapped in time no longer has a deadline (assumed D24).
        unit.cancel(TAP_EXPIRES, payment)
        # If the server dies, the next start ends the payment.
        unit.put(BusyPayment(transaction_id=payment))
    try:
        await context.wait_for(_wait_up_to(delay_ms, done))
    except asyncio.CancelledError:
        # The server stops. The payment ends now, and the next start finds it ended.
        if busy is context.world.busy:
            context.begin()
            context.unit.schedule(Timer(kind=TAP_EXPIRES, subject=payment, due=context.now))
            context.unit.commit()
        raise
    finally:
        if busy is context.world.busy:
            with context.world.store.begin() as unit:
                unit.remove(BusyPayment, payment)
        # The next waiting request runs only after the code below, which never pauses.
        done.set()
        del busy[payment]
        if event is not None:
            del taken[event]


async def _wait_up_to(delay_ms: int, is_over: asyncio.Event) -> None:
    """Wait this long, or until a reset or the end of the world sets the event."""
    with suppress(TimeoutError):
        async with asyncio.timeout(delay_ms / 1000):
            await is_over.wait()


def begin_second_phase(context: RequestContext, account_id: str) -> Refusal | None:
    """Read the world again. Return the refusal for a key or an account that was lost in flight.

    The key was revoked or deleted, or it expired (assumed D2), or the merchant's account was
    deleted, whose money could never be settled (assumed D45); then the processor has failed.
    """
    context.begin()
    used = context.known_caller.key
    key, account = context.unit.get(ApiKey, used.id), context.unit.get(Account, account_id)
    owner = context.unit.get(Account, used.account_id)
    unusable = keys.why_unusable(key, owner, context.now) if key else ("it is gone", "spec 3.1")
    if unusable is not None:
        fault, source = AUTHENTICATION_FAILED, "assumed D2"
        what = f"{name_key(used)} stopped: {unusable[0]}"
    elif account is None or account.deleted_at is not None:
        fault, source = NOT_FOUND, "assumed D45"
        what = f"account {account_id} was deleted"
    else:
        return None
    reason = f"while the payment waited, {what}"
    return Refusal(fault, reason=reason, source=source, step="outcome")

"""The way of a request: every step of the platform, in the one order in which they are taken.

    1 route        a row for this path and method?                        404, 405
    2 authenticate header, key, world; usable at this world's now?         401
    3 visibility   sees the type? holds the operation?                     404, 401
    4 target       exists, in the hierarchy? which form? not blocked?      404, 401, 423
    5 body         exactly the shape?                                      406, 413, 415, 400
    6 operation    may this be granted, tried, applied?                    403, 400, 409
    7 render       status and fields
    8 commit       records and messages, together or not at all

A payment takes 6 in two breaths, with the processor's answer between them.

Every step notes what it decided, why, and by which clause, and refuses by raising `Refusal`. The
order is assumed C5: no answer depends on the existence of what the caller may not see.
"""

import asyncio
from functools import lru_cache
from typing import Any, Final

from sandbox.api import wire
from sandbox.api.form import check_form, read_object
from sandbox.api.router import Match
from sandbox.api.rows import Row, Target
from sandbox.api.trip import Trip
from sandbox.api.wire import BadInput
from sandbox.domain import access, keys
from sandbox.domain.access import Access, Need, Verdict
from sandbox.domain.accounts import Account
from sandbox.domain.faults import (
    ACCOUNT_BLOCKED,
    AUTHENTICATION_FAILED,
    METHOD_NOT_ALLOWED,
    NOT_FOUND,
    PERMISSION_DENIED,
    RETIRED,
    VALIDATION_ERROR,
    Refusal,
)
from sandbox.domain.hierarchy import Relation
from sandbox.domain.keys import ApiKey
from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.permissions import grants_of
from sandbox.domain.rendering import to_bytes
from sandbox.operations.call import Awaiting, Caller
from sandbox.world.registry import Worlds

NO_CONTENT: Final = 204


async def carry_out(trip: Trip, worlds: Worlds) -> tuple[int, bytes]:
    """Take all steps; the success status and the body.

    Raises Refusal, and then nothing changed, unless the refusal says that it was kept. Nothing
    here waits but a payment for its processor, and whoever wants the same payment meanwhile.
    """
    row = route(trip)
    _prepare(trip, worlds, row)
    if trip.world.busy and row.method != "GET":
        while (busy := trip.world.busy.get(_payment(trip))) is not None:
            await busy.wait()
            trip.begin_again()
            _prepare(trip, worlds, row)
    trip.step = "operation"
    assert row.run
    shown = row.run(trip)
    if isinstance(shown, Awaiting):
        shown = await _second_breath(trip, shown)
    if isinstance(shown, Refusal):
        trip.unit.commit()
        shown.was_kept = True
        raise shown
    # Written before the commit, so that what cannot be shown is not done either.
    body = b"" if row.status == NO_CONTENT else to_bytes(shown)
    trip.unit.commit()
    return row.status, body


def _prepare(trip: Trip, worlds: Worlds, row: Row) -> None:
    """Everything before the operation: who calls, what is meant, what was sent."""
    trip.step = "authenticate"
    authenticate(trip, worlds)
    trip.step = "visibility"
    check_visibility(trip, row)
    trip.step = "target"
    find_target(trip, row)
    trip.step = "body"
    check_form(trip, row)


def _payment(trip: Trip) -> str:
    """The id of the payment that the request is about; empty where it is about none."""
    record = trip.record
    return record.transaction_id if isinstance(record, Transaction) else ""


async def _second_breath(trip: Trip, awaiting: Awaiting) -> Any:
    """Commit what is pending, let the processor answer, look again, and finish.

    While it waits no unit of work is open, and the payment takes nothing else (assumed 2.6-serial).
    Where it does not wait nobody can look in between, and all is committed together.
    """
    trip.fault = awaiting.fault
    lost: Refusal | None = None
    if awaiting.delay_ms > 0:
        trip.unit.commit()
        await _wait(trip, awaiting)
        trip.begin()
        lost = _key_lost_meanwhile(trip)
        shown = awaiting.finish(trip, lost is not None)
    else:
        shown = awaiting.finish(trip, False)
    return lost or shown


async def _wait(trip: Trip, awaiting: Awaiting) -> None:
    """Let the processor take its time; the payment and its event_id are taken until then."""
    busy, taken = trip.world.busy, trip.world.taken_events
    done = busy[awaiting.subject] = asyncio.Event()
    if awaiting.event is not None:
        taken[awaiting.event] = awaiting.subject
    try:
        await asyncio.sleep(awaiting.delay_ms / 1000)
    finally:
        # Who waits for this comes next: not before what follows here, which never pauses.
        done.set()
        del busy[awaiting.subject]
        if awaiting.event is not None:
            del taken[awaiting.event]
    if busy is not trip.world.busy:
        raise Refusal(NOT_FOUND, reason="the world was reset while the payment was waiting")


def _key_lost_meanwhile(trip: Trip) -> Refusal | None:
    """The 401 for a key that was revoked, deleted or expired in flight. Source: assumed D2."""
    assert trip.caller
    key = trip.unit.get(ApiKey, trip.caller.key.id)
    unusable = ("it is gone", "spec 3.1") if key is None else keys.why_unusable(key, trip.now)
    if unusable is None:
        return None
    reason, _ = unusable
    return Refusal(
        AUTHENTICATION_FAILED,
        reason=f"while the payment waited, {_named(trip.caller.key)} stopped: {reason}",
        source="assumed D2",
        step="outcome",
    )


# --- 1 ----------------------------------------------------------------------------------------


def route(trip: Trip) -> Row:
    """The row that the request is for."""
    match = trip.asked.match
    if match is None:
        raise Refusal(
            NOT_FOUND, reason=f"no endpoint has the path {trip.asked.path}", source="assumed C1"
        )
    row = match.row
    if row is None:
        raise Refusal(
            METHOD_NOT_ALLOWED, reason=f"this path serves {methods_of(match) or 'nothing any more'}"
        )
    if row.run is None:
        raise Refusal(RETIRED, reason=row.summary, source=row.source)
    trip.decisions.append(("route", "ok", row.name, row.source))
    return row


def methods_of(match: Match[Row]) -> str:
    """The methods of the path that still do something, as an Allow header lists them."""
    return ", ".join(row.method for row in match.others if row.run is not None)


# --- 2 ----------------------------------------------------------------------------------------


def authenticate(trip: Trip, worlds: Worlds) -> None:
    """Who calls, if the key may be used at this moment of its world."""
    key = trip.presented.key
    if key is None:
        presented = trip.presented
        if presented.is_production:
            trip.notes.append(presented.reason)
        raise Refusal(AUTHENTICATION_FAILED, reason=presented.reason, source=presented.source)
    unusable = keys.why_unusable(key, trip.now)
    if unusable is not None:
        reason, source = unusable
        raise Refusal(
            AUTHENTICATION_FAILED, reason=f"{_named(key)} is not usable: {reason}", source=source
        )
    account = trip.unit.get(Account, key.account_id)
    if account is None or account.deleted_at is not None:
        raise Refusal(
            AUTHENTICATION_FAILED,
            reason=f"the account of {_named(key)} was deleted",
            source="assumed C4",
        )
    trip.caller = Caller(key, account, grants_of(key.permissions))
    trip.world.last_used_at[key.id] = trip.now
    worlds.touch(trip.world)
    trip.decisions.append(
        ("authenticate", "ok", _introduction(key.id, key.name, account.id), "spec 5.1")
    )


@lru_cache(maxsize=256)
def _introduction(key_id: str, name: str, account_id: str) -> str:
    return f"key {key_id} ({name!r}) of {account_id}"


def _named(key: ApiKey) -> str:
    return f"key {key.id} ({key.name!r})"


# --- 3 ----------------------------------------------------------------------------------------


def check_visibility(trip: Trip, row: Row) -> None:
    """Does the key see the type, and hold the operation? Asked before anything is looked up."""
    assert trip.caller
    assert row.need
    trip.holds = access.holds(trip.caller.grants, row.need)
    refused = access.before_lookup(trip.holds)
    if refused is None:
        trip.decisions.append(("visibility", "ok", trip.holds, "spec 5.9"))
        return
    raise _refuse(
        refused,
        f"{_named(trip.caller.key)}: {refused.reason}; {row.name} needs {row.need}",
        details=f"requires {row.need}",
    )


def _refuse(refused: Access, reason: str, details: str = "") -> Refusal:
    """The refusal for a cell of the access table. A 404 never carries details."""
    if refused.verdict is Verdict.DENIED:
        return Refusal(PERMISSION_DENIED, details, reason=reason, source=refused.source)
    return Refusal(NOT_FOUND, reason=reason, source=refused.source)


# --- 4 ----------------------------------------------------------------------------------------


def find_target(trip: Trip, row: Row) -> None:
    """The account and record that the request is about, if the caller may reach them."""
    target = row.target
    assert trip.caller
    if target is None:
        return
    try:
        if row.narrow is not None:
            _narrow(trip, row.narrow(read_object(trip)))
        named = [(one, *found) for one in target.all for found in _FINDERS[one.where](trip, one)]
    except BadInput as error:
        raise Refusal(VALIDATION_ERROR, str(error)) from None
    if named:
        for one, account, id in named:
            _must_reach(trip, row, one, account, id)
        trip.account = named[0][1]
    elif target.where != "query" and not target.is_required:
        # No account is named: the caller's own is meant, or on a listing all that it may see.
        # Where one has to be named, the check of the body says so.
        _must_reach(trip, row, target, trip.caller.account, None)
        trip.account = trip.caller.account
    if row.stops_at_block and trip.account is not None:
        _must_not_be_blocked(trip)
    if row.may is not None:
        row.may(trip)


def _must_reach(
    trip: Trip, row: Row, target: Target, account: Account | None, id: str | None
) -> None:
    """Raises Refusal unless the key's permission reaches the account."""
    assert trip.caller
    relation = target.relate(trip.caller.account, account)
    cell = access.decide(trip.holds, relation)
    if cell.verdict is not Verdict.OK:
        raise _refuse(
            cell,
            f"{target.kind.__name__} {id or 'own'}: {cell.reason} ({relation})",
            details=f"requires {_form(row, relation)}",
        )
    trip.decisions.append(("target", "ok", cell.reason, cell.source))


def _must_not_be_blocked(trip: Trip) -> None:
    """No money moves for a blocked account, or below one. Source: assumed 4.7-blocked-account."""
    account = trip.account
    assert account
    above_and_self = (account.id, *account.parent_account_ids)
    if trip.world.blocked.isdisjoint(above_and_self):
        return
    for id in above_and_self:
        above = trip.unit.get(Account, id)
        if above is not None and above.status == "blocked":
            raise Refusal(ACCOUNT_BLOCKED, reason=f"account {id} ({above.name}) is blocked")


def _narrow(trip: Trip, wanted: Need) -> None:
    """Ask for the very permission that the body comes down to, where the row left it open.

    Before the lookup, since lacking an operation is answered whatever exists (assumed 4.7).
    """
    assert trip.caller
    if access.before_lookup(access.holds(trip.caller.grants, wanted)) is not None:
        raise Refusal(PERMISSION_DENIED, f"requires {wanted}", reason=f"the body asks for {wanted}")


def _form(row: Row, relation: Relation) -> str:
    """The one form of the permission that this relation asks for."""
    assert row.need
    if relation is Relation.DESCENDANT and row.need.sub:
        return row.need.sub
    return " or ".join(row.need.base)


_Found = list[tuple[Account | None, str]]
"""The account of what is named, None where nothing is there, with the id that was given."""


def _target_in_path(trip: Trip, target: Target) -> _Found:
    assert trip.asked.match
    id = trip.asked.match.params[target.name]
    return [(_account_of(trip, target, id), id)]


def _target_in_body(trip: Trip, target: Target) -> _Found:
    """What the body names. The body is parsed for it first (assumed C5)."""
    id = (trip.sent or read_object(trip)).get(target.name)
    if id is None:
        return []
    if not isinstance(id, str):
        raise BadInput(f"{target.name}: must be a string")
    return [(_account_of(trip, target, id), id)]


def _target_in_query(trip: Trip, target: Target) -> _Found:
    values = wire.parse_query(trip.asked.query_string).get(target.name, ())
    if len(values) > 1 and not target.is_repeatable:
        raise BadInput(f"{target.name}: must be given once")
    return [(trip.unit.get(Account, id), id) for id in values]


def _account_of(trip: Trip, target: Target, id: str) -> Account | None:
    """The account that the record with this id belongs to; it is kept as the call's record.

    Accounts named in a body are only where something is to happen, not what is changed.
    """
    record = trip.unit.get(target.kind, id)
    if target.kind is Account and target.where == "body":
        return record
    if record is None or (record.deleted_at is not None and not target.even_deleted):
        return None
    if trip.record is None or target.where == "path":
        trip.record = record
    if isinstance(record, Account):
        return record
    return trip.unit.get(Account, record.account_id)


_FINDERS = {"path": _target_in_path, "body": _target_in_body, "query": _target_in_query}

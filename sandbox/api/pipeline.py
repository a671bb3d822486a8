"""The way of a request: every step of the platform, in the one order in which they are taken.

    1 route        a row for this path and method?                        404, 405
    2 authenticate header, key, world; usable at this world's now?         401
    3 visibility   sees the type? holds the operation?                     404, 401
    4 target       exists, in the hierarchy? own or descendant form?       404, 401
    5 body         exactly the shape?                                      406, 413, 415, 400
    6 operation    may this be granted, tried, applied?                    403, 400
    7 commit       records and messages, together or not at all
    8 render       status and fields

Every step notes what it decided, why, and by which clause, and refuses by raising `Refusal`. The
order is assumed C5: no answer depends on the existence of what the caller may not see.
"""

from typing import Any

from pydantic import ValidationError

from sandbox.api import wire
from sandbox.api.router import Match
from sandbox.api.rows import Row, Target
from sandbox.api.trip import Trip
from sandbox.api.wire import BadInput
from sandbox.domain import access, keys
from sandbox.domain.access import Access, Verdict
from sandbox.domain.accounts import Account
from sandbox.domain.faults import (
    AUTHENTICATION_FAILED,
    BODY_TOO_LARGE,
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    NOT_FOUND,
    PERMISSION_DENIED,
    RETIRED,
    UNSUPPORTED_MEDIA_TYPE,
    VALIDATION_ERROR,
    Refusal,
)
from sandbox.domain.hierarchy import Relation
from sandbox.domain.keys import ApiKey
from sandbox.domain.permissions import grants_of
from sandbox.domain.rendering import to_bytes
from sandbox.operations.call import Caller
from sandbox.world.journal import unescaped
from sandbox.world.registry import Worlds


def carry_out(trip: Trip, worlds: Worlds) -> tuple[int, bytes]:
    """Take all steps; the success status and the body. Raises Refusal, and then nothing changed."""
    row = route(trip)
    trip.step = "authenticate"
    authenticate(trip, worlds)
    trip.step = "visibility"
    check_visibility(trip, row)
    trip.step = "target"
    find_target(trip, row)
    trip.step = "body"
    trip.body = check_body(trip, row)
    trip.step = "operation"
    assert row.run
    shown = row.run(trip)
    trip.unit.commit()
    return row.status, to_bytes(shown)


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
        ("authenticate", "ok", f"{_named(key)} of {account.type} {account.id}", "spec 5.1")
    )


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
    assert row.need
    if target is None:
        return
    try:
        account, named = _FINDERS[target.where](trip, target)
    except BadInput as error:
        raise Refusal(VALIDATION_ERROR, str(error)) from None
    if account is None and named is None:
        # No account is named: the caller's own is meant, or on a listing all that it may see.
        if target.where == "query":
            return
        account = trip.caller.account
    relation = target.relate(trip.caller.account, account)
    cell = access.decide(trip.holds, relation)
    if cell.verdict is not Verdict.OK:
        raise _refuse(
            cell,
            f"{target.kind.__name__} {named or 'own'}: {cell.reason} ({relation})",
            details=f"requires {_form(row, relation)}",
        )
    trip.account = account
    trip.decisions.append(("target", "ok", cell.reason, cell.source))


def _form(row: Row, relation: Relation) -> str:
    """The one form of the permission that this relation asks for."""
    assert row.need
    if relation is Relation.DESCENDANT and row.need.sub:
        return row.need.sub
    return " or ".join(row.need.base)


def _target_in_path(trip: Trip, target: Target) -> tuple[Account | None, str | None]:
    assert trip.asked.match
    id = trip.asked.match.params[target.name]
    record = trip.unit.get(target.kind, id)
    if record is None or (record.deleted_at is not None and not target.even_deleted):
        return None, id
    trip.record = record
    if isinstance(record, Account):
        return record, id
    return trip.unit.get(Account, record.account_id), id


def _target_in_body(trip: Trip, target: Target) -> tuple[Account | None, str | None]:
    """The account that the body names. The body is parsed for it first (assumed C5)."""
    id = _read_object(trip).get(target.name)
    if id is None:
        return None, None
    if not isinstance(id, str):
        raise BadInput(f"{target.name}: must be a string")
    return trip.unit.get(Account, id), id


def _target_in_query(trip: Trip, target: Target) -> tuple[Account | None, str | None]:
    values = wire.parse_query(trip.asked.query_string).get(target.name)
    if not values:
        return None, None
    if len(values) > 1:
        raise BadInput(f"{target.name}: must be given once")
    return trip.unit.get(Account, values[0]), values[0]


_FINDERS = {"path": _target_in_path, "body": _target_in_body, "query": _target_in_query}


# --- 5 ----------------------------------------------------------------------------------------


def check_body(trip: Trip, row: Row) -> Any:
    """The body in the row's shape; None for a row without one. Also what the headers demand."""
    try:
        accept = wire.list_header(trip.asked.headers, b"accept")
        if accept and not wire.accepts_json(accept):
            raise Refusal(NOT_ACCEPTABLE)
        if accept is None:
            _missing_header(trip, "Accept")
        if row.body is None:
            return None
        sent = _read_object(trip)
        body = trip.asked.body or b""
        checked = row.body(trip.world.profile).model_validate_json(body)
        _refuse_keys_in(trip, body, sent)
        return checked
    except BadInput as error:
        raise Refusal(VALIDATION_ERROR, str(error)) from None
    except ValidationError as error:
        raise Refusal(VALIDATION_ERROR, wire.mistakes(error)) from None


def _read_object(trip: Trip) -> dict[str, Any]:
    """The body as an object, parsed once; all that can be wrong with its form is refused."""
    if trip.sent is not None:
        return trip.sent
    body = trip.asked.body
    if body is None:
        raise Refusal(BODY_TOO_LARGE)
    content_type = wire.header(trip.asked.headers, b"content-type")
    if body and content_type and not wire.is_json(content_type):
        raise Refusal(UNSUPPORTED_MEDIA_TYPE)
    if body and not content_type:
        _missing_header(trip, "Content-Type")
    trip.sent = wire.parse_object(body)
    return trip.sent


def _refuse_keys_in(trip: Trip, body: bytes, sent: dict[str, Any]) -> None:
    """No key is kept as part of a name or a note: its place is the header (decision 8)."""
    profile = trip.world.profile
    text = unescaped(body)
    if profile.key_format.mentions_production(text):
        note = "a production key was sent to a sandbox, in a body; nothing of it was kept"
        trip.notes.append(note)
        raise Refusal(
            VALIDATION_ERROR,
            "a production key must never be sent to a sandbox",
            reason=note,
            source="assumed D5",
        )
    if profile.key_format.mentions_whole_key(text):
        # The one place in a body where a key belongs.
        others = {name: sent[name] for name in sent if name != profile.supplied_key_field}
        if profile.key_format.mentions_whole_key(str(others)):
            raise Refusal(VALIDATION_ERROR, "an API key stands where none belongs")


def _missing_header(trip: Trip, name: str) -> None:
    """Missing headers are forgiven, unless the world's switch says otherwise (assumed C7)."""
    if trip.world.switches["strict_headers"]:
        raise Refusal(VALIDATION_ERROR, f"the {name} header is required", source="spec 5")
    trip.notes.append(f"the {name} header is missing; the spec demands it (spec 5)")

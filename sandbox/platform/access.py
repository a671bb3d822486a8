"""Steps 2 to 4 of the pipeline: who calls, what the key may see and do, and the target.

No answer depends on the existence of something that the caller may not see. Source: assumed C5.
"""

from json import dumps
from typing import Final
from urllib.parse import urlencode

from msgspec import Struct, structs

from sandbox.domain import access, faults, keys, readings
from sandbox.domain.access import Access, AccessVerdict, Holds, Need
from sandbox.domain.directory import DIRECTORIES, Account, AccountType, Relation
from sandbox.domain.faults import AUTHENTICATION_FAILED, NOT_FOUND, PERMISSION_DENIED, Refusal
from sandbox.domain.instants import Instant
from sandbox.domain.keys import ApiKey, KeyUsage
from sandbox.domain.payments.action_records import payment_of
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import Payment
from sandbox.domain.readings import FOREIGN_ACCOUNT_FILTER
from sandbox.platform import wire
from sandbox.platform.context import IncomingRequest, OperationContext, PresentedKey, RequestContext
from sandbox.platform.form import malformed, read_object
from sandbox.platform.operation import Row, Target
from sandbox.platform.routing import Match
from sandbox.platform.wire import BadInput
from sandbox.store.store import Store, UnitOfWork
from sandbox.worlds.journal import Decision
from sandbox.worlds.registry import Worlds
from sandbox.worlds.world import World

_DIRECTORY: Final = frozenset(directory.kind for directory in DIRECTORIES)

# --- 2: authenticate --------------------------------------------------------------------------


def authenticate(context: RequestContext, worlds: Worlds) -> None:
    """Who calls, if the key may be used at this moment of its world."""
    context.step = "authenticate"
    presented = context.presented
    if presented.is_production:
        context.note(presented.reason)
    key, account = usable(presented, context.unit, context.now)
    context.caller = caller = presented.caller(account)
    context.unit.put(KeyUsage(key_id=key.id, last_used_at=context.now))
    worlds.touch(context.world)
    context.decisions += (caller.decision,)


def usable(
    presented: PresentedKey, records: UnitOfWork | Store, now: Instant
) -> tuple[ApiKey, Account]:
    """Return the presented key, with its account. Raises Refusal if it may not be used now.

    This runs before the body is read, and again with the whole request.
    """
    key = presented.key
    if key is None:
        raise Refusal(AUTHENTICATION_FAILED, reason=presented.reason, source=presented.source)
    unusable = keys.why_unusable(key, now)
    if unusable is not None:
        reason, source = unusable
        raise Refusal(
            AUTHENTICATION_FAILED,
            reason=f"{name_key(key)} is not usable: {reason}",
            source=source,
        )
    account = records.get(Account, key.account_id)
    if account is None or account.deleted_at is not None:
        raise Refusal(
            AUTHENTICATION_FAILED,
            reason=f"the account of {name_key(key)} was deleted",
            source="assumed C4",
        )
    return key, account


def name_key(key: ApiKey) -> str:
    """Return the key as reasons name it."""
    return f"key {key.id} ({key.name!r})"


# --- 3: visibility ----------------------------------------------------------------------------


def check_visibility(context: RequestContext, row: Row) -> None:
    """Whether the key sees the type and has the operation. Checked before any lookup."""
    context.step = "visibility"
    assert context.caller
    assert row.need
    context.holds = access.holds(context.caller.grants, row.need)
    refused = access.before_lookup(context.holds)
    if refused is None:
        context.explain("visibility", "ok", context.holds, "spec 5.9")
        return
    raise _refuse(
        refused,
        f"{name_key(context.caller.key)}: {refused.reason}; {row.name} needs {row.need}",
        details=f"requires {row.need}",
    )


def _refuse(refused: Access, reason: str, details: str = "") -> Refusal:
    """Return the refusal for a cell of the access table. A 404 never carries details."""
    if refused.verdict is AccessVerdict.DENIED:
        return Refusal(PERMISSION_DENIED, details, reason=reason, source=refused.source)
    return Refusal(NOT_FOUND, reason=reason, source=refused.source)


# --- 4: target --------------------------------------------------------------------------------


def find_target(context: RequestContext, row: Row) -> None:
    """Find the account and record that the request is about, if the caller may reach them."""
    context.step = "target"
    target = row.target
    assert context.caller
    if target is None:
        return
    try:
        if row.narrow is not None:
            _narrow(context, row, row.narrow(read_object(context)))
        named = _FINDERS[target.where](context, target)
    except BadInput as error:
        raise malformed(context, error, target.where) from None
    if named:
        if len(named) > 1 and target.is_repeatable:
            named = _without_foreign(context, row, named)
        for one, account, id in named:
            _must_reach(context, row, one, account, id)
        context.account = named[0][1]
    elif target.where != "query" and not target.is_required:
        # No account is named: the caller's own is meant, or on a listing all that it may see.
        # The check of the body refuses a missing one.
        _must_reach(context, row, target, context.caller.account, None)
        context.account = context.caller.account
    if context.world.blocked and context.account is not None:
        _must_not_be_blocked(context, row, context.account)
    if row.may is not None:
        row.may(context)


_Named = list[tuple[Target, Account | None, str]]
"""Where the request names an id, the account that it belongs to, and the id."""


def _without_foreign(context: RequestContext, row: Row, named: _Named) -> _Named:
    """Return what is left when a reading ignores accounts out of reach; all if none is in reach.

    Source: assumed D35-foreign.
    """
    if context.world.readings[FOREIGN_ACCOUNT_FILTER] == "hidden":
        return named
    reached: _Named = []
    foreign: list[str] = []
    for one, account, id in named:
        try:
            _must_reach(context, row, one, account, id)
        except Refusal:
            foreign.append(id)
        else:
            reached.append((one, account, id))
    if not reached:
        return named
    context.foreign = frozenset(foreign)
    for id in foreign:
        context.note(f"the account {id[:80]!r} is out of reach and was ignored")
    return reached


def _must_reach(
    context: RequestContext, row: Row, target: Target, account: Account | None, id: str | None
) -> None:
    """Raise Refusal unless the key's permission reaches the account."""
    assert context.caller
    if (
        account is not None
        and account.deleted_at is not None
        and _should_show_deleted(context, target)
    ):
        account = structs.replace(account, deleted_at=None)
    relation = target.relate(context.caller.account, account)
    cell = access.decide(context.holds, relation)
    if cell.verdict is AccessVerdict.DENIED and row.method == "GET" and can_see_all(context):
        cell = access.decide(Holds.BOTH, relation)  # assumed D35-admin
    if cell.verdict is not AccessVerdict.OK:
        raise _refuse(
            cell,
            f"{target.noun} {id or 'own'}: {cell.reason} ({relation})",
            details=f"requires {_form(row, relation)}",
        )
    context.explain("target", "ok", cell.reason, cell.source)


def _should_show_deleted(context: RequestContext, target: Target) -> bool:
    """Whether this reads a record of the directory even deleted. Source: assumed D35-deleted."""
    return (
        context.incoming.method == "GET"
        and target.where == "path"
        and target.kind in _DIRECTORY
        and context.world.readings[readings.DELETED_RESOURCES] == "shown"
    )


def _must_not_be_blocked(context: RequestContext, row: Row, account: Account) -> None:
    """No money moves for a blocked account, or below one. Source: assumed 4.7-blocked-account."""
    chosen = context.world.readings
    if not row.is_stopped_by(chosen[readings.BLOCK_STOPS]):
        return
    above, answer = blocked_account(context, account), chosen[readings.BLOCK_ANSWER]
    is_new = row.attempts is Operation.SALE
    if above is not None and not (is_new and answer == "invalid_terminal"):
        why = f"account {above.id} ({above.name}) is blocked"
        raise Refusal(faults.BLOCK_FAULTS[answer], reason=why)


def blocked_account(context: OperationContext, account: Account) -> Account | None:
    """Return the account, or the one above, whose block reaches it (assumed D35-block-reaches)."""
    if context.world.readings[readings.BLOCK_REACHES] == "itself":
        return account if account.status == "blocked" else None
    above_and_self = (account.id, *account.parent_account_ids)
    if context.world.blocked.isdisjoint(above_and_self):
        return None
    found = (context.unit.get(Account, id) for id in above_and_self)
    return next((one for one in found if one is not None and one.status == "blocked"), None)


def _narrow(context: RequestContext, row: Row, wanted: Need) -> None:
    """Check the permission that the body selects, if the row leaves it open.

    This comes before the lookup: a missing permission is refused whatever exists (assumed 4.7).
    """
    assert context.caller
    if wanted is row.need:
        return
    if access.before_lookup(access.holds(context.caller.grants, wanted)) is not None:
        raise Refusal(PERMISSION_DENIED, f"requires {wanted}", reason=f"the body asks for {wanted}")


def _form(row: Row, relation: Relation) -> str:
    """Return the one form of the permission that this relation asks for."""
    assert row.need
    if relation is Relation.DESCENDANT and row.need.sub:
        return row.need.sub
    return " or ".join(row.need.base)


def _target_in_path(context: RequestContext, target: Target) -> _Named:
    assert context.incoming.match
    id = context.incoming.match.params[target.name]
    return [(target, _account_of(context, target, id), id)]


def _targets_in_body(context: RequestContext, target: Target) -> _Named:
    """Return the target that the body names, and the others.

    The body is parsed first (assumed C5).
    """
    sent = read_object(context)
    named: _Named = []
    for one in (target, *target.others):
        for id in dict.fromkeys(one.ids_in(sent)):
            named.append((one, _account_of(context, one, id), id))
    return named


def _targets_in_query(context: RequestContext, target: Target) -> _Named:
    values = wire.parse_query(context.incoming.query_string).get(target.name, ())
    values = [value for value in values if not wire.is_unset(value)]
    if len(values) > 1 and not target.is_repeatable:
        raise BadInput(f"{target.name}: must be given once")
    return [(target, context.unit.get(Account, id), id) for id in values]


def _account_of(context: RequestContext, target: Target, id: str) -> Account | None:
    """Return the account that the record with this id belongs to.

    Also stores the record in the context.

    Accounts named in a body are only the place of a change, not its target.
    """
    record = context.unit.get(target.kind, id)
    if isinstance(record, Payment) and context.incoming.method != "GET":
        record = context.unit.get(Payment, payment_of(record))
    if target.kind is Account and target.where == "body":
        return record
    if record is None:
        return None
    if record.deleted_at is not None and not (
        target.may_be_deleted or _should_show_deleted(context, target)
    ):
        return None
    if context.record is None or target.where == "path":
        context.record = record
    if isinstance(record, Account):
        return record
    return context.unit.get(Account, record.account_id)


_FINDERS = {"path": _target_in_path, "body": _targets_in_body, "query": _targets_in_query}


def can_see_all(context: OperationContext) -> bool:
    """Whether the caller is an admin that sees all accounts, as a reading has it."""
    caller = context.known_caller.account
    return caller.type is AccountType.ADMIN and context.world.readings[readings.ADMIN_SEES] == "all"


# --- previews ---------------------------------------------------------------------------------
#
# What a key would be answered, asked of the very steps of the pipeline, without a request. It stops
# before the body is checked, so an operation that is allowed may still be refused for what it is
# sent. Nothing is counted, noted or changed.


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
    """Return what `key` would be answered for the operation of `row` on the record with this id."""
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
        context.explain("authenticate", "ok", f"{key.id} of {account.id} may be used", "spec 5.1")
        check_visibility(context, row)
        find_target(context, row)
    except Refusal as refusal:
        step, status = refusal.step or context.step, refusal.fault.status
        context.explain(step, str(status), refusal.reason, refusal.source)
        missing = _missing(context, row, refusal)
        return Seen(status, context.decisions, missing, refusal.fault.code)
    if row.needs_besides:
        context.explain("body", "note", row.about_besides, "assumed D37")
    return Seen(row.status, context.decisions, (), None)


def _missing(context: RequestContext, row: Row, refusal: Refusal) -> tuple[str, ...]:
    if refusal.fault is PERMISSION_DENIED:
        # A 401 names what it requires. Source: spec 5.9.
        text, _, also = refusal.details.removeprefix("requires ").partition(", and ")
        first = tuple(text.split(" or "))
        assert context.caller
        return (also,) if also and any(one in context.caller.grants for one in first) else first
    if context.step == "visibility" and context.holds is Holds.NONE and row.need is not None:
        return (*row.need.base, *((row.need.sub,) if row.need.sub else ()))
    return ()


def _request(row: Row, target: str | None) -> IncomingRequest:
    """Return a request of the row that names the target, and nothing else."""
    where, named = "", {}
    if target is not None and row.target is not None:
        where, named = row.target.where, {row.target.name: target}
    headers = [(b"content-type", b"application/json"), (b"accept", b"application/json")]
    return IncomingRequest(
        row.method,
        row.path,
        urlencode(named).encode() if where == "query" else b"",
        headers,
        dumps(named if where == "body" else {}).encode(),
        dict(headers),
        Match(row, named if where == "path" else {}),
    )

"""Steps 2 to 4 of the pipeline: authentication, visibility, and the target.

No answer depends on the existence of something that the caller may not see. Source: assumed C5.
"""

from typing import Final
from urllib.parse import urlencode

from msgspec import Struct, structs

from sandbox.domain import access, faults, keys
from sandbox.domain.access import Access, Holds, Need
from sandbox.domain.directory import DIRECTORIES, Account, AccountType, Relation
from sandbox.domain.faults import AUTHENTICATION_FAILED, NOT_FOUND, PERMISSION_DENIED, Refusal
from sandbox.domain.instants import Instant
from sandbox.domain.payments.action_records import payment_of
from sandbox.domain.payments.outcomes import Operation
from sandbox.domain.payments.transactions import Payment
from sandbox.platform import wire
from sandbox.platform.context import IncomingRequest, OperationContext, PresentedKey, RequestContext
from sandbox.platform.form import malformed, read_object
from sandbox.platform.operation import Row, Target
from sandbox.platform.routing import Match
from sandbox.store.store import Store, UnitOfWork
from sandbox.worlds.journal import Decision
from sandbox.worlds.registry import Worlds
from sandbox.worlds.world import World

_DIRECTORY: Final = frozenset(directory.kind for directory in DIRECTORIES)

# --- 2: authenticate --------------------------------------------------------------------------


def authenticate(context: RequestContext, worlds: Worlds) -> None:
    """Set the caller. Raises Refusal unless the key may be used at its world's present time."""
    context.step = "authenticate"
    presented = context.presented
    if presented.is_production:
        context.note(presented.reason)
    key, account = usable(presented, context.unit, context.now)
    context.caller = caller = presented.caller(key, account)
    context.unit.put(keys.KeyUsage(key_id=key.id, last_used_at=context.now))
    worlds.touch(context.world)
    context.decisions.append(caller.decision)


def usable(
    presented: PresentedKey, records: UnitOfWork | Store, now: Instant
) -> tuple[keys.ApiKey, Account]:
    """Return the presented key as it is now, with its account.

    Raises Refusal if it may not be used. This runs before the body is read, again with the whole
    request, and each time after the request waited for another one.
    """
    named = presented.key
    if named is None:
        raise Refusal(AUTHENTICATION_FAILED, reason=presented.reason, source=presented.source)
    key = records.get(keys.ApiKey, named.id)
    if key is None:
        reason, source = f"{name_key(named)} is gone", "spec 3.1"
        raise Refusal(AUTHENTICATION_FAILED, reason=reason, source=source)
    account = records.get(Account, key.account_id)
    if unusable := keys.why_unusable(key, account, now):
        reason, source = f"{name_key(key)} is not usable: {unusable[0]}", unusable[1]
        raise Refusal(AUTHENTICATION_FAILED, reason=reason, source=source)
    assert account
    return key, account


def name_key(key: keys.ApiKey) -> str:
    """Return the key as reasons name it."""
    return f"key {key.id} ({key.name!r})"


# --- 3: visibility ----------------------------------------------------------------------------


def check_visibility(context: RequestContext, row: Row) -> None:
    """Check that the key sees the resource type and may use the operation, before any lookup."""
    context.step = "visibility"
    assert row.need
    caller = context.known_caller
    context.holds = access.holds(caller.grants, row.need)
    refused = access.before_lookup(context.holds)
    if refused is not None:
        why = f"{name_key(caller.key)}: {refused.reason}; {row.name} needs {row.need}"
        raise _refuse(refused, why, f"requires {row.need}")
    context.explain("visibility", "ok", context.holds, "spec 5.9")


def _refuse(refused: Access, reason: str, details: str) -> Refusal:
    """Return the refusal for a cell of the access table. A 404 never carries details."""
    if refused.verdict == "denied":
        return Refusal(PERMISSION_DENIED, details, reason=reason, source=refused.source)
    return Refusal(NOT_FOUND, reason=reason, source=refused.source)


# --- 4: target --------------------------------------------------------------------------------


def find_target(context: RequestContext, row: Row) -> None:
    """Find the account and record that the request is about, if the caller may reach them."""
    context.step = "target"
    target = row.target
    if target is None:
        return
    try:
        if row.narrow is not None:
            _must_hold(context, row.narrow(read_object(context)))
        named = _ids_named(context, target)
    except wire.BadInput as error:
        raise malformed(context, error, target.where) from None
    if named:
        context.account = _reach(context, row, named)
    elif target.where != "query" and not target.is_required:
        # No account is named, so it is the caller's own, or in a list every account it may see.
        # If one is required, the check of the body refuses the request.
        context.account = context.known_caller.account
        _must_reach(context, row, target, context.account, None)
    if context.account is not None:
        _must_not_be_blocked(context, row, context.account)
    if row.may is not None:
        row.may(context)


def _reach(context: RequestContext, row: Row, named: list[tuple[Target, str]]) -> Account | None:
    """Return the first account that is in reach, of those to which the named ids belong.

    Raises Refusal if one is out of reach. A reading ignores those of a filter, unless all are
    (assumed D35-foreign).
    """
    reached: list[Account | None] = []
    refused: dict[str, Refusal] = {}
    for target, id in named:
        account = _account_of(context, target, id)
        try:
            _must_reach(context, row, target, account, id)
            reached.append(account)
        except Refusal as refusal:
            chosen = context.world.readings["foreign_account_filter"]
            if not (chosen == "ignored" and target.is_repeatable):
                raise
            refused.setdefault(id, refusal)
    if not reached:
        raise next(iter(refused.values()))
    if refused:
        context.foreign = frozenset(refused)
        for id in refused:
            context.note(f"the account {id[:80]!r} is out of reach and was ignored")
    return reached[0]


def _must_reach(
    context: RequestContext, row: Row, target: Target, account: Account | None, id: str | None
) -> None:
    """Raise Refusal unless the key's permission reaches the account."""
    caller = context.known_caller.account
    relation = target.relate(caller, account)
    cell = find_cell(context.world, caller, row, context.holds, relation)
    if cell.verdict != "ok":
        assert row.need
        is_below = relation == "descendant"
        form = row.need.sub if is_below and row.need.sub else " or ".join(row.need.base)
        why = f"{target.noun} {id or 'own'}: {cell.reason} ({relation})"
        raise _refuse(cell, why, f"requires {form}")
    context.explain("target", "ok", cell.reason, cell.source)


def _must_not_be_blocked(context: RequestContext, row: Row, account: Account) -> None:
    """Raise Refusal if the account or one above it is blocked (assumed 4.7-blocked-account)."""
    chosen = context.world.readings
    if not row.is_stopped_by(chosen["block_stops"]):
        return
    above, answer = blocked_account(context, account), chosen["block_answer"]
    if above is None:
        return
    if answer != "invalid_terminal" or row.attempts is not Operation.SALE:
        why = f"account {above.id} ({above.name}) is blocked"
        raise Refusal(faults.BLOCK_FAULTS[answer], reason=why)


def blocked_account(context: OperationContext, account: Account) -> Account | None:
    """Return the blocked account that is this one or above it (assumed D35-block-reaches)."""
    if account.status == "blocked":
        return account
    if context.world.readings["block_reaches"] == "descendants":
        for id in account.parent_account_ids:
            above = context.unit.get(Account, id)
            if above is not None and above.status == "blocked":
                return above
    return None


def _must_hold(context: RequestContext, wanted: Need) -> None:
    """Check the permission that the body selects, if the row leaves it open.

    This comes before the lookup: a missing permission is refused whatever exists (assumed 4.7).
    """
    if access.before_lookup(access.holds(context.known_caller.grants, wanted)) is not None:
        raise Refusal(PERMISSION_DENIED, f"requires {wanted}", reason=f"the body asks for {wanted}")


def _ids_named(context: RequestContext, target: Target) -> list[tuple[Target, str]]:
    """Return the ids that the request names, each with its target.

    A body is parsed first (assumed C5).
    """
    if target.where == "path":
        assert context.incoming.match
        return [(target, context.incoming.match.params[target.name])]
    if target.where == "body":
        return target.ids_in(read_object(context))
    values = wire.parse_query(context.incoming.query_string).get(target.name, ())
    values = [value for value in values if not wire.is_unset(value)]
    if len(values) > 1 and not target.is_repeatable:
        raise wire.BadInput(f"{target.name}: must be given once")
    return [(target, id) for id in values]


def _account_of(context: RequestContext, target: Target, id: str) -> Account | None:
    """Return the account that the record with this id belongs to.

    Stores the record in the context. An account named in a body or a query only says where to
    create or list something; it is not the record itself. A reading shows deleted records of the
    directory too (assumed D35-deleted).
    """
    record = context.unit.get(target.kind, id)
    if target.kind is Account and target.where != "path":
        return record
    is_read = context.incoming.is_read
    if target.kind is Payment and record is not None and not is_read:
        record = context.unit.get(Payment, payment_of(record))
    if record is None:
        return None
    is_shown = context.world.readings["deleted_resources"] == "shown"
    is_of_directory = target.where == "path" and target.kind in _DIRECTORY
    shows_deleted = is_read and is_of_directory and is_shown
    if record.deleted_at is not None and not (target.may_be_deleted or shows_deleted):
        return None
    if context.record is None:
        context.record = record
    account = context.unit.get(Account, record.account_id)
    if shows_deleted and account is not None:
        account = structs.replace(account, deleted_at=None)
    return account


def can_see_all(world: World, caller: Account) -> bool:
    """Whether the caller is an admin, and a reading lets admins see all accounts."""
    return world.readings["admin_sees"] == "all" and caller.type is AccountType.ADMIN


def find_cell(world: World, caller: Account, row: Row, held: Holds, relation: Relation) -> Access:
    """Return the cell of the access table that applies to a key of the caller.

    Source: assumed D35-admin.
    """
    is_read = row.method == "GET"
    if is_read and can_see_all(world, caller) and held in (Holds.BASE, Holds.SUB):
        return access.ACCESS[Holds.BOTH][relation]
    return access.ACCESS[held][relation]


# --- previews ---------------------------------------------------------------------------------
#
# The same steps of the pipeline tell what a key would be answered, without a request. The body is
# not checked, so an operation that is allowed here may still refuse what it is sent. Nothing is
# counted, journaled or changed.


class Seen(Struct, frozen=True, gc=False):
    """The status that the key would get, every decision, the missing permissions, and the error.

    Any one of the missing permissions is enough. There are none if no permission would help.
    """

    status: int
    decisions: tuple[Decision, ...]
    missing: tuple[str, ...]
    error: str | None


def look(world: World, key: keys.ApiKey, row: Row, target: str | None) -> Seen:
    """Return what `key` would be answered for the operation of `row` on the record with this id."""
    # The id stands everywhere; the row says where to look for it.
    sent = {row.target.name: target} if target is not None and row.target is not None else {}
    query, match = urlencode(sent).encode(), Match(row, sent)
    context = RequestContext(
        unit=world.store.begin(),
        now=world.clock.now(),
        request_id="lens",
        world=world,
        incoming=IncomingRequest(row.method, row.path, query, [], b"", {}, match),
        presented=PresentedKey(world, key),
        sent=sent,
    )
    try:
        context.step = "authenticate"
        key, account = usable(context.presented, context.unit, context.now)
        context.caller = context.presented.caller(key, account)
        context.explain("authenticate", "ok", f"{key.id} of {account.id} may be used", "spec 5.1")
        check_visibility(context, row)
        find_target(context, row)
    except Refusal as refusal:
        step, status = refusal.step or context.step, refusal.fault.status
        context.explain(step, str(status), refusal.reason, refusal.source)
        missing = _missing(context, row, refusal)
        return Seen(status, tuple(context.decisions), missing, refusal.fault.code)
    if row.needs_besides:
        context.explain("body", "note", row.about_besides, "assumed D37")
    return Seen(row.status_under(world.readings), tuple(context.decisions), (), None)


def _missing(context: RequestContext, row: Row, refusal: Refusal) -> tuple[str, ...]:
    if refusal.fault is PERMISSION_DENIED and refusal.details.startswith("requires "):
        # A 401 names what it requires, unless no permission helps. Source: spec 5.9.
        text, _, also = refusal.details.removeprefix("requires ").partition(", and ")
        first = tuple(text.split(" or "))
        held = context.known_caller.grants
        return (also,) if also and any(one in held for one in first) else first
    if context.step == "visibility" and context.holds is Holds.NONE and row.need is not None:
        return row.need.any_of
    return ()

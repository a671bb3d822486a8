"""Steps 3 and 4 of the pipeline: visibility and target.

No answer depends on the existence of something that the caller may not see. Source: assumed C5.
"""

from dataclasses import replace
from types import NoneType
from typing import Final

from sandbox.domain import access
from sandbox.domain.access import Access, AccessVerdict, Holds, Need
from sandbox.domain.directory import DIRECTORIES, Account, Relation
from sandbox.domain.faults import (
    ACCOUNT_BLOCKED,
    NOT_FOUND,
    PERMISSION_DENIED,
    Refusal,
)
from sandbox.domain.keys import ApiKey
from sandbox.domain.readings import DELETED_RESOURCES, FOREIGN_ACCOUNT_FILTER
from sandbox.platform import wire
from sandbox.platform.form import malformed, read_object
from sandbox.platform.request_context import RequestContext
from sandbox.platform.rows import Row, Target
from sandbox.platform.scopes import sees_all
from sandbox.platform.wire import BadInput

_ID_OR_NOTHING: Final = frozenset((str, NoneType))
_DIRECTORY: Final = frozenset(directory.kind for directory in DIRECTORIES)


def named(key: ApiKey) -> str:
    """The key as reasons name it."""
    return f"key {key.id} ({key.name!r})"


# --- 3 ----------------------------------------------------------------------------------------


def check_visibility(context: RequestContext, row: Row) -> None:
    """Whether the key sees the type and has the operation. Checked before any lookup."""
    assert context.caller
    assert row.need
    context.holds = access.holds(context.caller.grants, row.need)
    refused = access.before_lookup(context.holds)
    if refused is None:
        context.decided("visibility", "ok", context.holds, "spec 5.9")
        return
    raise _refuse(
        refused,
        f"{named(context.caller.key)}: {refused.reason}; {row.name} needs {row.need}",
        details=f"requires {row.need}",
    )


def _refuse(refused: Access, reason: str, details: str = "") -> Refusal:
    """The refusal for a cell of the access table. A 404 never carries details."""
    if refused.verdict is AccessVerdict.DENIED:
        return Refusal(PERMISSION_DENIED, details, reason=reason, source=refused.source)
    return Refusal(NOT_FOUND, reason=reason, source=refused.source)


# --- 4 ----------------------------------------------------------------------------------------


def find_target(context: RequestContext, row: Row) -> None:
    """The account and record that the request is about, if the caller may reach them."""
    target = row.target
    assert context.caller
    if target is None:
        return
    try:
        if row.narrow is not None:
            _narrow(context, row.narrow(read_object(context)))
        named = [(one, *found) for one in target.all for found in _FINDERS[one.where](context, one)]
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
    if row.stops_at_block and context.account is not None:
        _must_not_be_blocked(context)
    if row.may is not None:
        row.may(context)


_Named = list[tuple[Target, Account | None, str]]
"""Where the request names an id, the account that it belongs to, and the id."""


def _without_foreign(context: RequestContext, row: Row, named: _Named) -> _Named:
    """What is left when a reading ignores accounts out of reach; all if none is in reach.

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
    """Raises Refusal unless the key's permission reaches the account."""
    assert context.caller
    if account is not None and account.deleted_at is not None and _shows_deleted(context, target):
        account = replace(account, deleted_at=None)
    relation = target.relate(context.caller.account, account)
    cell = access.decide(context.holds, relation)
    if cell.verdict is AccessVerdict.DENIED and row.method == "GET" and sees_all(context):
        cell = access.decide(Holds.BOTH, relation)  # assumed D35-admin
    if cell.verdict is not AccessVerdict.OK:
        raise _refuse(
            cell,
            f"{target.kind.__name__} {id or 'own'}: {cell.reason} ({relation})",
            details=f"requires {_form(row, relation)}",
        )
    context.decided("target", "ok", cell.reason, cell.source)


def _shows_deleted(context: RequestContext, target: Target) -> bool:
    """Whether this reads a record of the directory even deleted. Source: assumed D35-deleted."""
    return (
        context.incoming.method == "GET"
        and target.where == "path"
        and target.kind in _DIRECTORY
        and context.world.readings[DELETED_RESOURCES] == "shown"
    )


def _must_not_be_blocked(context: RequestContext) -> None:
    """No money moves for a blocked account, or below one. Source: assumed 4.7-blocked-account."""
    account = context.account
    assert account
    above_and_self = (account.id, *account.parent_account_ids)
    if context.world.blocked.isdisjoint(above_and_self):
        return
    for id in above_and_self:
        above = context.unit.get(Account, id)
        if above is not None and above.status == "blocked":
            raise Refusal(ACCOUNT_BLOCKED, reason=f"account {id} ({above.name}) is blocked")


def _narrow(context: RequestContext, wanted: Need) -> None:
    """Check the permission that the body selects, if the row leaves it open.

    This comes before the lookup: a missing permission is refused whatever exists (assumed 4.7).
    """
    assert context.caller
    if access.before_lookup(access.holds(context.caller.grants, wanted)) is not None:
        raise Refusal(PERMISSION_DENIED, f"requires {wanted}", reason=f"the body asks for {wanted}")


def _form(row: Row, relation: Relation) -> str:
    """The one form of the permission that this relation asks for."""
    assert row.need
    if relation is Relation.DESCENDANT and row.need.sub:
        return row.need.sub
    return " or ".join(row.need.base)


_Found = list[tuple[Account | None, str]]
"""The account of the named record, or None if there is none, with the given id."""


def _target_in_path(context: RequestContext, target: Target) -> _Found:
    assert context.incoming.match
    id = context.incoming.match.params[target.name]
    return [(_account_of(context, target, id), id)]


def _target_in_body(context: RequestContext, target: Target) -> _Found:
    """The target that the body names. The body is parsed first (assumed C5)."""
    ids = target.ids_in(context.sent or read_object(context))
    if not all(isinstance(id, str) for id in ids):
        raise BadInput(f"{target.name}: must be a string")
    return [(_account_of(context, target, id), id) for id in dict.fromkeys(ids)]


def _target_in_query(context: RequestContext, target: Target) -> _Found:
    values = wire.parse_query(context.incoming.query_string).get(target.name, ())
    values = [value for value in values if not wire.is_unset(value)]
    if len(values) > 1 and not target.is_repeatable:
        raise BadInput(f"{target.name}: must be given once")
    return [(context.unit.get(Account, id), id) for id in values]


def _account_of(context: RequestContext, target: Target, id: str) -> Account | None:
    """The account that the record with this id belongs to; also stores the record in the context.

    Accounts named in a body are only the place of a change, not its target.
    """
    record = context.unit.get(target.kind, id)
    if target.kind is Account and target.where == "body":
        return record
    if record is None:
        return None
    if record.deleted_at is not None and not (
        target.even_deleted or _shows_deleted(context, target)
    ):
        return None
    if context.record is None or target.where == "path":
        context.record = record
    if isinstance(record, Account):
        return record
    return context.unit.get(Account, record.account_id)


_FINDERS = {"path": _target_in_path, "body": _target_in_body, "query": _target_in_query}

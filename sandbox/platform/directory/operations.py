"""Operations that all directory resources share: list, change, block, delete.

Their different rows are in `domain.directory`. Operations of only one of the four are in its own
module.
"""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from sandbox.domain.directory import DIRECTORIES, TRIGGER_OF_STATUS, Directory, in_state, state_of
from sandbox.domain.readings import DELETE_ANSWERS
from sandbox.domain.records import Page
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.scopes import one_or_many, scopes_of

if TYPE_CHECKING:
    from sandbox.platform.fields import PageQuery

_BY_KIND = {directory.kind: directory for directory in DIRECTORIES}


def directory_of(record: Any) -> Directory:
    """The directory that the record belongs to."""
    return _BY_KIND[type(record)]


# --- read -------------------------------------------------------------------------------------


def read(context: OperationContext) -> Any:
    """The record that the path names."""
    return context.record


def page_of(context: OperationContext, directory: Directory, **filters: str | None) -> Page:
    """A page of the records in the caller's hierarchy, or in that of the account it names.

    A filter is the name of a condition; None leaves it out. Deleted records are never listed.
    """
    query: PageQuery = context.query
    where: dict[str, str | list[str]] = {"scope": one_or_many(scopes_of(context))}
    where.update({name: value for name, value in filters.items() if value})
    rows, total = context.unit.find(
        directory.kind,
        where,
        limit=query.limit,
        offset=query.offset,
    )
    return Page(
        plural=directory.plural, rows=rows, total=total, limit=query.limit, offset=query.offset
    )


# --- change -----------------------------------------------------------------------------------


def add(context: OperationContext, directory: Directory, record: Any) -> Any:
    """Keep a new record and announce it."""
    context.unit.put(record)
    context.emit(f"{directory.name}.created", record)
    return record


def change(context: OperationContext, changes: dict[str, Any], trigger: str | None = None) -> Any:
    """Change fields of the record that the path names, then its state; the record as it is then.

    `.updated` is announced before `.blocked` or `.unblocked`, each with the record of its moment;
    what changes nothing announces nothing (assumed 1.10).
    """
    before: Any = context.record
    directory = directory_of(before)
    record = replace(before, **changes)
    if record != before and directory.has_updates:
        record = replace(record, updated_at=context.now)
        context.emit(f"{directory.name}.updated", record)
    if trigger is not None:
        step = directory.life.step(state_of(record), trigger)
        context.decided("apply", "ok", f"{trigger}: {step.state} to {step.target}", step.source)
        if step.event is not None:
            record = in_state(record, step.target, context.now)
            context.emit(step.event, record)
    if record is not before:
        context.unit.put(record)
    return record


def change_with_status(context: OperationContext, changes: dict[str, Any]) -> Any:
    """As `change`, for a body in which `status` is one of the fields."""
    status = changes.pop("status", None)
    return change(context, changes, TRIGGER_OF_STATUS[status] if status else None)


def block(context: OperationContext) -> Any:
    """Block the record; blocking it again changes nothing. Source: assumed 1.10."""
    return change(context, {}, "block")


def unblock(context: OperationContext) -> Any:
    """Make a blocked record active again. Source: assumed 1.10."""
    return change(context, {}, "unblock")


def delete(context: OperationContext) -> Any:
    """Delete softly and announce it; the record as it is then. Source: spec 3.4-deleted."""
    return change(context, {}, "delete")


def delete_and_answer(context: OperationContext) -> Any:
    """As `delete`, for a row of status 204: nothing to show, or the record where a reading says so.

    Source: assumed D35-deletion.
    """
    deleted = delete(context)
    return deleted if context.world.readings[DELETE_ANSWERS] == "resource" else None

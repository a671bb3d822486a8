"""Operations that all directory resources share: list, change, block, delete.

What differs between the four is in `domain.directory`. Operations that only one of them has are in
its own module.
"""

from collections.abc import Callable
from typing import Any, Final, TypeVar, cast

from msgspec import Struct
from msgspec.structs import replace

from sandbox.domain.directory import (
    DIRECTORIES,
    TRIGGER_OF_STATUS,
    Directory,
    DirectoryRecord,
    in_state,
    relate_with_admin_reach,
    state_of,
)
from sandbox.domain.records import view_of
from sandbox.platform import lists
from sandbox.platform.context import OperationContext
from sandbox.platform.operation import ACCOUNT_IN_QUERY, Run, Target, listing, operation

Record = TypeVar("Record", bound=DirectoryRecord)

_BY_KIND: Final[dict[type, Directory]] = {one.kind: one for one in DIRECTORIES}


_CONDITIONS: Final = {"parent_id": "parent", "processor_mid": "mid", "processor_tid": "tid"}
"""Parameters whose conditions in the store have another name."""


def add(context: OperationContext, record: Record) -> Record:
    """Store a new record and announce it."""
    context.unit.put(record)
    context.emit(f"{_BY_KIND[type(record)].name}.created", record)
    return record


def change(
    context: OperationContext, before: Record, changes: dict[str, Any], trigger: str | None = None
) -> Record:
    """Change fields of a record, then its state, and return the new record.

    `.updated` is announced before `.blocked` or `.unblocked`, each with the record as it was then.
    A change that changes nothing announces nothing (assumed 1.10).
    """
    directory = _BY_KIND[type(before)]
    record = replace(before, **changes)
    if record != before and directory.has_updates:
        moment: dict[str, Any] = {"updated_at": context.now}
        record = replace(record, **moment)
        context.emit(f"{directory.name}.updated", record)
    if trigger is not None:
        step = directory.life.step(state_of(record), trigger)
        if step.event is not None:
            record = in_state(record, step.target, context.now)
        context.apply(step, record)
    elif record is not before:
        context.unit.put(record)
    return record


def change_with_status(
    context: OperationContext, before: Record, changes: dict[str, Any]
) -> Record:
    """Change a record by a body that may have a `status`. See `change`."""
    status = changes.pop("status", None)
    return change(context, before, changes, TRIGGER_OF_STATUS[status] if status else None)


def delete(context: OperationContext, record: Record) -> Record | None:
    """Delete softly and announce it, for a row of status 204.

    Returns None, or the record if a reading says so. Source: spec 3.4-deleted; assumed
    D35-deletion.
    """
    deleted = change(context, record, {}, "delete")
    return deleted if context.world.readings["delete_answers"] == "resource" else None


_EVENTS: Final = ("updated", "blocked", "unblocked")
_VERBS: Final[dict[str, tuple[str, str, str, tuple[str, ...]]]] = {
    "create": ("POST", "", "create", ("created",)),
    "list": ("GET", "", "read", ()),
    "read": ("GET", "/{id}", "read", ()),
    "update": ("PUT", "/{id}", "edit", _EVENTS),
    "delete": ("DELETE", "/{id}", "delete", ("deleted",)),
    "block": ("POST", "/{id}/block", "edit", ("blocked",)),
    "unblock": ("POST", "/{id}/unblock", "edit", ("unblocked",)),
}
"""Each verb's method, path below that of the resource, permission, and events."""


class Resource(Struct, frozen=True):
    """The operations of a directory resource, below its path; `id` names the id in it.

    They differ from those of other resources only in these fields and in their own arguments.
    """

    directory: Directory
    path: str
    id: str

    def operation(self, verb: str, **more: Any) -> Callable[[Run], Run]:
        """Register a function as the operation `verb`; `more` overrides fields of its row."""
        method, below, permission, events = _VERBS[verb]
        kind, plural = self.directory.kind, self.directory.plural
        view = view_of(kind)
        how: dict[str, Any] = {"target": Target("path", self.id, kind), "response": view}
        if verb == "create":
            how |= {"target": Target("body", "account_id", is_required=True), "status": 201}
        elif verb == "list":
            how = {"target": ACCOUNT_IN_QUERY, "response": listing(plural, view)}
        elif verb == "read":
            how["target"] = Target("path", self.id, kind, relate=relate_with_admin_reach)
        elif verb == "delete":
            how["status"] = 204
        if not self.directory.has_updates:
            events = tuple(event for event in events if event != "updated")
        how["events"] = tuple(f"{self.directory.name}.{event}" for event in events)
        how["needs"] = f"{plural}:{permission}"
        path = self.path + below.replace("id", self.id)
        return operation(f"{plural}.{verb}", method, path, **(how | more))

    def register(self, module: str, *verbs: str, **more: Any) -> None:
        """Register operations that need no code of their own, as operations of the module."""
        name, plural = self.directory.name, self.directory.plural
        for verb in verbs:
            run = _run(self.directory, verb)
            one = f"an {name}" if name == "account" else f"a {name}"
            what = {"list": plural, "read": one, "delete": one}.get(verb, f"one of the {plural}")
            run.__doc__, run.__module__ = f"{verb.capitalize()} {what}.", module
            self.operation(verb, **({"source": "assumed 1.10"} | more))(run)


def _run(directory: Directory, verb: str) -> Callable[[OperationContext], Any]:
    if verb == "list":
        kind, plural = directory.kind, directory.plural
        # Every parameter that was sent is a condition. Deleted records are never listed.
        return lambda context: lists.page_of(
            context, kind, plural, lists.conditions_of(context, _CONDITIONS)
        )
    if verb == "read":
        return lambda context: context.record
    if verb == "delete":
        return lambda context: delete(context, cast(Any, context.record))
    return lambda context: change(context, cast(Any, context.record), {}, verb)

"""The relation of one account to another. Source: spec 1, 4.2-admin; terms fixed by assumed 4.1."""

from dataclasses import replace
from enum import StrEnum

from sandbox.domain.accounts import Account, AccountType


class Relation(StrEnum):
    """The relation of the caller's account to the target account."""

    OWN = "own"
    DESCENDANT = "descendant"
    OUTSIDE = "outside"
    GONE = "gone"


def relate(caller: Account, target: Account | None) -> Relation:
    """The relation of the target account to the caller's, by the hierarchy alone.

    An account that does not exist or was deleted is `gone` for every caller.
    """
    if target is None or target.deleted_at is not None:
        return Relation.GONE
    if target.id == caller.id:
        return Relation.OWN
    if caller.id in target.parent_account_ids:
        return Relation.DESCENDANT
    return Relation.OUTSIDE


def relate_to_its_records(caller: Account, target: Account | None) -> Relation:
    """As `relate_with_admin_reach`, where the records of a deleted account stay visible.

    Source: assumed 4.7-deleted-account, 4.7-admin.
    """
    if target is not None and target.deleted_at is not None:
        target = replace(target, deleted_at=None)
    return relate_with_admin_reach(caller, target)


def relate_with_admin_reach(caller: Account, target: Account | None) -> Relation:
    """As `relate`, but for an admin every other account counts as a descendant.

    Source: spec 4.2-admin, which speaks of API keys; this reading of it is assumed 4.1.
    """
    relation = relate(caller, target)
    if relation is Relation.OUTSIDE and caller.type is AccountType.ADMIN:
        return Relation.DESCENDANT
    return relation

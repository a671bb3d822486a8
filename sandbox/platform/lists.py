"""Lists: the records that a caller may see, and a page of those that match its query."""

from collections.abc import Collection, Mapping
from typing import Any, Final

from pydantic import AfterValidator

from sandbox.domain.directory import Account
from sandbox.domain.text import did_you_mean
from sandbox.platform.access import can_see_all
from sandbox.platform.context import OperationContext

_NO_CONDITIONS: Final = frozenset({"account_id", "limit", "offset", "sort_by", "sort_order"})
"""Parameters for the account, the page and the order of a list; they are not conditions."""


def all_known(known: Collection[str], what: str = "a known value") -> AfterValidator:
    """Return a validator for a word or a list of words: unknown ones are refused with a hint."""

    def check(sent: Any) -> Any:
        for word in (sent,) if isinstance(sent, str) else sent:
            if word not in known:
                raise ValueError(f"{word[:80]!r} is not {what}{did_you_mean(word, known)}")
        return sent

    return AfterValidator(check)


def scopes_of(context: OperationContext) -> list[str]:
    """Return the ids of accounts: a list shows what belongs to them and their descendants.

    These are the accounts that the request names, else the caller's own; for an admin that sees all
    accounts, every account without a parent.
    """
    if context.account is not None:
        return [context.account.id]
    own = context.known_caller.account
    if not can_see_all(context.world, own):
        return [own.id]
    found, _ = context.unit.find(Account, {})
    return [account.id for account in found if not account.parent_account_ids]


def conditions_of(context: OperationContext, named: Mapping[str, str]) -> dict[str, Any]:
    """Return the conditions of a list: its scope, and every parameter that was sent.

    `named` maps parameters to conditions of the store that have another name.
    """
    sent = context.query.model_fields_set - _NO_CONDITIONS
    conditions = {named.get(name, name): getattr(context.query, name) for name in sent}
    return {"scope": scopes_of(context), **conditions}


def page_of(
    context: OperationContext, kind: type[Any], plural: str, where: dict[str, Any], **search: Any
) -> dict[str, Any]:
    """Return a page of the records that match the conditions. Deleted ones are never listed.

    `plural` names the list. Source: assumed 0.5-lists.
    """
    limit, offset = context.query.limit, context.query.offset
    rows, total = context.unit.find(kind, where, limit=limit, offset=offset, **search)
    counts = {"total": total, "limit": limit, "offset": offset, "page": offset // limit + 1}
    return {plural: rows, **counts}

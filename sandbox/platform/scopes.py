"""The trees of accounts that a list covers. Source: spec 4.2-admin; assumed D35-admin."""

from sandbox.domain.directory import Account, AccountType
from sandbox.domain.readings import ADMIN_SEES
from sandbox.platform.operation_context import OperationContext


def sees_all(context: OperationContext) -> bool:
    """Whether the caller is an admin that sees all accounts, as a reading has it."""
    caller = context.known_caller.account
    return caller.type is AccountType.ADMIN and context.world.readings[ADMIN_SEES] == "all"


def scopes_of(context: OperationContext) -> list[str]:
    """Ids of the accounts of which a list shows what belongs to them and their descendants.

    This is the account that the request names, else the caller's own; for an admin that sees all
    accounts, every account without a parent.
    """
    if context.account is not None:
        return [context.account.id]
    if not sees_all(context):
        return [context.known_caller.account.id]
    found, _ = context.unit.find(Account, {})
    return [account.id for account in found if not account.parent_account_ids]


def one_or_many(values: list[str]) -> str | list[str]:
    """A condition of a search: one value by itself, or any of several."""
    return values[0] if len(values) == 1 else values

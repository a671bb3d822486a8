"""Operations on accounts. Source: spec 4.4-paths-accounts; details assumed 1.3."""

from collections.abc import Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, cast

from sandbox.domain.access import MAY_GRANT_ADMIN_ONLY, Need, need
from sandbox.domain.directory import ACCOUNTS, Account, AccountType, Credential, Location, Terminal
from sandbox.domain.faults import (
    ACCOUNT_BLOCKED,
    CONFLICT,
    FORBIDDEN,
    VALIDATION_ERROR,
    Refusal,
)
from sandbox.domain.keys import ApiKey, ApiKeyView
from sandbox.domain.permissions import CONCRETE, Grants
from sandbox.domain.readings import APPLICATION_IN_ANSWER
from sandbox.domain.records import Page, WithFields
from sandbox.domain.webhooks import Application
from sandbox.platform.apikeys import operations as apikeys
from sandbox.platform.directory import operations as directory
from sandbox.platform.operation_context import OperationContext
from sandbox.platform.terminals import operations as terminals

if TYPE_CHECKING:
    from sandbox.platform.accounts.bodies import AccountsQuery, CreateAccount, UpdateAccount

_OF_PARTNERS: Final = frozenset(
    name for name in CONCRETE if name.endswith(":sub") or name == "accounts:create:merchant"
)
"""Permissions that mean nothing to a merchant, which has no accounts below it."""

_Belonging = Terminal | Location | Credential | ApiKey
_BELONGINGS: Final[tuple[type[_Belonging], ...]] = (Terminal, Location, Credential, ApiKey)


def need_to_create(sent: dict[str, Any]) -> Need:
    """The permission for the type that the body asks for. Source: spec 2.2-directory."""
    if sent.get("type") == AccountType.MERCHANT:
        return need("accounts:create:merchant")
    if sent.get("type") in tuple(AccountType):
        return need("accounts:create:partner")
    return need("accounts:create:partner", "accounts:create:merchant")


def create(context: OperationContext) -> Account:
    """Create an account under its parent; nothing else is provisioned. Source: assumed 1.3-v1."""
    return _create(context, organization_id=None)


def create_with_key(context: OperationContext) -> WithFields:
    """Create an account with organization, webhook application and key.

    The account is shown with the key in a field of its own, this once (assumed 1.3-api-key). The
    control API shows the application; the answer names it where a reading says so (assumed
    D35-application). Source: spec 4.4-paths-provisioning.
    """
    account = _create(context, organization_id="org_" + context.world.draws.plain_chars(27))
    application = Application(account_id=account.id, created_at=context.now)
    context.unit.put(application)
    fields: dict[str, Any] = {"api_key": _provision_key(context, account)}
    if context.world.readings[APPLICATION_IN_ANSWER] == "named":
        fields["application_id"] = application.id
    return WithFields(record=account, fields=fields)


def _create(context: OperationContext, organization_id: str | None) -> Account:
    body, parent = cast("CreateAccount", context.body), cast(Account, context.account)
    caller_type = context.known_caller.account.type
    if body.type in (AccountType.ADMIN, AccountType.PSP) and caller_type is not AccountType.ADMIN:
        raise Refusal(
            FORBIDDEN,
            f"type: {body.type} accounts cannot be created by this account",
            source="assumed 1.3-kinds",
            step="grant",
        )
    if parent.type is AccountType.MERCHANT:
        raise Refusal(
            VALIDATION_ERROR,
            "parent_id: a merchant account cannot be a parent",
            source="assumed 1.3-parent",
        )
    account = Account(
        id=context.world.draws.uuid(),
        organization_id=organization_id,
        parent_account_ids=(*parent.parent_account_ids, parent.id),
        created_at=context.now,
        **body.given(),
    )
    return cast(Account, directory.add(context, ACCOUNTS, account))


def _provision_key(context: OperationContext, account: Account) -> ApiKeyView | None:
    """The key that comes with a v2 account; None when its creator could grant nothing.

    Its permissions are the creator's, without those that only a PSP grants, those that the creator
    may not grant, those that create partners, and for a merchant those that create accounts and
    those on descendants (assumed 1.3-provisioned, D19, D38).
    """
    creator = context.known_caller
    kept_back: set[str] = set()
    if creator.account.type not in MAY_GRANT_ADMIN_ONLY:
        kept_back.update(context.world.profile.permissions.admin_only)
    permissions = _provisioned(creator.grants, account.type, kept_back)
    if not permissions:
        return None
    return apikeys.issue_and_announce(
        context, account=account, name=f"{account.name} default key", permissions=permissions
    )


def _provisioned(
    grants: Grants, account_type: AccountType, kept_back: Collection[str]
) -> tuple[str, ...]:
    def is_left_out(permission: str) -> bool:
        return (
            permission.startswith("webhooks:")
            or permission == "accounts:create:partner"
            or permission in kept_back
            or (account_type is AccountType.MERCHANT and permission in _OF_PARTNERS)
        )

    return tuple(name for name in CONCRETE if name in grants and not is_left_out(name))


def list_all(context: OperationContext) -> Page:
    """Accounts of the caller's hierarchy, its own among them. Source: assumed 1.3-list."""
    query: AccountsQuery = context.query
    return directory.page_of(
        context,
        ACCOUNTS,
        type=query.type,
        status=query.status,
        parent=query.parent_id,
        search=query.search,
    )


def update(context: OperationContext) -> Account:
    """Change an account, its status included. Source: assumed 1.3-update."""
    body = cast("UpdateAccount", context.body)
    if body.status == "active":
        _must_not_lift_its_own_block(context)
    return cast(Account, directory.change_with_status(context, body.given()))


def unblock(context: OperationContext) -> Account:
    """Make a blocked account active again. Source: assumed 1.10, D32."""
    _must_not_lift_its_own_block(context)
    return cast(Account, directory.unblock(context))


def _must_not_lift_its_own_block(context: OperationContext) -> None:
    """Raises Refusal for a blocked account that asks for itself. Source: assumed D32."""
    account = cast(Account, context.record)
    if account.status == "blocked" and account.id == context.known_caller.account.id:
        raise Refusal(
            ACCOUNT_BLOCKED,
            "status: only an account above can lift the block",
            reason=f"account {account.id} ({account.name}) asks to lift its own block",
            source="assumed D32",
            step="rule",
        )


def delete(context: OperationContext) -> Account | None:
    """Delete an account without live descendants or unsettled batches.

    Source: assumed 1.3-delete, D45.

    What belongs to it is gone with it, silently: only the account has an event (assumed 8.4).
    """
    account = cast(Account, context.record)
    if account.id == context.known_caller.account.id:
        raise Refusal(CONFLICT, "an account cannot delete itself", source="assumed 1.3-delete")
    _, descendants = context.unit.find(Account, {"ancestor": account.id}, limit=0)
    if descendants:
        raise Refusal(
            CONFLICT,
            f"the account has {descendants} descendants; delete them first",
            source="assumed 1.3-delete",
        )
    terminals.refuse_unsettled(context, "scope", account.id, "account", "assumed D45")
    for kind in _BELONGINGS:
        found, _ = context.unit.find(kind, {"account": account.id})
        for record in found:
            context.unit.put(replace(record, deleted_at=context.now))
    context.unit.remove(Application, account.id)
    return cast("Account | None", directory.delete_and_answer(context))

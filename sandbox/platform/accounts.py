"""Accounts: their models and operations. Source: spec 4.4-paths-accounts; details assumed 1.3."""

import sys
from typing import Annotated, Any, Final

from msgspec import structs
from pydantic import Field, StrictStr

from sandbox.domain import faults, records
from sandbox.domain.access import PSP_ONLY, Need, need, withheld_from_all
from sandbox.domain.clock import BATCH_CLOSES, KEY_EXPIRES
from sandbox.domain.directory import (
    ACCOUNTS,
    DIRECTORIES,
    Account,
    AccountType,
    ResourceStatus,
    in_state,
)
from sandbox.domain.field_types import CONFIGS, Mcc, Text
from sandbox.domain.keys import ApiKey, ApiKeyView
from sandbox.domain.permissions import CONCRETE
from sandbox.domain.webhooks import Application
from sandbox.platform import apikeys, directory, terminals
from sandbox.platform.context import OperationContext
from sandbox.platform.fields import EXAMPLE_ADDRESS, AddressBody, CreateBody, PageQuery, PricedBody
from sandbox.platform.operation import ACCOUNT_IN_QUERY, Example, Target, operation
from sandbox.platform.routing import register, rows_of

_Configs = Annotated[list[Text], CONFIGS]


class CreateAccount(CreateBody, PricedBody):
    """The body that creates an account. Source: assumed 1.3-create."""

    not_stored = frozenset({"parent_id", "admin_email", "admin_first_name", "admin_last_name"})

    type: Annotated[AccountType, Field(strict=False)]
    name: Text
    description: StrictStr
    address: AddressBody
    parent_id: StrictStr | None = None
    mcc: Mcc | None = None
    tax_id: StrictStr | None = None
    available_processor_configs: _Configs | None = None
    # Known and ignored: who administers the account elsewhere.
    admin_email: Any = None
    admin_first_name: Any = None
    admin_last_name: Any = None


class UpdateAccount(PricedBody):
    """The body that updates an account; type and parent never change. Source: assumed 1.3-update.

    Fields that the spec types as plain strings cannot be unset (assumed C10).
    """

    name: Text = ""
    description: StrictStr = ""
    address: AddressBody = Field(default_factory=AddressBody)
    mcc: Mcc = ""
    tax_id: StrictStr | None = None
    organization_id: StrictStr | None = None
    available_processor_configs: _Configs = Field(default_factory=list)
    status: ResourceStatus = "active"


class AccountsQuery(PageQuery):
    """Which accounts. `parent_id` asks for children only (assumed D20)."""

    type: AccountType | None = None
    status: ResourceStatus | None = None
    parent_id: str | None = None
    search: str | None = None


_ACCOUNTS: Final = directory.Resource(ACCOUNTS, "/v1/accounts", "account_id")

_OF_PARTNERS: Final = frozenset(
    name for name in CONCRETE if name.endswith(":sub") or name == "accounts:create:merchant"
)
"""Permissions that mean nothing to a merchant, which has no accounts below it."""

_BELONGINGS: Final = tuple(one.kind for one in DIRECTORIES if one is not ACCOUNTS)


def need_to_create(sent: dict[str, Any]) -> Need:
    """Return the permission for the type that the body asks for. Source: spec 2.2-directory."""
    if sent.get("type") == AccountType.MERCHANT:
        return need("accounts:create:merchant")
    if sent.get("type") in tuple(AccountType):
        return need("accounts:create:partner")
    return need("accounts:create:partner", "accounts:create:merchant")


_ACCOUNTS.register(
    __name__,
    "list",
    target=structs.replace(ACCOUNT_IN_QUERY, name="parent_id"),
    query=lambda _: AccountsQuery,
    source="assumed 1.3-list",
)
_ACCOUNTS.register(__name__, "read", source="spec 4.4-paths-accounts")


@_ACCOUNTS.operation(
    "update",
    refuses=(faults.ACCOUNT_BLOCKED,),
    source="assumed 1.3-update",
    example={"description": "Open until late"},
)
def update(context: OperationContext, account: Account, body: UpdateAccount) -> Account:
    """Change an account."""
    changes = body.read_given()
    if changes.get("status") == "active":
        _must_not_lift_its_own_block(context, account)
    return directory.change_with_status(context, account, changes)


def _must_not_lift_its_own_block(context: OperationContext, account: Account) -> None:
    """Raise Refusal for a blocked account below another that asks for itself.

    Source: assumed D32.
    """
    is_own = account.id == context.known_caller.account.id
    if is_own and account.status == "blocked" and account.parent_account_ids:
        fault = faults.BLOCK_FAULTS[context.world.readings["block_answer"]]
        text = "status: only an account above can lift the block"
        why = f"account {account.id} ({account.name}) asks to lift its own block"
        raise faults.Refusal(fault, text, reason=why, source="assumed D32", step="rule")


@_ACCOUNTS.operation("delete", refuses=(faults.CONFLICT,), source="assumed 1.3-delete")
def delete(context: OperationContext, account: Account) -> Account | None:
    """Delete an account.

    It may have no live descendants and no unsettled batches (assumed 1.3-delete, D45). What
    belongs to it is gone with it, silently: only the account has an event (assumed 8.4).
    """
    if account.id == context.known_caller.account.id:
        why = "an account cannot delete itself"
        raise faults.Refusal(faults.CONFLICT, why, source="assumed 1.3-delete")
    _, descendants = context.unit.find(Account, {"ancestor": account.id}, limit=0)
    if descendants:
        why = f"the account has {descendants} descendants; delete them first"
        raise faults.Refusal(faults.CONFLICT, why, source="assumed 1.3-delete")
    terminals.refuse_unsettled(context, "scope", account.id, "account", "assumed D45")
    for kind in _BELONGINGS:
        found, _ = context.unit.find(kind, {"account": account.id})
        for record in found:
            context.unit.put(in_state(record, "deleted", context.now))
            context.unit.cancel(BATCH_CLOSES, record.id)
    keys, _ = context.unit.find(ApiKey, {"account": account.id})
    for key in keys:
        context.unit.put(structs.replace(key, deleted_at=context.now))
        context.unit.cancel(KEY_EXPIRES, key.id)
    context.unit.remove(Application, account.id)
    return directory.delete(context, account)


_CREATION: Final[dict[str, Any]] = {
    "needs": need("accounts:create:partner", "accounts:create:merchant"),
    "target": Target("body", "parent_id"),
    "narrow": need_to_create,
}


@_ACCOUNTS.operation(
    "create",
    **_CREATION,
    refuses=(faults.NO_CREATOR,),
    source="spec 4.4-paths-accounts",
    example={
        "type": "merchant",
        "name": "Congress Avenue Coffee",
        "description": "Coffee and cake",
        "address": EXAMPLE_ADDRESS,
    },
)
def create(context: OperationContext, body: CreateAccount) -> Account:
    """Create an account.

    Nothing else is provisioned. Source: assumed 1.3-v1.
    """
    return _create(context, body, organization_id=None)


def _create(context: OperationContext, body: CreateAccount, organization_id: str | None) -> Account:
    parent = context.known_account
    caller_type = context.known_caller.account.type
    if body.type in (AccountType.ADMIN, AccountType.PSP) and caller_type is not AccountType.ADMIN:
        why = f"type: {body.type} accounts cannot be created by this account"
        raise faults.Refusal(faults.NO_CREATOR, why, source="assumed 1.3-kinds", step="grant")
    if parent.type is AccountType.MERCHANT:
        why = "parent_id: a merchant account cannot be a parent"
        raise faults.Refusal(faults.VALIDATION_ERROR, why, source="assumed 1.3-parent")
    account = Account(
        id=context.world.draws.uuid(),
        organization_id=organization_id,
        parent_account_ids=(*parent.parent_account_ids, parent.id),
        created_at=context.now,
        **body.read_given(),
    )
    return directory.add(context, account)


_ACCOUNTS.register(__name__, "block", example=Example(id="{accounts.second_merchant}"))


@_ACCOUNTS.operation(
    "unblock",
    refuses=(faults.ACCOUNT_BLOCKED,),
    source="assumed 1.10",
    example=Example(id="{accounts.blocked_merchant}"),
)
def unblock(context: OperationContext, account: Account) -> Account:
    """Unblock one of the accounts."""
    _must_not_lift_its_own_block(context, account)
    return directory.change(context, account, {}, "unblock")


for _row in rows_of(sys.modules[__name__])[:4]:
    # The same operations under their other paths. Source: assumed 1.3-alias.
    names = {"name": f"{_row.name}_v2", "path": _row.path.replace("/v1/", "/v2/")}
    register(__name__, structs.replace(_row, **names, source="assumed 1.3-alias"))


@operation(
    "accounts.create_v2",
    "POST",
    "/v2/accounts",
    **_CREATION,
    response=records.Extended(Account, {"api_key": ApiKeyView | None, "application_id": str}),
    status=201,
    events=("account.created", "api_key.created"),
    is_key_shown=True,
    refuses=(faults.NO_CREATOR,),
    source="spec 4.4-paths-provisioning",
)
def create_with_key(context: OperationContext, body: CreateAccount) -> records.Extended:
    """Create an account with an organization and an API key.

    It also gets a webhook application. The account is shown with the key in a field of its own,
    this once (assumed 1.3-api-key). The control API shows the application; the answer names it
    where a reading says so (assumed D35-application).
    """
    account = _create(context, body, organization_id="org_" + context.world.draws.plain_chars(27))
    application = Application(account_id=account.id, created_at=context.now)
    context.unit.put(application)
    fields: dict[str, Any] = {"api_key": _provision_key(context, account)}
    if context.world.readings["application_in_answer"] == "named":
        fields["application_id"] = application.id
    return records.Extended(account, fields)


def _provision_key(context: OperationContext, account: Account) -> ApiKeyView | None:
    """Return the key that comes with a v2 account; None when its creator could grant nothing.

    Its permissions are the creator's, without those that only a PSP grants, those that the creator
    may not grant, those that create partners, and for a merchant those that create accounts and
    those on descendants (assumed 1.3-provisioned, D19, D38).
    """
    creator, admin_only = context.known_caller, context.world.profile.permissions.admin_only
    withheld = withheld_from_all(creator.account.type, admin_only)
    kept_back = {"accounts:create:partner", *PSP_ONLY, *withheld}
    if account.type is AccountType.MERCHANT:
        kept_back |= _OF_PARTNERS
    permissions = tuple(
        name for name in CONCRETE if name in creator.grants and name not in kept_back
    )
    if not permissions:
        return None
    name = f"{account.name} default key"
    return apikeys.issue_and_announce(context, account, name, permissions)

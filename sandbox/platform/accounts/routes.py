"""Rows of accounts. Source: spec 4.4-paths-accounts; details assumed 1.3."""

from typing import Final

from msgspec.structs import replace

from sandbox.domain.access import need
from sandbox.domain.directory import Account, relate_with_admin_reach
from sandbox.domain.faults import ACCOUNT_BLOCKED, CONFLICT, FORBIDDEN
from sandbox.domain.keys import ApiKeyView
from sandbox.platform.accounts import bodies, operations
from sandbox.platform.directory import operations as directory
from sandbox.platform.directory.routes import Paths, block_rows
from sandbox.platform.rows import Extended, Listing, Row, Target

_PATHS: Final = Paths("accounts", "/v1/accounts", "account_id")
_ACCOUNT: Final = Target(where="path", name="account_id")
# An admin reads any account's resources by id, and may name any account in a filter; it changes
# its own hierarchy alone: assumed 4.7-admin, D6.
_ACCOUNT_TO_READ: Final = replace(_ACCOUNT, relate=relate_with_admin_reach)

_V1: Final[tuple[Row, ...]] = (
    Row(
        name="accounts.list",
        method="GET",
        path="/v1/accounts",
        summary="List accounts",
        source="assumed 1.3-list",
        need=need("accounts:read"),
        target=Target(where="query", name="parent_id", relate=relate_with_admin_reach),
        run=operations.list_all,
        query=lambda _: bodies.AccountsQuery,
        response=Listing("accounts", Account),
    ),
    Row(
        name="accounts.read",
        method="GET",
        path="/v1/accounts/{account_id}",
        summary="Read an account",
        source="spec 4.4-paths-accounts",
        need=need("accounts:read"),
        target=_ACCOUNT_TO_READ,
        run=directory.read,
        response=Account,
    ),
    Row(
        name="accounts.update",
        method="PUT",
        path="/v1/accounts/{account_id}",
        summary="Change an account",
        source="assumed 1.3-update",
        need=need("accounts:edit"),
        target=_ACCOUNT,
        run=operations.update,
        body=lambda _: bodies.UpdateAccount,
        response=Account,
        events=("account.updated", "account.blocked", "account.unblocked"),
        refuses=(ACCOUNT_BLOCKED,),
    ),
    Row(
        name="accounts.delete",
        method="DELETE",
        path="/v1/accounts/{account_id}",
        summary="Delete an account",
        source="assumed 1.3-delete",
        need=need("accounts:delete"),
        target=_ACCOUNT,
        run=operations.delete,
        response=Account,
        status=204,
        events=("account.deleted",),
        refuses=(CONFLICT,),
    ),
)

_CREATE: Final = Row(
    name="accounts.create",
    method="POST",
    path="/v1/accounts",
    summary="Create an account",
    source="spec 4.4-paths-accounts",
    need=need("accounts:create:partner", "accounts:create:merchant"),
    narrow=operations.need_to_create,
    target=Target(where="body", name="parent_id"),
    run=operations.create,
    body=lambda _: bodies.CreateAccount,
    response=Account,
    status=201,
    events=("account.created",),
    refuses=(FORBIDDEN,),
)


def _as_v2(row: Row) -> Row:
    """The same operation under its other path. Source: assumed 1.3-alias."""
    path = row.path.replace("/v1/", "/v2/")
    return replace(row, name=f"{row.name}_v2", path=path, source="assumed 1.3-alias")


ROWS: Final[tuple[Row, ...]] = (
    *_V1,
    _CREATE,
    *block_rows(
        _PATHS,
        _ACCOUNT,
        need("accounts:edit"),
        (directory.block, operations.unblock),
        Account,
        "account",
        unblock_refuses=(ACCOUNT_BLOCKED,),
    ),
    *(_as_v2(row) for row in _V1),
    replace(
        _CREATE,
        name="accounts.create_v2",
        path="/v2/accounts",
        summary="Create an account with an organization and an API key",
        source="spec 4.4-paths-provisioning",
        run=operations.create_with_key,
        response=Extended(Account, "api_key", ApiKeyView | None, texts=("application_id",)),
        shows_key=True,
        events=("account.created", "api_key.created"),
    ),
)

"""Rows of credentials. Source: spec 2.9; paths assumed 1.6."""

from typing import Final

from msgspec.structs import replace

from sandbox.domain.access import need
from sandbox.domain.directory import Credential, CredentialView, relate_with_admin_reach
from sandbox.domain.faults import CONFLICT
from sandbox.domain.payments.cards import CARD_FIELDS
from sandbox.platform.credentials import bodies, operations
from sandbox.platform.directory.routes import Paths, block_rows
from sandbox.platform.rows import Listing, Row, Target

_PATHS: Final = Paths("credentials", "/v1/accounts/credentials", "credential_id")
_TARGET: Final = Target(where="path", name="credential_id", kind=Credential)

ROWS: Final[tuple[Row, ...]] = (
    Row(
        name="credentials.create",
        method="POST",
        path=_PATHS.collection,
        summary="Create a credential",
        source="assumed 1.6-create",
        need=need("credentials:create"),
        target=Target(where="body", name="account_id"),
        run=operations.create,
        body=lambda _: bodies.CreateCredential,
        response=CredentialView,
        status=201,
        events=("credential.created",),
        refuses=(CONFLICT,),
        secrets=("pin", *CARD_FIELDS),
    ),
    Row(
        name="credentials.list",
        method="GET",
        path=_PATHS.collection,
        summary="List credentials",
        source="assumed 1.6",
        need=need("credentials:read"),
        target=Target(where="query", name="account_id", relate=relate_with_admin_reach),
        run=operations.list_all,
        query=lambda _: bodies.CredentialsQuery,
        response=Listing("credentials", CredentialView),
    ),
    Row(
        name="credentials.read",
        method="GET",
        path=_PATHS.item,
        summary="Read a credential",
        source="assumed 1.6",
        need=need("credentials:read"),
        # An admin reads any account's resources by id: assumed 4.7-admin.
        target=replace(_TARGET, relate=relate_with_admin_reach),
        run=operations.read,
        response=CredentialView,
    ),
    Row(
        name="credentials.update",
        method="PUT",
        path=_PATHS.item,
        summary="Change a credential",
        source="assumed 1.6",
        need=need("credentials:edit"),
        target=_TARGET,
        run=operations.update,
        body=lambda _: bodies.UpdateCredential,
        response=CredentialView,
        events=("credential.blocked", "credential.unblocked"),
        secrets=("pin", *CARD_FIELDS),
    ),
    Row(
        name="credentials.delete",
        method="DELETE",
        path=_PATHS.item,
        summary="Delete a credential",
        source="assumed 1.6",
        need=need("credentials:delete"),
        target=_TARGET,
        run=operations.delete,
        response=CredentialView,
        events=("credential.deleted",),
    ),
    *block_rows(
        _PATHS,
        _TARGET,
        need("credentials:edit"),
        (operations.block, operations.unblock),
        CredentialView,
        "credential",
    ),
)

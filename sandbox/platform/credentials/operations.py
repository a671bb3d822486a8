"""Operations on merchant credentials. Source: spec 2.9; paths and rules assumed 1.6."""

from typing import TYPE_CHECKING, Any, cast

from msgspec.structs import replace

from sandbox.domain.directory import (
    CREDENTIALS,
    Account,
    Credential,
    CredentialView,
    view_credential,
)
from sandbox.domain.faults import CONFLICT, Refusal
from sandbox.domain.field_types import CODE_CHARS
from sandbox.domain.records import Page
from sandbox.platform.directory import operations as directory
from sandbox.platform.operation_context import OperationContext

if TYPE_CHECKING:
    from sandbox.platform.credentials.bodies import CreateCredential, UpdateCredential


def create(context: OperationContext) -> CredentialView:
    """Create a credential of an account. Source: assumed 1.6-create."""
    body, account = cast("CreateCredential", context.body), cast(Account, context.account)
    code = body.code or _free_code(context)
    if body.code and _is_taken(context, code):
        raise Refusal(CONFLICT, "code: is taken", source="assumed 1.6-create")
    credential = Credential(
        id=context.world.draws.uuid(), account_id=account.id, code=code, created_at=context.now
    )
    return view_credential(directory.add(context, CREDENTIALS, credential))


def _free_code(context: OperationContext) -> str:
    while _is_taken(context, code := context.world.draws.digits(CODE_CHARS)):
        pass
    return code


def _is_taken(context: OperationContext, code: str) -> bool:
    return context.unit.find(Credential, {"code": code}, limit=0)[1] > 0


def list_all(context: OperationContext) -> Page:
    """Credentials of the caller's hierarchy. Source: assumed 1.6."""
    page = directory.page_of(context, CREDENTIALS)
    return replace(page, rows=[view_credential(row) for row in page.rows])


def read(context: OperationContext) -> CredentialView:
    """One credential. Source: assumed 1.6."""
    return view_credential(cast(Credential, context.record))


def update(context: OperationContext) -> CredentialView:
    """Block or unblock a credential, or change its PIN. Source: assumed 1.6-update."""
    given: dict[str, Any] = cast("UpdateCredential", context.body).given()
    trigger = None
    if "is_active" in given:
        trigger = "unblock" if given["is_active"] else "block"
    return view_credential(directory.change(context, {}, trigger))


def block(context: OperationContext) -> CredentialView:
    """Make a credential inactive. Source: assumed 1.10."""
    return view_credential(directory.block(context))


def unblock(context: OperationContext) -> CredentialView:
    """Make a credential active again. Source: assumed 1.10."""
    return view_credential(directory.unblock(context))


def delete(context: OperationContext) -> CredentialView:
    """Delete a credential and show it inactive. Source: spec 6.3-credential.deleted."""
    return view_credential(directory.delete(context))

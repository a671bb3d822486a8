"""Operations on merchant credentials. Source: spec 2.9; paths and rules assumed 1.6."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

from sandbox.domain import credentials
from sandbox.domain.accounts import Account
from sandbox.domain.credentials import CODE_CHARS, Credential, CredentialView
from sandbox.domain.directory import CREDENTIALS
from sandbox.domain.faults import CONFLICT, Refusal
from sandbox.domain.rendering import Page
from sandbox.operations import directory
from sandbox.operations.call import Call

if TYPE_CHECKING:
    from sandbox.operations.bodies.credentials import CreateCredential, UpdateCredential


def create(call: Call) -> CredentialView:
    """Create a credential of an account. Source: assumed 1.6-create."""
    body, account = cast("CreateCredential", call.body), cast(Account, call.account)
    code = body.code or _free_code(call)
    if body.code and _is_taken(call, code):
        raise Refusal(CONFLICT, "code: is taken", source="assumed 1.6-create")
    credential = Credential(
        id=call.world.draws.uuid(), account_id=account.id, code=code, created_at=call.now
    )
    return credentials.view(directory.add(call, CREDENTIALS, credential))


def _free_code(call: Call) -> str:
    while _is_taken(call, code := call.world.draws.digits(CODE_CHARS)):
        pass
    return code


def _is_taken(call: Call, code: str) -> bool:
    return call.unit.find(Credential, {"code": code}, limit=0)[1] > 0


def list_all(call: Call) -> Page:
    """Credentials of the caller's hierarchy. Source: assumed 1.6."""
    page = directory.page_of(call, CREDENTIALS)
    return replace(page, rows=[credentials.view(row) for row in page.rows])


def read(call: Call) -> CredentialView:
    """One credential. Source: assumed 1.6."""
    return credentials.view(cast(Credential, call.record))


def update(call: Call) -> CredentialView:
    """Block or unblock a credential, or change its PIN. Source: assumed 1.6-update."""
    given: dict[str, Any] = cast("UpdateCredential", call.body).given()
    trigger = None
    if "is_active" in given:
        trigger = "unblock" if given["is_active"] else "block"
    return credentials.view(directory.change(call, {}, trigger))


def block(call: Call) -> CredentialView:
    """Make a credential inactive. Source: assumed 1.10."""
    return credentials.view(directory.block(call))


def unblock(call: Call) -> CredentialView:
    """Make a credential active again. Source: assumed 1.10."""
    return credentials.view(directory.unblock(call))


def delete(call: Call) -> CredentialView:
    """Delete a credential and show it inactive. Source: spec 6.3-credential.deleted."""
    return credentials.view(directory.delete(call))

"""Credentials of merchants: their models and operations.

Source: spec 2.9; paths and rules assumed 1.6.
"""

from typing import Annotated, Final

from pydantic import Field, StrictBool, StrictStr

from sandbox.domain.directory import CREDENTIALS, MASKED_PIN, PIN_CHARS, Credential, CredentialView
from sandbox.domain.faults import CONFLICT, Refusal
from sandbox.domain.field_types import CODE_CHARS, CredentialCode
from sandbox.domain.payments.cards import CARD_FIELDS
from sandbox.platform import directory
from sandbox.platform.context import OperationContext
from sandbox.platform.fields import Body, CreateBody, PageQuery
from sandbox.platform.operation import Target

_Pin = Annotated[StrictStr, Field(min_length=PIN_CHARS, max_length=PIN_CHARS)]


class CreateCredential(CreateBody):
    """The body that creates a credential; without a code, the platform generates one."""

    account_id: StrictStr | None = None
    code: CredentialCode | None = None
    pin: _Pin | None = None


class UpdateCredential(Body):
    """The body that updates a credential. The PIN is checked and not stored; `****` keeps it."""

    is_active: StrictBool = True
    pin: Annotated[StrictStr, Field(pattern=rf"^(?:.{{{PIN_CHARS}}}|\*{{4}})$")] = MASKED_PIN


class CredentialsQuery(PageQuery):
    """Which credentials: of one account and its descendants."""

    account_id: str | None = None


_CREDENTIALS: Final = directory.Resource(CREDENTIALS, "/v1/accounts/credentials", "credential_id")


@_CREDENTIALS.operation(
    "create",
    target=Target("body", "account_id"),
    secrets=CARD_FIELDS | {"pin"},
    refuses=(CONFLICT,),
    source="assumed 1.6-create",
    example={"pin": "246810"},
)
def create(context: OperationContext, body: CreateCredential) -> CredentialView:
    """Create a credential."""
    code = body.code
    if code and _is_taken(context, code):
        raise Refusal(CONFLICT, "code: is taken", source="assumed 1.6-create")
    while not code or _is_taken(context, code):
        code = context.world.draws.digits(CODE_CHARS)
    credential = Credential(
        id=context.world.draws.uuid(),
        account_id=context.known_account.id,
        code=code,
        created_at=context.now,
    )
    return directory.add(context, credential)


def _is_taken(context: OperationContext, code: str) -> bool:
    return context.unit.find(Credential, {"code": code}, limit=0)[1] > 0


_CREDENTIALS.register(__name__, "list", query=lambda _: CredentialsQuery, source="assumed 1.6")
_CREDENTIALS.register(__name__, "read", source="assumed 1.6")


@_CREDENTIALS.operation(
    "update", secrets=CARD_FIELDS | {"pin"}, source="assumed 1.6", example={"is_active": False}
)
def update(
    context: OperationContext, credential: Credential, body: UpdateCredential
) -> CredentialView:
    """Change a credential. Source: assumed 1.6-update."""
    given = body.read_given().get("is_active")
    trigger = None if given is None else "unblock" if given else "block"
    return directory.change(context, credential, {}, trigger)


@_CREDENTIALS.operation("delete", status=200, source="assumed 1.6")
def delete(context: OperationContext, credential: Credential) -> CredentialView:
    """Delete a credential.

    It is shown inactive. Source: spec 6.3-credential.deleted.
    """
    return directory.change(context, credential, {}, "delete")


_CREDENTIALS.register(__name__, "block", "unblock")

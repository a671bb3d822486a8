"""Bodies and queries of credentials. Source: spec 2.9; details assumed 1.6."""

from typing import Annotated, Literal

from pydantic import Field, StrictBool, StrictStr

from sandbox.domain.directory import MASKED_PIN, PIN_CHARS
from sandbox.domain.field_types import CredentialCode
from sandbox.platform.fields import Body, CreateBody, PageQuery

_Pin = Annotated[StrictStr, Field(min_length=PIN_CHARS, max_length=PIN_CHARS)]


class CreateCredential(CreateBody):
    """Body of the creation of a credential; without a code, the platform generates one."""

    account_id: StrictStr | None = None
    code: CredentialCode | None = None
    pin: _Pin | None = None


class UpdateCredential(Body):
    """Body of the update of a credential. A PIN is checked and not stored; **** is no change."""

    is_active: StrictBool = True
    pin: _Pin | Literal["****"] = MASKED_PIN


class CredentialsQuery(PageQuery):
    """Which credentials: of one account and its descendants."""

    account_id: str | None = None

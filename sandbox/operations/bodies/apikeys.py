"""Bodies of API-key management. Source: spec 4.1, 4.3-keys."""

from functools import cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, StrictBool, StrictStr, create_model

from sandbox.domain.instants import Instant

_Name = Annotated[StrictStr, Field(min_length=1)]


class _Body(BaseModel):
    # Unknown fields are rejected on API keys: spec 4.1.1.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class CreateKey(_Body):
    """Body of the creation of a key. Source: spec 4.1."""

    name: _Name
    permissions: Annotated[list[StrictStr], Field(min_length=1), FailFast()]
    account_id: StrictStr | None = None
    expires_at: Instant | None = None
    always_retrievable: StrictBool | None = None
    supplied_key: StrictStr | None = None


class UpdateKey(_Body):
    """Body of the update of a key; omitted and null leave unchanged. Source: spec 4.3-keys."""

    name: _Name | None = None
    expires_at: Instant | None = None
    status: Literal["revoked", "active"] | None = None


@cache
def create_key_body(supplied_key_field: str) -> type[CreateKey]:
    """`CreateKey` with the supplied key under the name that the profile gives it."""
    field = Field(default=None, alias=supplied_key_field)
    return create_model("CreateKey", __base__=CreateKey, supplied_key=(StrictStr | None, field))

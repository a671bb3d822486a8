"""Bodies of API-key management. Source: spec 4.1, 4.3-keys."""

from functools import cache
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, FailFast, Field, StrictBool, StrictStr, create_model

from sandbox.domain.field_types import PERMISSION_COUNT, Text
from sandbox.domain.instants import Instant
from sandbox.domain.keys import LOOKUP_CHARS, SECRET_CHARS
from sandbox.domain.permissions import ALL, CONCRETE
from sandbox.domain.text import OneOf

# The operation refuses other unknown permissions, naming the nearest one (spec 4.1.2).
_Permission = Annotated[StrictStr, OneOf((*CONCRETE, ALL))]


class _Body(BaseModel):
    # Unknown fields are rejected on API keys: spec 4.1.1.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, defer_build=True)


class CreateKey(_Body):
    """Body of the creation of a key. Source: spec 4.1."""

    name: Text
    permissions: Annotated[list[_Permission], PERMISSION_COUNT, FailFast()]
    account_id: StrictStr | None = None
    expires_at: Instant | None = None
    always_retrievable: StrictBool | None = None
    supplied_key: StrictStr | None = None


class UpdateKey(_Body):
    """Body of the update of a key; omitted and null leave unchanged. Source: spec 4.3-keys."""

    name: Text | None = None
    expires_at: Instant | None = None
    status: Literal["revoked", "active"] | None = None


@cache
def create_key_body(supplied_key_field: str, prefix: str) -> type[CreateKey]:
    """`CreateKey` with the supplied key under the name and prefix that the profile gives it."""
    field = Field(default=None, alias=supplied_key_field)
    key = rf"^{prefix}_[A-Za-z0-9]{{{LOOKUP_CHARS}}}_[A-Za-z0-9]{{{SECRET_CHARS}}}$"
    # For the schema: a supplied key and the flag go together (spec 4.1).
    together = {
        "required": ["always_retrievable", supplied_key_field],
        "properties": {
            "always_retrievable": {"const": True},
            supplied_key_field: {"type": "string", "pattern": key},
        },
    }
    neither = {
        "properties": {
            "always_retrievable": {"enum": [False, None]},
            supplied_key_field: {"type": "null"},
        }
    }
    return create_model(
        "CreateKey",
        __base__=CreateKey,
        __cls_kwargs__={"json_schema_extra": {"anyOf": [neither, together]}},
        supplied_key=(StrictStr | None, field),
    )

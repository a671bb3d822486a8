"""The names that the spec neutralized, and those it does not show, as one value.

A user of the real platform writes its names into a TOML file of this shape (`--profile FILE`) and
changes no code. Every default is the spec's neutral word, or the assumption that fills its gap.
"""

from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, model_validator

from sandbox.domain.keys import KeyFormat

_HeaderName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9-]+$")]
_KeyPrefix = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]+(_[A-Za-z0-9]+)*$")]
_FieldName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class KeyPrefixes(_Section):
    """What keys begin with. Source: spec 2.1-format, 2.1-legacy."""

    uat: _KeyPrefix = "svc_uat"
    production: _KeyPrefix = "svc_live"
    legacy: _KeyPrefix = "svc"

    @model_validator(mode="after")
    def _are_distinct(self) -> "KeyPrefixes":
        if len({self.uat, self.production, self.legacy}) < 3:
            raise ValueError("uat, production and legacy must differ")
        return self


class DateFilters(_Section):
    """Names of the date filters of the transaction search (spec 4.3-search; assumed 1.7)."""

    start: _FieldName = "start_date"
    end: _FieldName = "end_date"


class Errors(_Section):
    """The error body of endpoints other than API keys (spec 7-body; assumed 0.5-errors).

    `detail` is {"detail"}; `detail_and_error` adds the code; `error_message_details` is the
    three-field shape of the API-key endpoints everywhere.
    """

    shape: Literal["detail_and_error", "detail", "error_message_details"] = "detail_and_error"


class Profile(_Section):
    """All the names. `name` is only for people."""

    name: str = "neutral"
    api_key_header: _HeaderName = "x-service-apikey"
    webhook_header_prefix: _HeaderName = "webhook"
    supplied_key_field: _FieldName = "key"
    key_prefixes: KeyPrefixes = Field(default_factory=KeyPrefixes)
    date_filters: DateFilters = Field(default_factory=DateFilters)
    errors: Errors = Field(default_factory=Errors)

    @model_validator(mode="after")
    def _supplied_key_field_is_free(self) -> "Profile":
        taken = {"name", "permissions", "account_id", "expires_at", "always_retrievable"}
        if self.supplied_key_field in taken:
            raise ValueError(f"supplied_key_field: {self.supplied_key_field} has a meaning already")
        return self

    @cached_property
    def key_format(self) -> KeyFormat:
        """How keys are written under this profile."""
        return KeyFormat(
            prefix=self.key_prefixes.uat,
            production_prefix=self.key_prefixes.production,
            legacy_prefix=self.key_prefixes.legacy,
        )

    @cached_property
    def api_key_header_bytes(self) -> bytes:
        """The header's name as servers hand it over: in lower case."""
        return self.api_key_header.lower().encode()

"""Names of the real platform that the spec leaves out or replaces by neutral ones.

A user of the real platform writes its names into a TOML file of this shape (`--profile FILE`)
instead of changing code. Every default is the spec's neutral word, or an assumption where there is
none. The shapes are plain dataclasses; only reading a file checks them.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import date
from functools import cached_property
from typing import Annotated, Any, ClassVar, Final, Literal

from pydantic import AfterValidator, Field, TypeAdapter

from sandbox.domain import readings as readings_table
from sandbox.domain.keys import KeyFormat
from sandbox.domain.permissions import ALL, CONCRETE
from sandbox.domain.secrets import mask_cards
from sandbox.domain.text import one_of

SECRET_CHARS_MAX: Final = 128
"""Length limit of a key or a card number, including the separators between its digits."""

HeaderName = Annotated[str, Field(pattern=r"^[A-Za-z0-9-]+$")]
FieldName = Annotated[str, Field(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
KeyPrefix = Annotated[str, Field(pattern=r"^[A-Za-z0-9]+(_[A-Za-z0-9]+)*$")]


def _check_host(host: str) -> str:
    if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)*", host):
        raise ValueError(f"{host!r} is not a host; write it like api.example.com")
    return host


def _check_day(day: str) -> str:
    try:
        return date.fromisoformat(day).isoformat()
    except ValueError:
        raise ValueError(f"{day!r} is not a date; write it like 2026-11-23") from None


def _check_supplied_key_field(name: str) -> str:
    if name in {"name", "permissions", "account_id", "expires_at", "always_retrievable"}:
        raise ValueError(f"{name} has a meaning already")
    return name


class _Shape:
    # When pydantic checks a file, unknown names and wrong types are mistakes.
    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}


@dataclass(frozen=True, kw_only=True)
class KeyPrefixes(_Shape):
    """What keys begin with. Source: spec 2.1-format, 2.1-legacy."""

    uat: KeyPrefix = "svc_uat"
    production: KeyPrefix = "svc_live"
    legacy: KeyPrefix = "svc"

    def __post_init__(self) -> None:
        if len({self.uat, self.production, self.legacy}) < 3:
            raise ValueError("uat, production and legacy must differ")


@dataclass(frozen=True, kw_only=True)
class DateFilters(_Shape):
    """Names of the date filters of the transaction search (spec 4.3-search; assumed 1.7)."""

    start: FieldName = "start_date"
    end: FieldName = "end_date"

    def __post_init__(self) -> None:
        if self.start == self.end:
            raise ValueError("start and end must differ")


@dataclass(frozen=True, kw_only=True)
class Errors(_Shape):
    """The error body of endpoints other than API keys (spec 7-body; assumed 0.5-errors).

    `detail` is {"detail"}; `detail_and_error` adds the code; `error_message_details` is the
    three-field shape of the API-key endpoints everywhere.
    """

    shape: Literal["detail_and_error", "detail", "error_message_details"] = "detail_and_error"


@dataclass(frozen=True, kw_only=True)
class PermissionRules(_Shape):
    """Sets of permissions that the spec mentions but does not list. Source: assumed Q14.

    Only admin and PSP accounts can grant the permissions in `admin_only` (spec 4.1.5).
    """

    admin_only: tuple[
        Annotated[str, one_of("a permission to be granted", (*CONCRETE, ALL))], ...
    ] = ("accounts:create:partner",)


@dataclass(frozen=True, kw_only=True)
class Profile(_Shape):
    """All the names. `name` is only for people."""

    name: str = "neutral"
    api_key_header: HeaderName = "x-service-apikey"
    webhook_header_prefix: HeaderName = "webhook"
    supplied_key_field: Annotated[FieldName, AfterValidator(_check_supplied_key_field)] = "key"
    key_prefixes: KeyPrefixes = field(default_factory=KeyPrefixes)
    date_filters: DateFilters = field(default_factory=DateFilters)
    errors: Errors = field(default_factory=Errors)
    permissions: PermissionRules = field(default_factory=PermissionRules)
    readings: Annotated[Mapping[str, str], AfterValidator(readings_table.checked)] = field(
        default_factory=dict, hash=False
    )
    production_hosts: tuple[Annotated[str, AfterValidator(_check_host)], ...] = ()
    """Hosts that `sandbox verify` never contacts, with all below them."""

    verified: Mapping[str, Annotated[str, AfterValidator(_check_day)]] = field(
        default_factory=dict, hash=False
    )
    """When a clause or a reading was last confirmed on the real platform, as an ISO 8601 date."""

    @cached_property
    def key_format(self) -> KeyFormat:
        """How keys are written under this profile."""
        return KeyFormat(
            prefix=self.key_prefixes.uat,
            production_prefix=self.key_prefixes.production,
            legacy_prefix=self.key_prefixes.legacy,
        )

    def scrub(self, text: str) -> str:
        """Return the text with everything masked that looks like a key or a card number."""
        return mask_cards(self.key_format.scrub(text))

    def scrub_start(self, text: str, chars_max: int) -> str:
        """Return the first characters of the text, scrubbed.

        A secret that crosses the limit is masked too. The text may be very long; the rest of it is
        not checked.
        """
        if len(text) <= chars_max:
            return self.scrub(text)
        return self.scrub(text[: chars_max + SECRET_CHARS_MAX])[:-SECRET_CHARS_MAX][:chars_max]

    @cached_property
    def api_key_header_bytes(self) -> bytes:
        """The header's name in lower case, as ASGI servers pass it."""
        return self.api_key_header.lower().encode()


FIELD_NAMES: Final = frozenset(
    one.name
    for shape in (Profile, KeyPrefixes, DateFilters, Errors, PermissionRules)
    for one in fields(shape)
)
"""The names of all fields of a profile and its tables."""


def parse_profile(document: dict[str, Any]) -> Profile:
    """Return the profile in a document.

    Raises pydantic's ValidationError for anything wrong in it.
    """
    # As JSON, where an object is the strict form of a dataclass.
    return TypeAdapter(Profile).validate_json(json.dumps(document, default=str))

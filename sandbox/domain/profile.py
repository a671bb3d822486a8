"""The platform's names that the spec leaves neutral or does not show.

A user of the real platform writes its names into a TOML file of this shape (`--profile FILE`) and
changes no code. Every default is the spec's neutral word, or the assumption that fills its gap.
The shapes are plain dataclasses; only reading a file checks them.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from functools import cached_property
from typing import Any, Final, Literal

from pydantic import TypeAdapter

from sandbox.domain import readings as readings_table
from sandbox.domain.keys import KeyFormat
from sandbox.domain.permissions import ALL, CONCRETE
from sandbox.domain.secrets import mask_cards
from sandbox.domain.text import did_you_mean

_HEADER_NAME: Final = re.compile(r"[A-Za-z0-9-]+")
_KEY_PREFIX: Final = re.compile(r"[A-Za-z0-9]+(_[A-Za-z0-9]+)*")
_HOST: Final = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)*")
_FIELD_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

SECRET_CHARS_MAX: Final = 128
"""No key and no card number, with what separates its digits, is longer than this."""

# What pydantic is told when it checks a file: unknown names and wrong types are mistakes.
_LOUD: Final = {"extra": "forbid", "strict": True}


def _is_day(text: str) -> bool:
    """Whether the text is a date like 2026-11-23."""
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _must_match(pattern: re.Pattern[str], **names: str) -> None:
    for field_name, value in names.items():
        if not pattern.fullmatch(value):
            raise ValueError(
                f"{field_name}: {value!r} cannot be used; it must be {pattern.pattern}"
            )


@dataclass(frozen=True, kw_only=True)
class KeyPrefixes:
    """What keys begin with. Source: spec 2.1-format, 2.1-legacy."""

    __pydantic_config__ = _LOUD

    uat: str = "svc_uat"
    production: str = "svc_live"
    legacy: str = "svc"

    def __post_init__(self) -> None:
        _must_match(_KEY_PREFIX, uat=self.uat, production=self.production, legacy=self.legacy)
        if len({self.uat, self.production, self.legacy}) < 3:
            raise ValueError("uat, production and legacy must differ")


@dataclass(frozen=True, kw_only=True)
class DateFilters:
    """Names of the date filters of the transaction search (spec 4.3-search; assumed 1.7)."""

    __pydantic_config__ = _LOUD

    start: str = "start_date"
    end: str = "end_date"

    def __post_init__(self) -> None:
        _must_match(_FIELD_NAME, start=self.start, end=self.end)


@dataclass(frozen=True, kw_only=True)
class Errors:
    """The error body of endpoints other than API keys (spec 7-body; assumed 0.5-errors).

    `detail` is {"detail"}; `detail_and_error` adds the code; `error_message_details` is the
    three-field shape of the API-key endpoints everywhere.
    """

    __pydantic_config__ = _LOUD

    shape: Literal["detail_and_error", "detail", "error_message_details"] = "detail_and_error"


@dataclass(frozen=True, kw_only=True)
class PermissionRules:
    """What the spec says of permissions without a list. Source: assumed Q14.

    Only admin and PSP accounts grant a permission of `admin_only` by its name (spec 4.1.5).
    """

    __pydantic_config__ = _LOUD

    admin_only: tuple[str, ...] = ("accounts:create:partner",)

    def __post_init__(self) -> None:
        known = (*CONCRETE, ALL)
        for name in self.admin_only:
            if name not in known:
                hint = did_you_mean(name, known)
                raise ValueError(f"admin_only: {name!r} is not a permission to be granted{hint}")


@dataclass(frozen=True, kw_only=True)
class Profile:
    """All the names. `name` is only for people."""

    __pydantic_config__ = _LOUD

    name: str = "neutral"
    api_key_header: str = "x-service-apikey"
    webhook_header_prefix: str = "webhook"
    supplied_key_field: str = "key"
    key_prefixes: KeyPrefixes = field(default_factory=KeyPrefixes)
    date_filters: DateFilters = field(default_factory=DateFilters)
    errors: Errors = field(default_factory=Errors)
    permissions: PermissionRules = field(default_factory=PermissionRules)
    readings: Mapping[str, str] = field(default_factory=dict, hash=False)
    production_hosts: tuple[str, ...] = ()
    """Hosts that `sandbox verify` never asks, with all below them."""

    verified: Mapping[str, str] = field(default_factory=dict, hash=False)
    """When a clause or a reading was last found on the real platform, as a date of ISO 8601."""

    def __post_init__(self) -> None:
        _must_match(
            _HEADER_NAME,
            api_key_header=self.api_key_header,
            webhook_header_prefix=self.webhook_header_prefix,
        )
        _must_match(_FIELD_NAME, supplied_key_field=self.supplied_key_field)
        taken = {"name", "permissions", "account_id", "expires_at", "always_retrievable"}
        if self.supplied_key_field in taken:
            raise ValueError(f"supplied_key_field: {self.supplied_key_field} has a meaning already")
        try:
            readings_table.checked(self.readings)
        except readings_table.UnknownReading as error:
            raise ValueError(f"readings: {error}") from None
        for host in self.production_hosts:
            if not _HOST.fullmatch(host):
                raise ValueError(
                    f"production_hosts: {host!r} is not a host; write it like api.example.com"
                )
        for id, day in self.verified.items():
            if not _is_day(day):
                raise ValueError(f"verified: {id}: {day!r} is not a date; write it like 2026-11-23")

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

        They hold no part of what is masked in whole.

        The text may be very long: only the stored part is checked.
        """
        if len(text) <= chars_max:
            return self.scrub(text)
        return self.scrub(text[: chars_max + SECRET_CHARS_MAX])[:-SECRET_CHARS_MAX][:chars_max]

    @cached_property
    def api_key_header_bytes(self) -> bytes:
        """The header's name as servers hand it over: in lower case."""
        return self.api_key_header.lower().encode()


def parse_profile(document: dict[str, Any]) -> Profile:
    """Return the profile in a document.

    Raises pydantic's ValidationError for anything wrong in it.
    """
    # As JSON, where an object is the strict form of a dataclass.
    return TypeAdapter(Profile).validate_json(json.dumps(document, default=str))

"""API keys: their format, their record, their life, and whether one may be used now.

Only a salted hash of a key's secret is stored (spec 2.1-format). The spec allows reading legacy and
always-retrievable keys again, so their records also have `readable_key`
(assumed D26). `access` decides who may manage keys, and what they may grant.
"""

import re
from datetime import UTC, datetime
from enum import StrEnum
from hashlib import sha256
from hmac import compare_digest
from typing import Annotated, Final, Literal

from msgspec import Struct
from pydantic import WithJsonSchema

from sandbox.domain.clock import KEY_EXPIRES, Timer
from sandbox.domain.directory import Account
from sandbox.domain.field_types import Digest, Flag, Lookup, Permissions, Text, Uuid, Withheld
from sandbox.domain.instants import Instant, add_years, to_wire
from sandbox.domain.permissions import Grants, grants_of
from sandbox.domain.states import Machine, Step

LOOKUP_CHARS: Final = 12
SECRET_CHARS: Final = 32
"""Lengths of the two segments. Source: spec 2.1-format, 8."""

DEFAULT_EXPIRY_YEARS: Final = 100
"""Source: spec 4.1, 8."""

LEGACY_EXPIRY: Final = datetime(2026, 7, 31, tzinfo=UTC)
"""When legacy keys stop authenticating. Source: spec 5.5; the instant assumed 8.2-legacy."""

Expiry = Annotated[Instant, WithJsonSchema({"type": "string"})]
"""The expiry of a key, for which the OpenAPI documents name no format."""

KeyStatus = Literal["active", "revoked"]


class ApiKeyView(Struct, frozen=True, kw_only=True, gc=False):
    """An API key as the API shows it. Source: spec 2.1."""

    id: Uuid
    account_id: Uuid
    name: Text
    key: str | None = None
    key_last4: str
    permissions: Permissions
    status: KeyStatus = "active"
    expires_at: Expiry
    created_at: Instant
    last_used_at: Instant | None = None
    is_legacy: Flag = False
    always_retrievable: Flag = False


class ApiKey(ApiKeyView, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """An API key as stored. Its plaintext and its last use are not part of the record.

    `lookup` finds it; `digest` is the hex SHA-256 of salt and secret. `status` is what the wire
    shows; a deleted key keeps `revoked` there and has `deleted_at` (spec 3.1-delete).
    `withheld` are permissions that its `all` leaves out (assumed D36).
    """

    key: None = None
    last_used_at: None = None
    lookup: Lookup
    salt: str
    digest: Digest
    deleted_at: Instant | None = None
    readable_key: str | None = None
    withheld: Withheld = ()

    @property
    def grants(self) -> Grants:
        """What the key may do."""
        return grants_of(self.permissions, self.withheld)


class KeyUsage(Struct, frozen=True, kw_only=True, gc=False, omit_defaults=True):
    """When a key last authenticated."""

    key_id: str
    last_used_at: Instant


# --- life -------------------------------------------------------------------------------------

KEY_LIFE: Final = Machine(
    "api_key",
    (
        Step("active", "revoke", "revoked", "api_key.revoked", "spec 3.1-revoke"),
        Step("active", "reinstate", "active", None, "assumed 4.3-same-status"),
        Step("active", "delete", "deleted", "api_key.deleted", "spec 3.1-delete"),
        Step("revoked", "revoke", "revoked", None, "assumed 4.3-same-status"),
        Step("revoked", "reinstate", "active", "api_key.reinstated", "spec 3.1-reinstate"),
        Step("revoked", "delete", "deleted", "api_key.deleted", "spec 3.1-delete"),
        Step("deleted", "delete", "deleted", None, "spec 4.4-delete"),
    ),
)
"""A deleted key has no way back: there is no row for it (spec 3.1-delete, 5.11)."""

TRIGGER_OF_STATUS: Final[dict[KeyStatus, str]] = {"revoked": "revoke", "active": "reinstate"}
"""The trigger of each `status` in an update. Source: spec 4.3-keys."""


def state_of(key: ApiKey) -> str:
    """Return the state of the key in `KEY_LIFE`."""
    return "deleted" if key.deleted_at is not None else key.status


def why_unusable(key: ApiKey, account: Account | None, now: datetime) -> tuple[str, str] | None:
    """Return why this key of `account` does not authenticate now, with the clause, or None."""
    if account is None or account.deleted_at is not None:
        return "its account was deleted", "assumed C4"
    if key.deleted_at is not None:
        return "it was deleted", "spec 3.1-delete"
    if key.status == "revoked":
        return "it is revoked", "spec 3.1-revoke"
    if now >= key.expires_at:  # The boundary itself is expired: assumed 8.2-boundary.
        return f"it expired at {to_wire(key.expires_at)}", "spec 3.1-expiry"
    if key.is_legacy and now >= LEGACY_EXPIRY:
        return f"legacy keys expired at {to_wire(LEGACY_EXPIRY)}", "spec 5.5"
    return None


def expiry_of(key: ApiKey) -> Timer:
    """Return the timer of the key's expiry. Source: spec 3.1-expiry, 5.5."""
    due = min(key.expires_at, LEGACY_EXPIRY) if key.is_legacy else key.expires_at
    return Timer(kind=KEY_EXPIRES, subject=key.id, due=due)


def default_expiry(created_at: datetime) -> datetime:
    """Return the expiry of a key that was created without one. Source: spec 4.1, 8."""
    return add_years(created_at, DEFAULT_EXPIRY_YEARS)


# --- format -----------------------------------------------------------------------------------


class KeyKind(StrEnum):
    """The kind of a presented key, judged by its shape."""

    V5 = "v5"
    LEGACY = "legacy"
    PRODUCTION = "production"
    MALFORMED = "malformed"


class ParsedKey(Struct, frozen=True, kw_only=True, gc=False):
    """A parsed key. Lookup and secret are empty unless the kind is v5 or legacy."""

    kind: KeyKind
    lookup: str = ""
    secret: str = ""


class KeyFormat:
    """The format of keys in this environment.

    The prefixes come from the profile: `svc_uat`, `svc_live` and `svc` unless it says otherwise
    (spec 2.1-format, 2.1-legacy). Segments are letters and digits (assumed 4.4-format).
    """

    def __init__(self, *, prefix: str, production_prefix: str, legacy_prefix: str) -> None:
        self.prefix = prefix
        self._production = production_prefix + "_"
        self._production_anywhere = re.compile(re.escape(self._production) + "[A-Za-z0-9]")
        secret = rf"[A-Za-z0-9]{{{SECRET_CHARS}}}"
        v5 = rf"{re.escape(prefix)}_([A-Za-z0-9]{{{LOOKUP_CHARS}}})_({secret})"
        self._v5 = re.compile(v5)
        self._whole_key_anywhere = re.compile(rf"{v5}|{re.escape(legacy_prefix)}_{secret}")
        self._legacy = re.compile(rf"{re.escape(legacy_prefix)}_([A-Za-z0-9]+)")
        self._legacy_prefix = legacy_prefix
        # Every key holds this; texts without it need no closer look.
        others, legacy = (prefix, production_prefix), f"{legacy_prefix}_"
        self.hint = legacy if all(other.startswith(legacy) for other in others) else "_"
        self.hint_bytes = self.hint.encode()
        # Longest first, so `svc_uat` is not read as a legacy key named `uat`.
        prefixes = sorted((legacy_prefix, *others), key=len, reverse=True)
        # Not a prefix alone, which messages name.
        any_prefix = "|".join(f"{re.escape(prefix)}_" for prefix in prefixes)
        self._anywhere = re.compile(rf"(?>{any_prefix})[A-Za-z0-9_]+")

    def parse(self, text: str) -> ParsedKey:
        """Parse a presented key. Never raises."""
        match = self._v5.fullmatch(text)
        if match:
            return ParsedKey(kind=KeyKind.V5, lookup=match[1], secret=match[2])
        if text.startswith(self._production):
            return ParsedKey(kind=KeyKind.PRODUCTION)
        match = self._legacy.fullmatch(text)
        if match:
            return ParsedKey(kind=KeyKind.LEGACY, lookup=legacy_lookup(match[1]), secret=match[1])
        return ParsedKey(kind=KeyKind.MALFORMED)

    def write(self, lookup: str, secret: str) -> str:
        """Return the plaintext of a v5 key."""
        return f"{self.prefix}_{lookup}_{secret}"

    def write_legacy(self, token: str) -> str:
        """Return the plaintext of a legacy key."""
        return f"{self._legacy_prefix}_{token}"

    def has_production_key(self, text: str) -> bool:
        """Whether the text contains something that looks like a production key."""
        return self._production in text and bool(self._production_anywhere.search(text))

    def has_whole_key(self, text: str) -> bool:
        """Whether the text contains a key of this environment, with its secret."""
        return self.hint in text and bool(self._whole_key_anywhere.search(text))

    def find_whole_keys(self, text: str) -> list[str]:
        """Return the keys of this environment in the text, with their secrets."""
        return [found[0] for found in self._whole_key_anywhere.finditer(text)]

    def has_key(self, text: str) -> bool:
        """Whether the text contains something that looks like a key, of any environment."""
        return self.hint in text and bool(self._anywhere.search(text))

    def scrub(self, text: str) -> str:
        """Return the text with everything that looks like a key, of any environment, masked."""
        return self._anywhere.sub("****", text) if self.hint in text else text

    def scrub_bytes(self, text: bytes) -> bytes:
        """Scrub a text in UTF-8, see `scrub`."""
        if self.hint_bytes not in text:
            return text
        return self.scrub(text.decode("latin-1")).encode("latin-1")


def legacy_lookup(token: str) -> str:
    """Return the lookup of a legacy key: a digest of the token, because it has no lookup segment.

    It is longer than a v5 lookup, so the two can never be confused.
    """
    return "legacy-" + sha256(token.encode()).hexdigest()[:24]


# --- secrets ----------------------------------------------------------------------------------


def digest_of(salt: str, secret: str) -> str:
    """Return the salted hash that is stored instead of a secret."""
    return sha256(f"{salt}{secret}".encode()).hexdigest()


def matches_secret(key: ApiKey, secret: str) -> bool:
    """Whether this is the key's secret, compared in constant time."""
    return compare_digest(digest_of(key.salt, secret), key.digest)


def mask(last4: str) -> str:
    """Return a key as webhooks and the journal show it. Source: spec 6.1.7."""
    return f"****{last4}"


def view(key: ApiKey, *, last_used_at: datetime | None, plaintext: str | None = None) -> ApiKeyView:
    """Return the key as the API shows it; `plaintext` only in the answer to its creation.

    Later reads show it for legacy and always-retrievable keys alone (spec 2.1-key).
    """
    fields = {name: getattr(key, name) for name in ApiKeyView.__struct_fields__}
    return ApiKeyView(
        **fields | {"key": plaintext or key.readable_key, "last_used_at": last_used_at}
    )


class ApiKeyEvent(Struct, frozen=True, kw_only=True, gc=False):
    """The body of every api_key event. It has no permissions. Source: spec 6.3."""

    id: Uuid
    account_id: Uuid
    name: str
    status: Literal["active", "revoked", "deleted"]
    key: str
    key_last4: str
    expires_at: Expiry | None
    created_at: Instant


def event_body(key: ApiKey) -> ApiKeyEvent:
    """Return the key as a webhook shows it: masked.

    The status of a deleted key is `deleted` here, and `revoked` in the API.
    """
    fields = {name: getattr(key, name) for name in ApiKeyEvent.__struct_fields__}
    return ApiKeyEvent(**fields | {"status": state_of(key), "key": mask(key.key_last4)})

"""The endpoint: its URL, its filters, and its signing secrets.

Source: spec 6.1.3, 6.1.11; audience and filters assumed 8.3; rotation assumed D22.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

GRACE: Final = timedelta(hours=24)
"""How long an old secret goes on signing unless somebody says otherwise. Source: assumed D22."""

BY_HAND: Final = "disabled by hand"

ENDPOINTS_MAX: Final = 100
"""Endpoints of one world. Each message is compared with all of them, signed and sent for each that
wants it; platforms allow some 20 to 100."""


class OldSecret(NamedTuple):
    """A secret that was replaced, and the world's moment until which it still signs."""

    secret: str
    until: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """One endpoint.

    `account_id` None hears the whole world. No `event_types` means all of them; `filters` name a
    field of the body and the values of which any will do. `failing_since` is when the first of an
    unbroken run of failures was, None after a success. `replaced_secret` is the newest one that was
    rotated out, kept whether or not it still signs: a scenario may sign with it (assumed D22).
    """

    id: str
    url: str
    secret: str
    created_at: datetime
    description: str = ""
    account_id: str | None = None
    event_types: tuple[str, ...] = ()
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    old_secrets: tuple[OldSecret, ...] = ()
    replaced_secret: str | None = None
    disabled_reason: str | None = None
    failing_since: datetime | None = None

    @property
    def is_disabled(self) -> bool:
        """Whether nothing is sent there."""
        return self.disabled_reason is not None

    def subscribes_to(self, event_type: str, path: tuple[str, ...]) -> bool:
        """Whether the event is for it: its type, and an account of its own or below.

        `path` is the event's account and all above it. Source: assumed 8.3-audience.
        """
        if self.event_types and event_type not in self.event_types:
            return False
        return self.account_id is None or self.account_id in path

    def matches(self, body: Mapping[str, Any]) -> bool:
        """Whether the filters let the body through: every one, by any of its values.

        A filter on a field that the body lacks lets nothing through (assumed 8.3-filters).
        """
        return all(body.get(name) in values for name, values in self.filters.items())

    def secrets_at(self, now: datetime) -> tuple[str, ...]:
        """What signs at this moment of the world: the secret, and old ones for a while."""
        return (self.secret, *(old.secret for old in self.old_secrets if now < old.until))


def problem_with(url: str) -> str | None:
    """What keeps webhooks from being sent to this URL, as a predicate; None for nothing."""
    try:
        parts = urlsplit(url)
        _ = parts.port
    except ValueError:
        return "is not a URL"
    if parts.scheme not in ("http", "https"):
        return "must begin with http:// or https://"
    if not parts.hostname:
        return "names no host"
    if parts.username is not None or parts.password is not None:
        return "must not hold a user name or password"
    if parts.fragment:
        return "must not have a fragment"
    if not url.isascii() or any(character.isspace() for character in url):
        return "must be ASCII, without spaces"
    return None

"""Building the webhooks of probes: like the platform's, each about a resource of its own.

Bodies are the golden bodies of the events. Each has a fresh id, because a receiver may know earlier
ones; everything it refers to is the demo world's.
"""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final

from sandbox import library
from sandbox.domain.events import EVENTS
from sandbox.store.ids import Ids
from sandbox.webhooks.signing import headers_of, write_secret

_OWN_ID: Final = {"transaction": "transaction_id", "terminal": "terminal_id"}
"""The field with a resource's own id, by category, if it is not `id`."""

PREFERRED: Final = "transaction.sale"

Fields = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Webhook:
    """One request. `label` distinguishes it from the others of its probe."""

    label: str
    headers: Mapping[str, str]
    body: bytes
    method: str = "POST"


@dataclass(frozen=True)
class ProbeBuilder:
    """The settings of the receiver: its secret, its header names, its events.

    `ids` are those that no run before this one has drawn.
    `now` is the system time in seconds since 1970. `events` are in the order of their table, and
    never empty.
    """

    secret: str
    header_prefix: str
    events: tuple[str, ...]
    now: Callable[[], float]
    ids: Ids = field(default_factory=lambda: Ids(seed=secrets.randbits(62), world_id="doctor"))

    @cached_property
    def usual(self) -> str:
        """The event that most probes are about."""
        return PREFERRED if PREFERRED in self.events else self.events[0]

    @cached_property
    def other_secret(self) -> str:
        """A secret that the receiver does not have."""
        return write_secret(secrets.token_bytes(32))

    def fields(self, event_type: str | None = None, id: str | None = None) -> Fields:
        """The body of an event, the usual one when left out, about the resource with this id."""
        event_type = event_type or self.usual
        text = library.sample(event_type)
        golden: Fields = json.loads(text)
        own = golden[_OWN_ID.get(EVENTS[event_type].category, "id")]
        fields: Fields = json.loads(text.replace(own, id or self.ids.uuid()))
        return fields

    def webhook(
        self,
        content: Fields | bytes,
        *,
        label: str = "",
        id: str | None = None,
        age_s: float = 0,
        signed_with: Iterable[str] | None = None,
    ) -> Webhook:
        """A webhook with this body, signed correctly unless another secret is given."""
        body = content if isinstance(content, bytes) else compact(content)
        headers = headers_of(
            self.header_prefix,
            id or self.ids.message_id(),
            self.now() - age_s,
            body,
            [self.secret] if signed_with is None else signed_with,
        )
        return Webhook(label, {"content-type": "application/json", **headers}, body)

    def genuine(self, *, age_s: float = 0, signed_with: Iterable[str] | None = None) -> Webhook:
        """A webhook of the usual event, signed correctly unless another secret is given."""
        return self.webhook(self.fields(), age_s=age_s, signed_with=signed_with)

    def with_signature(self, webhook: Webhook, signature: Callable[[str], str]) -> Webhook:
        """The same with what becomes of its signature; an empty header is left out."""
        name = f"{self.header_prefix}-signature"
        headers = {**webhook.headers, name: signature(webhook.headers[name])}
        return replace(webhook, headers={k: v for k, v in headers.items() if v})

    def without_headers(self, webhook: Webhook) -> Webhook:
        """The same without any header that makes it a webhook."""
        headers = {
            name: value
            for name, value in webhook.headers.items()
            if not name.startswith(f"{self.header_prefix}-")
        }
        return replace(webhook, headers=headers)

    def nullable(self) -> set[str]:
        """The fields that some event of the usual one's category has as null."""
        category = EVENTS[self.usual].category
        bodies = [json.loads(library.sample(e)) for e in EVENTS if EVENTS[e].category == category]
        return {name for body in bodies for name, value in body.items() if value is None}


def compact(fields: Fields) -> bytes:
    """The fields as the platform writes them."""
    return json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()

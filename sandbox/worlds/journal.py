"""The last requests of a world, each with the decisions that led to its answer.

An entry refers to the objects of the pipeline and is rendered only when it is read. Text that
looks like a key is masked before it is stored, so an entry never contains a key.
"""

import re
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from heapq import merge
from itertools import chain
from typing import Any, Final, Literal

from msgspec import Struct
from pydantic_core import from_json, to_json

from sandbox.domain.instants import Instant
from sandbox.domain.payments.cards import CARDS
from sandbox.domain.profile import SECRET_CHARS_MAX, Profile
from sandbox.scenarios.outcome_choice import ChosenOutcome
from sandbox.store.world_state import Counters

CAPTURE_BYTES_MAX: Final = 16_384
"""Bodies are stored up to this many bytes; the rest is cut off and marked as cut."""

ADDRESS_CHARS_MAX: Final = 2_048
"""Paths and queries are stored up to this many characters."""

REASON_CHARS_MAX: Final = 4_096
"""Reasons and notes, which quote the request, are stored up to this many characters."""

REFUSED_FROM: Final = 400
"""The lowest status of a refusal."""

Origin = Literal["client", "console"]
"""Who sent a request: a client of the platform, or an operator through the control API."""

CUT_OFF: Final = b" ... cut off"
MASK: Final = b"****"
"""The text that replaces a secret, or its end."""

_ESCAPE: Final = re.compile(r"\\u([0-9a-fA-F]{4})")

SHOWN_HEADERS: Final = (b"user-agent", b"accept", b"content-type", b"x-sandbox-outcome")
"""The headers in an entry. Others are not kept, since one of them is the key."""

Headers = tuple[tuple[str, str], ...]

HEADER_CHARS_MAX: Final = 200
"""Headers are stored up to this many characters."""

_ID: Final = re.compile("[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_MADE: Final = re.compile(rb'"(?:transaction_id|id)":"(' + _ID.pattern.encode() + rb')"')

Decision = tuple[str, str, str, str]
"""A decision about a request: the step, the verdict, the reason, and the clause."""

Scrub = Callable[[str], str]


class RequestHead(Struct, frozen=True, gc=False):
    """What is known about a request once its key is identified."""

    id: str
    at: Instant
    method: str
    path: str
    route: str | None
    key: str | None
    key_id: str | None
    account_id: str | None
    origin: Origin
    headers: Headers

    @property
    def client(self) -> str | None:
        """The program that sent it: the first word of its User-Agent header."""
        named = dict(self.headers).get("user-agent")
        return named.partition(" ")[0] if named else None


class WaitingRequest(RequestHead, frozen=True, gc=False):
    """A request that waits for a card or for its processor, and its payment."""

    payment: str


class Entry(RequestHead, frozen=True, gc=False):
    """A request, as it was recorded. Secrets in texts and bodies are already masked.

    `scenario` is the document of the scenario that ran; entries share it. `maintenance_until` is
    the end of the last maintenance that an operator began. `switches` and `readings` are those that
    were chosen in the world.
    """

    query: str
    status: int
    duration_ms: float
    request: bytes | None
    response: bytes | None
    decisions: tuple[Decision, ...]
    events: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    choice: ChosenOutcome | None = None
    near_misses: Sequence[str] = ()
    scenario: Mapping[str, Any] | None = None
    maintenance_until: Instant | None = None
    switches: Mapping[str, Any] = {}
    readings: Mapping[str, str] = {}

    @property
    def subject(self) -> str | None:
        """The id of the record that its path names, or that it created."""
        if (named := _ID.search(self.path)) is not None:
            return named[0]
        if self.method in ("GET", "HEAD") or self.response is None or self.response[:1] != b"{":
            return None
        made = _MADE.search(self.response)
        return None if made is None else made[1].decode()


def show_headers(profile: Profile, values: tuple[bytes | None, ...]) -> Headers:
    """Return the stored headers of these values of SHOWN_HEADERS, with secrets masked."""
    return tuple(
        (name.decode(), profile.scrub_start(value.decode("latin-1"), HEADER_CHARS_MAX))
        for name, value in zip(SHOWN_HEADERS, values, strict=True)
        if value is not None
    )


def capture_answer(body: bytes, profile: Profile) -> bytes | None:
    """Return the stored part of the sandbox's answer, with keys masked.

    It has no card numbers: answers are made from records, and input is refused or masked before it
    becomes a record. Keys cannot hide in escapes, which our JSON does not use.
    """
    shown = profile.key_format.scrub_bytes(body[: CAPTURE_BYTES_MAX + SECRET_CHARS_MAX])
    if len(body) > CAPTURE_BYTES_MAX:
        return shown[:CAPTURE_BYTES_MAX] + CUT_OFF
    return shown or None


def capture_body(
    body: bytes | None,
    profile: Profile,
    secrets: Collection[str] = (),
    *,
    may_hold_secret: bool = True,
) -> bytes | None:
    """Return the stored part of a request's body, with secrets masked.

    Everything that looks like a key or a card number is masked. A body that cannot hold a secret
    has no escapes, and is not searched. The values of fields in `secrets` are always masked.
    """
    if not body:
        return None
    if secrets:
        body = _mask_fields(body, secrets)
    if may_hold_secret:
        return _scrub_body(body, profile)
    if len(body) > CAPTURE_BYTES_MAX:
        return body[:CAPTURE_BYTES_MAX] + CUT_OFF
    return body


def _scrub_body(body: bytes, profile: Profile) -> bytes:
    """Return the stored part of a body, masked; the rest is not searched."""
    if len(body) > CAPTURE_BYTES_MAX:
        start = body[: CAPTURE_BYTES_MAX + SECRET_CHARS_MAX].decode("utf-8", "replace")
        # A cut body is invalid JSON, so its escapes are not resolved.
        start = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), start)
        shown = profile.scrub_start(start, max(len(start) - SECRET_CHARS_MAX, 0))
        return shown.encode("utf-8", "replace")[:CAPTURE_BYTES_MAX] + CUT_OFF
    try:
        value = from_json(body)
    except ValueError:
        text = body.decode("utf-8", "replace")
        if "\\u" in text:
            return b"(not shown: it has escapes and is not JSON)"
        return profile.scrub(text).encode("utf-8", "replace")
    return to_json(_each_scrubbed(value, profile.scrub))


def _each_scrubbed(value: Any, scrub: Scrub) -> Any:
    """Return the JSON value with keys and card numbers masked in all texts and numbers."""
    if isinstance(value, dict):
        return {scrub(name): _each_scrubbed(inner, scrub) for name, inner in value.items()}
    if isinstance(value, list):
        return [_each_scrubbed(inner, scrub) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    text = str(value)
    shown = scrub(text)
    return value if shown == text else shown


def _mask_fields(body: bytes, secrets: Collection[str]) -> bytes:
    """Return the JSON object with these fields masked; a note in place of anything else."""
    has_escapes = b"\\u" in body
    # Without escapes, only fields that begin in the stored part matter.
    if not any(
        has_escapes or 0 <= body.find(name.encode()) < CAPTURE_BYTES_MAX for name in secrets
    ):
        return body
    try:
        value = from_json(body)
    except ValueError:
        value = None
    if not isinstance(value, dict):
        return b"(not shown: it may hold a secret and is not a JSON object)"
    value |= {name: _mask(value[name]) for name in secrets if name in value}
    return to_json(value)


def _mask(value: Any) -> Any:
    """Return the masked value. Tokens of test cards stay, because they explain the attempt."""
    if isinstance(value, dict):
        return {name: _mask(inner) for name, inner in value.items()}
    return value if isinstance(value, str) and value in CARDS else MASK.decode()


UNKEYED_MAX: Final = 100
"""How many requests without a known key a journal keeps. Source: assumed D25."""


class Journal:
    """The last entries of one world, numbered from 1 in the order in which requests arrived."""

    def __init__(self, entries_max: int, counters: Counters) -> None:
        self._entries: deque[tuple[int, Entry]] = deque(maxlen=entries_max)
        # Requests without a key cannot push out those with one.
        self._unkeyed: deque[tuple[int, Entry]] = deque(maxlen=min(UNKEYED_MAX, entries_max))
        self._added = 0
        self.counters = counters
        self.on_add: Callable[[Entry], None] = lambda entry: None
        # Waiting requests by id, oldest first.
        self.waiting: dict[str, WaitingRequest] = {}

    def next_id(self) -> str:
        """Return the id for the request that has just arrived."""
        counters = self.counters
        counters.requests += 1
        return f"req_{counters.requests:010d}"

    def add(self, entry: Entry) -> None:
        """Add the entry, in place of the oldest one of its kind (with or without a key) if full."""
        self._added += 1
        ring = self._unkeyed if entry.key_id is None else self._entries
        ring.append((self._added, entry))
        self.on_add(entry)

    def entries(self) -> list[Entry]:
        """Return all entries, oldest first."""
        return [entry for _, entry in merge(self._entries, self._unkeyed)]

    def entry(self, id: str) -> Entry | None:
        """Return the entry with this id, or None."""
        rings = chain(self._entries, self._unkeyed)
        return next((entry for _, entry in rings if entry.id == id), None)

    def clear(self) -> None:
        """Clear the entries. Numbering continues, so that ids stay unique."""
        self._entries.clear()
        self._unkeyed.clear()

    def restart(self, counters: Counters) -> None:
        """Forget the entries, and number with these counters: the world was reset or restored."""
        self.clear()
        self.counters = counters
        # Those that wait now leave the earlier dictionary, and may have the ids of later ones.
        self.waiting = {}

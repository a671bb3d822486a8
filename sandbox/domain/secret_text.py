"""Text that must never be stored: production keys, whole keys of the sandbox, card numbers.

All text that could be stored is checked here, from the platform, the control API and files, because
stored text comes back in messages, snapshots and state files. Source: assumed D5, 6.4-everywhere.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from sandbox.domain.byte_search import has
from sandbox.domain.keys import KeyFormat
from sandbox.domain.payments import pans
from sandbox.domain.values import Value


class Secret(Value, frozen=True):
    """A kind of secret: its name, the message about one in the wrong place, and the clause."""

    name: str
    sentence: str
    source: str


PRODUCTION_KEY: Final = Secret(
    "production key", "a production key must never be sent to a sandbox", "assumed D5"
)
API_KEY: Final = Secret("API key", "an API key is not allowed here", "assumed D26")
CARD_NUMBER: Final = Secret(
    "card number", "a card number is not allowed here", "assumed 6.4-unknown"
)

_APART: Final = "   "
"""More than may be between two digits of a number: two values are never read as one."""

_ESCAPES: Final = re.compile(r"\\(?:[bfnrt]|u00[01][0-9a-f])")
"""What JSON writes for characters that it must not hold as they are."""

_NAME_CHARS_MAX: Final = 80
"""The most characters of a field's name in a message: a client may send a very long one."""


class Misplaced(Value, frozen=True):
    """A secret where none belongs; `place` is the field, empty if the whole text was checked."""

    secret: Secret
    place: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.secret.sentence}" if self.place else self.secret.sentence


def may_hold(body: bytes, key_format: KeyFormat) -> bool:
    """Whether a body needs a full scan. It rarely does, and this check is quick."""
    return has(body, key_format.hint_bytes) or has(body, b"\\u") or pans.may_mention(body)


def secret_in(text: str, key_format: KeyFormat) -> Secret | None:
    """The first kind of secret that is in the text."""
    if key_format.mentions_production(text):
        return PRODUCTION_KEY
    if key_format.mentions_whole_key(text):
        return API_KEY
    return CARD_NUMBER if pans.mentions(text) else None


def written_out(value: Any) -> str:
    """All names and values in a JSON value as one text, each separate from the next."""
    text = json.dumps(value, ensure_ascii=False, separators=(_APART, _APART), default=str)
    return _ESCAPES.sub(" ", text) if "\\" in text else text


def misplaced(value: Any, key_format: KeyFormat) -> Misplaced | None:
    """The first secret within a JSON value, with the field that holds it."""
    found = secret_in(written_out(value), key_format)
    if found is None:
        return None
    for place, text in _texts(value, ""):
        secret = secret_in(text, key_format)
        if secret is not None:
            return Misplaced(secret, place)
    return Misplaced(found)


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Each text and number within the value, and its field. A name is in the field around it."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield place, str(name)
            within = str(name)[:_NAME_CHARS_MAX]
            yield from _texts(inner, f"{place}.{within}" if place else within)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, place)
    elif value is not None and not isinstance(value, bool):
        yield place, str(value)

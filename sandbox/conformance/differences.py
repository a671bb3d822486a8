"""How an answer or a webhook of the platform differs from one of the sandbox.

Answers can differ in status, shape and words. Values have roles: an id, a key, a time or a code
that the platform generates, or plain words. Two different values match if they have the same role,
because each side generates its own.

A folder of webhooks has a JSON file for each: `{"event"?, "headers", "body"}`. The body is the
received text; it can also be an object, but then its signature cannot be checked.
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, NamedTuple

from sandbox import library
from sandbox.conformance.clients import HttpAnswer
from sandbox.domain.events import EVENTS
from sandbox.domain.json_text import fields_of, map_texts, value_of
from sandbox.domain.profile import Profile
from sandbox.domain.text import decode_text, did_you_mean
from sandbox.webhooks.signing import why_not_genuine

Role = Literal["id", "key", "time", "code", "words"]
"""The role of a value in an answer."""

ROLES: Final[dict[Role, re.Pattern[str]]] = {
    "id": re.compile(r"id|.*_ids?|.*[a-z]I[dD]s?|mid|tid|reader_identifier"),
    "key": re.compile(r"key|api_?key"),
    "time": re.compile(r".*_at|.*[a-z]At|timestamp"),
    "code": re.compile(r"approval_?[cC]ode|rrn|stan|key_last4|lookup|cryptogram"),
}
"""The roles of values by the names of their fields."""

UUID: Final = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}", re.I)
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?")


def role_of(name: str, value: Any) -> Role:
    """Return the role of a value in a field with this name."""
    if isinstance(value, str):
        if UUID.fullmatch(value):
            return "id"
        if _TIME.fullmatch(value):
            return "time"
    return next((role for role, names in ROLES.items() if names.fullmatch(name)), "words")


def form_of(value: Any) -> str:
    """Return the format of a time, such as `0000-00-00T00:00:00.000Z` or `0000000000000`."""
    return re.sub(r"[0-9]", "0", str(value))


Kind = Literal["status", "shape", "words"]

_SUCCESS_MAX: Final = 399
_ID_CHARS_MIN: Final = 8
"""A shorter id, such as the number of a batch, is a count and must be the same."""


class Difference(NamedTuple):
    """A difference: the number of its request, its kind and place, and both sides in words.

    Differences of two replays are the same if their first three fields are.
    """

    number: int
    kind: Kind
    place: str
    recorded: str
    replayed: str


@dataclass(slots=True)
class Names:
    """Values of the recording, each with its counterpart in the replay."""

    replayed: dict[str, str] = field(default_factory=dict)
    recorded: dict[str, str] = field(default_factory=dict)

    def learn(self, recorded: str, replayed: str) -> bool:
        """Note that these are counterparts; return False if one of them has another."""
        known = self.replayed.get(recorded), self.recorded.get(replayed)
        if known == (None, None):
            self.replayed[recorded], self.recorded[replayed] = replayed, recorded
            return True
        return known == (replayed, recorded)

    def translated(self, value: Any) -> Any:
        """Return a value with its texts, at any depth, replaced by their counterparts."""
        return map_texts(value, lambda text: self.replayed.get(text, text))


Unlike = tuple[Kind, str, str, str]
"""The kind of a difference, its place, and both sides in words."""


def differences(
    recorded: HttpAnswer, replayed: HttpAnswer, names: Names, *, has_bodies: bool = True
) -> Iterator[Unlike]:
    """Yield the differences between the answers to a request, and learn counterparts of ids.

    The body of a success is not compared with that of a refusal. Without `has_bodies` the recorded
    body is unknown.
    """
    if recorded.status != replayed.status:
        yield "status", "status", str(recorded.status), str(replayed.status)
    is_success = recorded.status <= _SUCCESS_MAX
    if is_success is not (replayed.status <= _SUCCESS_MAX) or not has_bodies:
        return
    if not recorded.text or not replayed.text:
        if recorded.text != replayed.text:
            sides = ("a body", "none") if recorded.text else ("none", "a body")
            yield "shape", "body", *sides
        return
    its, other = recorded.media_type, replayed.media_type
    if its != other:
        yield "shape", "content-type", its or "none", other or "none"
    if recorded.body is not None and replayed.body is not None:
        learnt = names if is_success else None
        yield from compare("body", "", recorded.body, replayed.body, learnt)
    # If the media types differ, so do the texts.
    elif its == other and recorded.text != replayed.text:
        yield "words", "body", _to_text(recorded.text), _to_text(replayed.text)


def compare(
    place: str, name: str, one: Any, other: Any, names: Names | None = None
) -> Iterator[Unlike]:
    """Yield the differences of two bodies at this place and below.

    `names`, if given, learns the counterparts of ids and keys.
    """
    if type_of(one) != type_of(other):
        yield "shape", place, type_of(one), type_of(other)
    elif isinstance(one, dict):
        for inner in one | other:
            sides = one.get(inner, _ABSENT), other.get(inner, _ABSENT)
            yield from compare(f"{place}.{inner}", inner, *sides, names)
    elif isinstance(one, list):
        if len(one) != len(other):
            yield "shape", place, f"{len(one)} items", f"{len(other)} items"
        for index, pair in enumerate(zip(one, other, strict=False)):
            yield from compare(f"{place}[{index}]", name, *pair, names)
    else:
        yield from _compare_values(place, name, one, other, names)


def _compare_values(
    place: str, name: str, one: Any, other: Any, names: Names | None
) -> Iterator[Unlike]:
    role, is_text = role_of(name, one), isinstance(one, str)
    is_count = role == "id" and is_text and min(len(one), len(other)) < _ID_CHARS_MIN
    if role != role_of(name, other) or role == "words" or is_count:
        if _without_ids(one) != _without_ids(other):
            yield "words", place, _to_text(one), _to_text(other)
    elif role == "time":
        if form_of(one) != form_of(other):
            yield "shape", place, form_of(one), form_of(other)
    elif names is not None and is_text and role in ("id", "key"):
        is_same = names.learn(one, other)
        if role == "id" and not is_same:
            yield "words", place, "the id of one thing", "the id of another"


def _without_ids(value: Any) -> Any:
    """Return the value; in a text, ids and times are replaced by a word for their role."""
    return _TIME.sub("(time)", UUID.sub("(id)", value)) if isinstance(value, str) else value


_ABSENT: Final = ...
"""Stands for a field that one of two objects lacks."""

_TYPES: Final = {type(None): "null", bool: "boolean", str: "text", list: "list", dict: "object"}


def type_of(value: Any) -> str:
    """Return the type of a JSON value, in a word."""
    return "absent" if value is _ABSENT else _TYPES.get(type(value), "number")


def _to_text(value: Any) -> str:
    return repr(value[:200]) if isinstance(value, str) else str(value).lower()


# --- webhooks that the platform sent ------------------------------------------------------------

FILES_MAX: Final = 1_000
BYTES_MAX: Final = 1_048_576

_LATER_ITEM: Final = re.compile(r"\[[1-9]")


class CaptureError(ValueError):
    """A folder or a file of deliveries cannot be used; the message names it."""


class Delivery(NamedTuple):
    """A received webhook, with header names in lower case; `text` is the exact body, if known."""

    file: str
    event: str | None
    headers: Mapping[str, str]
    body: Any
    text: str | None


def compare_folder(
    folder: Path, profile: Profile, secret: str | None = None
) -> list[dict[str, Any]]:
    """Compare the deliveries in a folder, ordered by file name. Raises CaptureError.

    Returns for each its event, the check of its signature, and the differences.
    """
    if not folder.is_dir():
        raise CaptureError(f"{folder}: is not a folder")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise CaptureError(f"{folder}: has no .json file")
    if len(files) > FILES_MAX:
        raise CaptureError(f"{folder}: has more than {FILES_MAX:,} files")
    prefix = profile.webhook_header_prefix
    return [_compare_delivery(_delivery(file), prefix, secret) for file in files]


def _delivery(file: Path) -> Delivery:
    if file.is_file() and file.stat().st_size > BYTES_MAX:
        raise CaptureError(f"{file.name}: is larger than 1 MiB")
    try:
        found = json.loads(decode_text(file.read_bytes()))
    except (OSError, ValueError, RecursionError) as error:
        raise CaptureError(f"{file.name}: is not a JSON file: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("headers"), dict):
        raise CaptureError(f"{file.name}: headers: is required, as an object")
    event = found.get("event")
    if event is not None and event not in EVENTS:
        hint = did_you_mean(str(event)[:80], EVENTS)
        raise CaptureError(f"{file.name}: event: {str(event)[:80]!r} is not a known event{hint}")
    body = found.get("body")
    text = body if isinstance(body, str) else None
    if text is not None and (body := value_of(text)) is None:
        raise CaptureError(f"{file.name}: body: is not JSON")
    if not isinstance(body, dict):
        raise CaptureError(f"{file.name}: body: is required, as text or object")
    headers = {str(name).lower(): str(value) for name, value in found["headers"].items()}
    return Delivery(file.name, event, headers, body, text)


def _compare_delivery(one: Delivery, prefix: str, secret: str | None) -> dict[str, Any]:
    # Without a name, it is most likely the event whose sample differs in the fewest field names.
    event = one.event or min(EVENTS, key=lambda event: len(_sample(event).keys() ^ one.body.keys()))
    names = [f"{prefix}-{word}" for word in ("id", "timestamp", "signature")]
    unlike = [(f"headers.{name}", "absent", "text") for name in names if name not in one.headers]
    unlike += _compare_bodies(one.body, _sample(event))
    return {
        "file": one.file,
        "event": event,
        "is_event_known": one.event is not None,
        "signature": _signature(one, prefix, secret),
        "differences": [
            dict(zip(("place", "platform", "sandbox"), sides, strict=True)) for sides in unlike
        ],
    }


def _sample(event: str) -> dict[str, Any]:
    return fields_of(value_of(library.sample(event)))


def _signature(one: Delivery, prefix: str, secret: str | None) -> str:
    """Return in words whether the signature is genuine; the age of the delivery is ignored."""
    if secret is None:
        return "not checked: no secret"
    if one.text is None:
        return "not checked: the body is not text"
    try:
        why = why_not_genuine(prefix, secret, one.text.encode(), one.headers, at_any_time=True)
    except ValueError:
        return "not checked: the secret is not base64"
    return why or "genuine"


def _compare_bodies(body: Any, sample: Any) -> Iterator[tuple[str, str, str]]:
    """Yield the differences in names, types and formats of times. Null matches any type."""
    for kind, place, platform, ours in compare("body", "", body, sample):
        sides = {platform, ours}
        is_unknown = "null" in sides and "absent" not in sides
        is_length = platform.endswith(" items")
        if kind == "shape" and not (is_unknown or is_length or _LATER_ITEM.search(place)):
            yield place, platform, ours

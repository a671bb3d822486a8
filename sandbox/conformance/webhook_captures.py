"""Webhooks that the platform sent, held against those that the sandbox sends.

A folder has a JSON file for each: `{"event"?, "headers", "body"}`. The body is the text as it
came; an object does too, but then its signature cannot be checked.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from sandbox import library
from sandbox.conformance.differences import Comparison
from sandbox.domain.events import EVENTS
from sandbox.domain.profile import Profile
from sandbox.domain.text import decode_text, did_you_mean
from sandbox.webhooks.signing import verify

FILES_MAX: Final = 1_000
BYTES_MAX: Final = 1_048_576

_HEADERS: Final = ("id", "timestamp", "signature")
_LATER_ITEM: Final = re.compile(r"\[[1-9]")


class CaptureError(ValueError):
    """A folder or a file of deliveries cannot be used; the message names it."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One webhook as it came. Header names are in lower case; `text` is the body if it is known."""

    file: str
    event: str | None
    headers: Mapping[str, str]
    body: Any
    text: str | None


def read_folder(folder: Path) -> list[Delivery]:
    """The deliveries of a folder, by name. Raises CaptureError."""
    if not folder.is_dir():
        raise CaptureError(f"{folder}: is no folder")
    files = sorted(folder.glob("*.json"))
    if not files:
        raise CaptureError(f"{folder}: has no .json file")
    if len(files) > FILES_MAX:
        raise CaptureError(f"{folder}: has more than {FILES_MAX:,} files")
    return [_delivery(file) for file in files]


def _delivery(file: Path) -> Delivery:
    try:
        if file.stat().st_size > BYTES_MAX:
            raise CaptureError(f"{file.name}: is larger than 1 MiB")
        found = json.loads(decode_text(file.read_bytes()))
    except CaptureError:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise CaptureError(f"{file.name}: is no JSON file: {error}") from None
    if not isinstance(found, dict) or not isinstance(found.get("headers"), dict):
        raise CaptureError(f"{file.name}: headers: is required, as an object")
    event = found.get("event")
    if event is not None and event not in EVENTS:
        hint = did_you_mean(str(event)[:80], EVENTS)
        raise CaptureError(f"{file.name}: event: {str(event)[:80]!r} is no event{hint}")
    body = found.get("body")
    text = body if isinstance(body, str) else None
    if text is not None:
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            raise CaptureError(f"{file.name}: body: is no JSON") from None
    if not isinstance(body, dict):
        raise CaptureError(f"{file.name}: body: is required, as text or object")
    headers = {str(name).lower(): str(value) for name, value in found["headers"].items()}
    return Delivery(file.name, event, headers, body, text)


def compared(
    deliveries: Sequence[Delivery], profile: Profile, secret: str | None = None
) -> list[dict[str, Any]]:
    """For each delivery its event, what became of its signature, and the differences."""
    found = []
    for one in deliveries:
        event = one.event or _likely(one.body)
        sample = json.loads(library.sample(event))
        prefix = profile.webhook_header_prefix
        unlike = [*_headers(one, prefix), *_compared(one.body, sample)]
        found.append(
            {
                "file": one.file,
                "event": event,
                "is_event_known": one.event is not None,
                "signature": _signature(one, prefix, secret),
                "differences": unlike,
            }
        )
    return found


def _likely(body: Mapping[str, Any]) -> str:
    """The event whose body has most names in common with this one, and least others."""

    def unlike(event: str) -> int:
        return len(set(json.loads(library.sample(event))) ^ set(body))

    return min(EVENTS, key=unlike)


def _headers(one: Delivery, prefix: str) -> Iterator[dict[str, str]]:
    for name in (f"{prefix}-{word}" for word in _HEADERS):
        if name not in one.headers:
            yield _unlike(f"headers.{name}", "absent", "text")


def _signature(one: Delivery, prefix: str, secret: str | None) -> str:
    """Whether the signature is genuine, in words; the age of the delivery does not count."""
    if secret is None:
        return "not checked: no secret"
    if one.text is None:
        return "not checked: the body is no text"
    id, timestamp, signature = (one.headers.get(f"{prefix}-{word}") for word in _HEADERS)
    now_s = int(timestamp) if timestamp and timestamp.isdecimal() and len(timestamp) < 13 else 0
    given = {"id": id, "timestamp": timestamp, "signature": signature}
    try:
        checked = verify([secret], **given, body=one.text.encode(), now_s=now_s)
    except ValueError:
        return "not checked: the secret is no base64"
    return "genuine" if checked.step is None else checked.says


def _compared(body: Any, sample: Any) -> Iterator[dict[str, str]]:
    """The differences in names, types and forms of times. A value that is null tells no type."""
    for one in Comparison(0).compare("body", "", body, sample):
        sides = {one.recorded, one.replayed}
        is_unknown = "null" in sides and "absent" not in sides
        is_length = one.recorded.endswith(" items")
        if one.kind == "shape" and not (is_unknown or is_length or _LATER_ITEM.search(one.place)):
            yield _unlike(one.place, one.recorded, one.replayed)


def _unlike(place: str, platform: str, sandbox: str) -> dict[str, str]:
    return {"place": place, "platform": platform, "sandbox": sandbox}

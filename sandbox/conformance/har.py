"""Reading recorded traffic from HAR files, as browsers and proxies write them."""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, unquote, urlsplit

from sandbox.domain.clock import EARLIEST, LATEST
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.profile import Profile
from sandbox.domain.text import NotUtf8, decode_text

FILE_BYTES_MAX: Final = 64 * 2**20
ENTRIES_MAX: Final = 10_000
BODY_BYTES_MAX: Final = 2**20
"""The most that a file, its list of entries, and one body may have."""

_PLATFORM_PATH: Final = re.compile(r"/v[0-9]+/.*")
_SENT_HEADERS: Final = ("accept", "content-type")
_SENT_PREFIX: Final = "x-sandbox-"


class HarError(ValueError):
    """The file cannot be used; the message names the place and the reason."""


@dataclass(frozen=True, slots=True)
class ShownAnswer:
    """An answer: its status, its media type without parameters, its body as text."""

    status: int
    media_type: str
    text: str = field(repr=False)

    def json(self) -> Any:
        """The body as JSON. Raises ValueError if it is none."""
        return json.loads(self.text)


@dataclass(frozen=True, slots=True)
class Recorded:
    """One request of a recording with its answer.

    `number` is its place in the file, from 1. `path` begins with the platform's version. `key` is
    the API key, or None without one.
    """

    number: int
    at: datetime
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]
    key: str | None = field(repr=False)
    body: str | None = field(repr=False)
    answer: ShownAnswer


@dataclass(frozen=True, slots=True)
class Recording:
    """The requests to the platform in the order of the file, and how many others it has."""

    entries: tuple[Recorded, ...]
    skipped: int


def read_har(path: Path, profile: Profile) -> Recording:
    """The recording in a file. Raises HarError."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise HarError(f"{path}: is larger than {FILE_BYTES_MAX // 2**20} MB; record less")
        content = path.read_bytes()
    except OSError as error:
        raise HarError(f"{path}: cannot be read: {error.strerror}") from None
    try:
        document = json.loads(decode_text(content))
    except RecursionError:
        raise HarError(f"{path}: is nested too deeply") from None
    except NotUtf8 as error:
        raise HarError(f"{path}: {error}") from None
    except ValueError as error:
        raise HarError(f"{path}: is not JSON: {error}") from None
    try:
        return parse_har(document, profile)
    except HarError as error:
        raise HarError(f"{path}: {error}") from None


def parse_har(document: Any, profile: Profile) -> Recording:
    """The recording in a document. Raises HarError."""
    entries = _get(_get(document, "log", dict, ""), "entries", list, "log")
    if len(entries) > ENTRIES_MAX:
        raise HarError(f"log.entries: has more than {ENTRIES_MAX:,} requests; record less")
    read = [
        _entry(number, entry, f"log.entries[{number - 1}]", profile)
        for number, entry in enumerate(entries, start=1)
    ]
    used = tuple(entry for entry in read if entry is not None)
    if not used:
        raise HarError(
            "log.entries: has no request to the platform; its paths begin like /v1/ or /v3/"
        )
    return Recording(used, len(read) - len(used))


def _entry(number: int, entry: Any, place: str, profile: Profile) -> Recorded | None:
    """One entry; None if it is no request to the platform, or has no answer."""
    if not isinstance(entry, dict):
        raise HarError(f"{place}: must be an object")
    request = _get(entry, "request", dict, place)
    response = _get(entry, "response", dict, place)
    method = _get(request, "method", str, f"{place}.request")
    path, query = _target(_get(request, "url", str, f"{place}.request"), f"{place}.request.url")
    status = _get(response, "status", int, f"{place}.response")
    if path is None or method == "OPTIONS" or status == 0:
        return None
    if not re.fullmatch(r"[A-Z]{1,20}", method) or not 100 <= status <= 599:
        what = "response.status" if re.fullmatch(r"[A-Z]{1,20}", method) else "request.method"
        raise HarError(f"{place}.{what}: is not one of HTTP")
    headers = _headers(request, f"{place}.request")
    key = headers.get(profile.api_key_header.lower())
    body = _body(request, f"{place}.request.postData")
    answer = _answer(status, response, f"{place}.response")
    recorded = Recorded(
        number=number,
        at=_at(entry, place),
        method=method,
        path=path,
        query=query,
        headers=tuple(
            (name, value)
            for name, value in headers.items()
            if name in _SENT_HEADERS or name.startswith(_SENT_PREFIX)
        ),
        key=key,
        body=body,
        answer=answer,
    )
    _refuse_production(recorded, place, profile)
    return recorded


def _refuse_production(recorded: Recorded, place: str, profile: Profile) -> None:
    values = (
        recorded.path,
        *(value for _, value in recorded.query),
        *dict(recorded.headers).values(),
    )
    prefix = profile.key_prefixes.production + "_"
    for text in (recorded.key, recorded.body, recorded.answer.text, *values):
        if text is not None and prefix in text:
            raise HarError(f"{place}: holds a production key; record traffic of the UAT instead")


def _get(document: Any, name: str, kind: type, place: str) -> Any:
    whole = f"{place}.{name}" if place else name
    if not isinstance(document, dict) or name not in document:
        raise HarError(f"{whole}: is missing, so this is no HAR file")
    value = document[name]
    if not isinstance(value, kind) or isinstance(value, bool):
        words = {dict: "an object", list: "a list", str: "text", int: "a whole number"}
        raise HarError(f"{whole}: must be {words[kind]}")
    if isinstance(value, str):
        _check_text(value, whole)
    return value


def _check_text(text: str, place: str) -> None:
    """Raises HarError for half a surrogate pair, which JSON can write and nobody can send."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise HarError(f"{place}: has a character that cannot be sent") from None


def _target(url: str, place: str) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """The path from the platform's version on, and the query."""
    try:
        parts = urlsplit(url)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200))
    except ValueError:
        raise HarError(f"{place}: is not a URL") from None
    if not parts.scheme or not parts.netloc:
        raise HarError(f"{place}: is not a whole URL")
    if "/_sandbox/" in parts.path:
        return None, ()
    match = _PLATFORM_PATH.search(unquote(parts.path))
    return (match[0] if match else None), query


def _at(entry: Mapping[str, Any], place: str) -> datetime:
    text = _get(entry, "startedDateTime", str, place)
    try:
        at = parse_rfc3339(text)
    except ValueError as error:
        raise HarError(f"{place}.startedDateTime: {error}") from None
    if not EARLIEST <= at <= LATEST:
        raise HarError(
            f"{place}.startedDateTime: must lie between the years {EARLIEST.year} and {LATEST.year}"
        )
    return at


def _headers(message: Mapping[str, Any], place: str) -> dict[str, str]:
    """The headers by lower-case name; of several with a name the last counts."""
    found: dict[str, str] = {}
    headers = message.get("headers", [])
    if not isinstance(headers, list):
        raise HarError(f"{place}.headers: must be a list")
    for number, header in enumerate(headers):
        inner = f"{place}.headers[{number}]"
        name, value = _get(header, "name", str, inner), _get(header, "value", str, inner)
        if any(char in value for char in "\r\n\0") or not (name + value).isascii():
            raise HarError(f"{inner}.value: cannot be sent as a header")
        found[name.lower()] = value
    return found


def _body(request: Mapping[str, Any], place: str) -> str | None:
    posted = request.get("postData")
    if posted is None:
        return None
    if not isinstance(posted, dict):
        raise HarError(f"{place}: must be an object")
    text = posted.get("text")
    if text is None:
        return None
    return _limited(text, f"{place}.text")


def _answer(status: int, response: Mapping[str, Any], place: str) -> ShownAnswer:
    content = response.get("content", {})
    if not isinstance(content, dict):
        raise HarError(f"{place}.content: must be an object")
    text = _limited(content.get("text") or "", f"{place}.content.text")
    if content.get("encoding") == "base64":
        try:
            text = base64.b64decode(text, validate=True).decode()
        except (binascii.Error, ValueError):
            raise HarError(f"{place}.content.text: is not text in base64") from None
    media_type = content.get("mimeType") or _headers(response, place).get("content-type", "")
    if not isinstance(media_type, str):
        raise HarError(f"{place}.content.mimeType: must be text")
    return ShownAnswer(status, media_type.partition(";")[0].strip().lower(), text)


def _limited(text: Any, place: str) -> str:
    if not isinstance(text, str):
        raise HarError(f"{place}: must be text")
    if len(text) > BODY_BYTES_MAX:
        raise HarError(f"{place}: is larger than {BODY_BYTES_MAX // 2**20} MB")
    _check_text(text, place)
    return text

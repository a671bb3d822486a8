"""Reading recorded traffic from HAR files, as browsers and proxies write them."""

import base64
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple
from urllib.parse import parse_qsl, unquote, urlsplit

from sandbox.conformance.clients import HttpAnswer
from sandbox.domain.clock import EARLIEST, LATEST
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.profile import Profile
from sandbox.domain.text import NotUtf8, decode_text

FILE_BYTES_MAX: Final = 64 * 2**20
ENTRIES_MAX: Final = 10_000
BODY_BYTES_MAX: Final = 2**20
"""Limits of a file, of its list of entries, and of each text in it."""

_PLATFORM_PATH: Final = re.compile(r"/v[0-9]+/.*")
_SENT_HEADERS: Final = re.compile("accept|content-type|x-sandbox-.*")
_WORDS: Final = {dict: "an object", list: "a list", str: "text", int: "a whole number"}


class HarError(ValueError):
    """The file cannot be used; the message names the place and the reason."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded request with its answer.

    `number` is its position in the file, from 1. `path` begins with the platform's version. `key`
    is the API key, or None without one.
    """

    number: int
    at: datetime
    method: str
    path: str
    query: tuple[tuple[str, str], ...]
    headers: tuple[tuple[str, str], ...]
    key: str | None = field(repr=False)
    body: str | None = field(repr=False)
    answer: HttpAnswer


class Recording(NamedTuple):
    """The requests to the platform in the order of the file, and the number of others in it."""

    entries: tuple[Recorded, ...]
    skipped: int


def read_har(path: Path, profile: Profile) -> Recording:
    """Return the recording in a file. Raises HarError."""
    try:
        if path.stat().st_size > FILE_BYTES_MAX:
            raise HarError(f"is larger than {FILE_BYTES_MAX // 2**20} MB; record less")
        return parse_har(json.loads(decode_text(path.read_bytes())), profile)
    except OSError as error:
        raise HarError(f"{path}: cannot be read: {error.strerror}") from None
    except RecursionError:
        raise HarError(f"{path}: is nested too deeply") from None
    except json.JSONDecodeError as error:
        raise HarError(f"{path}: is not JSON: {error}") from None
    except (NotUtf8, HarError) as error:
        raise HarError(f"{path}: {error}") from None


def parse_har(document: Any, profile: Profile) -> Recording:
    """Return the recording in a document. Raises HarError."""
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
    """Read an entry; return None if it is not a request to the platform, or has no answer."""
    if not isinstance(entry, dict):
        raise HarError(f"{place}: must be an object")
    request = _get(entry, "request", dict, place)
    response = _get(entry, "response", dict, place)
    method = _get(request, "method", str, f"{place}.request")
    path, query = _target(_get(request, "url", str, f"{place}.request"), f"{place}.request.url")
    status = _get(response, "status", int, f"{place}.response")
    if path is None or method == "OPTIONS" or status == 0:
        return None
    if not re.fullmatch(r"[A-Z]{1,20}", method):
        raise HarError(f"{place}.request.method: is not an HTTP method")
    if not 100 <= status <= 599:
        raise HarError(f"{place}.response.status: is not an HTTP status")
    headers = _headers(request, f"{place}.request")
    posted = _get(request, "postData", dict, f"{place}.request", is_optional=True)
    sent = tuple(pair for pair in headers.items() if _SENT_HEADERS.fullmatch(pair[0]))
    key = headers.get(profile.api_key_header.lower())
    body = _get(posted, "text", str, f"{place}.request.postData", is_optional=True)
    answer = _answer(status, response, f"{place}.response")
    texts = filter(None, (path, key, body, answer.text, *(value for _, value in (*query, *sent))))
    if any(profile.key_prefixes.production + "_" in text for text in texts):
        raise HarError(f"{place}: contains a production key; record traffic of the UAT instead")
    return Recorded(number, _at(entry, place), method, path, query, sent, key, body, answer)


def _get(document: Any, name: str, kind: type, place: str, *, is_optional: bool = False) -> Any:
    """Return a field of the given type; None if an optional one is missing."""
    whole = f"{place}.{name}" if place else name
    value = document.get(name) if isinstance(document, dict) else None
    if value is None and is_optional:
        return None
    if value is None:
        raise HarError(f"{whole}: is missing, so this is not a HAR file")
    if not isinstance(value, kind) or isinstance(value, bool):
        raise HarError(f"{whole}: must be {_WORDS[kind]}")
    if isinstance(value, str):
        if len(value) > BODY_BYTES_MAX:
            raise HarError(f"{whole}: is larger than {BODY_BYTES_MAX // 2**20} MB")
        # JSON can contain half a surrogate pair.
        if re.search("[\ud800-\udfff]", value):
            raise HarError(f"{whole}: has a character that cannot be sent")
    return value


def _target(url: str, place: str) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Return the path, beginning at the platform's version, and the query."""
    try:
        parts = urlsplit(url)
        query = tuple(parse_qsl(parts.query, keep_blank_values=True, max_num_fields=200))
    except ValueError:
        raise HarError(f"{place}: is not a URL") from None
    if not parts.scheme or not parts.netloc:
        raise HarError(f"{place}: is not a whole URL")
    match = _PLATFORM_PATH.search(unquote(parts.path))
    return (match[0] if match and "/_sandbox/" not in parts.path else None), query


def _at(entry: Mapping[str, Any], place: str) -> datetime:
    text = _get(entry, "startedDateTime", str, place)
    try:
        at = parse_rfc3339(text)
        if not EARLIEST <= at <= LATEST:
            raise ValueError(f"must be between the years {EARLIEST.year} and {LATEST.year}")
    except ValueError as error:
        raise HarError(f"{place}.startedDateTime: {error}") from None
    return at


def _headers(message: Mapping[str, Any], place: str) -> dict[str, str]:
    """Return the headers by lower-case name; the last one with a name counts."""
    found: dict[str, str] = {}
    headers = _get(message, "headers", list, place, is_optional=True) or []
    for number, header in enumerate(headers):
        inner = f"{place}.headers[{number}]"
        name, value = _get(header, "name", str, inner), _get(header, "value", str, inner)
        if any(char in value for char in "\r\n\0") or not (name + value).isascii():
            raise HarError(f"{inner}.value: cannot be sent as a header")
        found[name.lower()] = value
    return found


def _answer(status: int, response: Mapping[str, Any], place: str) -> HttpAnswer:
    content = _get(response, "content", dict, place, is_optional=True) or {}
    at = f"{place}.content"
    text = _get(content, "text", str, at, is_optional=True) or ""
    if content.get("encoding") == "base64":
        try:
            text = base64.b64decode(text, validate=True).decode()
        except ValueError:
            raise HarError(f"{at}.text: is not text in base64") from None
    if not (media_type := _get(content, "mimeType", str, at, is_optional=True)):
        media_type = _headers(response, place).get("content-type", "")
    return HttpAnswer(status, {"content-type": media_type}, text)

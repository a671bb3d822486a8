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

from sandbox.conformance.clients import HttpAnswer, Request
from sandbox.domain.clock import check_time
from sandbox.domain.instants import parse_rfc3339
from sandbox.domain.json_text import fields_of
from sandbox.domain.profile import Profile
from sandbox.domain.text import NotUtf8, decode_text

FILE_BYTES_MAX: Final = 64 * 2**20
ENTRIES_MAX: Final = 10_000
BODY_BYTES_MAX: Final = 2**20
"""Limits of a file, of its list of entries, and of each text in it."""

_FIELDS_MAX: Final = 200

_PLATFORM_PATH: Final = re.compile(r"/v[0-9]+/.*")
_OTHER_SCHEME: Final = re.compile(r"(?!https?:)[a-z][a-z0-9+.-]*:", re.I)
_SENT_HEADERS: Final = re.compile("accept|content-type|x-sandbox-.*")
_WORDS: Final = {dict: "an object", list: "a list", str: "text", int: "a whole number"}


class HarError(ValueError):
    """The file cannot be used; the message names the place and the reason."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """A recorded request with its answer.

    `number` is its position in the file, from 1. The path of the request begins with the
    platform's version. `key` is the API key, which its headers lack, or None without one.
    `is_complete` if the file has the body of the answer: a browser may have dropped it.
    """

    number: int
    at: datetime
    request: Request
    key: str | None = field(repr=False)
    answer: HttpAnswer
    is_complete: bool


class Recording(NamedTuple):
    """The requests to the platform in the order of their times, and the number of others."""

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


class _Part(NamedTuple):
    """An object in the file, and its place there."""

    place: str
    fields: Mapping[str, Any]

    def get(self, name: str, kind: type, *, is_optional: bool = False) -> Any:
        """Return a field of the given type; None if an optional one is missing."""
        place, value = self.place_of(name), self.fields.get(name)
        if value is None and is_optional:
            return None
        if value is None:
            raise HarError(f"{place}: is missing, so this is not a HAR file")
        if not isinstance(value, kind) or isinstance(value, bool):
            raise HarError(f"{place}: must be {_WORDS[kind]}")
        if isinstance(value, str):
            if len(value) > BODY_BYTES_MAX:
                raise HarError(f"{place}: is larger than {BODY_BYTES_MAX // 2**20} MB")
            # JSON can contain half a surrogate pair.
            if re.search("[\ud800-\udfff]", value):
                raise HarError(f"{place}: has a character that cannot be sent")
        return value

    def part(self, name: str, *, is_optional: bool = False) -> "_Part":
        """Return the object in a field, an empty one if an optional one is missing."""
        return _Part(self.place_of(name), self.get(name, dict, is_optional=is_optional) or {})

    def place_of(self, name: str) -> str:
        """Return the place of a field."""
        return f"{self.place}.{name}" if self.place else name


def parse_har(document: Any, profile: Profile) -> Recording:
    """Return the recording in a document. Raises HarError."""
    entries = _Part("", fields_of(document)).part("log").get("entries", list)
    if len(entries) > ENTRIES_MAX:
        raise HarError(f"log.entries: has more than {ENTRIES_MAX:,} requests; record less")
    read = [_entry(number, entry, profile) for number, entry in enumerate(entries, start=1)]
    # A file may list the newest request first.
    used = sorted(filter(None, read), key=lambda entry: entry.at)
    if not used:
        raise HarError(
            "log.entries: has no request to the platform; its paths begin like /v1/ or /v3/"
        )
    return Recording(tuple(used), len(read) - len(used))


def _entry(number: int, document: Any, profile: Profile) -> Recorded | None:
    """Read an entry; return None if it is not a request to the platform, or has no answer."""
    place = f"log.entries[{number - 1}]"
    if not isinstance(document, dict):
        raise HarError(f"{place}: must be an object")
    entry = _Part(place, document)
    request = entry.part("request")
    method = request.get("method", str)
    path, query = _target(request)
    if path is None or method == "OPTIONS":
        return None
    response = entry.part("response", is_optional=True)
    status = response.get("status", int, is_optional=True) or 0
    if status <= 0:
        return None
    if not re.fullmatch(r"[A-Z]{1,20}", method):
        raise HarError(f"{place}.request.method: is not an HTTP method")
    if not 100 <= status <= 599:
        raise HarError(f"{place}.response.status: is not an HTTP status")
    headers, posted = _headers(request), request.part("postData", is_optional=True)
    sent = {name: value for name, value in headers.items() if _SENT_HEADERS.fullmatch(name)}
    key = headers.get(profile.api_key_header.lower())
    for value in filter(None, (key, *sent.values())):
        if any(char in value for char in "\r\n\0") or not value.isascii():
            raise HarError(f"{place}.request.headers: has a value that cannot be sent as a header")
    body = posted.get("text", str, is_optional=True)
    content = response.part("content", is_optional=True)
    answer = _answer(status, response, content)
    texts = (path, key, body, answer.text, *sent.values(), *(value for _, value in query))
    if any(profile.key_prefixes.production + "_" in text for text in texts if text):
        raise HarError(f"{place}: contains a production key; record traffic of the UAT instead")
    is_complete = content.fields.get("text") is not None or not content.fields.get("size")
    asked = Request(method, path, query, sent, body)
    return Recorded(number, _at(entry), asked, key, answer, is_complete)


def _target(request: _Part) -> tuple[str | None, tuple[tuple[str, str], ...]]:
    """Return the path, beginning at the platform's version, and the query."""
    # A browser also lists images in the page, extensions and files.
    if _OTHER_SCHEME.match(str(request.fields.get("url"))):
        return None, ()
    url, place = request.get("url", str), request.place_of("url")
    try:
        parts = urlsplit(url)
    except ValueError:
        raise HarError(f"{place}: is not a URL") from None
    if not parts.scheme or not parts.netloc:
        raise HarError(f"{place}: is not a whole URL")
    match = _PLATFORM_PATH.search(unquote(parts.path))
    if match is None or "/_sandbox/" in parts.path:
        return None, ()
    try:
        query = parse_qsl(parts.query, keep_blank_values=True, max_num_fields=_FIELDS_MAX)
    except ValueError:
        raise HarError(f"{place}: has more than {_FIELDS_MAX} parameters") from None
    return match[0], tuple(query)


def _at(entry: _Part) -> datetime:
    text = entry.get("startedDateTime", str)
    try:
        return check_time(parse_rfc3339(text))
    except ValueError as error:
        raise HarError(f"{entry.place}.startedDateTime: {error}") from None


def _headers(message: _Part) -> dict[str, str]:
    """Return the headers by lower-case name; the last one with a name counts."""
    found: dict[str, str] = {}
    for number, document in enumerate(message.get("headers", list, is_optional=True) or []):
        header = _Part(f"{message.place}.headers[{number}]", fields_of(document))
        name, value = header.get("name", str), header.get("value", str)
        found[name.lower()] = value
    return found


def _answer(status: int, response: _Part, content: _Part) -> HttpAnswer:
    text = content.get("text", str, is_optional=True) or ""
    if content.fields.get("encoding") == "base64":
        try:
            text = base64.b64decode("".join(text.split()), validate=True).decode()
        except ValueError:
            raise HarError(f"{content.place}.text: is not text in base64") from None
    if not (media_type := content.get("mimeType", str, is_optional=True)):
        media_type = _headers(response).get("content-type", "")
    return HttpAnswer(status, {"content-type": media_type}, text)

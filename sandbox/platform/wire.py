"""Converting bytes to values: bodies, queries and headers.

Malformed input is refused here, by raising `BadInput` or by returning False.
"""

import asyncio
import re
from codecs import BOM_UTF8
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from inspect import isclass
from typing import Any, Final, TypeVar, get_args
from urllib.parse import parse_qs

from pydantic import AliasChoices, BaseModel
from pydantic_core import ErrorDetails, ValidationError
from starlette.types import Receive

from sandbox.domain import json_text
from sandbox.domain.faults import Mistake
from sandbox.domain.field_types import sentence
from sandbox.domain.json_text import DEPTH_MAX

T = TypeVar("T")

BODY_BYTES_MAX: Final = 65_536
"""By default, the platform refuses a larger body with 413. Source: assumed D46."""

CONTROL_BYTES_MAX: Final = 1_048_576
"""The control API refuses a larger body with 413. Source: assumed D25."""

DETAILS_MAX: Final = 5
"""How many mistakes of a body to name; the rest are counted."""

SHOWN_MAX: Final = 100
"""How many characters of a client's text to quote."""

LISTED_MAX: Final = 50
"""How many mistakes of a body to list as objects."""


_IN_JSON: Final = {
    "model_type": "Input should be an object",
    "dict_type": "Input should be an object",
    "list_type": "Input should be a valid array",
}
"""Messages that replace those of pydantic that name types of Python."""

Body = bytes | list[bytes]
"""The body of an answer: whole, or in parts if it is long."""


class BadInput(ValueError):
    """A malformed body or query; the message is for the client."""


class ClientGone(Exception):
    """The client closed the connection before its request was complete."""


async def read_body(receive: Receive, *, bytes_max: int) -> bytearray | None:
    """Return the request's body, or None as soon as it turns out to be larger than that.

    The body grows in place: joining hundreds of MiB would take too long.
    """
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGone
        chunk = message.get("body", b"")
        if len(body) + len(chunk) > bytes_max:
            return None
        body += chunk
        if not message.get("more_body", False):
            return body


class ConnectionClosed(ConnectionError):
    """Raised to close a connection when no server is there to close it."""


async def until_gone(receive: Receive) -> None:
    """Wait until the client closes the connection; further data is not read."""
    while (await receive())["type"] != "http.disconnect":
        # Give way to other requests if the client keeps sending.
        await asyncio.sleep(0)


async def unless_gone(work: Awaitable[T], receive: Receive) -> T:
    """Return the result of the work.

    Cancels it and raises ClientGone if the client leaves first.
    """
    working = asyncio.ensure_future(work)
    going = asyncio.ensure_future(until_gone(receive))
    try:
        await asyncio.wait((working, going), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientGone
        return working.result()
    finally:
        working.cancel()
        going.cancel()


def size_of(body: Body) -> int:
    """How many bytes a body has."""
    return len(body) if isinstance(body, bytes) else sum(map(len, body))


def parse_object(body: bytes) -> dict[str, Any]:
    """Return the JSON object in the body. Raises BadInput with the place of the mistake.

    Also refused: a key that occurs twice in one object, NaN and infinity, lone surrogates, bytes
    that are not UTF-8, and nesting deeper than `DEPTH_MAX`.
    """
    # A byte order mark is not part of the text (RFC 8259, 8.1; assumed D46).
    body = body.removeprefix(BOM_UTF8)
    if not body:
        raise BadInput("a JSON body is required")
    try:
        value = json_text.parse(body)
    except ValueError as error:
        raise BadInput(f"the body is not valid JSON: {error}") from None
    if not isinstance(value, dict):
        raise BadInput("the body must be a JSON object")
    # Most bodies have fewer objects and lists than that in all.
    if body.count(b"{") + body.count(b"[") > DEPTH_MAX and json_text.depth_of(value) > DEPTH_MAX:
        raise BadInput(f"the body has more than {DEPTH_MAX} levels of objects and lists")
    return value


def mistakes(error: ValidationError) -> str:
    """Return the mistakes of a body, field by field, without repeating its values."""
    found = error.errors(include_url=False, include_context=False)
    lines = [_mistake(one) for one in found[:DETAILS_MAX]]
    if len(found) > DETAILS_MAX:
        lines.append(f"and {len(found) - DETAILS_MAX} more")
    return "; ".join(lines)


def list_mistakes(error: ValidationError, where: str) -> list[Mistake]:
    """Return the mistakes of a body or query one by one, without repeating its values."""
    found = error.errors(include_url=False, include_context=False)[:LISTED_MAX]
    return [
        {
            "type": one["type"],
            "loc": [where, *(part[:80] if isinstance(part, str) else part for part in one["loc"])],
            "msg": _message(one).removeprefix("Value error, "),
        }
        for one in found
    ]


def _mistake(one: ErrorDetails) -> str:
    path = ".".join(str(part)[:80] for part in one["loc"])
    message = _message(one)
    if one["type"] == "extra_forbidden":
        return f"{path}: unknown field"
    return f"{path}: {sentence(message)}" if path else message.removeprefix("Value error, ")


def _message(one: ErrorDetails) -> str:
    message = _IN_JSON.get(one["type"], one["msg"])
    if one["type"] == "float_type" and type(one["input"]) is int:
        # An integer is a number unless it is too large.
        message = "Input should be a finite number"
    return message


def is_unset(value: str) -> bool:
    """Whether a name filter is empty or the word null, as clients send it to leave it unset.

    Source: assumed C13.
    """
    return value in ("", "null")


@cache
def name_filters(shape: type[BaseModel]) -> frozenset[str]:
    """Return the parameters of the query that take any text: ids, names and search terms."""
    found = shape.model_json_schema()["properties"]
    return frozenset(name for name, schema in found.items() if _is_any_text(schema))


def _is_any_text(schema: dict[str, Any]) -> bool:
    schema = schema.get("items") or schema.get("anyOf", [schema])[0]
    return schema.get("type") == "string" and schema.keys().isdisjoint(("enum", "pattern"))


@cache
def fields_by_name(shape: type[BaseModel]) -> Mapping[str, type[BaseModel] | None]:
    """Return every name under which the model accepts a field, with the model of its object."""
    known: dict[str, type[BaseModel] | None] = {}
    for name, field in shape.model_fields.items():
        alias = field.validation_alias or name
        choices = alias.choices if isinstance(alias, AliasChoices) else [alias]
        known |= dict.fromkeys(map(str, choices), _object_of(field.annotation))
    return known


def _object_of(annotation: Any) -> type[BaseModel] | None:
    """Return the model in an annotation like `Model` or `Model | None`."""
    kinds = [annotation, *get_args(annotation)]
    return next((one for one in kinds if isclass(one) and issubclass(one, BaseModel)), None)


def parse_query(query_string: bytes) -> dict[str, list[str]]:
    """Return the values of each query parameter, in order, including empty ones."""
    try:
        return parse_qs(query_string.decode("latin-1"), keep_blank_values=True, max_num_fields=500)
    except ValueError:
        raise BadInput("the query has more than 500 parameters") from None


def header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the value of a header that may occur once; several equal ones count as one.

    Raises BadInput if two differ, because it is unclear which one is meant.
    """
    found = {value for key, value in headers if key == name}
    if len(found) > 1:
        raise BadInput(f"{name.decode('latin-1')}: sent twice, with different values")
    return next(iter(found), None)


def by_name(headers: Sequence[tuple[bytes, bytes]]) -> dict[bytes, bytes] | None:
    """Return the headers by name, or None if one occurs more than once.

    This is the fast path: few clients send a header twice.
    """
    found = dict(headers)
    return found if len(found) == len(headers) else None


def list_header(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> bytes | None:
    """Return the value of a header that is a list, its lines joined (RFC 9110, 5.3).

    None without one.
    """
    found = [value for key, value in headers if key == name]
    return b", ".join(found) if found else None


_WEIGHT: Final = re.compile(r";\s*q=([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(?:;|$)")


@lru_cache(maxsize=256)
def accepts_json(accept: bytes) -> bool:
    """Whether an Accept header lets the answer be application/json (RFC 9110, 12.5.1).

    Remembered, because a client sends the same one with every request.
    """
    best, quality = -1, 1.0
    for part in accept.decode("latin-1").lower().split(","):
        media_range = part.partition(";")[0].strip()
        rank = {"*": 0, "*/*": 0, "application/*": 1, "application/json": 2}.get(media_range, -1)
        if rank > best:
            weight = _WEIGHT.search(part)
            best, quality = rank, float(weight[1]) if weight else 1.0
    return best >= 0 and quality > 0


@lru_cache(maxsize=256)
def is_json(content_type: bytes) -> bool:
    """Whether a Content-Type header says application/json, with any parameters."""
    return content_type.decode("latin-1").partition(";")[0].strip().lower() == "application/json"


def quote(value: bytes) -> str:
    """Return a client's text on one line, shortened, to quote in a message or in the log."""
    text = value.decode("latin-1")
    return ascii(text if len(text) <= SHOWN_MAX else text[:SHOWN_MAX] + "...")

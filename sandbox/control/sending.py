"""Control endpoints that send requests to the platform, new ones and those of the journal again."""

import json
from typing import TYPE_CHECKING, Any, Final, TypedDict
from urllib.parse import quote, unquote

from pydantic_core import to_json

from sandbox.control.rows import Accepted, ControlFault, ControlRequest, Written, invalid
from sandbox.domain.keys import ApiKey
from sandbox.domain.text import nearest
from sandbox.platform.inside import InsideAnswer, InsideRequest
from sandbox.platform.request_context import Headers
from sandbox.worlds.journal import CUT_OFF, MASK, Entry
from sandbox.worlds.world import World

if TYPE_CHECKING:
    from sandbox.control.acting_shapes import ReplayBody, SendBody

_OWN_PATH: Final = "/_sandbox"
_OF_THE_CONNECTION: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "te"}
)
"""Headers that a client's library writes by itself."""

_IN_A_QUERY: Final = "=&+,:;/@!$'()*?~-._"
"""Characters of a query that are written as they are."""


class Answered(TypedDict):
    """What a client would have got.

    `status` is null, and `fault` says why, where a transport fault closes the connection.
    """

    request_id: str
    status: int | None
    headers: dict[str, str]
    body: Any
    fault: str | None
    duration_ms: float


class Begun(TypedDict):
    """The id under which the journal will have the request."""

    request_id: str


async def send(request: ControlRequest) -> Written[Answered] | Accepted[Begun]:
    """The platform's answer to a request, which takes the way of any other.

    Source: assumed D25-send.
    """
    body: SendBody = request.body
    world = request.world
    path, _, query = body.path.partition("?")
    path = unquote(path)
    if path == _OWN_PATH or path.startswith(_OWN_PATH + "/"):
        raise invalid("path: names the control API, and requests are sent to the platform")
    wanted = InsideRequest(
        method=body.method,
        path=path,
        query=quote(query or body.query, safe=_IN_A_QUERY + "%"),
        headers=_headers(request, body.headers, _payload(body.body)),
        body=_payload(body.body),
        key=None if body.key is None else _key(world, body.key),
    )
    return await _sent(request, wanted, wait=body.wait)


async def replay(request: ControlRequest) -> Written[Answered] | Accepted[Begun]:
    """The platform's answer to a request of the journal, sent again with these changes."""
    body: ReplayBody = request.body
    entry = _entry(request)
    given = body.model_fields_set
    payload = _payload(body.body) if "body" in given else entry.request or b""
    if (why := _why_not_again(entry, payload)) is not None:
        raise ControlFault(
            409,
            "not_replayable",
            f"the request cannot be sent again as it was: {why}",
            details="send what it was with POST .../send, or give the body",
        )
    name = body.key if "key" in given else entry.key_id
    wanted = InsideRequest(
        method=entry.method,
        path=entry.path,
        query=quote(entry.query, safe=_IN_A_QUERY),
        headers=_headers(request, body.headers, payload),
        body=payload,
        key=None if name is None else _key(request.world, name),
    )
    return await _sent(request, wanted, wait=body.wait)


def _entry(request: ControlRequest) -> Entry:
    entry = request.world.journal.entry(request.params["id"])
    if entry is None:
        raise ControlFault(
            404, "not_found", "the journal has no request with this id, or no longer has it"
        )
    return entry


def _why_not_again(entry: Entry, payload: bytes) -> str | None:
    """What the journal lacks of the request; None if it has all of it."""
    if payload.endswith(CUT_OFF):
        return "the journal has only the beginning of its body"
    if MASK in payload:
        return "a secret in its body is masked"
    if MASK.decode() in entry.path + entry.query:
        return "a secret in its path or query is masked"
    return None


async def _sent(
    request: ControlRequest, wanted: InsideRequest, *, wait: bool
) -> Written[Answered] | Accepted[Begun]:
    inside = request.services.inside
    if not wait:
        return Accepted({"request_id": inside.begin(request.world, wanted)})
    return Written(_written(await inside.send(request.world, wanted)))


def _written(answer: InsideAnswer) -> list[bytes]:
    """The answer as JSON. The platform's body is in it as it came, since it is JSON already."""
    whole = answer.body if isinstance(answer.body, bytes) else b"".join(answer.body)
    if not whole:
        whole = b"null"
    elif answer.fault == "malformed_json":
        whole = to_json(whole.decode("utf-8", "replace"))
    head = to_json(
        {
            "request_id": answer.request_id,
            "status": answer.status,
            "headers": {name.decode(): value.decode("latin-1") for name, value in answer.headers},
            "fault": answer.fault,
            "duration_ms": round(answer.duration_ms, 3),
        }
    )
    return [head[:-1] + b',"body":', whole, b"}"]


def _payload(body: Any) -> bytes:
    if body is None:
        return b""
    return (body if isinstance(body, str) else json.dumps(body)).encode("utf-8", "surrogatepass")


def _headers(request: ControlRequest, given: dict[str, str], payload: bytes) -> Headers:
    """The headers of the request: those given, and those that every client sends."""
    key_header = request.services.worlds.profile.api_key_header
    fields = {"accept": "application/json"}
    if payload:
        fields["content-type"] = "application/json"
    for name, value in given.items():
        low = name.lower()
        if low == key_header.lower():
            raise invalid(f"headers: {name}: name the key in `key`, by its name or id")
        if low in _OF_THE_CONNECTION:
            raise invalid(f"headers: {name}: is written by the connection, and cannot be given")
        fields[low] = value
    if payload:
        fields["content-length"] = str(len(payload))
    return [(name.encode(), value.encode("ascii")) for name, value in fields.items()]


def _key(world: World, name: str) -> ApiKey:
    """The key with this name in the cast, or with this id. Raises ControlFault."""
    id, _ = world.cast.keys.get(name, (name, ""))
    found = world.store.get(ApiKey, id)
    if found is None:
        raise invalid(
            f"key: the world has no key {name[:80]!r}: give its name in the cast, or its id",
            nearest(name, world.cast.keys),
        )
    return found

"""Sending requests to the platform: new ones, and those of the journal again."""

import json
from typing import Annotated, Any, Final, Literal, Self
from urllib.parse import quote, unquote

from pydantic import Field, model_validator

from sandbox.control.context import ControlRequest, conflict, invalid
from sandbox.control.export_tests import IN_A_QUERY
from sandbox.control.journal import get_entry, unusual_headers, view_body
from sandbox.control.models import Body, HeaderFields, KeyWord, Milliseconds, View, shows
from sandbox.control.routing import PREFIX, WORLD, Accepted, post
from sandbox.domain.keys import ApiKey
from sandbox.platform.context import IncomingRequest
from sandbox.platform.internal_client import InternalAnswer, build_request
from sandbox.worlds.journal import CUT_OFF, MASK, Entry

PATH_CHARS_MAX: Final = 8_192


class ReplayBody(Body):
    """Changes to a request that is sent again; without a key or a body it keeps its own."""

    key: KeyWord | None = None
    headers: HeaderFields = Field(default_factory=dict)
    body: Any = None
    wait: bool = True


class SendBody(
    ReplayBody,
    example={
        "method": "POST",
        "path": "/v3/payment",
        "key": "merchant",
        "body": {
            "amount": 2500,
            "terminal_id": "{terminals.merchant}",
            "card_reader_data": {"paymentCardData": "tok_visa_credit"},
        },
    },
):
    """A request to the platform.

    The `key` is named by its name in the cast or by its id; without one the request has no key.
    A `body` that is text is sent as it is, anything else as JSON.
    """

    method: Literal["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"]
    path: Annotated[str, Field(pattern=r"^/", max_length=PATH_CHARS_MAX)]
    query: Annotated[str, Field(max_length=PATH_CHARS_MAX)] = ""

    @model_validator(mode="after")
    def _has_one_query(self) -> Self:
        if self.query and "?" in self.path:
            raise ValueError("query: the path has one already")
        return self


_OF_THE_CONNECTION: Final = frozenset(
    {"host", "content-length", "transfer-encoding", "connection", "expect", "upgrade", "te"}
)
"""Headers that HTTP clients write by themselves."""


@shows(InternalAnswer)
class Answered(View):
    """The answer that a client would have received.

    `status` is null, and `fault` says why, if a transport fault closes the connection.
    """

    body: Any
    duration_ms: Milliseconds


class Begun(View):
    """The id that the request will have in the journal."""

    request_id: str


@post(f"{WORLD}/send", "send")
async def send_request(request: ControlRequest, body: SendBody) -> Answered | Accepted[Begun]:
    """Send a request to the platform.

    Source: assumed D25-send.
    """
    path, _, query = body.path.partition("?")
    path = unquote(path)
    if path == PREFIX or path.startswith(PREFIX + "/"):
        raise invalid("path: names the control API, and requests are sent to the platform")
    query = quote(query or body.query, safe=IN_A_QUERY)
    headers, payload = _headers(request, body), _payload(body.body)
    wanted = build_request(body.method, path, query, headers, payload)
    return await _send(request, wanted, body.key, wait=body.wait)


@post(f"{WORLD}/requests/{{id}}/replay", "requests.replay", refuses=(409,))
async def replay_request(request: ControlRequest, body: ReplayBody) -> Answered | Accepted[Begun]:
    """Send a request of the journal again."""
    entry = get_entry(request)
    given = body.model_fields_set
    payload = _payload(body.body) if "body" in given else entry.request or b""
    if (why := _why_not_again(entry, payload)) is not None:
        raise conflict(
            "not_replayable",
            f"the request cannot be sent again as it was: {why}",
            details="send it with POST .../send, or give the body",
        )
    name = body.key if "key" in given else entry.key_id
    query, headers = quote(entry.query, safe=IN_A_QUERY), _headers(request, body)
    # A body that is given is JSON, whatever was sent before.
    if "body" not in given:
        headers = unusual_headers(dict(entry.headers)) | headers
    wanted = build_request(entry.method, entry.path, query, headers, payload)
    return await _send(request, wanted, name, wait=body.wait)


def _why_not_again(entry: Entry, payload: bytes) -> str | None:
    """Return what the journal lacks of the request; None if it has all of it."""
    if payload.endswith(CUT_OFF):
        return "the journal has only the beginning of its body"
    if MASK in payload:
        return "a secret in its body is masked"
    if MASK.decode() in entry.path + entry.query:
        return "a secret in its path or query is masked"
    return None


async def _send(
    request: ControlRequest, wanted: IncomingRequest, key: str | None, *, wait: bool
) -> Answered | Accepted[Begun]:
    inside = request.services.inside
    by = None if key is None else request.get_named(ApiKey, key)
    if not wait:
        return Accepted(Begun(request_id=inside.begin(request.world, wanted, by)))
    answer = await inside.send(request.world, wanted, by)
    return Answered.of(answer, body=view_body(answer.body or None))


def _payload(body: Any) -> bytes:
    if body is None:
        return b""
    return (body if isinstance(body, str) else json.dumps(body)).encode("utf-8", "surrogatepass")


def _headers(request: ControlRequest, body: ReplayBody) -> dict[str, str]:
    """Return the headers of the body, in lower case. Raises ControlFault for one of the client."""
    key_header = request.services.worlds.profile.api_key_header.lower()
    for name in body.headers:
        if name.lower() == key_header:
            raise invalid(f"headers: {name}: name the key in `key`, by its name or id")
        if name.lower() in _OF_THE_CONNECTION:
            raise invalid(f"headers: {name}: is set by the connection, and cannot be given")
    return {name.lower(): value for name, value in body.headers.items()}

"""Answers to requests that fail at the HTTP level: one row for each reason.

They are not refusals of the platform: no world counts them, and they look the same everywhere.
"""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic_core import to_json
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from sandbox.domain.values import Value

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""An ASGI application."""


class HttpFault(Value, frozen=True, kw_only=True):
    """One reason: the code, the status, a sentence that is always true, and the clause."""

    code: str
    status: int
    message: str
    source: str


NOT_HTTP: Final = HttpFault(
    code="validation_error",
    status=400,
    message="The request is not valid HTTP.",
    source="spec 7-400",
)
NO_HOST: Final = HttpFault(
    code="validation_error",
    status=400,
    message="A request must have one Host header (RFC 9112, 3.2).",
    source="assumed D25-heads",
)
WEBSOCKET: Final = HttpFault(
    code="validation_error",
    status=400,
    message="This server does not speak WebSocket.",
    source="assumed D25-heads",
)
HEAD_LATE: Final = HttpFault(
    code="request_timeout",
    status=408,
    message="The headers of the request did not come in time.",
    source="assumed D25-times",
)
BODY_LATE: Final = HttpFault(
    code="request_timeout",
    status=408,
    message="The body of the request did not come in time.",
    source="assumed D25-times",
)
HEAD_TOO_LARGE: Final = HttpFault(
    code="head_too_large",
    status=431,
    message="The request line and the headers are larger than 64 KiB, or more than 100 fields.",
    source="assumed D25-heads",
)
TRAILER_TOO_LARGE: Final = HttpFault(
    code="head_too_large",
    status=431,
    message="The trailers or the chunk extensions of the body are larger than 64 KiB.",
    source="assumed D25-heads",
)
CROWDED: Final = HttpFault(
    code="unavailable",
    status=503,
    message="The server has as many connections as it takes; --connections-max changes it.",
    source="assumed D25-places",
)
BODIES_TOO_LARGE: Final = HttpFault(
    code="unavailable",
    status=503,
    message="The bodies that are being received at this moment are too large together.",
    source="assumed D25-bodies",
)

HTTP_FAULTS: Final = (
    NOT_HTTP,
    NO_HOST,
    WEBSOCKET,
    HEAD_LATE,
    BODY_LATE,
    HEAD_TOO_LARGE,
    TRAILER_TOO_LARGE,
    CROWDED,
    BODIES_TOO_LARGE,
)

_TRY_AGAIN: Final = 503


def _headers(fault: HttpFault, body: bytes) -> list[tuple[bytes, bytes]]:
    again = [(b"retry-after", b"1")] if fault.status == _TRY_AGAIN else []
    return [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *again,
    ]


def _body(fault: HttpFault) -> bytes:
    return to_json({"detail": fault.message, "error": fault.code})


def last_answer(fault: HttpFault) -> bytes:
    """The bytes of an answer after which the connection is closed."""
    body = _body(fault)
    fields = [*_headers(fault, body), (b"connection", b"close")]
    lines = b"".join(b"%b: %b\r\n" % field for field in fields)
    return b"%b%b\r\n%b" % (STATUS_LINE[fault.status], lines, body)


class TooLarge(Exception):
    """The head of a request is too large."""


def answering(fault: HttpFault, *, closes: bool = False) -> Application:
    """An application that answers every request like this, and may close the connection."""
    body = _body(fault)
    headers = _headers(fault, body) + ([(b"connection", b"close")] if closes else [])

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": fault.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return refuse

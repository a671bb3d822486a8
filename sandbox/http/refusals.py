"""What is answered to requests that get no further than HTTP: one row for each reason."""

from collections.abc import Awaitable, Callable
from typing import Any, Final

from pydantic_core import to_json
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from sandbox.domain.faults import Fault

Application = Callable[[Any, Any, Any], Awaitable[None]]
"""What is served: scope, receive and send in, as ASGI has them."""

_CODES: Final = "assumed 0.5-codes"

NOT_HTTP: Final = Fault(
    code="validation_error",
    status=400,
    message="The request is not valid HTTP.",
    source="spec 7-400",
)
NO_HOST: Final = Fault(
    code="validation_error",
    status=400,
    message="A request must have one Host header (RFC 9112, 3.2).",
    source="assumed C9",
)
WEBSOCKET: Final = Fault(
    code="validation_error",
    status=400,
    message="This server does not speak WebSocket.",
    source="assumed C9",
)
HEAD_LATE: Final = Fault(
    code="request_timeout",
    status=408,
    message="The headers of the request did not come in time.",
    source=_CODES,
)
BODY_LATE: Final = Fault(
    code="request_timeout",
    status=408,
    message="The body of the request did not come in time.",
    source=_CODES,
)
HEAD_TOO_LARGE: Final = Fault(
    code="head_too_large",
    status=431,
    message="The request line and the headers are larger than 64 KiB, or more than 100 fields.",
    source=_CODES,
)
TRAILER_TOO_LARGE: Final = Fault(
    code="head_too_large",
    status=431,
    message="The trailers or the chunk extensions of the body are larger than 64 KiB.",
    source=_CODES,
)
CROWDED: Final = Fault(
    code="unavailable",
    status=503,
    message="The server has as many connections as it takes; --connections-max changes it.",
    source=_CODES,
)
BODIES_TOO_LARGE: Final = Fault(
    code="unavailable",
    status=503,
    message="The bodies that are being received at this moment are too large together.",
    source=_CODES,
)

_TRY_AGAIN: Final = 503


def _headers(fault: Fault, body: bytes) -> list[tuple[bytes, bytes]]:
    again = [(b"retry-after", b"1")] if fault.status == _TRY_AGAIN else []
    return [
        (b"content-type", b"application/json"),
        (b"content-length", b"%d" % len(body)),
        *again,
    ]


def _body(fault: Fault) -> bytes:
    return to_json({"detail": fault.message, "error": fault.code})


def last_answer(fault: Fault) -> bytes:
    """The bytes of an answer after which the connection is closed."""
    body = _body(fault)
    fields = [*_headers(fault, body), (b"connection", b"close")]
    lines = b"".join(b"%b: %b\r\n" % field for field in fields)
    return b"%b%b\r\n%b" % (STATUS_LINE[fault.status], lines, body)


def answering(fault: Fault, *, closes: bool = False) -> Application:
    """An application that answers every request like this, and may close the connection."""
    body = _body(fault)
    headers = _headers(fault, body) + ([(b"connection", b"close")] if closes else [])

    async def refuse(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": fault.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    return refuse

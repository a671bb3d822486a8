"""Answers of the platform: the JSON of a refusal, and sending with or without a fault."""

import asyncio
import re
from typing import Any, Final

from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from sandbox.domain.faults import UNAVAILABLE, Refusal
from sandbox.domain.profile import Profile
from sandbox.domain.transport_faults import LOST
from sandbox.platform.context import Answer, Headers
from sandbox.platform.operation import is_key_path
from sandbox.platform.wire import Body, ConnectionClosed, until_gone
from sandbox.scenarios.outcome_choice import ChosenOutcome

DETAILS_CHARS_MAX: Final = 4_096
"""Length limit of an error message, which may quote what the client sent."""


def error_body(refusal: Refusal, path: str, profile: Profile) -> bytes:
    """Return the body: three strings on paths of API keys, the profile's shape everywhere else.

    Whatever looks like a key or a card number is masked.
    """
    fault, details = refusal.fault, profile.scrub_start(refusal.details, DETAILS_CHARS_MAX)
    if is_key_path(path) or profile.errors.shape == "error_message_details":
        return to_json({"error": fault.code, "message": fault.message, "details": details})

    def scrub(part: Any) -> Any:
        return profile.scrub_start(part, DETAILS_CHARS_MAX) if isinstance(part, str) else part

    # Mistakes of a malformed request are listed one by one (assumed D35-detail).
    detail = [
        one | {"loc": list(map(scrub, one["loc"])), "msg": scrub(one["msg"])}
        for one in refusal.mistakes
    ]
    shown: dict[str, Any] = {"detail": detail or f"{fault.message} {details}".rstrip()}
    return to_json(shown if profile.errors.shape == "detail" else shown | {"error": fault.code})


ABORT: Final = "sandbox.abort"
"""The key in a request's scope for a function that closes the connection, if the server can."""

_NOT_IN_A_FIELD: Final = re.compile(r"[^\x20-\x7e]")


def in_header(text: str) -> str:
    """Return a text as a header can have it: in printable characters of ASCII (RFC 9110, 5.5).

    A server cannot send any other, and would leave the client without an answer.
    """
    return _NOT_IN_A_FIELD.sub("?", text)


def explain(choice: ChosenOutcome) -> bytes:
    """Return the outcome, who chose it, and by which rule. Source: assumed D3, D14."""
    return in_header(f"{choice.key}; source={choice.source}; rule={choice.rule}").encode("ascii")


def headers_of(body: bytes) -> Headers:
    """Return the headers of a body in JSON."""
    return [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]


def render_refusal(refusal: Refusal, path: str, profile: Profile) -> Answer:
    """Return the answer to a refused request that is not journaled."""
    body = error_body(refusal, path, profile)
    headers = headers_of(body)
    if refusal.fault is UNAVAILABLE:
        headers.append((b"retry-after", b"1"))
    return Answer(refusal.fault.status, body, headers)


async def send_whole(send: Send, status: int, headers: Headers, body: Body) -> None:
    """Send status, headers and body; a long body in parts, as fast as the client reads."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    if isinstance(body, list):
        *parts, body = body
        for part in parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
    await send({"type": "http.response.body", "body": body})


async def close_connection(
    scope: Scope, receive: Receive, why: str = "another server broke off"
) -> None:
    """Close the connection without an answer, or in the middle of one. Raises ConnectionClosed."""
    abort = scope.get(ABORT)
    if abort is None:
        raise ConnectionClosed(why)
    abort()
    # The server must notice before this returns, or it would send an answer itself.
    await until_gone(receive)


async def send_answer(answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the answer, with its delay and its transport fault. Source: assumed 5.3."""
    if answer.delay_ms:
        await asyncio.sleep(answer.delay_ms / 1000)
    if answer.fault is None:
        await send_whole(send, answer.status, answer.headers, answer.body)
        return
    body, headers, key = answer.arriving_body, answer.headers, answer.fault.key
    if key in LOST:
        if key == "half_answer":
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            await send({"type": "http.response.body", "body": body, "more_body": True})
        await close_connection(scope, receive, f"the transport fault {key} was requested")
        return
    if key == "malformed_json":
        headers = [
            (name, b"%d" % len(body) if name == b"content-length" else value)
            for name, value in headers
        ]
    await send_whole(send, answer.status, headers, body)

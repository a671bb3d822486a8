"""Answers of the platform: the JSON of a refusal, and sending with or without a fault."""

import asyncio
import re
from functools import lru_cache
from typing import Any, Final

from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from sandbox.domain.faults import UNAVAILABLE, Mistake, Refusal
from sandbox.domain.profile import Profile
from sandbox.platform.context import Answer, Headers
from sandbox.platform.operation import is_key_path
from sandbox.platform.wire import Body, send_body, until_gone
from sandbox.scenarios.outcome_choice import ChosenOutcome

DETAILS_CHARS_MAX: Final = 4_096
"""Length limit of an error message, so a client does not get back a book that it sent."""


def error_body(refusal: Refusal, profile: Profile, *, is_for_keys: bool) -> bytes:
    """Return the body: three strings on API-key endpoints, the profile's shape everywhere else.

    What looks like a key or a card number is masked: nothing secret is ever sent back.
    """
    fault, details = refusal.fault, profile.scrub_start(refusal.details, DETAILS_CHARS_MAX)
    if is_for_keys or profile.errors.shape == "error_message_details":
        return to_json({"error": fault.code, "message": fault.message, "details": details})
    # Mistakes of a malformed request are listed one by one (assumed D35-detail).
    detail = [_mask(one, profile) for one in refusal.mistakes]
    shown: dict[str, Any] = {"detail": detail or f"{fault.message} {details}".rstrip()}
    return to_json(shown if profile.errors.shape == "detail" else shown | {"error": fault.code})


def _mask(mistake: Mistake, profile: Profile) -> Mistake:
    def scrub(part: Any) -> Any:
        return profile.scrub_start(part, DETAILS_CHARS_MAX) if isinstance(part, str) else part

    return {
        **mistake,
        "loc": list(map(scrub, mistake["loc"])),
        "msg": scrub(mistake["msg"]),
    }


ABORT: Final = "sandbox.abort"
"""Where a server that can close a connection puts how, in the scope of a request."""

_NOT_IN_A_FIELD: Final = re.compile(r"[^\x20-\x7e]")


class ConnectionClosed(ConnectionError):
    """A transport fault closes the connection, and no server is there to do it: raised instead."""


def explain(choice: ChosenOutcome) -> bytes:
    """Return the outcome, who chose it, and by which rule. Source: assumed D3, D14."""
    return _field_value(f"{choice.key}; source={choice.source}; rule={choice.rule}")


@lru_cache(maxsize=256)
def _field_value(text: str) -> bytes:
    """Return the text as a header value: only printable characters of ASCII (RFC 9110, 5.5).

    A server cannot send any other, and would leave the client without an answer.
    """
    return _NOT_IN_A_FIELD.sub("?", text).encode("ascii")


def render_refusal(refusal: Refusal, path: str, profile: Profile) -> Answer:
    """Return an answer that no journal has."""
    body = error_body(refusal, profile, is_for_keys=is_key_path(path))
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if refusal.fault is UNAVAILABLE:
        headers.append((b"retry-after", b"1"))
    return Answer(refusal.fault.status, body, headers)


async def send_whole(send: Send, status: int, headers: Headers, body: Body) -> None:
    """Send status, headers and body."""
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send_body(send, body)


async def send_answer(answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the answer, late or with a fault where it has one."""
    if answer.delay_ms or answer.fault is not None:
        await _send_with_fault(answer, scope, receive, send)
    else:
        await send_whole(send, answer.status, answer.headers, answer.body)


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


async def _send_with_fault(answer: Answer, scope: Scope, receive: Receive, send: Send) -> None:
    """Send the answer late, cut off, or not at all. Source: assumed 5.3."""
    if answer.delay_ms:
        await asyncio.sleep(answer.delay_ms / 1000)
    fault = answer.fault
    if fault is not None and fault.key in ("drop_before", "drop_after"):
        await close_connection(scope, receive, f"the transport fault {fault.key} was requested")
        return
    body, headers = answer.arriving_body, answer.headers
    if fault is not None and fault.key == "half_answer":
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        await send({"type": "http.response.body", "body": body, "more_body": True})
        await close_connection(scope, receive, "the transport fault half_answer was requested")
        return
    if fault is not None and fault.key == "malformed_json":
        headers = [
            (name, b"%d" % len(body) if name == b"content-length" else value)
            for name, value in headers
        ]
    await send_whole(send, answer.status, headers, body)

"""Requests to a sandbox in process, without a socket."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sandbox.app import Sandbox
from sandbox.platform.sending import ConnectionClosed


@dataclass(frozen=True, slots=True)
class ExampleAnswer:
    """An answer; `status` is 0 if the connection was closed without one."""

    status: int
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Request:
    """A request with an API key of the world."""

    method: str
    path: str
    key: str
    body: Any = None
    query: str = ""


async def ask(
    sandbox: Sandbox, request: Request, *, on_answer: Callable[[], None] = lambda: None
) -> ExampleAnswer:
    """The answer to a request. `on_answer` is called when its first byte is written."""
    payload = b"" if request.body is None else json.dumps(request.body).encode()
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": payload, "more_body": False}

    async def send(message: Any) -> None:
        if not sent:
            on_answer()
        sent.append(message)

    scope = {
        "type": "http",
        "method": request.method,
        "path": request.path,
        "query_string": request.query.encode(),
        "headers": [
            (sandbox.worlds.profile.api_key_header_bytes, request.key.encode()),
            (b"accept", b"application/json"),
            (b"content-type", b"application/json"),
        ],
        "server": ("127.0.0.1", 8080),
    }
    try:
        await sandbox.app(scope, receive, send)
    except ConnectionClosed:
        return ExampleAnswer(0, {}, None)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    try:
        shown = json.loads(sent[1]["body"] or b"null")
    except ValueError:
        shown = None
    return ExampleAnswer(sent[0]["status"], headers, shown)

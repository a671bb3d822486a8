"""Requests to a sandbox in process, without a socket."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.http_client import send_json
from sandbox.settings import Settings
from sandbox.webhooks.worker import Sending
from sandbox.worlds.registry import Worlds


class Built(Protocol):
    """A sandbox that is ready: its application, and its worlds."""

    @property
    def app(self) -> ASGIApp: ...

    @property
    def worlds(self) -> Worlds: ...


class Build(Protocol):
    """Puts a sandbox together, as `sandbox.app.build` does."""

    def __call__(self, settings: Settings, *, sender: Sending) -> Built: ...


@dataclass(frozen=True, slots=True)
class ExampleAnswer:
    """An answer; `status` is 0 if the connection was closed without one."""

    status: int
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True, slots=True)
class Request:
    """A request with an API key of the world. With `is_awaited` a client waits for its answer.

    A look into the world meets no faults.
    """

    method: str
    path: str
    key: str
    body: Any = None
    query: str = ""
    is_awaited: bool = False
    is_look: bool = False

    @property
    def headers(self) -> dict[str, str]:
        """The headers beside that of the key."""
        return {"x-sandbox-outcome": "approved"} if self.is_look else {}


async def ask(
    sandbox: Built, request: Request, *, on_answer: Callable[[], None] | None = None
) -> ExampleAnswer:
    """The answer to a request. `on_answer` is called when its first byte is written."""

    async def noted(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_noted(message: Message) -> None:
            if on_answer is not None and message["type"] == "http.response.start":
                on_answer()
            await send(message)

        await sandbox.app(scope, receive, send_noted)

    key = {sandbox.worlds.profile.api_key_header: request.key, **request.headers}
    answer = await send_json(
        noted, request.method, request.path, headers=key, body=request.body, query=request.query
    )
    if answer is None:
        return ExampleAnswer(0, {}, None)
    try:
        shown = json.loads(answer.content or b"null")
    except ValueError:
        shown = None
    return ExampleAnswer(answer.status_code, dict(answer.headers), shown)

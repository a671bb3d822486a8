"""Requests to a sandbox in process, without a socket."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from sandbox.in_process import Application, json_request
from sandbox.platform.sending import ConnectionClosed
from sandbox.settings import Settings
from sandbox.webhooks.client import Sending
from sandbox.worlds.registry import Worlds


class Built(Protocol):
    """A sandbox that is ready: its application, and its worlds."""

    @property
    def app(self) -> Application: ...

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
    """A request with an API key of the world."""

    method: str
    path: str
    key: str
    body: Any = None
    query: str = ""


async def ask(
    sandbox: Built, request: Request, *, on_answer: Callable[[], None] | None = None
) -> ExampleAnswer:
    """The answer to a request. `on_answer` is called when its first byte is written."""
    key = {sandbox.worlds.profile.api_key_header.lower(): request.key}
    exchange = json_request(
        request.method, request.path, request.body, headers=key, query=request.query
    )
    exchange.on_answer = on_answer
    try:
        answer = await exchange.run(sandbox.app)
    except ConnectionClosed:
        return ExampleAnswer(0, {}, None)
    try:
        shown = json.loads(answer.body or b"null")
    except ValueError:
        shown = None
    return ExampleAnswer(answer.status, answer.headers, shown)

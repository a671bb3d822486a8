"""Requests to the application in this process, without a socket."""

import asyncio
import json
from collections.abc import Callable, Coroutine, Iterable
from typing import Any
from urllib.parse import quote

from msgspec import Struct, field

Application = Callable[[Any, Any, Any], Coroutine[Any, Any, None]]


class Response(Struct, frozen=True, gc=False):
    """A response: status, headers by lower-case name, body. The status is 0 if there was none."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    def expect(self, status: int) -> dict[str, Any]:
        """The body, once the status is the expected one."""
        assert self.status == status, self.body
        body: dict[str, Any] = self.json() if self.body else {}
        return body

    def detail(self, status: int = 400, error: str = "validation_error") -> str:
        """What a refusal says, once its status and code are the expected ones."""
        body = self.json() if self.body else {}
        assert (self.status, body.get("error")) == (status, error), self.body
        assert list(body) == ["detail", "error"]
        return str(body["detail"])

    def error(self) -> tuple[int, str | None]:
        """Status and code of a refusal; no code where nothing was refused."""
        return self.status, self.json()["error"] if self.status >= 400 else None

    @property
    def outcome(self) -> str | None:
        """What it says of its outcome."""
        return self.headers.get("x-sandbox-outcome")


class Exchange(Struct):
    """One request, and the messages of its response so far.

    `gone` is set when the client disconnects.
    """

    scope: dict[str, Any]
    payload: bytes = b""
    gone: asyncio.Event | None = None
    messages: list[dict[str, Any]] = field(default_factory=list)
    _is_read: bool = False

    async def receive(self) -> dict[str, Any]:
        """The whole body; after it, the disconnect once the client is gone."""
        if not self._is_read:
            self._is_read = True
            return {"type": "http.request", "body": self.payload, "more_body": False}
        await (self.gone or asyncio.Event()).wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        """Take the head or a part of the body."""
        self.messages.append(message)

    async def run(self, app: Application) -> Response:
        """The response. Other work on the loop goes on while the application waits."""
        await app(self.scope, self.receive, self.send)
        return self.response

    def run_now(self, app: Application) -> Response:
        """The response, without an event loop. Raises RuntimeError if the application waits."""
        answering = app(self.scope, self.receive, self.send)
        try:
            # A pause for others is none: there are no others.
            while answering.send(None) is None:
                pass
        except StopIteration:
            return self.response
        raise RuntimeError(f"the application waited for something at {self.scope['path']}")

    @property
    def response(self) -> Response:
        """The response as it is now."""
        if not self.messages:
            return Response(0, {}, b"")
        start, *parts = self.messages
        headers = {name.decode(): value.decode() for name, value in start["headers"]}
        return Response(start["status"], headers, b"".join(part["body"] for part in parts))


def http_scope(
    method: str,
    path: str,
    *,
    headers: Iterable[tuple[bytes, bytes]] = (),
    query: str = "",
    port: int = 8080,
) -> dict[str, Any]:
    """The scope of a request as a server hands it over."""
    return {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": quote(path).encode(),
        "query_string": query.encode(),
        "headers": list(headers),
        "server": ("127.0.0.1", port),
        "client": ("127.0.0.1", 50000),
        "root_path": "",
    }

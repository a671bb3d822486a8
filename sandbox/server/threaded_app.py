"""The served application as an ASGI application, for clients that take one instead of a URL."""

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.types import ASGIApp

from sandbox.server.thread import LoopThread

RawHeaders = list[tuple[bytes, bytes]]

_Message = MutableMapping[str, Any]


class ThreadedApp:
    """An ASGI application that has another one carry out its requests on the loop that serves it.

    Requests over it and over the network meet the same worlds, and never at the same time.
    """

    def __init__(self, app: ASGIApp, background: LoopThread) -> None:
        self._app = app
        self._background = background

    async def __call__(
        self,
        scope: _Message,
        receive: Callable[[], Awaitable[_Message]],
        send: Callable[[_Message], Awaitable[None]],
    ) -> None:
        """Serve one request, on any asyncio loop."""
        here = asyncio.get_running_loop()
        answer: asyncio.Queue[_Message | None] = asyncio.Queue()

        async def receive_from_here() -> _Message:
            message = asyncio.run_coroutine_threadsafe(_awaited(receive), here)
            return await asyncio.wrap_future(message)

        async def send_to_here(message: _Message) -> None:
            here.call_soon_threadsafe(answer.put_nowait, message)

        async def carry_out() -> None:
            try:
                await self._app(scope, receive_from_here, send_to_here)
            finally:
                here.call_soon_threadsafe(answer.put_nowait, None)

        if scope["type"] == "lifespan":
            # It has begun already, and ends with its server.
            await _live(receive, send)
            return
        done = self._background.start(carry_out())
        try:
            while (message := await answer.get()) is not None:
                await send(message)
            await asyncio.wrap_future(done)
        finally:
            done.cancel()


async def answer(
    app: ASGIApp, method: str, url: str, headers: RawHeaders, content: bytes
) -> tuple[int, RawHeaders, bytes]:
    """Status, headers and body of the application's answer to a request that came whole.

    Names of headers are in lower case. Raises ConnectionClosed if the application cuts it off.
    """
    parts = urlsplit(url)
    scope = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": method,
        "scheme": parts.scheme,
        "path": unquote(parts.path),
        "raw_path": parts.path.encode(),
        "query_string": parts.query.encode(),
        "root_path": "",
        "headers": headers,
        "server": (parts.hostname, parts.port),
        "client": (parts.hostname, 0),
    }
    unread = [content]
    messages: list[_Message] = []

    async def receive() -> _Message:
        if not unread:
            # The client stays.
            await asyncio.get_running_loop().create_future()
        return {"type": "http.request", "body": unread.pop(), "more_body": False}

    async def send(message: _Message) -> None:
        messages.append(message)

    await app(scope, receive, send)
    head, *parts_of_body = messages
    body = b"".join(message.get("body", b"") for message in parts_of_body)
    return head["status"], head["headers"], b"" if method == "HEAD" else body


async def _awaited(receive: Callable[[], Awaitable[_Message]]) -> _Message:
    return await receive()


async def _live(
    receive: Callable[[], Awaitable[_Message]], send: Callable[[_Message], Awaitable[None]]
) -> None:
    while (await receive())["type"] != "lifespan.shutdown":
        await send({"type": "lifespan.startup.complete"})
    await send({"type": "lifespan.shutdown.complete"})

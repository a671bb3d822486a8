"""Starting and ending a sandbox inside another process.

The test kit is a separate distribution; it imports only this module and `sandbox.settings`.
"""

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, replace
from typing import Any, Final, TypeVar
from urllib.parse import unquote, urlsplit

from msgspec import structs
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sandbox.app import Sandbox, build
from sandbox.domain import events
from sandbox.scenarios.parser import ScenarioError
from sandbox.server.run import Server, bound, new_loop, serving
from sandbox.settings import Settings, SettingsError
from sandbox.store.files.port import StoreError
from sandbox.store.fixture import FixtureError
from sandbox.webhooks.receivers import LocalReceivers

T = TypeVar("T")

_START_S: Final = 30.0


@contextmanager
def serve_in_thread(
    served: AbstractAsyncContextManager[Any],
) -> Iterator[asyncio.AbstractEventLoop]:
    """Serve in a thread until the block ends; yield its loop. Raises the errors of the start."""
    ready: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()

    async def serve() -> None:
        stop = asyncio.Event()
        async with served:
            ready.set_result((asyncio.get_running_loop(), stop))
            await stop.wait()

    def run() -> None:
        try:
            with asyncio.Runner(loop_factory=new_loop) as runner:
                runner.run(serve())
        except BaseException as error:
            if ready.done():
                raise
            # The thread that waits for the start gets the error.
            ready.set_exception(error)

    # A daemon, so that the process ends even if a test run never ends the block.
    thread = threading.Thread(target=run, name="sandbox", daemon=True)
    thread.start()
    loop, stop = ready.result(_START_S)
    try:
        yield loop
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join()


RawHeaders = list[tuple[bytes, bytes]]
Answered = tuple[int, RawHeaders, bytes]
"""Status, headers with names in lower case, and body of an answer."""


class ThreadedApp:
    """An ASGI application that forwards requests to another one, on the loop that serves it.

    Its requests and those from the network see the same worlds, and never run at the same time.
    """

    def __init__(self, app: ASGIApp, loop: asyncio.AbstractEventLoop) -> None:
        self._app, self._loop = app, loop
        self._process_id = os.getpid()

    def ask(self, method: str, url: str, headers: RawHeaders, content: bytes) -> "Future[Answered]":
        """Send a request like a client with a connection, which hangs up if this is canceled.

        The future raises ConnectionError if the connection is aborted. Raises it if the sandbox has
        ended.
        """
        return self._start(answer(self._app, method, url, headers, content))

    def _start(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run the coroutine on the loop. Raises ConnectionError if the loop does not run here."""
        if self._loop.is_closed():
            why = "the sandbox has ended"
        elif self._process_id != os.getpid():
            why = "it serves in the process from which this one was forked; use its url"
        else:
            return asyncio.run_coroutine_threadsafe(work, self._loop)
        work.close()
        raise ConnectionError(why)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request, on any asyncio loop."""
        if scope["type"] == "lifespan":
            # The application has started already, and stops with its server.
            while (await receive())["type"] != "lifespan.shutdown":
                await send({"type": "lifespan.startup.complete"})
            await send({"type": "lifespan.shutdown.complete"})
            return
        here = asyncio.get_running_loop()

        def called_here(function: Callable[..., Awaitable[Any]]) -> Callable[..., Awaitable[Any]]:
            async def call(*message: Message) -> Any:
                return await function(*message)

            async def call_across(*message: Message) -> Any:
                called = asyncio.run_coroutine_threadsafe(call(*message), here)
                return await asyncio.wrap_future(called)

            return call_across

        async def carry_out() -> None:
            await self._app(scope, called_here(receive), called_here(send))

        done = self._start(carry_out())
        try:
            await asyncio.wrap_future(done)
        finally:
            done.cancel()


_without_client: Final[set[asyncio.Future[None]]] = set()
"""The requests whose clients have hung up. A loop has only weak references to its tasks."""


async def answer(
    app: ASGIApp, method: str, url: str, headers: RawHeaders, content: bytes
) -> Answered:
    """Send a request to the application, and return the answer.

    If this is canceled, the client hangs up, and the application learns of it, as from a server.
    Raises ConnectionClosed if the application aborts the connection.
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
    messages: list[Message] = []
    hung_up = asyncio.Event()

    async def receive() -> Message:
        if not unread:
            await hung_up.wait()
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": unread.pop(), "more_body": False}

    async def send(message: Message) -> None:
        messages.append(message)

    request = asyncio.ensure_future(app(scope, receive, send))
    try:
        await asyncio.shield(request)
    except asyncio.CancelledError:
        hung_up.set()
        _without_client.add(request)
        request.add_done_callback(_without_client.discard)
        raise
    head, *parts_of_body = messages
    body = b"".join(message.get("body", b"") for message in parts_of_body)
    return head["status"], head["headers"], b"" if method == "HEAD" else body


START_ERRORS: Final = (SettingsError, FixtureError, ScenarioError, StoreError)
"""The errors that `embedded` raises for settings with which a sandbox cannot start."""

_LOOPBACK: Final = "127.0.0.1"


@dataclass(frozen=True, kw_only=True)
class Embedded:
    """A sandbox that answers at `url`; `token` is the bearer token of its control API, if any.

    Webhooks to one of its `receivers` are delivered without a connection.
    """

    url: str
    control_url: str
    token: str | None
    api_key_header: str
    built: Sandbox
    asgi: ThreadedApp
    receivers: LocalReceivers

    def ask(
        self,
        method: str,
        url: str,
        headers: RawHeaders,
        content: bytes = b"",
        *,
        timeout_s: float | None,
    ) -> Answered:
        """Send a request without a socket, and return the answer.

        Raises TimeoutError, and ConnectionError if the connection is aborted or the sandbox has
        ended.
        """
        asked = self.asgi.ask(method, url, headers, content)
        try:
            return asked.result(timeout_s)
        except TimeoutError:
            asked.cancel()
            raise

    @property
    def event_types(self) -> list[str]:
        """The names of all events."""
        return list(events.EVENTS)

    def message(self, world_id: str, id: str) -> tuple[str, str] | None:
        """Return the event type and the subject of a message, or None for an unknown id."""
        world = self.built.worlds.get(world_id)
        found = None if world is None else world.store.get(events.Message, id)
        return None if found is None else (found.event_type, found.subject)

    def unkeyed_count(self) -> int:
        """Return the number of requests in `default`, which include those of unknown keys."""
        return self.built.worlds.default.store.counters.requests


@contextmanager
def embedded(settings: Settings | None = None) -> Iterator[Embedded]:
    """Yield a sandbox on a free port of 127.0.0.1, whatever the settings say, until the block ends.

    It never drops unused worlds. Raises START_ERRORS.
    """
    settings = settings or Settings()
    if settings.watch:
        raise SettingsError("watch: is for `sandbox serve`; a test can run its scenario again")
    private = replace(
        settings,
        host=_LOOPBACK,
        port=0,
        control_port=None if settings.control_port is None else 0,
        # A test that freezes time at a later day must not expire the worlds of other tests.
        limits=structs.replace(settings.limits, unused_after_s=float("inf")),
    )
    with bound(private) as (settings, sockets):
        built = build(settings)
        with serve_in_thread(serving(Server(built, settings), sockets)) as loop:
            yield Embedded(
                url=f"http://{_LOOPBACK}:{settings.port}",
                control_url=f"http://{_LOOPBACK}:{settings.control_port or settings.port}",
                token=built.token,
                api_key_header=settings.profile.api_key_header,
                built=built,
                asgi=ThreadedApp(built.app, loop),
                receivers=built.receivers,
            )

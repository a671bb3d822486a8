"""Requests to sandboxes: in this process, or over the network with limits for size and time."""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import closing
from threading import Thread
from typing import Any, Final, TypeVar

import httpx2
from httpx2 import Client, Request, Response
from starlette.types import ASGIApp

from sandbox.platform.wire import ConnectionClosed

BASE_URL: Final = "http://localhost"
"""The address of in-process requests."""


async def send(
    app: ASGIApp,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str],
    query: Any = None,
    **body: Any,
) -> httpx2.Response | None:
    """Send a request with only these headers; return None if a fault closes the connection.

    `body` is `content` or `json`, as for httpx2.
    """
    request = Request(method, BASE_URL + path, params=query or None, headers=headers, **body)
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=app)) as client:
        try:
            return await client.send(request)
        except ConnectionClosed:
            return None


async def send_json(
    app: ASGIApp, method: str, path: str, *, body: Any = None, **more: Any
) -> httpx2.Response | None:
    """Send a request for JSON, with a JSON body unless it is None; other options as for `send`."""
    sent = {"accept": "application/json", **(more.pop("headers", None) or {})}
    return await send(app, method, path, headers=sent, json=body, **more)


# --- servers that are not trusted ---------------------------------------------------------------

T = TypeVar("T")

ANSWER_BYTES_MAX: Final = 300_000_000
"""Larger than the largest saved world."""

EVENT_BYTES_MAX: Final = 1_000_000

_DECODED: Final = ("content-encoding", "content-length", "transfer-encoding")
"""Headers about the transfer of the body, which do not apply to its decoded content."""


class Unending(Exception):
    """An answer is larger or takes longer than any of a sandbox; the message says which."""


def fetch(
    client: Client, request: Request, *, within_s: float, bytes_max: int = ANSWER_BYTES_MAX
) -> Response:
    """Send a request and read the whole answer. Raises Unending, and the errors of httpx2."""

    def read() -> Response:
        with closing(client.send(request, stream=True)) as answer:
            return read_whole(answer, bytes_max)

    return within(within_s, read)


def within(seconds: float, work: Callable[[], T]) -> T:
    """Do the work and return its result. Raises Unending if it takes too long.

    The time limit of an HTTP client does not suffice: it starts again with each byte.
    """
    started = start(work)
    try:
        return started.result(seconds)
    except TimeoutError:
        raise Unending(f"its answer was not complete after {seconds:g} s") from None


def start(work: Callable[[], T]) -> Future[T]:
    """Start the work in a daemon thread, for which the end of the process does not wait."""
    future: Future[T] = Future()
    future.set_running_or_notify_cancel()

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:
            future.set_exception(error)

    Thread(target=run, daemon=True).start()
    return future


def read_whole(answer: Response, bytes_max: int = ANSWER_BYTES_MAX) -> Response:
    """Read the rest of an answer, with its content decoded. Raises Unending if it is larger."""
    content = bytearray()
    for part in answer.iter_bytes():
        content += part
        if len(content) > bytes_max:
            raise Unending(f"its answer has more than {bytes_max:,} bytes")
    headers = [pair for pair in answer.headers.multi_items() if pair[0].lower() not in _DECODED]
    return httpx2.Response(answer.status_code, headers=headers, content=bytes(content))

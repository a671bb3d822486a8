"""Answers of servers that may be anybody's: read up to a size, and within a time."""

import asyncio
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, Final, TypeVar

import httpx2
from httpx2 import AsyncClient, Client, Request, Response

T = TypeVar("T")

ANSWER_BYTES_MAX: Final = 300_000_000
"""More than the largest world that a server saves."""

EVENT_BYTES_MAX: Final = 1_000_000

_DECODED: Final = ("content-encoding", "content-length", "transfer-encoding")
"""Headers that are true of the body on its way only."""


class Unending(Exception):
    """An answer that is larger, or takes longer, than any of a sandbox; the message says which."""


def fetch(
    client: Client, request: Request, *, within_s: float, bytes_max: int = ANSWER_BYTES_MAX
) -> Response:
    """The answer to one request, read whole. Raises Unending, and what httpx2 raises."""
    return within(within_s, lambda: _read(client, request, bytes_max))


async def fetch_on_loop(client: AsyncClient, request: Request, *, within_s: float) -> Response:
    """As `fetch`, on a loop."""
    try:
        async with asyncio.timeout(within_s):
            answer = await client.send(request, stream=True)
            try:
                content = bytearray()
                async for part in answer.aiter_bytes():
                    _add(content, part, ANSWER_BYTES_MAX)
            finally:
                await answer.aclose()
            return _whole(answer, bytes(content))
    except TimeoutError:
        raise _too_slow(within_s) from None


def read_refusal(answer: Response, *, within_s: float) -> Response:
    """The rest of an answer that is no stream after all. Raises Unending."""
    return within(within_s, lambda: _whole(answer, _content(answer, ANSWER_BYTES_MAX)))


def within(seconds: float, work: Callable[[], T]) -> T:
    """What the work returns or raises. Raises Unending if that takes too long.

    A client's own time limit begins anew with each byte that it reads.
    """
    ended: SimpleQueue[tuple[bool, Any]] = SimpleQueue()

    def run() -> None:
        try:
            ended.put((True, work()))
        except BaseException as error:
            ended.put((False, error))

    Thread(target=run, daemon=True).start()
    try:
        is_done, result = ended.get(timeout=seconds)
    except Empty:
        raise _too_slow(seconds) from None
    if not is_done:
        raise result
    value: T = result
    return value


def _too_slow(seconds: float) -> Unending:
    return Unending(f"its answer was not complete after {seconds:g} s")


def _read(client: Client, request: Request, bytes_max: int) -> Response:
    answer = client.send(request, stream=True)
    try:
        return _whole(answer, _content(answer, bytes_max))
    finally:
        answer.close()


def _content(answer: Response, bytes_max: int) -> bytes:
    content = bytearray()
    for part in answer.iter_bytes():
        _add(content, part, bytes_max)
    return bytes(content)


def _add(content: bytearray, part: bytes, bytes_max: int) -> None:
    content += part
    if len(content) > bytes_max:
        raise Unending(f"its answer has more than {bytes_max:,} bytes")


def _whole(answer: Response, content: bytes) -> Response:
    headers = [(name, value) for name, value in answer.headers.multi_items()]
    kept = [pair for pair in headers if pair[0].lower() not in _DECODED]
    return httpx2.Response(answer.status_code, headers=kept, content=content)

"""Sending one webhook over the network, and reporting the result."""

import asyncio
import re
from collections.abc import Callable, Mapping
from time import perf_counter, time
from typing import Final, Protocol

from sandbox.domain.webhooks.deliveries import Sent
from sandbox.domain.webhooks.schedule import TIMEOUT_S
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.connections import RESPONSE_CHARS_MAX, Came, ReceiverFault
from sandbox.webhooks.receivers import Receivers, Unreachable, destination_of

ERROR_CHARS_MAX: Final = 500
"""Characters stored of an attempt's error, which may quote the receiver."""

_ESCAPE: Final = re.compile(r"\\u00([0-7][0-9a-fA-F])")

CONNECTIONS_MAX: Final = 1_000


class Sending(Protocol):
    """Sends webhooks."""

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        """One attempt: 2xx in time is a success, anything else is not. Never raises."""

    def forget(self) -> None:
        """The loop of the connections is gone, and they with it."""

    async def close(self) -> None:
        """Close all connections."""


class Sender:
    """Sends webhooks from one event loop, over connections that stay open for a while.

    Fulfils `Sending`.

    An attempt fails after `timeout_s`. `mask` masks secrets in a receiver's answer.
    """

    def __init__(
        self,
        guard: Guard,
        user_agent: str,
        *,
        mask: Callable[[str], str],
        timeout_s: float = TIMEOUT_S,
        connections_max: int = CONNECTIONS_MAX,
    ) -> None:
        self._guard = guard
        self._mask = mask
        self._connections_max = connections_max
        self._timeout_s = timeout_s
        self._every_head = (
            f"user-agent: {user_agent}\r\naccept: */*\r\ncontent-type: application/json\r\n"
        )
        self._receivers: Receivers | None = None

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        if self._receivers is None:
            self._receivers = Receivers(self._guard, self._connections_max)
        started, came, is_timeout, is_unreachable = perf_counter(), Came(), False, False
        error: str | None = None
        until = asyncio.get_running_loop().time() + self._timeout_s
        try:
            destination = destination_of(url)
            request = self._request(destination.head, body, headers)
            await self._receivers.ask(destination, request, came, until)
        except TimeoutError:
            error, is_timeout = f"no complete answer within {self._timeout_s:g} s", True
        except (ReceiverFault, OSError, ValueError) as problem:
            error = str(problem) or type(problem).__name__
            is_unreachable = isinstance(problem, Unreachable)
        status = came.status
        if error is None and not 200 <= (status or 0) < 300:
            error = f"answered {status}"
            if 300 <= (status or 0) < 400:
                error += "; redirects are not followed"
        duration_ms = (perf_counter() - started) * 1000
        return Sent(
            status,
            duration_ms,
            stored_text(came.text, self._mask),
            error and self._mask(error)[:ERROR_CHARS_MAX],
            _seconds(came.retry_after),
            is_timeout,
            is_unreachable,
        )

    def _request(self, head: bytes, body: bytes, headers: Mapping[str, str]) -> bytes:
        """The bytes of a request. Raises ValueError for a header that would be several lines."""
        lines = "".join([f"{name}: {value}\r\n" for name, value in headers.items()])
        if lines.count("\n") != len(headers) or lines.count("\r") != len(headers):
            raise ValueError("a header of the webhook has a line break")
        rest = f"{self._every_head}{lines}content-length: {len(body)}\r\n\r\n"
        return head + rest.encode() + body

    def forget(self) -> None:
        self._receivers = None

    async def close(self) -> None:
        if self._receivers is not None:
            self._receivers.close()
            self._receivers = None


def stored_text(answer: bytes | bytearray, mask: Callable[[str], str]) -> str:
    """The stored part of an answer's body, without secrets. Source: assumed D5."""
    if not answer:
        return ""
    text = answer.decode("utf-8", "replace")
    # Receivers mostly answer JSON, in which an escape may hide a digit of a card.
    plain = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), text)
    masked = mask(plain)
    return (masked if masked != plain else mask(text))[:RESPONSE_CHARS_MAX]


def _seconds(retry_after: str | None) -> float | None:
    """The wait of a Retry-After header: seconds, or a date. None for anything else."""
    if retry_after is None:
        return None
    if retry_after.isascii() and retry_after.strip().isdecimal():
        return float(retry_after[:9])
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(retry_after).timestamp() - time())
    except (ValueError, TypeError, OverflowError):
        return None

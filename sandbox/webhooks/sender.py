"""Sending one webhook over the network, and reporting the result.

The HTTP client is imported with the first webhook, because most servers send none.
"""

import asyncio
import errno
import re
import socket
from collections.abc import Callable, Mapping
from importlib import import_module
from time import perf_counter, time
from typing import TYPE_CHECKING, Any, Final, Protocol
from urllib.parse import urlsplit

from msgspec import Struct, field

from sandbox.domain.webhooks.deliveries import Sent
from sandbox.domain.webhooks.schedule import TIMEOUT_S
from sandbox.webhooks.address_guard import Guard

if TYPE_CHECKING:
    from aiohttp import ClientResponse, ClientSession

RESPONSE_CHARS_MAX: Final = 4_096
"""Characters stored of a receiver's answer: enough for an error message."""

ERROR_CHARS_MAX: Final = 500
"""Characters stored of an attempt's error, which may quote the receiver."""

_MARGIN_BYTES: Final = 256
"""Bytes read beyond the stored ones, so a key is recognized before it is cut."""

_READ_BYTES_MAX: Final = RESPONSE_CHARS_MAX + _MARGIN_BYTES

_ESCAPE: Final = re.compile(r"\\u00([0-7][0-9a-fA-F])")

_CLIENT: Final = "sandbox.webhooks.connections"

_IDLE_S: Final = 2
"""Connections are not reused after so long: receivers close theirs after five seconds or more."""

CONNECTIONS_MAX: Final = 1_000


class _Came(Struct):
    """What has come of the answer."""

    status: int | None = None
    text: bytearray = field(default_factory=bytearray)
    retry_after_s: float | None = None


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
        self._user_agent = user_agent
        self._session: ClientSession | None = None
        self._loading: asyncio.Future[Any] | None = None

    async def _load(self) -> None:
        """Import the client in a thread, because it takes long and the loop must run on."""
        if self._loading is None:
            self._loading = asyncio.ensure_future(asyncio.to_thread(import_module, _CLIENT))
        # One attempt that is given up must not end it for the others.
        await asyncio.shield(self._loading)

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        if self._loading is None or not self._loading.done():
            await self._load()
        from aiohttp import (
            ClientConnectorError,
            ClientError,
            ClientResponseError,
            ServerDisconnectedError,
        )

        started, came, is_timeout, is_unreachable = perf_counter(), _Came(), False, False
        error: str | None = None
        try:
            async with asyncio.timeout(self._timeout_s):
                self._must_be_allowed(url)
                while not await self._ask(url, body, headers, came):
                    pass
        except TimeoutError:
            error, is_timeout = f"no complete answer within {self._timeout_s:g} s", True
        except ServerDisconnectedError:
            error = "the connection was closed before there was a complete answer"
        except ClientResponseError as problem:
            error = f"the answer cannot be read: {' '.join(problem.message.split())}"
        except (ClientError, OSError, ValueError, EOFError) as problem:
            error = str(problem) or type(problem).__name__
            is_unreachable = isinstance(problem, ClientConnectorError)
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
            came.retry_after_s,
            is_timeout,
            is_unreachable,
        )

    async def _ask(self, url: str, body: bytes, headers: Mapping[str, str], came: "_Came") -> bool:
        """Send once. False if the receiver had closed an old connection.

        The receiver may still be fine: the next connection is tried, and at last a new one.
        """
        from aiohttp import ClientConnectionError

        from sandbox.webhooks.connections import IS_REUSED

        IS_REUSED.set(False)
        try:
            async with self._opened().post(
                url, data=body, headers=dict(headers), allow_redirects=False
            ) as response:
                came.status = response.status
                came.retry_after_s = _seconds(response.headers.get("retry-after"))
                await _read_beginning(response, came.text)
        except ClientConnectionError:
            if came.status is None and IS_REUSED.get():
                return False
            raise
        return True

    def _must_be_allowed(self, url: str) -> None:
        """An address in the URL itself has no lookup, so it is checked here."""
        if problem := self._guard.why_not_to(urlsplit(url).hostname or ""):
            raise OSError(problem)

    def _opened(self) -> "ClientSession":
        if self._session is None:
            from aiohttp import (
                ClientSession,
                ClientTimeout,
                DummyCookieJar,
                TCPConnector,
            )

            from sandbox.webhooks.connections import bounded

            self._session = ClientSession(
                connector=bounded(
                    TCPConnector(
                        limit=self._connections_max,
                        keepalive_timeout=_IDLE_S,
                        resolver=_guarded(self._guard),
                    )
                ),
                # A body that is not read at once waits in the network, not here.
                read_bufsize=_READ_BYTES_MAX,
                # The whole attempt has one limit, see `send`.
                timeout=ClientTimeout(total=None),
                cookie_jar=DummyCookieJar(),
                auto_decompress=False,
                headers={"user-agent": self._user_agent, "content-type": "application/json"},
            )
        return self._session

    def forget(self) -> None:
        self._session = self._loading = None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()
            self._session = None


async def _read_beginning(response: "ClientResponse", text: bytearray) -> None:
    """Read the stored part of the answer; the rest of an endless answer is not awaited."""
    while len(text) < _READ_BYTES_MAX:
        part = await response.content.read(_READ_BYTES_MAX - len(text))
        if not part:
            return
        text += part
    if not response.content.at_eof():
        response.close()


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


def _guarded(guard: Guard) -> Any:
    """A resolver that leaves out the addresses that may not be connected to."""
    from aiohttp import ThreadedResolver
    from aiohttp.abc import AbstractResolver, ResolveResult

    class Guarded(AbstractResolver):
        def __init__(self) -> None:
            self._resolver = ThreadedResolver()

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
        ) -> list[ResolveResult]:
            found = await self._resolver.resolve(host, port, family)
            refused = [guard.why_not(host, one["host"]) for one in found]
            allowed = [one for one, why in zip(found, refused, strict=True) if why is None]
            if not allowed:
                # The client shows the second part of an error only.
                raise OSError(errno.EACCES, refused[0] if refused else f"{host} has no address")
            return allowed

        async def close(self) -> None:
            await self._resolver.close()

    return Guarded()

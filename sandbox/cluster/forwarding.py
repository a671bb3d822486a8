"""Forwarding of requests to the server that has the world, and of the answers back."""

import asyncio
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Any, Final
from urllib.parse import quote

import aiohttp
from yarl import URL

from sandbox.domain.faults import MISDIRECTED
from sandbox.platform import wire
from sandbox.platform.forwarding import FORWARDED
from sandbox.platform.responses import close_connection
from sandbox.store.files.port import Unavailable
from sandbox.worlds.elsewhere import Peer

SERVER: Final = b"x-sandbox-server"
"""The header of a forwarded answer with the name of the server that gave it, for balancers."""

_SENT_ON: Final = (FORWARDED.decode(), "1")
_AGAIN: Final = "sandbox.forwarded_again"
"""Marks the scope of a request that was forwarded a second time."""

_CONNECT_S: Final = 2.0
_ASK_S: Final = 10.0
_KEPT_S: Final = 3.0
"""How long to keep idle connections: shorter than servers do, so that none is closed during use."""

REFUSED: Final = (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError)
"""The errors if a server cannot be reached, so that nothing was sent."""

_LEFT_OUT: Final = (b"connection", b"keep-alive", b"transfer-encoding")
_NOT_PASSED_BACK: Final = (*_LEFT_OUT, b"date")
"""The server that passes an answer back adds a date of its own, and there is only one."""

_NOT_SENT_ON: Final = (b"upgrade", b"expect", b"te", b"trailer", b"content-length", FORWARDED)


class Forwarding:
    """Persistent connections to the other servers."""

    def __init__(self) -> None:
        # Forwarded requests that are under way, with the session of their server.
        self._under_way: dict[asyncio.Task[bool], int] = {}

    async def forward(
        self, peer: Peer, url: str, scope: Any, receive: Any, send: Any, body: bytes
    ) -> bool:
        """Forward a request; return False if the server no longer has the world.

        The `body` was read already. If the connection to the server breaks before or during its
        answer, the client's connection is aborted. Raises REFUSED, and Unavailable if the server
        is gone.
        """
        has_started = False

        async def pass_on(message: Any) -> None:
            nonlocal has_started
            has_started = True
            await send(message)

        task = asyncio.ensure_future(self._exchange(peer, url, scope, pass_on, body))
        self._under_way[task] = peer.session
        try:
            return await wire.unless_gone(task, receive)
        except REFUSED:
            raise
        except wire.ClientGone:
            # The client does not wait for an answer.
            return True
        except (aiohttp.ClientError, OSError, asyncio.CancelledError) as error:
            was_ended = isinstance(error, asyncio.CancelledError)
            if was_ended and not task.cancelled():
                raise
            is_read = scope["method"] in ("GET", "HEAD")
            if not has_started and is_read and _AGAIN not in scope:
                # Reads are repeated once, with the new owner.
                scope[_AGAIN] = True
                return False
            if was_ended and not has_started:
                raise Unavailable("the server that has the world is gone") from None
            await close_connection(scope, receive)
            return True
        finally:
            del self._under_way[task]

    async def _exchange(self, peer: Peer, url: str, scope: Any, send: Any, body: bytes) -> bool:
        # `OPTIONS *` has no path, but a URL needs one.
        path = scope["path"] if scope["path"].startswith("/") else "/" + scope["path"]
        target = quote(path, safe="/:@!$&'()*+,;=~-._")
        if scope["query_string"]:
            target += "?" + scope["query_string"].decode("latin-1")
        kept = [one for one in scope["headers"] if one[0] not in (*_LEFT_OUT, *_NOT_SENT_ON)]
        async with self._client.request(
            scope["method"],
            URL(url + target, encoded=True),
            headers=[*_decode(kept), _SENT_ON],
            data=body or None,
            allow_redirects=False,
        ) as answer:
            if answer.status == MISDIRECTED.status and _SENT_ON[0] in answer.headers:
                return False
            headers = [(key.lower(), value) for key, value in answer.raw_headers]
            headers = [one for one in headers if one[0] not in _NOT_PASSED_BACK]
            headers.append((SERVER, peer.name.encode("latin-1", "replace")))
            await send({"type": "http.response.start", "status": answer.status, "headers": headers})
            async for chunk in answer.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        return True

    async def ask(
        self, url: str, target: str, headers: Sequence[tuple[bytes, bytes]]
    ) -> bytes | None:
        """Send a GET to a server, and return the body of its answer, or None if it fails."""
        try:
            async with self._client.get(
                URL(url + target, encoded=True),
                headers=[*_decode(headers), _SENT_ON],
                timeout=aiohttp.ClientTimeout(total=_ASK_S, sock_connect=_CONNECT_S),
            ) as answer:
                return await answer.read() if answer.ok else None
        except (aiohttp.ClientError, OSError, TimeoutError):
            return None

    @cached_property
    def _client(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=_KEPT_S),
            timeout=aiohttp.ClientTimeout(sock_connect=_CONNECT_S),
            auto_decompress=False,
            skip_auto_headers=("user-agent", "accept", "accept-encoding", "content-type"),
            cookie_jar=aiohttp.DummyCookieJar(),
        )

    @property
    def sessions(self) -> set[int]:
        """The sessions of servers that have forwarded requests under way."""
        return set(self._under_way.values())

    def end(self, session: int) -> None:
        """Cancel the forwarded requests at a server that is gone."""
        for task, at in self._under_way.items():
            if at == session:
                task.cancel()

    async def close(self) -> None:
        """Close all connections."""
        await self._client.close()


def _decode(headers: Iterable[tuple[bytes, bytes]]) -> list[tuple[str, str]]:
    return [(name.decode("latin-1"), value.decode("latin-1")) for name, value in headers]

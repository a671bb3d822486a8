"""Send webhooks over the network, and report each attempt's result."""

import asyncio
import socket
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import aiohttp
from msgspec.structs import replace

from sandbox.domain.webhooks import TIMEOUT_S, Sent
from sandbox.webhooks.address_guard import Guard
from sandbox.webhooks.receivers import BODY_BYTES_MAX, USER_AGENT, judge

CONNECTIONS_MAX: Final = 1_000
"""How many attempts may hold a connection at a time."""

IDLE_S: Final = 2.0
"""Close an unused connection after this time: receivers close theirs after five seconds or more."""

_RECEIVED_BYTES: Final = 16_384
"""How much of a receiver's answer the system buffers. More would be parsed in one go, which takes
long if it consists of thousands of interim answers."""


class GuardedResolver(aiohttp.ThreadedResolver):
    """Finds the addresses of a host that the guard allows."""

    def __init__(self, guard: Guard) -> None:
        super().__init__()
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[aiohttp.abc.ResolveResult]:
        """Resolve a host. Raises OSError if it has no allowed address."""
        found = await super().resolve(host, port, family)
        refusals = [self._guard.why_not(host, one["host"]) for one in found]
        allowed = [one for one, why in zip(found, refusals, strict=True) if why is None]
        if not allowed:
            raise OSError(refusals[0] if refusals else "the host has no address")
        return allowed


@dataclass
class _Answer:
    """The part of an answer that has arrived. `status` is None until its head is complete.

    `is_connected` if there is a connection to send on, a new or a kept one.
    """

    status: int | None = None
    body: bytearray = field(default_factory=bytearray)
    retry_after: str | None = None
    is_connected: bool = False
    is_on_kept_connection: bool = False


@dataclass(eq=False, repr=False)
class WebhookClient:
    """Sends webhooks over connections that it keeps for a while. Implements `Sending`.

    An attempt fails after `timeout_s`. `mask` masks secrets in a receiver's answer. With TLS, the
    system's authorities are trusted, and those in the file `ca`.
    """

    guard: Guard
    mask: Callable[[str], str]
    timeout_s: float = TIMEOUT_S
    connections_max: int = CONNECTIONS_MAX
    ca: Path | None = None

    def __post_init__(self) -> None:
        self._session: aiohttp.ClientSession | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        # Reading the certificates takes a while, so a client is made in a thread.
        self._tls = ssl.create_default_context()
        if self.ca is not None:
            self._tls.load_verify_locations(self.ca)
        self._tls.set_alpn_protocols(("http/1.1",))

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        session, answer = await self._open_session(), _Answer()
        error, is_timeout = None, False
        async with self._connections:
            started = perf_counter()
            try:
                async with asyncio.timeout(self.timeout_s):
                    await self._post(session, url, body, headers, answer)
            except TimeoutError:
                error, is_timeout = f"no complete answer within {self.timeout_s:g} s", True
            except (aiohttp.ClientError, OSError, ValueError) as problem:
                error = describe(problem)
        sent = judge(started, answer.status, answer.body, answer.retry_after, self.mask, error)
        return replace(sent, is_timeout=is_timeout, is_unreachable=not answer.is_connected)

    async def _post(
        self,
        session: aiohttp.ClientSession,
        url: str,
        body: bytes,
        headers: Mapping[str, str],
        answer: _Answer,
    ) -> None:
        """Post the body, and fill in the answer."""
        while True:
            answer.is_connected = answer.is_on_kept_connection = False
            try:
                async with session.post(
                    url,
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    trace_request_ctx=answer,
                ) as response:
                    answer.status = response.status
                    answer.retry_after = response.headers.get("retry-after")
                    read = response.content.readany
                    while len(answer.body) < BODY_BYTES_MAX and (chunk := await read()):
                        answer.body += chunk[: BODY_BYTES_MAX - len(answer.body)]
                return
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError):
                # The receiver closed a kept connection just before it was used again.
                if answer.status is not None or not answer.is_on_kept_connection:
                    raise

    async def _open_session(self) -> aiohttp.ClientSession:
        """Return the session of the running loop."""
        loop = asyncio.get_running_loop()
        if self._session is not None and self._loop is not loop:
            await self.close()
        if self._session is None:
            self._loop = loop
            # The time of an attempt begins with its connection, so the connector has no limit.
            self._connections = asyncio.Semaphore(self.connections_max)
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(
                    limit=0,
                    keepalive_timeout=IDLE_S,
                    ssl=self._tls,
                    resolver=GuardedResolver(self.guard),
                    socket_factory=_create_socket,
                    # Attempts at a host share the lookup in progress, so that a name server that
                    # does not answer holds one thread. No result is kept.
                    ttl_dns_cache=0,
                ),
                headers={
                    "user-agent": USER_AGENT,
                    "accept": "*/*",
                    "content-type": "application/json",
                },
                skip_auto_headers=["accept-encoding"],
                auto_decompress=False,
                cookie_jar=aiohttp.DummyCookieJar(),
                # `send` has a limit for the whole attempt.
                timeout=aiohttp.ClientTimeout(total=None),
                middlewares=[self._refuse_internal_host],
                trace_configs=[_trace_connections()],
            )
        return self._session

    async def _refuse_internal_host(
        self, request: aiohttp.ClientRequest, send: aiohttp.ClientHandlerType
    ) -> aiohttp.ClientResponse:
        """Ask the guard about the URL's host, because resolvers do not see addresses."""
        if refusal := self.guard.why_not_to(request.url.raw_host or ""):
            raise ValueError(refusal)
        return await send(request)

    async def close(self) -> None:
        if self._session is not None:
            session, self._session = self._session, None
            await session.close()


def _create_socket(address: aiohttp.AddrInfoType) -> socket.socket:
    family, kind, protocol, _, _ = address
    created = socket.socket(family, kind, protocol)
    created.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _RECEIVED_BYTES)
    return created


def _trace_connections() -> aiohttp.TraceConfig:
    """Note in each answer that there is a connection, and whether it was used before."""

    async def note_new(_: aiohttp.ClientSession, context: Any, __: Any) -> None:
        context.trace_request_ctx.is_connected = True

    async def note_kept(_: aiohttp.ClientSession, context: Any, __: Any) -> None:
        answer = context.trace_request_ctx
        answer.is_connected = answer.is_on_kept_connection = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_create_end.append(note_new)
    trace.on_connection_reuseconn.append(note_kept)
    return trace


def describe(problem: Exception) -> str:
    """Return in one line why there is no complete answer."""
    if isinstance(problem, aiohttp.ClientConnectorError):
        host = f"[{problem.host}]" if ":" in problem.host else problem.host
        return f"Cannot connect to host {host}:{problem.port} [{_describe_connecting(problem)}]"
    if isinstance(problem, aiohttp.ServerDisconnectedError):
        return "the connection was closed before there was a complete answer"
    if isinstance(problem, aiohttp.ClientPayloadError):
        return "the body of the answer was not completed or cannot be read"
    if isinstance(problem, aiohttp.ClientResponseError):
        return f"the answer cannot be read: {_in_one_line(problem.message)}"
    if isinstance(problem, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return f"the URL cannot be used: {_in_one_line(str(problem))}"
    text = getattr(problem, "strerror", None) or str(problem)
    return _in_one_line(text) or type(problem).__name__


def _describe_connecting(problem: aiohttp.ClientConnectorError) -> str:
    if isinstance(problem, aiohttp.ClientConnectorCertificateError):
        cause = problem.certificate_error
        why = getattr(cause, "verify_message", cause)
        return f"the TLS certificate is not trusted: {why}; --webhooks-ca FILE trusts another one"
    cause = problem.os_error
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused: nothing listens there"
    if isinstance(cause, socket.gaierror) and cause.errno != socket.EAI_AGAIN:
        return "no such host"
    return _in_one_line(cause.strerror or str(cause))


def _in_one_line(text: str) -> str:
    """Return the text on one line, without a trailing caret that marks a place."""
    return " ".join(text.split()).removesuffix(" ^")

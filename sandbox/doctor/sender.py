"""Sending probes over the network, and classifying the answers."""

import asyncio
import ssl
from collections.abc import Iterable
from dataclasses import dataclass
from time import perf_counter
from typing import Final

from httpx2 import (
    AsyncClient,
    ConnectError,
    ConnectTimeout,
    HTTPError,
    InvalidURL,
    Limits,
    LocalProtocolError,
    RemoteProtocolError,
    Timeout,
)

from sandbox import __version__
from sandbox.doctor.builder import Webhook
from sandbox.doctor.scale import Way, way_of

CONNECT_S: Final = 5.0
"""Time limit for a connection; after it the receiver counts as unreachable."""

ANSWER_BYTES_MAX: Final = 4_096
"""The most bytes of an answer to read."""


@dataclass(frozen=True, slots=True)
class ReceiverAnswer:
    """The result of one request: its kind, and the receiver's reaction in words."""

    label: str
    way: Way
    summary: str
    status_code: int | None
    duration_ms: float
    text: str = ""


class ProbeSender:
    """Sends to one URL, each request over a connection of its own, until it is closed.

    So leftovers of one probe do not affect the next one. Redirects are not followed, and proxies of
    the environment are ignored. An answer that is not complete after `timeout_s` counts as none.
    """

    def __init__(self, url: str, *, timeout_s: float) -> None:
        self._url = url
        self._timeout_s = timeout_s
        self._client: AsyncClient = _client(url, timeout_s)

    async def send(self, webhooks: Iterable[Webhook]) -> list[ReceiverAnswer]:
        """The answers to requests that are sent at once, in their order. Never raises."""
        return await asyncio.gather(*map(self._send, webhooks))

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _send(self, webhook: Webhook) -> ReceiverAnswer:
        started, status, text = perf_counter(), None, bytearray()
        request = self._client.stream(
            webhook.method, self._url, content=webhook.body, headers=dict(webhook.headers)
        )
        try:
            async with asyncio.timeout(self._timeout_s), request as answer:
                status = answer.status_code
                async for part in answer.aiter_raw():
                    text += part[: ANSWER_BYTES_MAX - len(text)]
                    if len(text) >= ANSWER_BYTES_MAX:
                        break
        except TimeoutError:
            way, summary = Way.SILENT, f"no complete answer within {self._timeout_s:g} s"
        except (HTTPError, InvalidURL) as problem:
            way, summary = _way_of_problem(problem)
        else:
            way, summary = way_of(answer.status_code), f"answered {answer.status_code}"
            if answer.is_redirect and (location := answer.headers.get("location")):
                summary += f" to {location}"
        duration_ms = (perf_counter() - started) * 1000
        said = text.decode("utf-8", "replace")
        return ReceiverAnswer(webhook.label, way, summary, status, duration_ms, said)


def _client(url: str, timeout_s: float) -> AsyncClient:
    return AsyncClient(
        # Reading the certificates of the machine takes longer than all probes together.
        verify=True if url.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=False,
        follow_redirects=False,
        # `_send` limits each request as a whole; this limit detects connections without any answer.
        timeout=Timeout(None, connect=min(CONNECT_S, timeout_s / 2)),
        limits=Limits(max_keepalive_connections=0),
        headers={"user-agent": f"uat-sandbox/{__version__}", "accept-encoding": "identity"},
    )


def _way_of_problem(problem: HTTPError | InvalidURL) -> tuple[Way, str]:
    """The way of an attempt without an answer, and a summary."""
    why = str(problem)
    if isinstance(problem, ConnectTimeout):
        return Way.UNREACHABLE, "cannot be connected to: no program accepts connections there"
    if isinstance(problem, ConnectError | InvalidURL | LocalProtocolError):
        return Way.UNREACHABLE, f"cannot be connected to: {why}"
    # The client has one exception for both; this text belongs to an unreadable answer.
    closed = ("Server disconnected", "peer closed")
    if isinstance(problem, RemoteProtocolError) and not why.startswith(closed):
        return Way.NOT_HTTP, "did not answer in HTTP"
    return Way.CLOSED, "closed the connection before there was a complete answer"

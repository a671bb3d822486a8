"""How the httpx2 clients of all worlds reach the platform."""

import asyncio
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email.utils import formatdate
from functools import cache
from typing import TYPE_CHECKING, Any, Final

from uat_sandbox.trust import trusting_context

if TYPE_CHECKING:
    import httpx2

    from sandbox.server.embedded import Answered, Embedded, RawHeaders, ThreadedApp

_TIMED_OUT: Final = "timed out"
_DISCONNECTED: Final = "Server disconnected without sending a response."


def shared_transport(url: str, embedded: "Embedded | None" = None) -> "httpx2.HTTPTransport":
    """Return a transport that stays open when a client is closed, for the clients of other tests.

    Requests to a sandbox that is `embedded` in this process need no connection. `close_connections`
    closes the transport. Raises ImportError without httpx2.
    """
    import httpx2

    class SharedTransport(httpx2.HTTPTransport):
        close_connections = httpx2.HTTPTransport.close

        def close(self) -> None:
            """Keep the connections for other clients."""

        def handle_request(self, request: httpx2.Request) -> httpx2.Response:
            """Send the request and return the answer."""
            if embedded is None or not str(request.url).startswith(f"{url}/"):
                return super().handle_request(request)
            head = request.method, str(request.url), _headers_of(request)
            with _errors_of_a_connection(request):
                answered = embedded.ask(*head, request.read(), timeout_s=_limit_s(request))
            return _response(answered)

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    return SharedTransport(verify=context_for(url), trust_env=False, limits=limits)


def asyncio_transport(asgi: "ThreadedApp") -> "httpx2.ASGITransport":
    """Return a transport for asyncio that needs no connection.

    Time limits, transport faults and the header `Date` are those of a connection. Raises
    ImportError without httpx2.
    """
    import httpx2

    class AsyncioTransport(httpx2.ASGITransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            """Send the request and return the answer."""
            head = request.method, str(request.url), _headers_of(request)
            content = await request.aread()
            with _errors_of_a_connection(request):
                async with asyncio.timeout(_limit_s(request)):
                    answered = await asyncio.wrap_future(asgi.ask(*head, content))
            return _response(answered)

    return AsyncioTransport(asgi)


def _headers_of(request: "httpx2.Request") -> "RawHeaders":
    return [(name.lower(), value) for name, value in request.headers.raw]


def _limit_s(request: "httpx2.Request") -> float | None:
    limit_s: float | None = request.extensions.get("timeout", {}).get("read")
    return limit_s


@contextmanager
def _errors_of_a_connection(request: "httpx2.Request") -> Iterator[None]:
    """Turn the errors of a sandbox in this process into those of a client with a connection."""
    import httpx2

    try:
        yield
    except TimeoutError:
        raise httpx2.ReadTimeout(_TIMED_OUT, request=request) from None
    except ConnectionError:
        raise httpx2.RemoteProtocolError(_DISCONNECTED, request=request) from None


def _response(answered: "Answered") -> "httpx2.Response":
    import httpx2

    status, headers, body = answered
    date = (b"date", formatdate(usegmt=True).encode())
    return httpx2.Response(status, headers=[*headers, date], content=body)


def close_connections(transport: Any) -> None:
    """Close a shared transport."""
    transport.close_connections()


def context_for(url: str) -> ssl.SSLContext:
    """Return the context for httpx2's `verify`; for http, one without the slow certificates."""
    return trusting_context() if url.startswith("https:") else _without_tls()


@cache
def _without_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

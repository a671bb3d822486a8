"""The connections to the platform that the clients of all worlds share.

For where httpx2 is installed.
"""

import ssl
from functools import cache

import httpx2

from uat_sandbox.trust import trusting_context

_UNLIMITED = httpx2.Limits(max_connections=None, max_keepalive_connections=20)


class SharedTransport(httpx2.BaseTransport):
    """Keeps connections open when a client is closed: the client of the next test takes them."""

    def __init__(self, url: str) -> None:
        self._connections = httpx2.HTTPTransport(
            verify=context_for(url), trust_env=False, limits=_UNLIMITED
        )

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request over one of the connections."""
        return self._connections.handle_request(request)

    def close_connections(self) -> None:
        """Close all connections."""
        self._connections.close()


def context_for(url: str) -> ssl.SSLContext:
    """For the `verify` of httpx2. Reading the system's certificates takes long; http needs none."""
    return trusting_context() if url.startswith("https:") else _without_tls()


@cache
def _without_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

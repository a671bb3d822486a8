"""The connections to the platform that the httpx2 clients of all worlds share."""

import ssl
from functools import cache
from typing import TYPE_CHECKING, Any

from uat_sandbox.trust import trusting_context

if TYPE_CHECKING:
    import httpx2


def shared_transport(url: str) -> "httpx2.HTTPTransport":
    """A transport that stays open when a client is closed: the next test's client takes it.

    `close_connections` closes it. Raises ImportError without httpx2.
    """
    import httpx2

    class SharedTransport(httpx2.HTTPTransport):
        close_connections = httpx2.HTTPTransport.close

        def close(self) -> None:
            """Keep the connections for other clients."""

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
    return SharedTransport(verify=context_for(url), trust_env=False, limits=limits)


def close_connections(transport: Any) -> None:
    """Close a shared transport."""
    transport.close_connections()


def context_for(url: str) -> ssl.SSLContext:
    """For the `verify` of httpx2. Reading the system's certificates takes long; http needs none."""
    return trusting_context() if url.startswith("https:") else _without_tls()


@cache
def _without_tls() -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)

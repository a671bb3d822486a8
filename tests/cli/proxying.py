"""A proxy in front of a sandbox, as teams put one there: below a path, and with TLS."""

import contextlib
import socket
import ssl
import threading
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import httpx2
import pytest

from sandbox.server import tls as certificates
from tests.webhooks.misbehaving import hang
from tests.webhooks.receiving import Answer, Received, Receiver, receiving

PREFIX = "/hooks"


def trusted_context(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """TLS for localhost, and the file of the authority that vouches for it."""
    pytest.importorskip("cryptography")
    tls = certificates.own(folder / "tls", ["localhost"])
    return tls.context, folder / "tls" / certificates.CA_FILE


@contextlib.contextmanager
def proxying(target: str, tls: ssl.SSLContext | None = None) -> Iterator[Receiver]:
    """Pass everything below the prefix on to the target, with the Host header as it came."""

    def pass_on(one: Received, connection: socket.socket, stop: threading.Event) -> None:
        url = target + one.path.removeprefix(PREFIX)
        with client.stream(one.method, url, headers=one.headers, content=one.body) as answer:
            fields = answer.headers.multi_items()
            kept = [f"{name}: {value}\r\n" for name, value in fields if name != "connection"]
            head = f"HTTP/1.1 {answer.status_code} -\r\n{''.join(kept)}connection: close\r\n\r\n"
            connection.sendall(head.encode() + b"".join(answer.iter_raw()))

    def answer(one: Received) -> int | Answer:
        if "/stream" in one.path:
            # Proxies may hold back what has no end.
            return hang
        return Answer(act=partial(pass_on, one)) if one.path.startswith(f"{PREFIX}/") else 404

    # A client for each request would read all certificates again.
    with httpx2.Client(timeout=20) as client, receiving(answer, tls) as proxy:
        yield proxy

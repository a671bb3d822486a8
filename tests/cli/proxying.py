"""A proxy in front of a sandbox, as teams put one there: with TLS, or below a path."""

import contextlib
import http.client
import ssl
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from sandbox.server import tls as certificates


@dataclass
class Proxy:
    """A proxy that runs. `asked` has the paths that it was asked for, with the prefix."""

    url: str
    asked: list[str] = field(default_factory=list)


def trusted_context(folder: Path) -> tuple[ssl.SSLContext, Path]:
    """TLS for localhost, and the file of the authority that vouches for it."""
    pytest.importorskip("cryptography")
    tls = certificates.own(folder / "tls", ["localhost"])
    return tls.context, folder / "tls" / certificates.CA_FILE


@contextlib.contextmanager
def proxying(
    target: str, *, prefix: str = "", tls: ssl.SSLContext | None = None
) -> Iterator[Proxy]:
    """Pass everything below the prefix on to the target, with the Host header as it came."""
    netloc = urlsplit(target).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def _pass_on(self) -> None:
            proxy.asked.append(self.path)
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
            if not self.path.startswith(prefix + "/"):
                self.send_error(404)
                return
            inner = http.client.HTTPConnection(netloc, timeout=20)
            inner.request(
                self.command, self.path.removeprefix(prefix), body or None, dict(self.headers)
            )
            answer = inner.getresponse()
            content = answer.read()
            inner.close()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() != "content-length":
                    self.send_header(name, value)
            if answer.status != 204:
                self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on  # noqa: N815

        def log_message(self, format: str, *arguments: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    scheme = "http" if tls is None else "https"
    proxy = Proxy(f"{scheme}://localhost:{server.server_address[1]}{prefix}")
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

"""A webhook receiver on a real socket, with an inbox for each world.

It uses threads and the standard library, so it needs no other web server. Code that stops the
clock, or blocks an event loop, does not stop it.
"""

import selectors
import socket
import threading
from collections.abc import Mapping
from http.server import BaseHTTPRequestHandler
from typing import Any, Final

from uat_sandbox.errors import SandboxError
from uat_sandbox.inbox import Inbox, Reply

_BACKLOG: Final = 128
_BODY_BYTES_MAX: Final = 16 * 1024 * 1024
_WITHOUT_BODY: Final = (204, 304)


class Receiver:
    """Receives webhooks for many worlds, each at its own path, until it is closed.

    It listens on a free port of the address; `origin` is its URL with `host`. Raises SandboxError
    for an address on which it cannot listen.
    """

    def __init__(self, address: str, host: str) -> None:
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self._listener = socket.socket(family, socket.SOCK_STREAM)
        try:
            self._listener.bind((address, 0))
            self._listener.listen(_BACKLOG)
        except OSError as error:
            self._listener.close()
            raise SandboxError(f"webhooks cannot be received on {address}: {error}") from None
        self._listener.setblocking(False)
        port = self._listener.getsockname()[1]
        self.origin = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self._boxes: dict[str, Inbox] = {}
        self._open: dict[socket.socket, threading.Thread] = {}
        self._lock = threading.Lock()
        self._waker, self._woken = socket.socketpair()
        self._thread = threading.Thread(target=self._accept, name="sandbox receiver", daemon=True)
        self._thread.start()

    # --- inboxes

    def open(self, world_id: str) -> Inbox:
        """Return an empty inbox for a world."""
        box = self._boxes[self._path(world_id)] = Inbox()
        return box

    def forget(self, world_id: str) -> None:
        """Forget a world that is gone; further webhooks for it get 404."""
        self._boxes.pop(self._path(world_id), None)

    def url_of(self, world_id: str) -> str:
        """Return the URL for webhooks of the world."""
        return self.origin + self._path(world_id)

    def _path(self, world_id: str) -> str:
        return f"/{world_id}"

    def take(self, path: str, headers: Mapping[str, str], raw: bytes) -> Reply:
        """Put a webhook into the inbox of its path, and return the answer."""
        box = self._boxes.get(path.partition("?")[0])
        return Reply(404) if box is None else box.take(headers, raw)

    def take_local(
        self, path: str, headers: Mapping[str, str], raw: bytes
    ) -> tuple[int, dict[str, str], bytes]:
        """Take a webhook without a socket, and return status, headers and body of the answer."""
        reply = self.take(path, headers, raw)
        return reply.status, {name.lower(): value for name, value in reply.headers}, reply.body

    # --- sockets

    def close(self) -> None:
        """Stop listening, and close all connections."""
        self._waker.sendall(b"x")
        self._thread.join()
        # No other thread accepts connections now, so this is all of them.
        with self._lock:
            left = dict(self._open)
        for connection in left:
            try:
                # Its thread, which may be reading, closes it.
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        for thread in left.values():
            thread.join()
        for one in (self._listener, self._waker, self._woken):
            one.close()

    def _accept(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._listener, selectors.EVENT_READ)
            selector.register(self._woken, selectors.EVENT_READ)
            while True:
                ready = [key.fileobj for key, _ in selector.select()]
                if self._woken in ready:
                    return
                try:
                    connection, _ = self._listener.accept()
                except OSError:
                    # The client is already gone.
                    continue
                self._serve(connection)

    def _serve(self, connection: socket.socket) -> None:
        connection.setblocking(True)
        thread = threading.Thread(
            target=self._handle, args=(connection,), name="sandbox receiver", daemon=True
        )
        with self._lock:
            self._open[connection] = thread
        thread.start()

    def _handle(self, connection: socket.socket) -> None:
        try:
            _Handler(connection, ("", 0), self)
        except OSError:
            # The client disconnected, or the receiver is being closed.
            pass
        finally:
            connection.close()
            with self._lock:
                self._open.pop(connection, None)


class _Handler(BaseHTTPRequestHandler):
    """One connection: HTTP/1.1 with keep-alive."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1

    def __init__(self, request: Any, client_address: Any, server: Receiver) -> None:
        self._receiver = server
        super().__init__(request, client_address, server)  # type: ignore[arg-type]

    def do_POST(self) -> None:
        """Take a webhook."""
        raw = self._body()
        if raw is None:
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self._receiver.take(self.path, headers, raw)
        self.send_response_only(reply.status)
        for name, value in reply.headers:
            self.send_header(name, value)
        if reply.status not in _WITHOUT_BODY:
            self.send_header("content-length", str(len(reply.body)))
        self.end_headers()
        if reply.status not in _WITHOUT_BODY:
            self.wfile.write(reply.body)

    def _body(self) -> bytes | None:
        """Return the body, even if it is incomplete; None after an answer that refuses it."""
        if "transfer-encoding" in self.headers:
            self.send_error(411)
            return None
        size = self.headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > _BODY_BYTES_MAX:
            self.send_error(413)
            return None
        raw = self.rfile.read(int(size))
        if len(raw) < int(size):
            self.close_connection = True
        return raw

    def log_message(self, format: str, *args: Any) -> None:
        """Print nothing."""

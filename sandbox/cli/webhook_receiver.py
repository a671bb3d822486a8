"""A webhook receiver on loopback, for commands that receive what a world sends."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from sandbox.webhooks.signing import why_not_genuine

_LOOPBACK: Final = "127.0.0.1"
_BODY_BYTES_MAX: Final = 1_048_576
_TAKEN, _REFUSED, _TOO_LARGE = 204, 401, 413


@dataclass(frozen=True, slots=True)
class Received:
    """One webhook as it arrived. `body` is None if it is not JSON.

    `problem` says what is wrong with its signature; None if nothing is.
    """

    message_id: str
    problem: str | None
    body: Any

    @property
    def is_genuine(self) -> bool:
        """Whether its signature is right."""
        return self.problem is None


@dataclass(slots=True)
class Receiver:
    """A receiver at a URL. `note` gets each webhook, in a thread, before it is answered.

    A webhook with a wrong signature is answered with 401, as a careful receiver does.
    """

    note: Callable[[Received], None]
    url: str = ""
    secret: str = ""


def _read(secret: str, body: bytes, headers: Mapping[str, str]) -> Received:
    """A webhook by its bytes and its headers with names in lower case."""
    prefix = next(
        (name.removesuffix("-signature") for name in headers if name.endswith("-signature")),
        "webhook",
    )
    try:
        shown = json.loads(body)
    except ValueError:
        shown = None
    message_id = headers.get(f"{prefix}-id", "")
    return Received(message_id, why_not_genuine(prefix, secret, body, headers), shown)


@contextmanager
def receiving(note: Callable[[Received], None]) -> Iterator[Receiver]:
    """A receiver on a free port of this machine until the block ends."""
    receiver = Receiver(note)

    class Handler(BaseHTTPRequestHandler):
        timeout = 30

        def do_POST(self) -> None:
            length = self.headers.get("content-length", "")
            if not length.isdigit() or int(length) > _BODY_BYTES_MAX:
                self._answer(_TOO_LARGE)
                return
            body = self.rfile.read(int(length))
            headers = {name.lower(): value for name, value in self.headers.items()}
            received = _read(receiver.secret, body, headers)
            receiver.note(received)
            self._answer(_TAKEN if received.is_genuine else _REFUSED)

        def _answer(self, status: int) -> None:
            self.send_response(status)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing: the command prints what arrived."""

    with ThreadingHTTPServer((_LOOPBACK, 0), Handler) as server:
        server.daemon_threads = True
        receiver.url = f"http://{_LOOPBACK}:{server.server_port}/"
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield receiver
        finally:
            server.shutdown()
            thread.join()

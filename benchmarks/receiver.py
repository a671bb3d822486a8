"""A receiver of webhooks, in a process of its own: `python -m benchmarks.receiver PORT STATUS`.

It answers everything with that status and no body, and records the count and time of messages.
`GET /` returns both, and the count of requests.
"""

import asyncio
import json
import re
import sys
import time
from typing import Final, cast

import uvloop

_LENGTH: Final = re.compile(rb"content-length: *(\d+)", re.IGNORECASE)
_ID: Final = re.compile(rb"webhook-id: *(\S+)", re.IGNORECASE)
_ANSWERS: Final = {
    "204": b"HTTP/1.1 204 No Content\r\n\r\n",
    "500": b"HTTP/1.1 500 Internal Server Error\r\ncontent-length: 0\r\n\r\n",
}


class Receiver(asyncio.Protocol):
    """One connection. `came` and `requests` are those of all connections."""

    came: Final[dict[str, float]] = {}
    requests = 0
    answer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)
        self._received = b""

    def data_received(self, data: bytes) -> None:
        """Answer every request that is complete."""
        self._received += data
        while True:
            head, separator, rest = self._received.partition(b"\r\n\r\n")
            length = _LENGTH.search(head)
            size = int(length[1]) if length else 0
            if not separator or len(rest) < size:
                return
            self._received = rest[size:]
            self._transport.write(self._tell() if head.startswith(b"GET") else self._take(head))

    def _take(self, head: bytes) -> bytes:
        id = _ID.search(head)
        assert id
        self.came.setdefault(id[1].decode(), time.monotonic())
        Receiver.requests += 1
        return self.answer

    def _tell(self) -> bytes:
        told = {"count": len(self.came), "came": self.came, "requests": self.requests}
        body = json.dumps(told).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def _serve(port: int, status: str) -> None:
    Receiver.answer = _ANSWERS[status]
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1]), sys.argv[2]))

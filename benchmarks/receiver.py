"""A receiver of webhooks, in a process of its own: `python -m benchmarks.receiver PORT`.

It answers everything with 204, and records the count and time of messages. `GET /` returns both.
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
_TAKEN: Final = b"HTTP/1.1 204 No Content\r\n\r\n"


class Receiver(asyncio.Protocol):
    """One connection. `came` counts the messages of all connections."""

    came: Final[dict[str, float]] = {}

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
        return _TAKEN

    def _tell(self) -> bytes:
        body = json.dumps({"count": len(self.came), "came": self.came}).encode()
        return b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b" % (len(body), body)


async def _serve(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(_serve(int(sys.argv[1])))

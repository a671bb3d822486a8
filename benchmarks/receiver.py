"""A receiver of webhooks in a process of its own: it answers 204 and counts."""

import asyncio
import sys

_ANSWER = b"HTTP/1.1 204 No Content\r\n\r\n"
_COUNT = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%b"


class Receiver(asyncio.Protocol):
    """One connection; `GET` tells how many webhooks came over all of them."""

    count = 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin with nothing read."""
        self.transport, self.received = transport, b""

    def data_received(self, data: bytes) -> None:
        """Answer each complete request."""
        self.received += data
        while b"\r\n\r\n" in self.received:
            head, _, rest = self.received.partition(b"\r\n\r\n")
            _, _, after = head.lower().partition(b"content-length:")
            length = int(after.partition(b"\r\n")[0]) if after else 0
            if len(rest) < length:
                return
            self.received = rest[length:]
            if head.startswith(b"GET"):
                shown = b"%d" % Receiver.count
                self.transport.write(_COUNT % (len(shown), shown))  # type: ignore[attr-defined]
            else:
                Receiver.count += 1
                self.transport.write(_ANSWER)  # type: ignore[attr-defined]


async def main(port: int) -> None:
    """Receive until the process is ended."""
    server = await asyncio.get_running_loop().create_server(Receiver, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1])))

"""The writing side of a connection."""

import asyncio
from collections.abc import Callable

from uvicorn.protocols.http.flow_control import FlowControl


class WholeAnswers(asyncio.Transport):
    """A transport that sends the head of an answer together with the start of its body.

    One packet instead of two saves a twentieth of the cost of an answer (decision 24). `end` is
    called instead of closing the connection, and closes it once nothing would get lost.
    """

    def __init__(self, transport: asyncio.Transport, end: Callable[[], None]) -> None:
        super().__init__()
        self._transport = transport
        self._end = end
        self._head = b""
        # A whole answer. Never follows a head that waits: that is sent with the end of its answer.
        self.write_all: Callable[[bytes], None] = transport.write
        # All other calls go to the transport itself.
        self.get_extra_info = transport.get_extra_info  # type: ignore[method-assign]
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        self.pause_reading = transport.pause_reading  # type: ignore[method-assign]
        self.resume_reading = transport.resume_reading  # type: ignore[method-assign]
        self.abort = transport.abort  # type: ignore[method-assign]

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send the data after the head that waits, or let the head wait."""
        if self._head:
            self._transport.write(self._head + data)
            self._head = b""
        elif data[:9] == b"HTTP/1.1 " and data[9:12] != b"100":
            self._head = bytes(data)
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Send a head that has no body."""
        if self._head:
            self._transport.write(self._head)
            self._head = b""

    def close(self) -> None:
        """Send the pending data, and end the connection."""
        self.flush()
        self._end()

    def close_now(self) -> None:
        """Close the connection once everything is sent; refuse input in the meantime."""
        self._transport.close()

    def close_writing(self) -> None:
        """Signal the end of the output, and continue to read."""
        self.is_closing = _always  # type: ignore[method-assign]
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            # TLS has no half-closed connections.
            self._transport.close()

    def lose(self) -> None:
        """Forget the connection, which is lost: of several requests one may still be answered."""
        self._head = b""
        self.write = self.write_all = self._drop  # type: ignore[method-assign]

    def _drop(self, data: bytes | bytearray | memoryview) -> None:
        """The client is gone."""

    def unsent(self) -> int:
        """The number of bytes that the client has yet to read."""
        return self._transport.get_write_buffer_size()

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Hand the connection over."""
        self._transport.set_protocol(protocol)


def _always() -> bool:
    return True


class Flow(FlowControl):
    """Flow control as uvicorn has it, except that nothing is read while something is held back."""

    is_held = False

    def resume_reading(self) -> None:
        """Read on, unless earlier data still has to be parsed."""
        if self.read_paused and not self.is_held:
            super().resume_reading()

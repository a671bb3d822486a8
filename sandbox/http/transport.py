"""The writing side of a connection."""

import asyncio
from collections.abc import Callable
from typing import Final

from uvicorn.protocols.http.flow_control import FlowControl

BATCH_MAX: Final = 32
"""The most answers that are held back in one round of the event loop."""


class AnswerBatch:
    """Answers of one round of the event loop, which are sent one right after the other.

    A client that sleeps is woken by the answer that it gets, which costs more than sending it.
    While it is awake, further answers cost it and the server less (decision 70).
    """

    def __init__(self) -> None:
        self._held: list[WholeAnswers] = []

    def add(self, answers: "WholeAnswers") -> None:
        """Send what the connection holds when this round ends, or at once if there is much."""
        held = self._held
        if not held:
            asyncio.get_running_loop().call_soon(self.send)
        held.append(answers)
        if len(held) >= BATCH_MAX:
            self.send()

    def send(self) -> None:
        """Send all."""
        held, self._held = self._held, []
        for answers in held:
            answers.send_held()


class WholeAnswers(asyncio.Transport):
    """A transport that sends the head of an answer together with the start of its body.

    One packet instead of two saves a twentieth of the cost of an answer (decision 24). A whole
    answer can be held until the answers of other connections are ready too. `end` is called instead
    of closing the connection, and closes it once nothing would get lost.
    """

    def __init__(
        self, transport: asyncio.Transport, end: Callable[[], None], batch: AnswerBatch
    ) -> None:
        super().__init__()
        self._transport = transport
        self._end = end
        self._batch = batch
        self._head = b""
        self._held = b""
        # All other calls go to the transport itself.
        self.get_extra_info = transport.get_extra_info  # type: ignore[method-assign]
        self.is_closing = transport.is_closing  # type: ignore[method-assign]
        self.pause_reading = transport.pause_reading  # type: ignore[method-assign]
        self.resume_reading = transport.resume_reading  # type: ignore[method-assign]

    def hold(self, answer: bytes) -> None:
        """Send a whole answer together with those of other connections."""
        is_first = not self._held
        self._held += answer
        if is_first:
            self._batch.add(self)

    def send_held(self) -> None:
        """Send the answer that is held, if there still is one."""
        if self._held:
            held, self._held = self._held, b""
            self._transport.write(held)

    def write_all(self, answer: bytes) -> None:
        """Send a whole answer now.

        It never follows a head that waits: that is sent with the end of its answer.
        """
        self.send_held()
        self._transport.write(answer)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send the data after the head that waits, or let the head wait."""
        self.send_held()
        if self._head:
            self._transport.write(self._head + data)
            self._head = b""
        elif data[:9] == b"HTTP/1.1 " and data[9:12] != b"100":
            self._head = bytes(data)
        else:
            self._transport.write(data)

    def flush(self) -> None:
        """Send a held answer, and a head that has no body."""
        self.send_held()
        if self._head:
            self._transport.write(self._head)
            self._head = b""

    def close(self) -> None:
        """Send the pending data, and end the connection."""
        self.flush()
        self._end()

    def close_now(self) -> None:
        """Close the connection once everything is sent; refuse input in the meantime."""
        self.send_held()
        self._transport.close()

    def abort(self) -> None:
        """Close the connection at once; an earlier answer counts as sent."""
        self.send_held()
        self._transport.abort()

    def close_writing(self) -> None:
        """Signal the end of the output, and continue to read."""
        self.send_held()
        self.is_closing = _always  # type: ignore[method-assign]
        if self._transport.can_write_eof():
            self._transport.write_eof()
        else:
            # TLS has no half-closed connections.
            self._transport.close()

    def lose(self) -> None:
        """Forget the connection, which is lost: of several requests one may still be answered."""
        self._head = self._held = b""
        self.write = self._drop  # type: ignore[method-assign]
        self.write_all = self.hold = self._drop  # type: ignore[method-assign, assignment]

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

"""One connection to a receiver: a request goes out, and a bounded answer comes (decision 72).

The parser calls back for each part of an answer. Whatever a receiver sends, an answer takes no more
than `ANSWER_BYTES_MAX` bytes of it, and a connection with anything odd about it is not used again.
"""

import asyncio
from typing import Final, cast

import httptools
from msgspec import Struct, field

RESPONSE_CHARS_MAX: Final = 4_096
"""Characters stored of a receiver's answer: enough for an error message."""

_MARGIN_BYTES: Final = 256
"""Bytes read beyond the stored ones, so a key is recognized before it is cut."""

BODY_BYTES_MAX: Final = RESPONSE_CHARS_MAX + _MARGIN_BYTES
"""The rest of a longer body is not awaited."""

ANSWER_BYTES_MAX: Final = 65_536
"""The most bytes of one answer: all its heads, and its body with the framing until enough of it
is read. Servers send heads of 1 KiB; clients and proxies refuse more than 8 to 64 KiB."""

INTERIM_MAX: Final = 20
"""Interim answers (1xx) before the final one. Servers send one or two; each costs parsing."""

PIECE_BYTES: Final = 4_096
"""Bytes that are parsed before the limits are looked at again. Most answers are one piece."""

_FINAL: Final = 200
_SWITCHING: Final = 101
_CLOSED: Final = "the connection was closed before there was a complete answer"
_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})


class ReceiverFault(Exception):
    """Why there is no complete answer. The message is shown with the attempt."""


class Closed(ReceiverFault):
    """The connection ended before anything of an answer came."""


class Came(Struct):
    """What has come of an answer. `status` is None as long as its head is not complete."""

    status: int | None = None
    text: bytearray = field(default_factory=bytearray)
    retry_after: str | None = None


class Connection(asyncio.Protocol):
    """A connection that carries one request after the other.

    `is_usable` says whether it can carry another; `idle_since` is when the last one ended, on the
    clock of the loop.
    """

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport
        self._parser = httptools.HttpResponseParser(self)
        self._waiter: asyncio.Future[None] | None = None
        self._came = Came()
        self._taken = self._interim = 0
        self._is_framed = False
        self._until = 0.0
        self._look: asyncio.TimerHandle | None = None
        self.is_usable = True
        self.had_one = False
        self.idle_since = 0.0

    async def ask(self, request: bytes, came: Came, until: float) -> None:
        """Send a request, and fill `came` until the answer is complete, or enough of it is there.

        Raises ReceiverFault, OSError, or TimeoutError at that time of the loop's clock.
        """
        self._came, self._taken, self._interim, self._is_framed = came, 0, 0, False
        self._waiter = waiter = self._loop.create_future()
        self._until = until
        if self._look is None:
            self._look = self._loop.call_at(until, self._look_at_time)
        self._transport.write(request)
        try:
            await waiter
        except BaseException:
            self.close()
            raise
        finally:
            self._waiter = None
        self.had_one = True
        self.idle_since = self._loop.time()

    def close(self) -> None:
        """Close, and drop what the receiver still sends."""
        self.is_usable = False
        self._transport.abort()

    def _look_at_time(self) -> None:
        """Give up if it is time. One timer serves for all requests, which rarely take so long."""
        self._look = None
        if self._waiter is None:
            return
        if self._loop.time() < self._until:
            self._look = self._loop.call_at(self._until, self._look_at_time)
        else:
            self._fail(TimeoutError())

    # --- the connection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast(asyncio.Transport, transport)

    def connection_lost(self, exc: Exception | None) -> None:
        """End the answer that is awaited, which may be complete without having said so."""
        self.is_usable = False
        if self._look is not None:
            self._look.cancel()
        if not self._taken:
            self._fail(Closed(str(exc) if exc else _CLOSED))
        elif exc is not None:
            self._fail(exc)
        elif self._came.status is None:
            self._fail(ReceiverFault(_CLOSED))
        elif self._is_framed:
            self._fail(ReceiverFault("the body of the answer was not completed"))
        else:
            self._end()

    def data_received(self, data: bytes) -> None:
        """Parse what came piece by piece, up to the limit."""
        if len(data) <= PIECE_BYTES:
            # As nearly always.
            self._take(data)
            return
        for start in range(0, len(data), PIECE_BYTES):
            if self.is_usable:
                self._take(data[start : start + PIECE_BYTES])

    @property
    def _is_awaited(self) -> bool:
        return self._waiter is not None and not self._waiter.done()

    def _take(self, piece: bytes) -> None:
        if not self._is_awaited:
            # It answers no request.
            self.close()
            return
        self._taken += len(piece)
        if self._taken > ANSWER_BYTES_MAX:
            self._refuse_length()
            return
        try:
            self._parser.feed_data(piece)
        except httptools.HttpParserUpgrade:
            self._end()
        except httptools.HttpParserError as error:
            # What came before the odd part may have been all that was needed.
            self._fail(ReceiverFault(f"the answer cannot be read: {error}"))
            self.is_usable = False

    def _refuse_length(self) -> None:
        kib = ANSWER_BYTES_MAX // 1024
        if self._came.status is None:
            self._fail(ReceiverFault(f"the answer's head is longer than {kib} KiB"))
        else:
            why = f"the first {kib} KiB of the answer hold too little of a body"
            self._fail(ReceiverFault(why))

    def _end(self, *, is_usable: bool = False) -> None:
        """There is all of the answer that is wanted."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
            self.is_usable = self.is_usable and is_usable
            if not self.is_usable:
                self._transport.abort()

    def _fail(self, error: Exception) -> None:
        """There is no complete answer."""
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_exception(error)

    # --- parser callbacks

    def on_message_begin(self) -> None:
        """Begin an answer; after a final one there must be none."""
        if not self._is_awaited:
            self.is_usable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Note the headers that count."""
        name = name.lower()
        if name in _FRAMING:
            self._is_framed = True
        elif name == b"retry-after" and self._is_awaited:
            self._came.retry_after = value.decode("latin-1")

    def on_headers_complete(self) -> None:
        """Note the status of the final answer. Interim ones are counted and dropped."""
        status = self._parser.get_status_code()
        if not self._is_awaited:
            return
        if status >= _FINAL or status == _SWITCHING:
            self._came.status = status
            return
        self._interim += 1
        self._is_framed, self._came.retry_after = False, None
        if self._interim > INTERIM_MAX:
            why = f"more than {INTERIM_MAX} interim answers came before the final one"
            self._fail(ReceiverFault(why))

    def on_body(self, part: bytes) -> None:
        """Keep the beginning of the body."""
        if not self._is_awaited:
            return
        text = self._came.text
        text += part[: BODY_BYTES_MAX - len(text)]
        if len(text) >= BODY_BYTES_MAX:
            self._end()

    def on_message_complete(self) -> None:
        """End the answer, unless it is an interim one."""
        if self._came.status is not None:
            self._end(is_usable=self._parser.should_keep_alive())

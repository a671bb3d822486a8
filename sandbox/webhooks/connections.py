"""Connections to receivers, with a limit on the bytes of an answer.

aiohttp limits the lines and fields of one head. It sets no limit to interim answers (1xx) before
the final one, nor to what frames a body, nor to bytes that come without a request. `Connection`
counts all bytes of an answer and closes itself at the limit.

It relies on parts of aiohttp that are not documented. `RELIED_ON` names them, and
tests/webhooks/test_bounded_answers.py fails where a version of aiohttp changes them.
"""

import asyncio
from contextvars import ContextVar
from functools import partial
from typing import Any, Final

from aiohttp import ClientError, TCPConnector
from aiohttp.client_proto import ResponseHandler

ANSWER_BYTES_MAX: Final = 65_536
"""The most bytes of one answer: all its heads, and its body with the framing until enough of it
is read. Servers send heads of 1 KiB; clients and proxies refuse more than 8 to 64 KiB."""

INTERIM_MAX: Final = 20
"""Interim answers (1xx) before the final one. Servers send one or two; each costs parsing."""

PIECE_BYTES: Final = 4_096
"""Bytes that are parsed before the limits are looked at again. Most answers are one piece."""

RELIED_ON: Final = {
    "_factory": "the connector calls it to make the protocol of a new connection",
    "set_response_params": "is called on the protocol before each request",
    "data_received": "is called with what came, and with nothing when reading goes on",
    "feed_data": "is called with each head that was parsed, and its body",
    "set_exception": "gives an error to the one who waits for the head",
    "_reading_paused": "is true while enough of a body waits to be read",
}

IS_REUSED: Final[ContextVar[bool]] = ContextVar("is_reused", default=False)
"""Whether the request of this task went out on a connection that had one before. Set here, because
a trace of aiohttp, which tells it too, takes a fifteenth of an attempt."""

_FINAL: Final = 200
_SWITCHING: Final = 101


class AnswerTooLong(ClientError):
    """An answer beyond a limit; the message names the limit."""


class Connection(ResponseHandler):
    """One connection, which takes so many bytes of each answer and no more."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop)
        self._taken = 0
        self._interim = 0
        # Received data that is not parsed yet, because enough of a body waits to be read.
        self._held = b""
        # The body of the final answer, once its head has come.
        self._body: Any = None
        self._is_refused = False
        self._had_one = False

    def set_response_params(self, **params: Any) -> None:
        """A request is about to be sent, whose answer comes next."""
        IS_REUSED.set(self._had_one)
        self._had_one = True
        if self._body is not None:
            self._taken, self._interim, self._body = 0, 0, None
        super().set_response_params(**params)

    def data_received(self, data: bytes) -> None:
        """Parse the received data piece by piece, up to the limit."""
        if not data:
            # Reading resumes after a pause: first parse the data held back.
            super().data_received(data)
        elif len(data) <= PIECE_BYTES and not self._held and not self._reading_paused:
            # As nearly always.
            self._take(data)
            return
        coming, self._held = memoryview(self._held + data), b""
        while coming:
            if self._reading_paused:
                self._held = bytes(coming)
                return
            self._take(bytes(coming[:PIECE_BYTES]))
            coming = coming[PIECE_BYTES:]

    def _take(self, piece: bytes) -> None:
        if self._is_refused:
            return
        self._taken += len(piece)
        if self._body is not None and self._body.is_eof():
            self._close_unrequested()
        elif self._taken <= ANSWER_BYTES_MAX:
            super().data_received(piece)
        elif self._body is None:
            self._refuse(f"the answer's head is longer than {ANSWER_BYTES_MAX // 1024} KiB")
        else:
            self._refuse(
                f"the first {ANSWER_BYTES_MAX // 1024} KiB of the answer hold too little of a body"
            )

    def feed_data(self, data: Any, size: int = 0) -> None:
        """A head was parsed. Interim ones are counted and dropped: the client waits for none."""
        message, body = data
        if self._body is not None:
            self._close_unrequested()
        elif message.code >= _FINAL or message.code == _SWITCHING:
            self._body = body
            super().feed_data(data, size)
        else:
            self._interim += 1
            if self._interim > INTERIM_MAX:
                self._refuse(f"more than {INTERIM_MAX} interim answers came before the final one")

    def _refuse(self, why: str) -> None:
        """Stop reading, and fail the request that waits for the answer."""
        if self._is_refused:
            return
        self._is_refused = True
        error = AnswerTooLong(why)
        if self._body is not None:
            self._body.set_exception(error)
        self.set_exception(error)
        if self.transport is not None:
            self.transport.abort()

    def _close_unrequested(self) -> None:
        """Do not reuse a connection whose receiver sent unrequested data."""
        self._is_refused = True
        self.force_close()
        if self.transport is not None:
            self.transport.close()


def bounded(connector: TCPConnector) -> TCPConnector:
    """The connector, which makes such connections from now on."""
    connector._factory = partial(Connection, loop=asyncio.get_running_loop())  # type: ignore[assignment]
    return connector

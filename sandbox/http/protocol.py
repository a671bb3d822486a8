"""One connection: HTTP as uvicorn speaks it, within limits (decision 41).

The parser calls back for each part of a request. Between two calls of `data_received` a connection
is in one of four stages; a request that comes in one packet is never seen in the two in between.
"""

import asyncio
from typing import Any, Final, cast

import httptools
from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from sandbox.http import refusals
from sandbox.http.limits import (
    HEAD_BYTES_MAX,
    HEADER_FIELDS_MAX,
    PIECES_AT_ONCE_MAX,
    SLICE_BYTES,
)
from sandbox.http.odd_heads import OddHeads
from sandbox.http.refusals import Application, HttpFault, TooLarge, last_answer
from sandbox.http.timing import BODY, ENDING, HEAD, IDLE
from sandbox.http.trailers import TRAILERS
from sandbox.http.transport import Flow, WholeAnswers
from sandbox.http.upgrades import BodyOnly, framing_of
from sandbox.platform.application import BODY_PENDING
from sandbox.platform.sending import ON_STOP
from sandbox.platform.wire import LARGE_BODY_BYTES

_NOTED: Final = frozenset({b"host", b"expect", b"upgrade"})
"""The headers that HTTP itself has to know of."""


class Protocol(OddHeads):
    """A connection with limits. Each refusal has the documented shape."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._beside_body = 0
        self._pieces = self._pieces_noted = 0
        self._held_bytes = 0
        self._awaits_turn = False
        self._may_hold_back = False
        """Whether the next request may be answered as it is read: one of each packet, so that a
        packet full of requests does not keep other connections waiting."""
        self._rest = b""
        self._last_answer = b""
        self._is_stopping = False
        self._under_way: RequestResponseCycle | None = None
        """The request that is being answered while others of its connection wait for their turn."""

    # --- the connection ----------------------------------------------------------------------

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin a connection on which an answer is sent as a whole."""
        self._answers = WholeAnswers(transport, self._end, self._pool.batch)
        super().connection_made(self._answers)
        self.flow = self._flow = Flow(self._answers)
        self.port = self.server[1] if self.server else None
        self._since = self.loop.time()
        if not self._pool.admit(self, cast("set[Protocol]", self.connections)):
            self.make_room()
        self._is_odd = self.is_reserved

    def connection_lost(self, exc: Exception | None) -> None:
        """End with the connection."""
        self.take_turn()
        self._stage = ENDING
        self._pool.leave(self)
        self._release()
        self._answers.lose()
        self.pipeline.clear()
        if (cycle := self._under_way) is not None:
            # Uvicorn notifies only the last of several requests, but this one may be waiting.
            cycle.disconnected = True
            cycle.message_event.set()
        super().connection_lost(exc)

    def shutdown(self) -> None:
        """End the connection after its answer; an endless stream ends now."""
        self._is_stopping = True
        self.take_turn()
        super().shutdown()
        cycle = self._under_way or self.cycle
        if cycle is not None:
            cast(dict[str, Any], cycle.scope).get(ON_STOP, lambda: None)()

    def make_room(self) -> None:
        """Close it: there is no place for this connection, or another one needs it."""
        self._stage = ENDING
        self.transport.write(last_answer(refusals.CROWDED))
        self._answers.close()

    def _end(self) -> None:
        """Close; if a request is still coming in, only after the client had time to read why."""
        is_complete = self._stage in (IDLE, ENDING)
        self._stage = ENDING
        self._since = self.loop.time()
        self._rest = b""
        self._release()
        if is_complete or self._is_stopping:
            self._answers.close_now()
            return
        self._answers.close_writing()
        self._flow.is_held = False
        self.flow.resume_reading()

    # --- input ------------------------------------------------------------------------------

    def data_received(self, data: bytes) -> None:
        """Read the received data, and note whether a request continues after it."""
        if self._stage == ENDING:
            return
        if self._in_line is not None:
            self.take_turn()
        if len(data) > SLICE_BYTES or self.pipeline:
            self._read_in_slices(data)
            return
        self.packet = b"" if self._stage != IDLE or self._is_odd else data
        if not self.answers_known():
            self._may_hold_back = self._taker is not None
            self._parse(data)
        if self._next is not None:
            self.begin_next()

    def _parse(self, data: bytes) -> None:
        try:
            try:
                self.parser.feed_data(data)
            finally:
                if self._is_held_back:
                    self.begin_held_back()
        except httptools.HttpParserUpgrade as offer:
            rest = data[offer.args[0] :]
            self._ignore_upgrade()
            self._read_in_slices(rest)
        except httptools.HttpParserError as error:
            is_too_large = isinstance(error.__context__, TooLarge)
            self._refuse(refusals.HEAD_TOO_LARGE if is_too_large else refusals.NOT_HTTP)
            return
        if self._stage != IDLE and self._stage != ENDING:
            self._note_unfinished(len(data))

    def _read_in_slices(self, data: bytes) -> None:
        """Read a large packet, as long as no request of it waits for the answer before it."""
        data = self._rest + data
        self._rest, pieces = b"", self._pieces
        for start in range(0, len(data), SLICE_BYTES):
            if self._stage == ENDING:
                return
            if self.pipeline or self._rest:
                self._rest += data[start:]
                self._hold_or_read_on()
                return
            self.data_received(data[start : start + SLICE_BYTES])
            if self._pieces > pieces + PIECES_AT_ONCE_MAX:
                self._hold(data[start + SLICE_BYTES :])
                self.loop.call_soon(self._read_rest)
                return

    def _hold(self, rest: bytes) -> None:
        """Hold data that is not to be read yet, and pause reading."""
        self._rest += rest
        self._flow.is_held = True
        self.flow.pause_reading()

    def _hold_or_read_on(self) -> None:
        """Read on while requests wait for their turn, to notice that the client hangs up.

        Further data is held, up to a limit.
        """
        if len(self._rest) > SLICE_BYTES:
            self._flow.is_held = True
            self.flow.pause_reading()
        else:
            self.flow.resume_reading()

    def _read_rest(self) -> None:
        """Go on with a packet, the first part of which is done."""
        if self._stage == ENDING:
            return
        self._flow.is_held = False
        self.flow.resume_reading()
        rest, self._rest = self._rest, b""
        self._read_in_slices(rest)

    def _note_unfinished(self, size: int) -> None:
        """Count the data of a request that continues. Requests in one packet never do."""
        is_first = not self._seen
        if is_first:
            self._since = self.loop.time()
        # Its start within the first packet is unknown.
        self._seen += 1 if is_first else size
        if self._stage == HEAD:
            if self._seen > HEAD_BYTES_MAX:
                self._refuse(refusals.HEAD_TOO_LARGE)
            return
        self.scope[BODY_PENDING] = True  # type: ignore[typeddict-unknown-key]
        self._beside_body = 0 if self._pieces > self._pieces_noted else self._beside_body + size
        self._pieces_noted = self._pieces
        if self._beside_body > HEAD_BYTES_MAX:
            self._refuse(refusals.TRAILER_TOO_LARGE)
        elif not self.cycle.response_complete:
            self._held_bytes += size
            if not self._pool.hold(size):
                self._refuse(refusals.BODIES_TOO_LARGE)
            elif self._held_bytes > LARGE_BODY_BYTES and not self._awaits_turn:
                self._awaits_turn = self._flow.is_held = True
                self.flow.pause_reading()
                self._pool.read_in_turn(self)

    def read_on(self) -> None:
        """Read more of a large body, once the application has taken the data so far."""
        self._awaits_turn = False
        if self._stage == ENDING:
            return
        self._flow.is_held = False
        if len(self.cycle.body) <= HIGH_WATER_LIMIT:
            self.flow.resume_reading()

    def _release(self) -> None:
        if self._held_bytes:
            self._pool.release(self._held_bytes)
            self._held_bytes = 0

    # --- parser callbacks -------------------------------------------------------------------

    def on_message_begin(self) -> None:
        """Begin a request."""
        # A scope is made only for a request that needs one.
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._stage = HEAD
        self._seen = self._hosts = 0

    def on_header(self, name: bytes, value: bytes) -> None:
        """Take a header."""
        name = name.lower()
        if name in _NOTED:
            self._note(name, value)
        self.headers.append((name, value))

    def _note(self, name: bytes, value: bytes) -> None:
        if self._stage != HEAD:
            return
        if name == b"host":
            self._hosts += 1
            self._host = value
        elif name == b"upgrade":
            self._is_odd = True
        elif value.lower() == b"100-continue":
            self.expect_100_continue = self._is_odd = True

    def on_headers_complete(self) -> None:
        """Have the request answered, by the application or because of its head."""
        before, self.fields = self.cycle, self.headers
        is_usual = (
            self._hosts == 1
            and not self._seen
            and not self._is_odd
            and len(self.headers) <= HEADER_FIELDS_MAX
        )
        if is_usual and self._may_hold_back and (before is None or before.response_complete):
            self._may_hold_back = False
            self.hold_back()
        elif is_usual:
            self.begin_cycle(cast(Application, self.app))
        else:
            self.have_odd_answered()
        if self.pipeline:
            self._under_way = self._under_way or before
            self._hold_or_read_on()
        self._stage = BODY
        self._seen = self._beside_body = self._pieces = self._pieces_noted = 0
        self.headers = TRAILERS

    def on_body(self, body: bytes) -> None:
        """Take a part of a body, unless its request is answered."""
        self._pieces += 1
        if self._is_held_back:
            self._body += body
            return
        cycle = self.cycle
        if cycle.response_complete:
            return
        if self.expect_100_continue and not cycle.response_started:
            self.expect_100_continue = False
            cycle.keep_alive = self._keeps_alive and not self._is_stopping
        cycle.body += body
        if len(cycle.body) > HIGH_WATER_LIMIT:
            self.flow.pause_reading()
        cycle.message_event.set()

    def on_message_complete(self) -> None:
        """End a request."""
        self._stage = IDLE
        if self._is_held_back:
            self.answer_held_back()
            return
        cycle = self.cycle
        cycle.more_body = False
        cycle.message_event.set()

    # --- upgrades ----------------------------------------------------------------------------

    def _ignore_upgrade(self) -> None:
        """Continue in HTTP/1.1: upgrades are ignored (RFC 9110, 7.8; assumed D25-heads).

        The parser has taken the request to end with its head. Its body is read by a new one.
        """
        if self.scope["method"] == "CONNECT":
            # The following bytes are not HTTP (RFC 9110, 9.3.6).
            self.cycle.keep_alive = False
            self._stage = ENDING
            return
        framing = framing_of(self.scope["headers"])
        body_only = BodyOnly(self)
        self.parser = httptools.HttpRequestParser(body_only)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)
        if framing:
            self._stage = BODY
            self.cycle.more_body = True
            self.cycle.message_event.clear()
            self.parser.feed_data(framing)
        body_only.is_over = True

    # --- output ------------------------------------------------------------------------------

    def on_response_complete(self) -> None:
        """End an answer, also one without a body, and begin the next."""
        self._answers.flush()
        self.server_state.total_requests += 1
        if self._held_bytes:
            self._release()
        if self.transport.is_closing():
            return
        self._since = self.loop.time()
        if self.pipeline:
            cycle, app = self.pipeline.pop()
            self._under_way = cycle if self.pipeline else None
            self.answer_in_task(cycle, app)
        elif self._last_answer:
            self._say_last()
        else:
            if self.cycle.body:
                # The answer needed no body, so the rest of the body is discarded.
                self.cycle.body = bytearray()
            self.flow.resume_reading()
        if self._rest and not self.pipeline:
            self._read_rest()

    def _refuse(self, fault: HttpFault) -> None:
        """Answer an unreadable request, after all earlier ones; then close."""
        self._pool.warn(fault.message, f"a request was answered {fault.status}: {fault.message}")
        is_begun = self._stage == BODY
        self._last_answer = last_answer(fault)
        self._rest = b""
        cycle: RequestResponseCycle | None = self.cycle
        if is_begun and self.pipeline:
            # Its own turn has not come.
            self.pipeline.popleft()
        elif is_begun and cycle is not None and not cycle.response_complete:
            if cycle.response_started:
                self.transport.abort()
                return
            cycle.disconnected = True
            cycle.message_event.set()
            self._say_last()
            return
        if self.pipeline or (cycle is not None and not cycle.response_complete):
            self._stage = ENDING
            return
        self._say_last()

    def _say_last(self) -> None:
        self._stage = HEAD
        self.transport.write(self._last_answer)
        self.transport.close()

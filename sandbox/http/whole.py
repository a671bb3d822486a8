"""Requests that came whole, answered without the messages of ASGI (decision 63).

An application may offer to take a request that was read to its end, with method, path, headers and
body as they are. Its answer is then written at once. If it has to wait, or cannot answer in one
piece, the request goes on as any other, with a scope and messages.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, Protocol, runtime_checkable

from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import STATUS_LINE

from sandbox.http.answering import (
    PLAIN_URL,
    AnsweringProtocol,
    Cycle,
    FirstLine,
    finish,
    raising,
    url_parts,
)
from sandbox.http.known_heads import METHODS, KnownRequest
from sandbox.http.refusals import Application
from sandbox.platform.application import Turns
from sandbox.platform.request_context import Headers, IncomingRequest
from sandbox.platform.sending import Way
from sandbox.platform.wire import by_name

_LAST_SUCCESS: Final = 299


@runtime_checkable
class TakesWhole(Protocol):
    """An application that takes requests that came whole."""

    def takes(self, path: str, host: bytes, port: int | None) -> bool:
        """Whether it takes this one, which came to that port and has that Host header."""
        ...

    def serve(self, incoming: IncomingRequest, way: Way) -> Coroutine[Any, Any, None]:
        """Answer it."""
        ...

    @property
    def turns(self) -> Turns:
        """Where it waits for its turn before it is served."""
        ...

    def going_on(self, rest: Coroutine[Any, Any, None]) -> Application:
        """An application that does the rest of the work, which had to wait."""
        ...


class WholeWay:
    """The way back of one answer: at first straight to the socket, later through a `cycle`."""

    __slots__ = ("_connection", "cycle", "is_success", "is_written")

    def __init__(self, connection: "WholeProtocol") -> None:
        self._connection = connection
        self.cycle: Cycle | None = None
        self.is_written = False
        self.is_success = False

    def write(self, status: int, headers: Headers, body: bytes) -> bool:
        """Write all of an answer, unless the client is gone or does not read."""
        if self.cycle is not None:
            return self.cycle.answer(status, headers, body)
        self.is_written = self._connection.write_whole(status, headers, body)
        self.is_success = self.is_written and status <= _LAST_SUCCESS
        return self.is_written

    async def asgi(self) -> tuple[Scope, Receive, Send]:
        """The request as ASGI has it, for an answer in several messages."""
        if self.cycle is None:
            # Whoever waits gets a cycle.
            await asyncio.sleep(0)
        assert self.cycle is not None
        return self.cycle.scope, self.cycle.receive, self.cycle.send  # type: ignore[return-value]


class WholeProtocol(AnsweringProtocol):
    """A connection that holds a request back until it knows whether it came whole."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        app = self.config.loaded_app
        self._taker: TakesWhole | None = app if isinstance(app, TakesWhole) else None
        self._is_held_back = False
        """Whether the head of a request was read, and nobody was asked to answer it yet."""
        self._body = b""
        self._host = b""
        self._in_line: tuple[IncomingRequest, KnownRequest] | None = None
        """The request that waits for its turn."""
        self.packet = b""
        """What is being read, if a request begins with it that may be answered as it is read."""
        self.port: int | None = None

    def hold_back(self) -> None:
        """Wait for the end of the request, the head of which is complete."""
        self._is_held_back = True
        self._body = b""

    def begin_held_back(self) -> None:
        """Have the request answered in the ordinary way, as far as it has come."""
        self._is_held_back = False
        self.begin_cycle(self.app)
        if self._body:
            self.cycle.body += self._body

    def answer_held_back(self) -> None:
        """Answer the request, which is complete."""
        parser, taker, url = self.parser, self._taker, self.url
        method = METHODS.get(parser.get_method())
        if method is None or parser.get_http_version() != "1.1" or not parser.should_keep_alive():
            self._begin_whole()
            return
        if PLAIN_URL.fullmatch(url):
            path, query = url.decode("ascii"), b""
        else:
            _, path, query = url_parts(url)
        assert taker is not None
        if taker.turns.has_line or not taker.takes(path, self._host, self.port):
            self._begin_whole()
            return
        self._is_held_back = False
        fields = by_name(self.fields)
        incoming = IncomingRequest(method, path, query, self.fields, self._body, fields)
        if self._answer(taker, incoming):
            self._pool.heads.remember(self.packet, self.fields, self._host)

    def answers_known(self) -> bool:
        """Answer a request whose head came before. False if it has to be parsed."""
        taker, before, known = self._taker, self.cycle, self._pool.heads.find(self.packet)
        if known is None or taker is None or (before is not None and not before.response_complete):
            return False
        line, head = known.line, known.head
        if not taker.takes(line.path, head.host, self.port):
            return False
        incoming = IncomingRequest(
            line.method, line.path, b"", head.headers, known.body, head.fields
        )
        if taker.turns.has_line:
            self._in_line = incoming, known
            self._since = self.loop.time()
            taker.turns.in_line(self.take_turn)
        else:
            self._answer(taker, incoming, known)
        return True

    def take_turn(self) -> bool:
        """Answer the request that waits for its turn now; False if none does."""
        if self._in_line is None:
            return False
        (incoming, known), self._in_line = self._in_line, None
        assert self._taker is not None
        self._answer(self._taker, incoming, known)
        if self._next is not None:
            self.begin_next()
        return True

    def _answer(
        self, taker: TakesWhole, incoming: IncomingRequest, known: KnownRequest | None = None
    ) -> bool:
        """Have the request answered; whether it was at once, and well."""
        self.has_asked = True
        way = WholeWay(self)
        work = taker.serve(incoming, way)
        try:
            waited = work.send(None)
        except StopIteration:
            return way.is_success
        except Exception as error:
            app = raising(error)
        else:
            app = taker.going_on(finish(work, waited))
        self._begin_with(app, way, known)
        return False

    def _begin_whole(self) -> None:
        self.begin_held_back()
        self._end_cycle()

    def _end_cycle(self) -> None:
        """Let the request know that all of it has come."""
        self.cycle.more_body = False
        self.cycle.message_event.set()

    def _begin_with(self, app: Application, way: WholeWay, known: KnownRequest | None) -> None:
        """Have the rest of the work done in a task, with an answer of its own if there is none."""
        if way.is_written:
            self.keep(asyncio.ensure_future(app({"type": "http"}, _nothing, _nowhere)))
            return
        line = None
        if known is not None:
            self.fields = known.head.headers
            line = FirstLine(known.line.method, known.line.url, "1.1", True)
        self.begin_cycle(app, line)
        self._end_cycle()
        way.cycle = self.cycle  # type: ignore[assignment]

    def write_whole(self, status: int, headers: Headers, body: bytes) -> bool:
        """Write all of an answer, unless the client is gone or does not read."""
        if self.flow.write_paused or self.transport.is_closing():
            return False
        fields = [b"%b: %b\r\n" % field for field in headers]
        answer = b"".join([STATUS_LINE[status], *fields, b"\r\n", body])
        assert self._taker is not None
        turns = self._taker.turns
        if turns.is_in_turn or not turns.has_line:
            self._answers.hold(answer)
        else:
            # An attempt at a webhook must not begin before the answer is sent (assumed D21).
            self._answers.write_all(answer)
        self.server_state.total_requests += 1
        self._since = self.loop.time()
        return True


async def _nothing() -> Any:
    await asyncio.Event().wait()


async def _nowhere(message: Any) -> None:
    """The answer was written before."""

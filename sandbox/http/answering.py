"""Answering one request: begun at once, and written in one piece where it can be."""

import asyncio
import re
from collections.abc import Coroutine, Generator
from types import coroutine
from typing import Any, Final, NamedTuple
from urllib.parse import unquote

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from sandbox.http.refusals import Application
from sandbox.http.timing import TimedProtocol
from sandbox.http.transport import WholeAnswers
from sandbox.platform.sending import ABORT, WHOLE_ANSWER

PLAIN_URL: Final = re.compile(rb"/[\w-][\w/.-]*", re.ASCII)
"""What is a path and nothing else, without escapes."""

_CLOSES: Final = b"connection: close\r\n"


class Cycle(RequestResponseCycle):
    """A request and its answer, as uvicorn has it, which can also be sent in one piece."""

    transport: WholeAnswers

    def answer(self, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> bool:
        """Send all of an answer. False if it has to be sent by `send`, and nothing was sent.

        The headers are in lower case, have no line breaks, and name the length of the body, if
        the status has one.
        """
        if self.response_started or self.disconnected or self.flow.write_paused:
            return False
        self.response_started = self.response_complete = True
        self.waiting_for_100_continue = False
        head = STATUS_LINE[status]
        for name, value in headers:
            head += b"%b: %b\r\n" % (name, value)
        if not self.keep_alive:
            head += _CLOSES
        if self.scope["method"] == "HEAD":
            body = b""
        self.transport.write_all(b"%b\r\n%b" % (head, body))
        self.message_event.set()
        if not self.keep_alive:
            self.transport.close()
        self.on_response()
        return True


def url_parts(url: bytes) -> tuple[bytes, str, bytes]:
    """The path as it was sent, the same decoded, and the query."""
    if PLAIN_URL.fullmatch(url):
        return url, url.decode("ascii"), b""
    parsed = httptools.parse_url(url)
    path = parsed.path.decode("ascii")
    return parsed.path, unquote(path) if "%" in path else path, parsed.query or b""


def raising(error: Exception) -> Application:
    """An application that fails like this."""

    async def fail(scope: Any, receive: Any, send: Any) -> None:
        raise error

    return fail


class FirstLine(NamedTuple):
    """The first line of a request, and whether the connection stays open after it."""

    method: str
    url: bytes
    version: str
    keeps_alive: bool


class AnsweringProtocol(TimedProtocol):
    """A connection that begins to answer a request as soon as the packet with its head is read."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._next: tuple[Cycle, Application] | None = None
        """The request whose head was in the packet that is being read."""
        self.fields: list[tuple[bytes, bytes]] = []
        """The headers of the last request whose head is complete."""

    def begin_cycle(self, app: Application, line: FirstLine | None = None) -> None:
        """Have the application answer the request whose head is complete, once it is its turn.

        The parser knows its first line, unless another is given.
        """
        method, url, version, keeps_alive = line or self._parsed_line()
        raw, path, query = url_parts(url)
        scope: Any = {
            "type": "http",
            "asgi": {"version": self.asgi_version, "spec_version": "2.3"},
            "http_version": version,
            "method": method,
            "server": self.server,
            "client": self.client,
            "scheme": self.scheme,
            "root_path": self.root_path,
            "path": path,
            "raw_path": raw,
            "query_string": query,
            "headers": self.fields,
            "state": self.app_state.copy(),
            ABORT: self._abort,
        }
        self.scope = scope
        self.has_asked = True
        before = self.cycle
        self.cycle = cycle = Cycle(
            scope,
            self.transport,
            self.flow,
            self.logger,
            self.access_logger,
            False,
            [],
            asyncio.Event(),
            self.expect_100_continue,
            keeps_alive,
            self.on_response_complete,
        )
        scope[WHOLE_ANSWER] = cycle.answer
        if before is None or before.response_complete:
            self._next = cycle, app
        else:
            self.flow.pause_reading()
            self.pipeline.appendleft((cycle, app))

    def _parsed_line(self) -> FirstLine:
        parser = self.parser
        version = parser.get_http_version()
        keeps_alive = version != "1.0" and parser.should_keep_alive()
        return FirstLine(parser.get_method().decode("ascii"), self.url, version, keeps_alive)

    def _abort(self) -> None:
        """Close the connection at once, as a transport fault asks for it (assumed 5.3)."""
        self.transport.abort()

    def begin_next(self) -> None:
        """Begin to answer the request that was read."""
        assert self._next is not None
        cycle, app = self._next
        self._next = None
        if self._pool.is_for_control(cycle.scope):
            # Some of these ask for their task at once.
            self.answer_in_task(cycle, app)
        elif (task := begin(cycle.run_asgi(app), self.loop)) is not None:
            self.keep(task)

    def answer_in_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        """Begin to answer a request when the loop comes round."""
        self.keep(self.loop.create_task(cycle.run_asgi(app)))

    def keep(self, task: asyncio.Task[None]) -> None:
        """Let the task run to its end, or until the server stops."""
        task.add_done_callback(self.tasks.discard)
        self.tasks.add(task)


def begin(
    work: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop
) -> asyncio.Task[None] | None:
    """Run the work up to where it waits for something, and the rest of it in a task.

    Most requests never wait, and a task for each costs a tenth of a short one. `work` must not ask
    for its task before it has waited. Returns None if it is done.
    """
    try:
        waited = work.send(None)
    except StopIteration:
        return None
    return loop.create_task(finish(work, waited))


async def finish(work: Coroutine[Any, Any, None], waited: Any) -> None:
    """Run what is left of the work, which waits for `waited`, as a coroutine that a task takes.

    `rest_of` alone is a generator: tasks refuse it since Python 3.12.
    """
    await rest_of(work, waited)


@coroutine
def rest_of(work: Coroutine[Any, Any, None], waited: Any) -> Generator[Any, Any, None]:
    """What is left of the work, which waits for `waited`."""
    try:
        while True:
            try:
                result = yield waited
            except BaseException as error:
                waited = work.throw(error)
            else:
                waited = work.send(result)
    except StopIteration:
        return

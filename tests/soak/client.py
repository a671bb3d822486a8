"""Asks a sandbox in process, on a loop of its own time, and looks at every answer."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from hashlib import blake2b
from random import Random
from typing import Any

from sandbox.app import build
from sandbox.domain.clock import ClockSetting
from sandbox.domain.instants import from_ms
from sandbox.domain.readings import DEFAULTS
from sandbox.domain.webhooks import Sent
from sandbox.platform.responses import ABORT
from sandbox.settings import Settings
from sandbox.worlds.limits import Limits
from tests.driving import InProcess, Response
from tests.openapi.described import Described, described
from tests.soak.loop import BEGINNING_S, Loop
from tests.soak.report import Found
from tests.soak.rounds import EARS, Round

PATIENCE_S = 7_200.0
"""So long of the loop's time a request may take: a scripted delay is an hour at most."""

GONE_AFTER_S = 40.0
"""The client of a stream leaves after so long of the loop's time."""

WAITING = -1
"""The status that stands for a request without an answer so far; its payment waits for a tap."""

SHOWN_CHARS = 1_500
FAULT_NOTE = "transport fault "
CUT_OFF = FAULT_NOTE + "malformed_json"
DROPPED = (FAULT_NOTE + "drop_before", FAULT_NOTE + "drop_after")


@cache
def documents() -> tuple[Described, Described]:
    """What the sandbox says of its two surfaces."""
    return described(build(Settings()))


class Exchange:
    """One request, and what came of it so far. `leaves_after_s` has the client hang up."""

    def __init__(
        self, scope: dict[str, Any], payload: bytes, leaves_after_s: float | None = None
    ) -> None:
        self.scope = scope | {ABORT: self._abort}
        self.payload = payload
        self.task: asyncio.Task[None] | None = None
        self.start: dict[str, Any] | None = None
        self.body = b""
        self.is_complete = False
        self.was_aborted = False
        self.has_left = False
        self._leaves_after_s = leaves_after_s
        self._was_read = False
        self._gone = asyncio.Event()

    @property
    def method(self) -> str:
        return str(self.scope["method"])

    @property
    def path(self) -> str:
        return str(self.scope["path"])

    async def receive(self) -> dict[str, Any]:
        if not self._was_read:
            self._was_read = True
            return {"type": "http.request", "body": self.payload, "more_body": False}
        try:
            async with asyncio.timeout(self._leaves_after_s):
                await self._gone.wait()
        except TimeoutError:
            self.has_left = True
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "http.response.start":
            if self.start is not None:
                raise Found("an answer was begun twice")
            self.start = message
            return
        if self.start is None or self.is_complete:
            raise Found("a body was sent outside of an answer")
        self.body += message.get("body", b"")
        self.is_complete = not message.get("more_body", False)

    def _abort(self) -> None:
        self.was_aborted = True
        self._gone.set()

    @property
    def answer(self) -> Response:
        """What came; the status 0 stands for nothing."""
        if self.start is None:
            return Response(0, {}, b"")
        headers = {name.decode(): value.decode() for name, value in self.start["headers"]}
        return Response(self.start["status"], headers, self.body)

    def __str__(self) -> str:
        query = self.scope["query_string"]
        address = self.path + ("?" + query.decode("latin-1") if query else "")
        headers = " ".join(f"{name!r}={value!r}" for name, value in self.scope["headers"])
        lines = [f"request: {self.method} {address!r:.500}", f"  headers: {headers:.600}"]
        if self.payload:
            lines.append(f"  body: {_cut(self.payload)}")
        if self.start is None:
            state = "the connection was closed" if self.was_aborted else "none so far"
            lines.append(f"answer: {state}")
        else:
            lines.append(f"answer: {self.start['status']} {_cut(self.body)}")
        return "\n".join(lines)


def _cut(text: bytes) -> str:
    shown = text.decode("utf-8", "backslashreplace")
    rest = len(shown) - SHOWN_CHARS
    return shown if rest <= 0 else f"{shown[:SHOWN_CHARS]} ... and {rest} more"


class Receivers:
    """All receivers of webhooks: most take everything, some fail, are late, or have gone.

    What one does follows from its URL and from what it is sent. Fulfils `Sending`.
    """

    async def send(self, url: str, body: bytes, headers: Mapping[str, str]) -> Sent:
        if "beside" in url:
            return Sent(status_code=200, duration_ms=1.0, response="", error=None)
        digest = blake2b(url.encode() + body, digest_size=2).digest()
        kind, size = digest[0] % 8, digest[1]
        if kind == 0:
            await asyncio.sleep(size / 20)
            return Sent(
                status_code=None,
                duration_ms=size * 50.0,
                response="",
                error="no answer within 15 s",
                is_timeout=True,
            )
        if kind == 1:
            return Sent(status_code=500, duration_ms=1.0, response="no", error="answered 500")
        if kind == 2:
            return Sent(
                status_code=429,
                duration_ms=1.0,
                response="",
                error="answered 429",
                retry_after_s=float(size),
            )
        if kind == 3:
            await asyncio.sleep(size / 100)
        return Sent(status_code=200, duration_ms=1.0, response="", error=None)

    async def close(self) -> None:
        """There are no connections."""


class Client(InProcess):
    """Asks a sandbox on a loop, and holds every answer against the documents.

    `leaves_after_s` has the client of the next request hang up after that time. `ignores_shape`
    looks at nothing but the status, for answers that are asked for again and again. `also` is
    called with each exchange that has its answer, and raises Found.
    """

    def __init__(self, round: Round, loop: Loop, sandbox: Any, world: str = "default") -> None:
        super().__init__(sandbox, world=world)
        self.round, self.loop = round, loop
        self.leaves_after_s: float | None = None
        self.ignores_shape = False
        self.waiting: list[Exchange] = []
        self.also: Callable[[Exchange], None] | None = None

    def beside(self, world: str) -> "Client":
        """The same for another world of this server."""
        return Client(self.round, self.loop, self.sandbox, world)

    # --- one request

    def carry_out(self, scope: dict[str, Any], payload: bytes) -> Response:
        leaves_after_s, self.leaves_after_s = self.leaves_after_s, None
        exchange = Exchange(scope, payload, leaves_after_s)
        answer = self._carried_out(exchange)
        self.round.counts["requests"] += 1
        if answer.status in (0, WAITING):
            self.round.counts["silent"] += 1
        elif answer.status < 500:
            self.round.counts[f"{answer.status // 100}xx"] += 1
        self._look_at_late_ones()
        return answer

    def _carried_out(self, exchange: Exchange) -> Response:
        work = self.sandbox.app(exchange.scope, exchange.receive, exchange.send)
        was_shown = False
        try:
            exchange.task = self.loop.begin(work, PATIENCE_S)
            if not exchange.task.done():
                self._must_wait_for_a_tap(exchange)
                self.waiting.append(exchange)
                return Response(WAITING, {}, b"")
            return self._checked(exchange)
        except BaseException:
            was_shown = True
            self.round.exchanges.append(str(exchange))
            raise
        finally:
            if not was_shown and not self.ignores_shape:
                self.round.exchanges.append(str(exchange))

    def _must_wait_for_a_tap(self, exchange: Exchange) -> None:
        """Raises Found for a request that nothing will ever end."""
        if any(len(world.tap_desk) for world in self.sandbox.worlds):
            return
        raise Found(f"{exchange.method} {exchange.path} was not answered in {PATIENCE_S:g} s")

    def _look_at_late_ones(self) -> None:
        """Check what was answered after all: a tap came, or the payment ended by itself."""
        for exchange in [one for one in self.waiting if one.task and one.task.done()]:
            self.waiting.remove(exchange)
            self.round.exchanges.append(str(exchange))
            self._checked(exchange)

    # --- what must be true of an answer

    def _checked(self, exchange: Exchange) -> Response:
        assert exchange.task
        if (error := exchange.task.exception()) is not None:
            raise error
        answer = exchange.answer
        if self.loop.failures:
            raise Found("the loop was told: " + "; ".join(self.loop.failures))
        EARS.check()
        if not exchange.is_complete:
            self._must_have_been_dropped(exchange)
            return answer
        self._check_head(exchange, answer)
        if answer.status >= 500:
            self._must_have_been_asked_for(exchange, answer)
        if self.also is not None:
            self.also(exchange)
        if not self.ignores_shape and not self._was_cut_off(answer):
            platform, control = documents()
            if exchange.path.startswith("/_sandbox/"):
                control.check(exchange.method, exchange.path, answer)
            elif not self._reads_otherwise():
                platform.check(exchange.method, exchange.path, answer)
        return answer

    def _reads_otherwise(self) -> bool:
        """Whether a world has other readings than those that the document describes."""
        return any(world.readings != DEFAULTS for world in self.sandbox.worlds)

    def _check_head(self, exchange: Exchange, answer: Response) -> None:
        length = answer.headers.get("content-length")
        if length is not None and int(length) != len(answer.body):
            raise Found(f"content-length is {length}, and the body has {len(answer.body)} bytes")
        for name, value in answer.headers.items():
            if not value.isprintable():
                raise Found(f"the header {name} holds {value!r}")

    def _must_have_been_dropped(self, exchange: Exchange) -> None:
        if exchange.has_left:
            return
        if not exchange.was_aborted:
            raise Found(f"{exchange.method} {exchange.path} got no answer")
        notes = [note for entry in self._newest_entries() for note in entry.notes]
        if not any(note.startswith(DROPPED) for note in notes):
            raise Found("the connection was closed, and nobody had asked for that")

    def _newest_entries(self) -> Iterator[Any]:
        for world in self.sandbox.worlds:
            yield from world.journal.entries()[-3:]

    def _must_have_been_asked_for(self, exchange: Exchange, answer: Response) -> None:
        """Raises Found for a 5xx that no scenario, queue or header has scripted."""
        entry = self._entry(answer)
        choice = entry.choice if entry is not None else None
        if choice is None or choice.key != f"http_{answer.status}":
            said = answer.body[:200].decode("utf-8", "replace")
            raise Found(f"{exchange.method} {exchange.path} answered {answer.status}: {said}")
        self.round.counts["scripted"] += 1

    def _was_cut_off(self, answer: Response) -> bool:
        """Whether the body is cut off because somebody wanted it so."""
        if answer.headers.get("content-type") != "application/json":
            return False
        try:
            json.loads(answer.body)
        except ValueError:
            entry = self._entry(answer)
            return entry is not None and any(note.startswith(CUT_OFF) for note in entry.notes)
        return False

    def _entry(self, answer: Response) -> Any:
        """The entry of the answer in the journal of whichever world it came from."""
        id = answer.headers.get("x-sandbox-request-id")
        if id is None:
            return None
        found = [world.journal.entry(id) for world in self.sandbox.worlds]
        return next((one for one in found if one is not None and one.status == answer.status), None)


@contextmanager
def in_process(round: Round, dice: Random, **settings: Any) -> Iterator[Client]:
    """A client of a fresh sandbox, its clock frozen or running as the dice fall."""
    loop = Loop()
    clock = ClockSetting(
        now=from_ms(int(BEGINNING_S * 1000)),
        mode=settings.pop("mode", None) or dice.choice(["frozen", "frozen", "running"]),
    )
    limits = Limits(unused_after_s=float("inf"), journal_entries_max=200)
    try:
        sandbox = round.means.build(
            Settings(clock=clock, limits=limits, **settings),
            system_clock=loop.system_clock,
            sender=Receivers(),
        )
        yield Client(round, loop, sandbox)
    finally:
        loop.end()


def another(client: Client, **settings: Any) -> Client:
    """A client of another fresh sandbox on the same loop, its clock frozen."""
    clock = ClockSetting(now=from_ms(int(BEGINNING_S * 1000)), mode="frozen")
    limits = Limits(unused_after_s=float("inf"), journal_entries_max=200)
    sandbox = client.round.means.build(
        Settings(clock=clock, limits=limits, **settings),
        system_clock=client.loop.system_clock,
        sender=Receivers(),
    )
    return Client(client.round, client.loop, sandbox)

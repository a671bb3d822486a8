"""All connections of a server: their number, the size of their bodies, and their age."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Collection
from typing import Any, Protocol

from sandbox.descriptors import Shares, shares
from sandbox.http.known_heads import KnownHeads
from sandbox.http.limits import BODIES_BYTES_MAX, LATE_AFTER_ROUNDS, READERS_AT_ONCE_MAX, Times
from sandbox.http.transport import AnswerBatch

log = logging.getLogger("sandbox.http")


class Connection(Protocol):
    """The interface of a connection for the pool."""

    port: int | None
    is_reserved: bool

    def look_after(self, now: float) -> None:
        """End what takes too long."""

    def make_room(self) -> None:
        """End: another connection needs the place, and this one has sent no request yet."""

    def read_on(self) -> None:
        """Read more of a large body."""


class ConnectionPool:
    """The connections of one server, on one event loop.

    When all `places` for connections are taken, the pool admits a few more on reserved places, for
    the operator: they serve requests that are `is_for_control`, or come to the `control_port`. A
    connection loses its reserved place to the next one while it has not sent the head of a request.
    The pool looks at each open connection at regular intervals. Source: assumed D25-places.
    """

    def __init__(
        self,
        *,
        places: Shares | None = None,
        times: Times | None = None,
        bodies_bytes_max: int = BODIES_BYTES_MAX,
        control_port: int | None = None,
        is_for_control: Callable[[Any], bool] = lambda scope: False,
    ) -> None:
        self.times = times or Times()
        self.is_for_control = is_for_control
        places = places or shares()
        self._connections_max, self._reserved = places.connections, places.reserved
        self._bodies_bytes_max = bodies_bytes_max
        self._control_port = control_port
        self._places: set[Connection] = set()
        self._idle: dict[Connection, None] = {}
        self._bodies_bytes = 0
        self._readers: deque[Connection] = deque()
        self._warnings: dict[str, _Warning] = {}
        self._next_look: asyncio.TimerHandle | None = None
        self.heads = KnownHeads()
        self.batch = AnswerBatch()

    @property
    def count(self) -> int:
        """How many connections have a place."""
        return len(self._places)

    def has_silent(self) -> bool:
        """Whether a connection has a reserved place and has sent no request yet."""
        return bool(self._idle)

    # --- places ------------------------------------------------------------------------------

    def admit(self, connection: Connection, connections: Collection[Connection]) -> bool:
        """Give a new connection a place, maybe a reserved one. False if there is none."""
        self._look_after(connections)
        if self.count >= self._connections_max:
            self.warn(
                "crowded",
                f"{self.count} connections are open: no more are served, but for the "
                "control API; --connections-max changes it",
            )
            if self._control_port not in (None, connection.port):
                return False
            if not self._make_room():
                return False
            connection.is_reserved = True
            self._idle[connection] = None
        self._places.add(connection)
        return True

    def _make_room(self) -> bool:
        """Whether a reserved place is free now, perhaps that of an idle connection."""
        if self.count < self._connections_max + self._reserved:
            return True
        longest = next(iter(self._idle), None)
        if longest is None:
            return False
        self.leave(longest)
        longest.make_room()
        return True

    def has_sent_request(self, connection: Connection) -> None:
        """The connection has sent a request, so it keeps its reserved place."""
        self._idle.pop(connection, None)

    def leave(self, connection: Connection) -> None:
        """The connection's place is free again."""
        self._places.discard(connection)
        self._idle.pop(connection, None)

    # --- bodies ------------------------------------------------------------------------------

    def hold(self, size: int) -> bool:
        """Count more bytes of a body. False if the sum is too large."""
        self._bodies_bytes += size
        return self._bodies_bytes <= self._bodies_bytes_max

    def release(self, size: int) -> None:
        """Release this many bytes of a body."""
        self._bodies_bytes -= size

    def read_in_turn(self, connection: Connection) -> None:
        """Have the connection read more of its large body when its turn has come.

        If many clients send large bodies, few of them are read in each round of the event loop.
        """
        if not self._readers:
            asyncio.get_running_loop().call_soon(self._read_on)
        self._readers.append(connection)

    def _read_on(self) -> None:
        for _ in range(min(len(self._readers), READERS_AT_ONCE_MAX)):
            self._readers.popleft().read_on()
        if self._readers:
            asyncio.get_running_loop().call_soon(self._read_on)

    # --- time --------------------------------------------------------------------------------

    def _look_after(self, connections: Collection[Connection]) -> None:
        if self._next_look is None:
            loop = asyncio.get_running_loop()
            due = loop.time() + self.times.interval_s
            self._next_look = loop.call_at(due, self._look, loop, due, connections)

    def _look(
        self, loop: asyncio.AbstractEventLoop, due: float, connections: Collection[Connection]
    ) -> None:
        """Check each connection, and again later while there are any."""
        self._next_look = None
        if connections:
            self._look_after(connections)
        now = loop.time()
        if now - due < LATE_AFTER_ROUNDS * self.times.interval_s:
            for connection in list(connections):
                connection.look_after(now)

    # --- the log -----------------------------------------------------------------------------

    def warn(self, kind: str, text: str) -> None:
        """Log it, but each kind at most once a minute, with how often it happened since."""
        if kind not in self._warnings:
            self._warnings[kind] = _Warning(self.times.warning_s)
        self._warnings[kind].say(text)


class _Warning:
    """A kind of warning that may come often, and is logged at most once in an interval."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._text = ""
        self._count = 0
        self._is_quiet = False

    def say(self, text: str) -> None:
        """Say it now, or count it until the time is over."""
        if self._is_quiet:
            self._text, self._count = text, self._count + 1
            return
        log.warning("%s", text)
        self._be_quiet()

    def _be_quiet(self) -> None:
        self._is_quiet = True
        asyncio.get_running_loop().call_later(self._seconds, self._say_count)

    def _say_count(self) -> None:
        self._is_quiet = False
        if self._count:
            log.warning("%d more in %g s: %s", self._count, self._seconds, self._text)
            self._count = 0
            self._be_quiet()

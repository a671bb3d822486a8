"""A server among others: its lease, the others' addresses, and the clock that all share.

PostgreSQL's clock is the only one that is compared. A server measures its own lease with a clock
that only runs forward, from before it asked: so it always ends here before it ends there.
"""

import asyncio
import logging
import os
import socket
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Final

from sandbox.servers.lasting import lasting
from sandbox.store.files.port import FORMAT, StoreError
from sandbox.store.postgres.database import Database

LEASE_S: Final = 5.0
"""So long a server is taken to be alive after each sign of life. Source: assumed D25-servers."""
BEAT_S: Final = 1.0
_BEAT_WITHIN_S: Final = 2.0
_CLOCK_STEP: Final = 0.1
"""The part of a difference between the clocks that one beat takes away."""

_CLOCK_JUMP_S: Final = 1.0
"""A larger difference is taken over at once: somebody has set a clock."""

_JOIN: Final = """
INSERT INTO uat_sandbox.servers
    (name, url, control_url, machine, version, format, beat_until, state)
VALUES ($1, $2, $3, $4, $5, $6, now() + $7::float8 * interval '1 second', 'live') RETURNING id"""
_BEAT: Final = """
WITH me AS (
    UPDATE uat_sandbox.servers SET beat_until = now() + $2::float8 * interval '1 second'
    WHERE id = $1 AND state <> 'dead' RETURNING id
)
SELECT s.id, s.name, s.url, s.control_url, s.state, extract(epoch FROM clock_timestamp())::float8,
    EXISTS (SELECT FROM me), (SELECT value FROM uat_sandbox.meta WHERE name = 'tokens')
FROM uat_sandbox.servers s WHERE s.state <> 'dead' AND (s.beat_until > now() OR s.id = $1)"""

log = logging.getLogger("sandbox.servers")


@dataclass(frozen=True, slots=True)
class Peer:
    """A server: its number, its name, and where it answers."""

    id: int
    name: str
    url: str
    control_url: str
    state: str = "live"


class SharedClock:
    """Seconds since 1970 by PostgreSQL's clock, which never go back."""

    def __init__(self, own: Callable[[], float] = time.time) -> None:
        self._own = own
        self._offset: float | None = None
        self._last = 0.0

    def __call__(self) -> float:
        """The present."""
        self._last = max(self._last, self._own() + (self._offset or 0.0))
        return self._last

    def compare(self, theirs: float) -> None:
        """PostgreSQL has this time now."""
        difference = theirs - self._own()
        if self._offset is None or abs(difference - self._offset) > _CLOCK_JUMP_S:
            self._offset = difference
        else:
            self._offset += (difference - self._offset) * _CLOCK_STEP


class Membership:
    """The lease of this server, and the others that live.

    `on_dead` is called when the others have declared this server dead: it holds nothing any more.
    `on_beat` is called after each sign of life with the tokens of teams that all servers share.
    """

    def __init__(
        self,
        database: Database,
        *,
        name: str,
        url: str,
        control_url: str,
        version: str,
        clock: SharedClock,
        on_dead: Callable[[], None],
        on_beat: Callable[[str], Awaitable[None]],
    ) -> None:
        self._database = database
        self.name, self.url = name, url
        self._control_url, self._version = control_url, version
        self._clock = clock
        self._on_dead, self._on_beat = on_dead, on_beat
        self.id = 0
        self._until = 0.0
        self._unbroken_since = 0.0
        self.is_leaving = False
        self.peers: dict[int, Peer] = {}
        self._beating: asyncio.Task[None] | None = None

    @property
    def is_current(self) -> bool:
        """Whether the lease runs: what this server has in memory is what counts."""
        return time.monotonic() < self._until

    @property
    def may_take_over(self) -> bool:
        """Whether this server may take worlds from others.

        After an outage of PostgreSQL all have the time of a lease to come back before anything
        moves.
        """
        return self.is_current and time.monotonic() - self._unbroken_since >= LEASE_S

    @property
    def others(self) -> list[Peer]:
        """The other servers that live and stay."""
        return [one for one in self.peers.values() if one.id != self.id and one.state == "live"]

    async def join(self) -> None:
        """Become one of the servers. Raises StoreError."""
        machine, asked = socket.gethostname(), time.monotonic()
        async with self._database.connection() as connection, connection.transaction():
            other = await connection.fetchrow(
                "SELECT name, machine FROM uat_sandbox.servers WHERE url = $1 AND machine <> $2 "
                "AND state <> 'dead' AND beat_until > now()",
                self.url,
                machine,
            )
            if other is not None:
                raise StoreError(
                    f"the server {other['name']!r} on {other['machine']} has the address "
                    f"{self.url} as well; name the address of this one with --advertise"
                )
            # Its port is ours now.
            await connection.execute(
                "UPDATE uat_sandbox.servers SET state = 'dead' WHERE url = $1 AND state <> 'dead'",
                self.url,
            )
            self.id = await connection.fetchval(
                _JOIN,
                self.name,
                self.url,
                self._control_url,
                machine,
                self._version,
                FORMAT,
                LEASE_S,
            )
        self._until, self._unbroken_since = asked + LEASE_S, asked
        log.info("server %d (%s, process %d) joined", self.id, self.name, os.getpid())

    async def begin(self) -> None:
        """Join, learn of the others, and give signs of life from now on. Raises StoreError."""
        await self.join()
        await self._beat()
        self._beating = lasting(self._beat_on(), "giving signs of life")

    async def refresh(self) -> None:
        """Learn what the others have changed lately."""
        await self._beat()

    async def _beat_on(self) -> None:
        while True:
            await asyncio.sleep(BEAT_S)
            try:
                await asyncio.wait_for(self._beat(), _BEAT_WITHIN_S)
            except Exception as error:
                why = str(error) or type(error).__name__
                log.warning("no sign of life could be given: %s", why)

    async def _beat(self) -> None:
        asked, was_current = time.monotonic(), self.is_current
        async with self._database.connection() as connection:
            rows = await connection.fetch(_BEAT, self.id, LEASE_S)
        if not rows or not rows[0][6]:
            log.warning("server %d was declared dead by others; it joins anew", self.id)
            self._until = 0.0
            self._on_dead()
            await self.join()
            return
        self._clock.compare(rows[0][5])
        self.peers = {row[0]: Peer(*row[:5]) for row in rows}
        self._until = asked + LEASE_S
        if not was_current:
            self._unbroken_since = asked
        await self._on_beat(rows[0][7] or "")

    async def say_leaving(self) -> None:
        """Tell the others that this server takes no more worlds, and learn who of them stays."""
        self.is_leaving = True
        async with self._database.connection() as connection:
            await connection.execute(
                "UPDATE uat_sandbox.servers SET state = 'leaving' WHERE id = $1 AND state = 'live'",
                self.id,
            )
        await self._beat()

    async def declare_dead(self, id: int) -> None:
        """Tell all that nobody answers at the address of this server."""
        async with self._database.connection() as connection:
            await connection.execute(
                "UPDATE uat_sandbox.servers SET state = 'dead' WHERE id = $1", id
            )
        self.peers.pop(id, None)

    async def end(self) -> None:
        """Be no server any more."""
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.gather(self._beating, return_exceptions=True)
        self._until = 0.0
        if self.id:
            await self.declare_dead(self.id)

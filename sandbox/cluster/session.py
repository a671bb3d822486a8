"""The owner session: the connection on which the ownership of worlds depends."""

import asyncio
import logging
import random
import secrets
import socket
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any, Final, NamedTuple, TypeVar

import asyncpg

from sandbox.cluster.database import (
    AGAIN_S,
    ANSWER_S,
    FAILURES,
    PATIENCE_S,
    Database,
    describe,
    is_fatal,
)
from sandbox.cluster.setup import OWNERS, refuse_same_url
from sandbox.store.files.port import StoreError, Unavailable

T = TypeVar("T")

SIGN_S: Final = 1.0
"""How often a session shows a sign of life."""

FRESH_S: Final = 2.0
ASK_S: Final = 2.0
SILENT_S: Final = 5.0
"""A server answers and sends webhooks only if a statement of its session that began less than
`FRESH_S` ago succeeded; otherwise it tries one for up to `ASK_S`. Other servers end a session that
was silent for `SILENT_S`, which is more than both together. So a server that was frozen cannot
answer with outdated data. Source: assumed D25-servers."""

_AGAIN_MAX_S: Final = 1.0
_SETTINGS: Final = """
SET tcp_keepalives_idle = 2; SET tcp_keepalives_interval = 1; SET tcp_keepalives_count = 3;
SET tcp_user_timeout = 5000; SET idle_session_timeout = 0; SET statement_timeout = 0;
SET synchronous_commit = on"""
"""Statements, since poolers refuse these as parameters of a connection. Without them, a machine
that vanishes would keep its lock for hours."""

_END_FORMER: Final = "SELECT pg_terminate_backend(pid) FROM uat_sandbox.living WHERE url = $1"
_JOIN: Final = """
INSERT INTO uat_sandbox.sessions (number, machine, name, url, control_url, version)
VALUES ($1, $2, $3, $4, $5, $6)"""
_SIGN: Final = """
SELECT pg_backend_pid(), clock_timestamp(),
    (SELECT value FROM uat_sandbox.meta WHERE name = 'tokens')"""

log = logging.getLogger("sandbox.cluster")


class SessionLost(Exception):
    """The session has ended, and all worlds of the server were dropped."""


class Address(NamedTuple):
    """A server as the others know it: its name, URLs and version."""

    name: str
    url: str
    control_url: str
    version: str


def _elapsed_s() -> float:
    """Return seconds of a clock that includes time while a machine is suspended, if available."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


class OwnerSession:
    """A connection that holds the lock on the server's number, with one statement at a time.

    `on_lost` is called at once when it ends. `on_sign` is called after each sign of life with the
    tokens of teams.
    """

    def __init__(
        self,
        database: Database,
        address: Address,
        *,
        on_lost: Callable[[], None],
        on_sign: Callable[[str], None],
    ) -> None:
        self.address = address
        self.problem = "there is no session with PostgreSQL yet"
        self._database = database
        self._on_lost, self._on_sign = on_lost, on_sign
        self._connection: asyncpg.Connection | None = None
        self._number = self._pid = 0
        self._spoke_s = 0.0
        # How far PostgreSQL's clock is ahead, and the last time that `now` returned.
        self._ahead_s = self._last_s = 0.0
        self._turn = asyncio.Lock()
        self._is_open, self._is_lost = asyncio.Event(), asyncio.Event()
        self._confirming: asyncio.Task[None] | None = None

    @property
    def number(self) -> int:
        """The number of the session; 0 while there is none."""
        return self._number if self._connection is not None else 0

    @property
    def silent_s(self) -> float:
        """The time since the start of the last statement that succeeded."""
        return _elapsed_s() - self._spoke_s

    def now(self) -> float:
        """Return the seconds since 1970 by PostgreSQL's clock; they never go back."""
        self._last_s = max(self._last_s, time.time() + self._ahead_s)
        return self._last_s

    # --- opening

    async def connect(self) -> None:
        """Begin a session. Raises StoreError, and the errors of the driver."""
        connection = await self._database.connect()
        try:
            async with asyncio.timeout(ANSWER_S):
                await self._begin(connection)
        except BaseException:
            connection.terminate()
            raise
        self._connection = connection
        connection.add_termination_listener(
            lambda ended: self._lose(ended, ConnectionError("PostgreSQL has ended the session"))
        )
        self._is_lost.clear()
        self._is_open.set()
        log.info("session %d of the server %r has begun", self._number, self.address.name)

    async def _begin(self, connection: asyncpg.Connection) -> None:
        address, machine = self.address, socket.gethostname()
        await connection.execute(_SETTINGS)
        began_s = _elapsed_s()
        self._pid = await connection.fetchval("SELECT pg_backend_pid()")
        await refuse_same_url(connection, address.url)
        # End the session of an earlier server at this address.
        await connection.execute(_END_FORMER, address.url)
        number = 1 + secrets.randbelow(2**31 - 1)
        if not await connection.fetchval("SELECT pg_try_advisory_lock($1, $2)", OWNERS, number):
            raise ConnectionError("another session has the same number")
        await connection.execute(_JOIN, number, machine, *address)
        self._number, self._spoke_s = number, began_s

    async def keep(self) -> None:
        """Show signs of life, and begin a new session when one is lost, until canceled."""
        while True:
            try:
                if self._connection is None:
                    await self.connect()
                await self.sign()
            except SessionLost:
                continue
            except (*FAILURES, StoreError) as error:
                if isinstance(error, asyncpg.PostgresError) and self._connection is not None:
                    raise
                self.problem = f"{self._database.name} cannot be reached: {describe(error)}"
                # Random, so that servers that lost their sessions together reconnect one by one.
                await asyncio.sleep(random.uniform(AGAIN_S, _AGAIN_MAX_S))  # noqa: S311
                continue
            with suppress(TimeoutError):
                async with asyncio.timeout(SIGN_S):
                    await self._is_lost.wait()

    async def ready(self) -> int:
        """Wait some seconds for a session, and return its number. Raises Unavailable."""
        try:
            async with asyncio.timeout(PATIENCE_S):
                # A new session may be lost again before this task continues.
                while self._connection is None:
                    await self._is_open.wait()
        except TimeoutError:
            raise Unavailable(self.problem) from None
        return self._number

    # --- statements

    async def run(self, within_s: float, statement: Callable[..., Awaitable[T]], *values: Any) -> T:
        """Call `statement` with the connection and the values, and return its result.

        Any failure except an error of the statement ends the session. Raises SessionLost, or
        PostgresError if the session continues. Requests must not call it, since they may be
        canceled.
        """
        async with self._turn:
            connection, began_s = self._connection, _elapsed_s()
            if connection is None:
                raise SessionLost(self.problem)
            try:
                async with asyncio.timeout(within_s):
                    result = await statement(connection, *values)
            except BaseException as error:
                # After the session was lost, the driver raises all kinds of errors.
                is_failure = self._connection is not connection or isinstance(error, FAILURES)
                if is_fatal(error) or connection.is_closed():
                    self._lose(connection, error)
                    if is_failure and isinstance(error, Exception):
                        raise SessionLost(self.problem) from error
                raise
            if self._connection is not connection:
                raise SessionLost(self.problem)
            self._spoke_s = began_s
            return result

    async def sign(self) -> None:
        """Show a sign of life, and read the time and the tokens of teams. Raises SessionLost."""
        pid, now, tokens = await self.run(ASK_S, asyncpg.Connection.fetchrow, _SIGN)
        if pid != self._pid:
            self.lose(ConnectionError("there is a pooler in transaction mode in between"))
            raise SessionLost(self.problem)
        self._ahead_s = now.timestamp() - time.time()
        self._on_sign(tokens or "")

    async def confirm(self) -> None:
        """Make sure that the session still lives, and owns its worlds. Raises SessionLost."""
        if self._connection is not None and self.silent_s < FRESH_S:
            return
        if self._confirming is None or self._confirming.done():
            self._confirming = asyncio.create_task(self.sign())
        await asyncio.shield(self._confirming)

    # --- losing

    def lose(self, error: BaseException) -> None:
        """End the session and drop its worlds."""
        if self._connection is not None:
            self._lose(self._connection, error)

    def _lose(self, connection: asyncpg.Connection, error: BaseException) -> None:
        if self._connection is None or self._connection is not connection:
            return
        self._connection = None
        self._is_open.clear()
        self.problem = f"the session with {self._database.name} was lost: {describe(error)}"
        log.warning("%s", self.problem)
        try:
            self._on_lost()
        finally:
            connection.terminate()
            self._is_lost.set()

    async def close(self) -> None:
        """End the session; other servers can claim the worlds that it still owns."""
        connection, self._connection = self._connection, None
        self._is_open.clear()
        if connection is not None:
            with suppress(*FAILURES):
                async with self._turn, asyncio.timeout(PATIENCE_S):
                    await connection.close()
            connection.terminate()

"""Connections to PostgreSQL, and what it says when something is wrong."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import asyncpg

from sandbox.store.files.port import StoreError, Unavailable

T = TypeVar("T")

CONNECTIONS_MAX: Final = 4
"""The most connections of a server beside its owner session."""

CONNECT_S: Final = 3.0
ANSWER_S: Final = 10.0
"""How long PostgreSQL may take for one statement. Without a limit, a lost answer would be awaited
forever."""

PATIENCE_S: Final = 3.0
"""How long a request waits while PostgreSQL cannot be reached; then it is refused."""

AGAIN_S: Final = 0.1

FAILURES: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""What the driver raises when a statement or a connection fails."""

_ENDED: Final = ("08", "57P", "25006")
"""What the states of errors begin with after which a connection is of no use, or only reads."""

_SETTINGS: Final = {
    "timeout": CONNECT_S,
    "server_settings": {"application_name": "uat-sandbox"},
    # With several hosts in the URL, the one that takes writes.
    "target_session_attrs": "read-write",
}


def is_fatal(error: BaseException | None) -> bool:
    """Whether a connection is of no use after this error."""
    if not isinstance(error, asyncpg.PostgresError):
        return True
    return str(error.sqlstate or "").startswith(_ENDED)


def name_of(url: str) -> str:
    """Return the database in messages, without user and password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "PostgreSQL"
    # There may be several hosts, each with a port of its own.
    where = parts.netloc.rpartition("@")[2] or "the local socket"
    return f"PostgreSQL at {where}{parts.path}"


class Database:
    """The database at a URL, which may name several hosts."""

    def __init__(self, url: str) -> None:
        self.name = name_of(url)
        self._url = url
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        """Have connections be made as they are needed."""
        self._pool = await asyncpg.create_pool(
            self._url, min_size=0, max_size=CONNECTIONS_MAX, reset=_leave_as_it_is, **_SETTINGS
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[asyncpg.Connection]:
        """Yield a connection of its own for as long as the block lasts.

        Raises StoreError, with a sentence for what is wrong.
        """
        try:
            connection = await self.connect()
            try:
                yield connection
            finally:
                await connection.close(timeout=CONNECT_S)
        except (ValueError, *FAILURES) as error:
            raise self.refusal(error) from error

    async def connect(self) -> asyncpg.Connection:
        """Return a connection of its own, which no pool resets or closes."""
        return await asyncpg.connect(self._url, **_SETTINGS)

    def refusal(self, error: BaseException) -> StoreError:
        """Say why this database is of no use."""
        why = f"{describe(error)}; mend the URL, or the database"
        if isinstance(error, asyncpg.TargetServerAttributeNotMatched):
            why = (
                "it is a standby, which only answers reads; name the primary in the URL, or all "
                "hosts of which one is the primary"
            )
        elif is_fatal(error) and not isinstance(error, ValueError):
            return self.unreachable(error)
        return StoreError(f"{self.name} cannot be used: {why}")

    def unreachable(self, error: BaseException) -> Unavailable:
        """Say that PostgreSQL cannot be reached at the moment."""
        return Unavailable(f"{self.name} cannot be reached: {describe(error)}")

    @asynccontextmanager
    async def connection(self, within_s: float = ANSWER_S) -> AsyncIterator[asyncpg.Connection]:
        """Yield a connection for statements that take no longer than this. Raises Unavailable.

        One that takes longer is closed: otherwise its end, too, would wait for an answer.
        """
        assert self._pool is not None
        loop = asyncio.get_running_loop()
        try:
            async with self._pool.acquire(timeout=CONNECT_S) as connection:
                limit = loop.call_later(within_s, connection.terminate)
                try:
                    yield connection
                except Exception as error:
                    if loop.time() < limit.when():
                        raise
                    # The driver raises anything when a connection is closed under it.
                    raise TimeoutError(f"no answer within {within_s:g} s") from error
                finally:
                    limit.cancel()
        except FAILURES as error:
            raise self.unreachable(error) from error

    async def ask(self, question: Callable[..., Awaitable[T]], *values: Any) -> T:
        """Ask what may be asked again, for some seconds if need be. Raises Unavailable.

        The question gets a connection, and the values.
        """
        deadline_s = time.monotonic() + PATIENCE_S
        while True:
            try:
                async with self.connection() as connection:
                    return await question(connection, *values)
            except Unavailable as error:
                if not is_fatal(error.__cause__) or time.monotonic() > deadline_s:
                    raise
            await asyncio.sleep(AGAIN_S)

    async def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            with suppress(*FAILURES):
                await asyncio.wait_for(self._pool.close(), CONNECT_S)
            self._pool.terminate()


async def _leave_as_it_is(connection: asyncpg.Connection) -> None:
    """Do not ask PostgreSQL to reset a connection: no statement changes its session."""


def describe(error: Any) -> str:
    """Return the first line of what an error says, or its name if it says nothing."""
    return str(error).partition("\n")[0] or type(error).__name__

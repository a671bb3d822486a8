"""Connections to PostgreSQL, and sentences for its errors."""

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
"""Limit of the connections of a server besides its owner session."""

CONNECT_S: Final = 3.0
ANSWER_S: Final = 10.0
"""Time limit of a statement. Without one, the server would wait forever for a lost answer."""

PATIENCE_S: Final = 3.0
"""How long a request waits while PostgreSQL cannot be reached, before it is refused."""

AGAIN_S: Final = 0.1

FAILURES: Final = (
    OSError,
    TimeoutError,
    asyncpg.PostgresError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)
"""The errors that the driver raises when a statement or a connection fails."""

_ENDED: Final = ("08", "57P", "25006")
"""Prefixes of the SQLSTATEs after which a connection is unusable, or read-only."""

_SETTINGS: Final = {
    "timeout": CONNECT_S,
    "server_settings": {"application_name": "uat-sandbox"},
    # If the URL has several hosts, use the one that accepts writes.
    "target_session_attrs": "read-write",
}


def is_fatal(error: BaseException | None) -> bool:
    """Whether a connection is unusable after this error."""
    if not isinstance(error, asyncpg.PostgresError):
        return True
    return str(error.sqlstate or "").startswith(_ENDED)


def name_of(url: str) -> str:
    """Return the name of the database for messages, without user and password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return "PostgreSQL"
    if "@" in f"{parts.path}{parts.query}{parts.fragment}":
        # A character of the password that is not escaped, like a slash, seems to end the host.
        return "PostgreSQL"
    # There may be several hosts, each with its own port.
    where = parts.netloc.rpartition("@")[2] or "the local socket"
    return f"PostgreSQL at {where}{parts.path}"


class Database:
    """The database at a URL, which may name several hosts."""

    def __init__(self, url: str) -> None:
        self.name = name_of(url)
        self._url = url
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        """Open the pool, which connects as needed."""
        self._pool = await asyncpg.create_pool(
            self._url, min_size=0, max_size=CONNECTIONS_MAX, reset=_leave_as_it_is, **_SETTINGS
        )

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[asyncpg.Connection]:
        """Yield a separate connection, which is closed after the block.

        Raises StoreError with a sentence about the problem.
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
        """Return a new connection that does not belong to the pool."""
        return await asyncpg.connect(self._url, **_SETTINGS)

    def refusal(self, error: BaseException) -> StoreError:
        """Return the error for an unusable database."""
        why = f"{describe(error)}; fix the URL, or the database"
        if isinstance(error, ValueError) and not isinstance(error, asyncpg.InterfaceError):
            # The error may quote a part of the password.
            why = (
                "its URL cannot be read; a port is a number, and special characters of a password "
                "are escaped: / is %2F, and @ is %40"
            )
        elif isinstance(error, asyncpg.TargetServerAttributeNotMatched):
            why = (
                "it is a standby, which is read-only; name the primary in the URL, or all hosts "
                "of which one is the primary"
            )
        elif is_fatal(error) and not isinstance(error, ValueError):
            return self.unreachable(error)
        return StoreError(f"{self.name} cannot be used: {why}")

    def unreachable(self, error: BaseException) -> Unavailable:
        """Return the error for a database that cannot be reached now."""
        return Unavailable(f"{self.name} cannot be reached: {describe(error)}")

    @asynccontextmanager
    async def connection(self, within_s: float = ANSWER_S) -> AsyncIterator[asyncpg.Connection]:
        """Yield a connection of the pool for statements with this time limit. Raises Unavailable.

        After the limit the connection is terminated, because closing it would wait for an answer.
        """
        assert self._pool is not None
        loop = asyncio.get_running_loop()
        try:
            async with self._pool.acquire(timeout=CONNECT_S) as connection:
                limit = loop.call_later(within_s, connection.terminate)
                try:
                    yield connection
                except asyncio.CancelledError:
                    # To give it back would wait for PostgreSQL, and fail with another error.
                    connection.terminate()
                    raise
                except Exception as error:
                    if loop.time() < limit.when():
                        raise
                    # The driver raises all kinds of errors after a connection was terminated.
                    raise TimeoutError(f"no answer within {within_s:g} s") from error
                finally:
                    limit.cancel()
        except FAILURES as error:
            raise self.unreachable(error) from error

    async def ask(self, question: Callable[..., Awaitable[T]], *values: Any) -> T:
        """Call `question` with a connection and the values, and return its result.

        It must be repeatable: it is tried for some seconds. Raises Unavailable.
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
    """Skip the reset of a connection, since no statement changes its session."""


def describe(error: Any) -> str:
    """Return the first line of an error's message, or the name of its class."""
    return str(error).partition("\n")[0] or type(error).__name__

"""Connections to PostgreSQL, and what it says when something is wrong."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from urllib.parse import urlsplit

import asyncpg

from sandbox.store.files.port import StoreError, Unavailable

CONNECTIONS_MAX: Final = 5
CONNECT_S: Final = 3.0
"""So long a connection may take to come about."""
ANSWER_S: Final = 10.0
"""So long PostgreSQL may take for one statement. Without a limit, a statement whose answer was lost
would be awaited for ever."""

AWAY: Final = (
    OSError,
    asyncio.TimeoutError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    # What asyncpg raises if PostgreSQL ends a session while an answer is read.
    asyncpg.InternalClientError,
    asyncpg.OperatorInterventionError,
    asyncpg.InsufficientResourcesError,
    asyncpg.InternalServerError,
    asyncpg.ReadOnlySQLTransactionError,
)
"""What is raised while PostgreSQL cannot be reached, starts, stops or only answers reads."""


class _Connection(asyncpg.Connection):  # type: ignore[misc]
    """A connection without state that would have to be reset: each use would take a round trip."""

    def get_reset_query(self) -> str:
        return ""


def name_of(url: str) -> str:
    """The database in messages, without user and password."""
    parts = urlsplit(url)
    # There may be several hosts, each with a port of its own.
    where = parts.netloc.rpartition("@")[2] or "the local socket"
    return f"PostgreSQL at {where}{parts.path}"


class Database:
    """The database at a URL. Connections are opened when they are needed."""

    def __init__(self, url: str) -> None:
        self.name = name_of(url)
        self._url = url
        self._pool: asyncpg.Pool | None = None

    async def open(self) -> None:
        """Connect. Raises StoreError."""
        try:
            self._pool = await asyncpg.create_pool(
                self._url,
                min_size=1,
                max_size=CONNECTIONS_MAX,
                timeout=CONNECT_S,
                command_timeout=ANSWER_S,
                connection_class=_Connection,
                server_settings={"application_name": "uat-sandbox"},
            )
        # The URL itself; what a password, a role or a database's name lead to comes below.
        except ValueError as error:
            raise self._unusable(error) from error
        except AWAY as error:
            raise self.unreachable(error) from error
        except asyncpg.PostgresError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self.name} cannot be used: {error}; mend the URL of --store, or the database"
        )

    def unreachable(self, error: BaseException) -> Unavailable:
        """PostgreSQL cannot be reached at the moment."""
        why = str(error) or type(error).__name__
        return Unavailable(f"{self.name} cannot be reached: {why}")

    @asynccontextmanager
    async def connection(self) -> AsyncIterator[asyncpg.Connection]:
        """A connection for one or more statements."""
        assert self._pool is not None
        async with self._pool.acquire(timeout=CONNECT_S) as connection:
            try:
                yield connection
            except asyncpg.InternalClientError:
                # It would take every further statement for one too many.
                connection.terminate()
                raise

    async def close(self) -> None:
        """Close all connections."""
        if self._pool is not None:
            try:
                await asyncio.wait_for(self._pool.close(), CONNECT_S)
            except AWAY:
                self._pool.terminate()
            self._pool = None

"""A database without servers, as a state file, for copying worlds from and to files."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

from asyncpg import Connection
from pydantic_core import from_json

from sandbox.cluster import commits
from sandbox.cluster.commits import Head, Rows
from sandbox.cluster.database import Database
from sandbox.cluster.setup import prepare, put_meta
from sandbox.domain.payments.transactions import Payment
from sandbox.store.files.port import COUNTERS, Change, StateFile, StoreError, Tables
from sandbox.store.tables import NAMES
from sandbox.worlds.spec import team_of

T = TypeVar("T")

_SESSION = 0
"""The session number in rows that this writes. No server has it, so any can claim the worlds."""

_ADD = "INSERT INTO uat_sandbox.worlds (id, wid, team, session, n, format) VALUES ($1,$2,$3,$4,0,0)"


class Archive(StateFile):
    """The worlds of a database that no server uses.

    Each method opens a new connection. Raises StoreError if a server uses the database.
    """

    def __init__(self, url: str) -> None:
        super().__init__()
        self._database = Database(url)
        self.name = self._database.name
        self.head = self._run(self._prepare)

    def load(self) -> Mapping[str, Tables]:
        """Return all worlds by id. Raises StoreError."""
        return self._run(self._load)

    def keep_good_copy(self) -> None:
        """Do nothing, since backups are PostgreSQL's task."""

    def write(self, changes: Sequence[Change]) -> None:
        """Write whole worlds, all or none. Raises StoreError."""
        self._run(lambda connection: self._write(connection, changes))

    def close(self) -> None:
        """Do nothing, since no connection is open."""

    # --- with a connection

    def _run(self, work: Callable[[Connection], Awaitable[T]]) -> T:
        async def connected() -> T:
            async with self._database.opened() as connection:
                return await work(connection)

        return asyncio.run(connected())

    async def _prepare(self, connection: Connection) -> dict[str, Any]:
        known = await prepare(connection, self.name)
        servers = await connection.fetchval("SELECT string_agg(name, ', ') FROM uat_sandbox.living")
        if servers:
            raise StoreError(
                f"{self.name} is in use by the servers {servers}; stop them, and try again"
            )
        return known | {"tokens": from_json(known.get("tokens") or "[]")}

    async def _load(self, connection: Connection) -> dict[str, Tables]:
        written = "SELECT id, wid FROM uat_sandbox.worlds WHERE n > 0 ORDER BY id"
        worlds = await connection.fetch(written)
        return {id: (await commits.load(connection, wid)).tables for id, wid in worlds}

    async def _write(self, connection: Connection, changes: Sequence[Change]) -> None:
        async with connection.transaction():
            for name, value in (("secret", self.secret.hex()), ("tokens", self.tokens)):
                if value:
                    await put_meta(connection, name, value)
            for change in changes:
                rows, wid = Rows(), secrets.randbits(63)
                state = rows.add(change, wid)
                payments = [table for table, _ in change.puts].count(NAMES[Payment])
                # People may have left out tables and fields. The server that loads a world says so.
                counters = [from_json(one.text) for table, one in change.puts if table == COUNTERS]
                requests = counters[0].get("requests", 0) if counters else 0
                # Due at once, so that the first server loads the world and fires its timers.
                head = Head(
                    wid=wid,
                    new_wid=wid,
                    n=1,
                    state=state,
                    payments=payments,
                    requests=requests,
                    due_s=0,
                )
                await connection.execute(_ADD, change.world, wid, team_of(change.world), _SESSION)
                await commits.write_rows(connection, rows, wid)
                await commits.commit(connection, _SESSION, [head], Rows(), [])

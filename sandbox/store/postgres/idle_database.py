"""A database as a state file that nobody uses, for copying worlds from and to files."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic_core import from_json

from sandbox.domain.payments.transactions import Transaction
from sandbox.domain.teams import team_of
from sandbox.store.files.port import (
    COUNTERS,
    FORMAT,
    RECORDS,
    Change,
    StoreError,
    Tables,
)
from sandbox.store.postgres import commits
from sandbox.store.postgres.commits import CommitHead
from sandbox.store.postgres.database import AWAY, Database
from sandbox.store.postgres.loading import load
from sandbox.store.postgres.rows import Places, Written, write
from sandbox.store.postgres.schema import prepare, put_meta
from sandbox.store.tables import NAMES

if TYPE_CHECKING:
    import asyncpg

T = TypeVar("T")

_BEGIN = """
INSERT INTO uat_sandbox.worlds (id, wid, team, owner, epoch, n, format)
VALUES ($1, nextval('uat_sandbox.wids'), $2, NULL, 1, 0, $3)"""


class IdleDatabase:
    """The worlds of a database that no server uses. Fulfils the port of state files.

    Each method connects anew. Raises StoreError where a server lives.
    """

    is_for_people = False

    def __init__(self, url: str) -> None:
        self._database = Database(url)
        self.name = self._database.name
        self._meta: dict[str, str] = {}
        self._known = self._run(self._prepare)

    @property
    def secret(self) -> bytes:
        """The secret of the servers; empty if there is none."""
        return bytes.fromhex(self._known.get("secret", ""))

    @property
    def tokens(self) -> str:
        """The tokens of teams as JSON."""
        return self._known.get("tokens", "")

    def keep_secret(self, secret: bytes) -> None:
        """Have the next write put this secret there."""
        self._meta["secret"] = secret.hex()

    def keep_tokens(self, tokens: str) -> None:
        """Have the next write put these tokens there."""
        self._meta["tokens"] = tokens

    def load(self) -> Mapping[str, Tables]:
        """All worlds by id, with the texts of all documents."""
        return self._run(self._load)

    def keep_good_copy(self) -> None:
        """Make no copy: that is for PostgreSQL to do."""

    def write(self, changes: Sequence[Change]) -> None:
        """Write whole worlds, all or none."""
        self._run(lambda connection: self._write(connection, changes))

    def close(self) -> None:
        """Nothing is open."""

    # --- with a connection

    def _run(self, work: "Callable[[asyncpg.Connection], Coroutine[Any, Any, T]]") -> T:
        async def connected() -> T:
            await self._database.open()
            try:
                async with self._database.connection() as connection:
                    return await work(connection)
            except AWAY as error:
                raise self._database.unreachable(error) from error
            finally:
                await self._database.close()

        return asyncio.run(connected())

    async def _prepare(self, connection: "asyncpg.Connection") -> dict[str, str]:
        await prepare(connection, self.name)
        servers = await connection.fetchval(
            "SELECT string_agg(name, ', ') FROM uat_sandbox.servers "
            "WHERE state <> 'dead' AND beat_until > now()"
        )
        if servers:
            raise StoreError(
                f"{self.name} is in use by the servers {servers}; stop them, and try again"
            )
        return dict(await connection.fetch("SELECT name, value FROM uat_sandbox.meta"))

    async def _load(self, connection: "asyncpg.Connection") -> dict[str, Tables]:
        worlds: dict[str, Tables] = {}
        rows = await connection.fetch(
            "SELECT id, wid FROM uat_sandbox.worlds WHERE n > 0 ORDER BY id"
        )
        for id, wid in rows:
            saved = (await load(connection, wid)).saved
            worlds[id] = saved.tables
        return worlds

    async def _write(self, connection: "asyncpg.Connection", changes: Sequence[Change]) -> None:
        async with connection.transaction():
            for name, value in self._meta.items():
                await put_meta(connection, name, value)
            for change in changes:
                await connection.execute(_BEGIN, change.world, team_of(change.world), FORMAT)
                wid, rows = await commits.new_wid(connection), Written()
                state = write(_in_order(change), wid, Places(), rows)
                tables = [table for table, _ in change.puts]
                (counters,) = (one.text for table, one in change.puts if table == COUNTERS)
                head = CommitHead(
                    id=change.world,
                    wid=wid,
                    epoch=1,
                    n=1,
                    state=state,
                    payments=tables.count(NAMES[Transaction]),
                    requests=from_json(counters).get("requests", 0),
                    # Whoever comes first looks what is due.
                    due_s=0.0,
                )
                await commits.commit_anew(connection, head, rows)


def _in_order(change: Change) -> Change:
    """The same with each message before what it says."""
    puts = sorted(change.puts, key=lambda put: put[0] == RECORDS)
    return change._replace(puts=puts)

"""Writes owned worlds to PostgreSQL, so that answers can wait until their world is durable.

Commits of all worlds that happen together share one statement, and commits during a statement share
the next one. When the session is lost, all worlds are dropped from memory: changes that were not
acknowledged are discarded, and PostgreSQL has all others.
"""

import asyncio
import logging
import secrets
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Final, NamedTuple

import asyncpg

from sandbox.cluster import commits
from sandbox.cluster.commits import Head, Rows
from sandbox.cluster.database import AGAIN_S, ANSWER_S, FAILURES, PATIENCE_S, Database
from sandbox.cluster.ownership import Claim
from sandbox.cluster.session import OwnerSession, SessionLost
from sandbox.cluster.setup import put_meta
from sandbox.domain.payments.transactions import Payment
from sandbox.measurements import Measured
from sandbox.store.files.port import Change, StoreError, Unavailable
from sandbox.worlds.elsewhere import WorldLost
from sandbox.worlds.saver import ChangeLog
from sandbox.worlds.world import World

WORLDS_AT_ONCE: Final = 64
"""How many worlds share a commit, so that many changes do not hold up everything."""

ROWS_AT_ONCE: Final = 1_000
"""A world with more rows is rewritten over another connection, while commits continue."""

_ROWS_PER_S: Final = 1_000
"""The time limit of a commit grows by a second for this many rows."""

log = logging.getLogger("sandbox.cluster")


@dataclass(slots=True, eq=False)
class OwnedWorld:
    """A world that the session owns, and how much of it is written.

    `n` is the number of the last commit. `noted` and `written` count changes. `told` wakes up the
    answers that wait for a change to be written. While `is_busy`, the whole world is being written,
    and later changes wait.
    """

    world: World
    wid: int
    n: int
    log: ChangeLog | None = None
    noted: int = 0
    written: int = 0
    is_lost: bool = False
    is_gone: bool = False
    is_busy: bool = False
    told: asyncio.Event = field(default_factory=asyncio.Event)

    async def wait(self) -> None:
        """Wait until all changes so far are written, or the world is lost."""
        noted = self.noted
        while self.written < noted and not self.is_lost:
            await self.told.wait()

    def tell(self) -> None:
        """Let the answers continue whose changes are written or lost."""
        self.told.set()
        self.told = asyncio.Event()

    def head(self, new_wid: int, state: str | None) -> Head:
        """Return the head of its next commit."""
        world, store = self.world, self.world.store
        return Head(
            wid=self.wid,
            new_wid=new_wid,
            n=self.n + 1,
            state=state,
            payments=len(store.all(Payment)),
            requests=store.counters.requests,
            due_s=world.find_wait_s(store.timers.soonest) if world.outbox.is_idle else 0.0,
        )


class _Part(NamedTuple):
    """The part of a commit for one world, up to a change; without a `head`, it is deleted."""

    owned: OwnedWorld
    noted: int
    head: Head | None


class ClusterSaver:
    """Writes the changes of owned worlds; implements `worlds.background.Saver`.

    `on_lost` is called with a world that cannot be written.
    """

    measured: Measured
    """Set by the registry."""

    problem = None

    def __init__(
        self, database: Database, session: OwnerSession, *, on_lost: Callable[[World], None]
    ) -> None:
        self.name = database.name
        self._database = database
        self._session = session
        self._on_lost = on_lost
        # The claims of worlds that are being created or loaded.
        self.claims: dict[str, Claim] = {}
        # Worlds stay in it until they are deleted in the database.
        self._owned: dict[str, OwnedWorld] = {}
        # Worlds with changes; a dictionary serves as an ordered set.
        self._dirty: dict[OwnedWorld, None] = {}
        # Changed tokens that are not written yet; tokens from the database may be older.
        self.new_tokens: str | None = None
        self._work = asyncio.Event()
        self._aside: set[asyncio.Task[None]] = set()

    @property
    def worlds(self) -> list[World]:
        """The worlds that the session owns."""
        return [owned.world for owned in self._owned.values() if not owned.is_gone]

    @property
    def unwritten(self) -> list[str]:
        """The ids of worlds that are being created or loaded here."""
        return [*self.claims, *(id for id, owned in self._owned.items() if owned.n == 0)]

    def has(self, id: str) -> bool:
        """Whether a world with this id is owned here, or not deleted yet."""
        return id in self._owned

    # --- noting

    def follow(self, world: World, *, is_in_file: bool) -> None:
        """Write every change of the world from now on, and all its content unless it is there."""
        claim, owned = self.claims.get(world.id), self._owned.get(world.id)
        if claim is not None and claim.session == self._session.number:
            owned = OwnedWorld(world, claim.wid, claim.n)
        elif owned is None or owned.is_gone or claim is not None:
            # The session was lost while the world was loaded or created.
            asyncio.get_running_loop().call_soon(self._on_lost, world)
            return
        # Otherwise this world replaces the one with the same id.
        owned.world = world
        self._owned[world.id] = owned
        owned.log = ChangeLog(world, partial(self._note, owned))
        world.store.log = owned.log.note
        if not is_in_file:
            owned.log.begin_anew()

    def _note(self, owned: OwnedWorld) -> None:
        """Note that the world has changes to write."""
        owned.noted += 1
        self._dirty[owned] = None
        self._work.set()

    def forget(self, world_id: str) -> None:
        """Delete the world."""
        owned = self._owned.get(world_id)
        if owned is not None:
            owned.is_gone = True
            self._note(owned)

    def drop(self, world_ids: Iterable[str]) -> None:
        """Stop writing these worlds, and let waiting answers fail."""
        for id in list(world_ids):
            if (owned := self._owned.pop(id, None)) is not None:
                owned.is_lost = True
                self._dirty.pop(owned, None)
                owned.tell()

    def drop_all(self) -> None:
        """Stop writing all worlds, and forget changed tokens."""
        self.drop(self._owned)
        self.new_tokens = None

    def keep_tokens(self, tokens: str) -> None:
        """Replace the stored tokens of teams."""
        self.new_tokens = tokens

    # --- waiting

    async def saved(self, world: World | None = None) -> None:
        """Wait until all changes so far of the world are written; without a world, the tokens.

        Raises WorldLost if another server may own it, and Unavailable if tokens cannot be written.
        """
        if world is None:
            if self.new_tokens is not None:
                await asyncio.shield(self._write_tokens(self.new_tokens))
            return
        owned = self._owned.get(world.id)
        if owned is None or owned.world is not world:
            raise WorldLost(world.id)
        await owned.wait()
        with suppress(SessionLost):
            await self._session.confirm()
            if not owned.is_lost:
                return
        raise WorldLost(world.id)

    async def _write_tokens(self, tokens: str) -> None:
        await self._session.ready()
        try:
            await self._session.run(ANSWER_S, put_meta, "tokens", tokens)
        except (*FAILURES, SessionLost) as error:
            raise self._database.unreachable(error) from error
        if self.new_tokens is tokens:
            self.new_tokens = None

    # --- writing

    async def keep_writing(self) -> None:
        """Write changes until canceled."""
        while True:
            if not self._work.is_set():
                await self._work.wait()
                # All requests of this round of the loop share the commit.
                await asyncio.sleep(0)
            self._work.clear()
            # If the session was lost, all worlds were dropped.
            with suppress(SessionLost):
                await self._write()

    async def _write(self) -> None:
        parts, rows = list[_Part](), Rows()
        ready = [one for one in self._dirty if not one.is_busy]
        for owned in sorted(ready, key=lambda one: one.world.id):
            if len(parts) == WORLDS_AT_ONCE:
                self._work.set()
                break
            del self._dirty[owned]
            assert owned.log is not None
            if owned.is_gone:
                parts.append(_Part(owned, owned.noted, None))
            elif (change := owned.log.take()) is None:
                owned.written = owned.noted
                owned.tell()
            elif change.is_replacement and len(change.puts) > ROWS_AT_ONCE:
                owned.is_busy = True
                task = asyncio.create_task(self._write_whole(owned, change, owned.noted))
                self._aside.add(task)
                task.add_done_callback(self._aside.discard)
            else:
                is_replaced = change.is_replacement and owned.n > 0
                wid = secrets.randbits(63) if is_replaced else owned.wid
                parts.append(_Part(owned, owned.noted, owned.head(wid, rows.add(change, wid))))
        if parts:
            await self._commit(parts, rows)

    async def _commit(self, parts: list[_Part], rows: Rows) -> None:
        began_s = time.monotonic()
        mine = await self._persist(parts, rows)
        self.measured.writes.observe(time.monotonic() - began_s)
        self.measured.written_together.observe(len(parts))
        for owned, noted, head in parts:
            if mine is not None and (head is None or head.wid in mine):
                owned.written = max(owned.written, noted)
                owned.tell()
                if head is not None:
                    owned.wid, owned.n = head.new_wid, head.n
                elif self._owned.get(owned.world.id) is owned:
                    del self._owned[owned.world.id]
            elif not owned.is_lost:
                why = "cannot be written" if mine is None else "has other commits than ours"
                log.error("the world %r %s", owned.world.id, why)
                self._on_lost(owned.world)

    async def _persist(self, parts: list[_Part], rows: Rows) -> set[int] | None:
        """Execute a commit, again for some seconds if PostgreSQL refuses it; None if all fail."""
        session, deadline_s = self._session.number, time.monotonic() + PATIENCE_S
        heads = [head for _, _, head in parts if head is not None]
        gone = [owned.wid for owned, _, head in parts if head is None]
        within_s = ANSWER_S + len(rows.documents) / _ROWS_PER_S
        while True:
            try:
                return await self._session.run(within_s, commits.commit, session, heads, rows, gone)
            except asyncpg.PostgresError as error:
                if time.monotonic() > deadline_s:
                    log.error("%s does not take changes: %s", self.name, error)
                    return None
            await asyncio.sleep(AGAIN_S)

    async def _write_whole(self, owned: OwnedWorld, change: Change, noted: int) -> None:
        """Write a whole large world over another connection, while commits continue."""
        rows, wid = Rows(), secrets.randbits(63)
        try:
            head = owned.head(wid, rows.add(change, wid))
            within_s = ANSWER_S + len(rows.documents) / _ROWS_PER_S
            async with self._database.connection(within_s) as connection:
                await commits.write_rows(connection, rows, wid)
            await self._commit([_Part(owned, noted, head)], Rows())
        except Unavailable as error:
            log.error("the world %r cannot be written: %s", owned.world.id, error)
            self._on_lost(owned.world)
        except SessionLost:
            pass
        finally:
            owned.is_busy = False
            if owned in self._dirty:
                self._work.set()

    async def flush(self, worlds: Iterable[World]) -> None:
        """Write all changes of these worlds, including those for which no answer waits."""
        for world in worlds:
            if (owned := self._owned.get(world.id)) is not None:
                self._note(owned)
        for world in worlds:
            with suppress(WorldLost, StoreError):
                await self.saved(world)

    async def close(self) -> None:
        """Stop writing large worlds."""
        for task in self._aside:
            task.cancel()
        await asyncio.gather(*self._aside, return_exceptions=True)

"""Writes worlds to PostgreSQL, so answers can wait until their own world is durable.

Commits of all worlds that come together share one statement. While one is under way, further
commits gather for the next. A world that another server has taken over is lost: nothing that was
done here since its last commit was acknowledged, and nothing of it is answered any more.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable
from functools import partial
from typing import Final

import asyncpg

from sandbox.domain.payments.transactions import Transaction
from sandbox.measurements import Measured
from sandbox.servers.held import Batch, Held, due_s
from sandbox.servers.lasting import lasting
from sandbox.servers.membership import Membership
from sandbox.store.change_log import ChangeLog
from sandbox.store.files.port import Change, StoreError, Unavailable
from sandbox.store.postgres import commits
from sandbox.store.postgres.commits import CommitHead
from sandbox.store.postgres.database import AWAY, Database
from sandbox.store.postgres.rows import Places, Written, write
from sandbox.worlds.elsewhere import WorldLost
from sandbox.worlds.world import World

PATIENCE_S: Final = 3.0
"""So long a request waits while PostgreSQL cannot be reached; then it is refused."""

_TOKENS_SETTLE_S: Final = 2.0
_AGAIN_S: Final = 0.1
_AGAIN_MAX_S: Final = 1.0

log = logging.getLogger("sandbox.servers")


class SharedSaver:
    """Writes the changes of the worlds that this server has. Fulfils `worlds.background.Saver`."""

    measured: Measured
    """Set by the registry of the worlds."""

    def __init__(
        self,
        database: Database,
        membership: Membership,
        *,
        on_lost: Callable[[World], None],
    ) -> None:
        self.name = database.name
        self._database = database
        self._membership = membership
        self._on_lost = on_lost
        self._held: dict[str, Held] = {}
        self._claimed: dict[str, tuple[int, int, int, Places]] = {}
        # What has changes; a dictionary as an ordered set.
        self._dirty: dict[Held, None] = {}
        self._tokens: str | None = None
        self._tokens_kept_s = 0.0
        self._tokens_written = asyncio.Event()
        self._tokens_written.set()
        self._work = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None
        self._whole: set[asyncio.Task[None]] = set()
        self._away_since: float | None = None
        self.problem: str | None = None

    @property
    def held(self) -> Iterable[Held]:
        """The worlds that this server has."""
        return list(self._held.values())

    # --- noting

    def expect(self, id: str, epoch: int, wid: int, n: int, places: Places) -> None:
        """Be about to follow a world that was claimed."""
        self._claimed[id] = epoch, wid, n, places

    def unexpect(self, id: str) -> None:
        """The world that was claimed does not come."""
        self._claimed.pop(id, None)

    def follow(self, world: World, *, is_in_file: bool) -> None:
        """Write every change of the world from now on, and all of it unless it is there."""
        claimed, before = self._claimed.pop(world.id, None), self._held.get(world.id)
        if claimed is not None:
            held = Held(world, *claimed)
            if before is not None:
                # Nobody is left to wait for commits of an epoch that is over.
                self._lose(before)
        else:
            # Another state takes the place of the world, under the same id.
            assert before is not None
            held = before
            held.world = world
        self._held[world.id] = held
        held.log = world.store.log = ChangeLog(
            world.id, world.store, world.spec.fixture.document, partial(self.note, held)
        )
        if not is_in_file:
            held.log.begin_anew()

    def note(self, held: Held) -> None:
        """The world has changes to write."""
        held.noted += 1
        self._dirty[held] = None
        self._work.set()

    def forget(self, world_id: str) -> None:
        """The world was deleted."""
        held = self._held.pop(world_id, None)
        if held is not None:
            held.is_gone = True
            self.note(held)

    def let_go(self, world_id: str) -> Held | None:
        """Follow the world no longer: another server has it, or shall have it."""
        held = self._held.pop(world_id, None)
        if held is not None:
            self._dirty.pop(held, None)
            self._lose(held)
        return held

    def _lose(self, held: Held) -> None:
        held.is_lost = True
        self._wake(held, WorldLost(held.world.id))

    def keep_tokens(self, tokens: str) -> None:
        """Write these tokens of teams in place of those that are there."""
        self._tokens = tokens
        self._tokens_kept_s = time.monotonic()
        self._tokens_written.clear()
        self._work.set()

    @property
    def has_new_tokens(self) -> bool:
        """Whether tokens were changed here so lately that what others read may be older."""
        is_late = time.monotonic() - self._tokens_kept_s > _TOKENS_SETTLE_S
        return self._tokens is not None or not is_late

    # --- waiting

    async def saved(self, world: World | None = None) -> None:
        """Wait until all changes of the world so far are written; without one, the tokens.

        Raises WorldLost if another server has it now or may have it, and Unavailable while nothing
        can be written.
        """
        if world is None:
            await self._saved_tokens()
            return
        held_now = self._held.get(world.id) or self._going(world)
        if held_now is None or held_now.world is not world:
            raise WorldLost(world.id)
        if not self._membership.is_current:
            raise Unavailable("this server has no contact with the others at the moment")
        await self._saved(held_now)

    async def _saved_tokens(self) -> None:
        try:
            await asyncio.wait_for(self._tokens_written.wait(), PATIENCE_S)
        except TimeoutError:
            raise Unavailable(self.problem or "nothing can be written") from None

    def _going(self, world: World) -> Held | None:
        """The world that is being deleted."""
        return next((held for held in self._dirty if held.world is world and held.is_gone), None)

    async def _saved(self, held: Held) -> None:
        wanted = held.noted
        while held.written < wanted:
            if held.is_lost:
                raise WorldLost(held.world.id)
            if self._away_since is not None and time.monotonic() - self._away_since > PATIENCE_S:
                raise Unavailable(self.problem or "nothing can be written")
            future = asyncio.get_running_loop().create_future()
            held.waiting.append(future)
            await future

    def _wake(self, held: Held, error: Exception | None = None) -> None:
        waiting, held.waiting = held.waiting, []
        for future in waiting:
            if not future.done():
                if error is None:
                    future.set_result(None)
                else:
                    future.set_exception(error)

    # --- writing

    def begin(self) -> None:
        """Write from now on."""
        self._writer = lasting(self._write_on(), "writing to PostgreSQL")
        self._work.set()

    async def _write_on(self) -> None:
        while True:
            await self._work.wait()
            # All requests of this round of the loop share the commit.
            await asyncio.sleep(0)
            self._work.clear()
            await self.write()

    async def write(self) -> None:
        """Write all changes so far."""
        if self._tokens is not None:
            await self._until_it_works(self._write_tokens)
        for held in [one for one in self._dirty if one.is_gone and not one.is_busy]:
            await self._until_it_works(partial(self._delete, held))
        for held in [one for one in self._dirty if one.begins and not one.is_busy]:
            self._begin_anew(held)
        batch = self._batch()
        if batch.held:
            await self._until_it_works(partial(self._commit, batch))

    def _batch(self) -> Batch:
        """The changes of all worlds, taken from their logs."""
        batch = Batch([], Written())
        dirty, self._dirty = self._dirty, {}
        for held in sorted(dirty, key=lambda one: one.world.id):
            if held.is_lost:
                continue
            if held.is_gone or held.is_busy or held.begins:
                self._dirty[held] = None
                continue
            assert held.log is not None
            noted = held.noted
            change = held.log.take()
            if change is None:
                self._done(held, noted)
            else:
                batch.held.append((held, self._head(held, change, held.wid, batch.rows), noted))
        return batch

    def _head(self, held: Held, change: Change, wid: int, rows: Written) -> CommitHead:
        held.n += 1
        world = held.world
        return CommitHead(
            id=world.id,
            wid=wid,
            epoch=held.epoch,
            n=held.n,
            state=write(change, wid, held.places, rows),
            payments=len(world.store.all(Transaction)),
            requests=world.store.counters.requests,
            due_s=due_s(world),
        )

    async def _commit(self, batch: Batch) -> None:
        heads, began_s = [head for _, head, _ in batch.held], time.monotonic()
        async with self._database.connection() as connection:
            ours = await commits.commit(connection, heads, batch.rows)
            missing = [head.id for head in heads if head.wid not in ours]
            standing = await commits.standing(connection, missing) if missing else {}
        self.measured.writes.observe(time.monotonic() - began_s)
        self.measured.written_together.observe(len(heads))
        for held, head, noted in batch.held:
            if head.wid in ours or standing.get(head.id) == (head.epoch, head.n):
                self._done(held, noted)
            else:
                self._settle(held, standing.get(head.id))

    def _settle(self, held: Held, found: tuple[int, int] | None) -> None:
        """A commit was not taken up: another has the world, or PostgreSQL has lost its last."""
        if held.is_lost:
            return
        if found is not None and found[0] == held.epoch:
            # What this server has in memory is more than what is left there.
            log.warning(
                "PostgreSQL has lost commits of the world %r; it is written anew", held.world.id
            )
            held.n = found[1]
            assert held.log is not None
            held.log.begin_anew()
            return
        log.warning("the world %r was taken over by another server", held.world.id)
        self._on_lost(held.world)

    def _begin_anew(self, held: Held) -> None:
        """Write a whole world, while other worlds go on."""
        held.is_busy = True
        self._dirty.pop(held, None)
        task = asyncio.get_running_loop().create_task(self._write_anew(held))
        self._whole.add(task)
        task.add_done_callback(self._whole.discard)

    async def _write_anew(self, held: Held) -> None:
        assert held.log is not None
        noted, before = held.noted, held.n
        try:
            change = held.log.take()
            if change is not None and not (held.is_lost or held.is_gone):
                attempt = partial(self._commit_anew, held, change, noted, before)
                await self._until_it_works(attempt)
        except BaseException:
            held.log.begin_anew()
            raise
        finally:
            held.is_busy = False
            if (held.noted > held.written or held.is_gone) and not held.is_lost:
                self._dirty[held] = None
            self._work.set()

    async def _commit_anew(self, held: Held, change: Change, noted: int, before: int) -> None:
        """Write all of a world, unless an earlier attempt did so whose answer was lost."""
        async with self._database.connection() as connection:
            found = (await commits.standing(connection, [held.world.id])).get(held.world.id)
            if found is None or found[0] != held.epoch:
                self._settle(held, found)
                return
            if before != found[1] == held.n:
                self._done(held, noted)
                return
            held.n, held.wid, held.places = found[1], await commits.new_wid(connection), Places()
            rows = Written()
            head = self._head(held, change, held.wid, rows)
            if await commits.commit_anew(connection, head, rows):
                self._done(held, noted)
            else:
                self._settle(held, None)

    async def _delete(self, held: Held) -> None:
        async with self._database.connection() as connection:
            await commits.delete(connection, held.world.id, held.epoch)
        self._dirty.pop(held, None)
        self._done(held, held.noted)

    async def _write_tokens(self) -> None:
        from sandbox.store.postgres.schema import put_meta

        tokens = self._tokens
        assert tokens is not None
        async with self._database.connection() as connection:
            await put_meta(connection, "tokens", tokens)
        if self._tokens is tokens:
            self._tokens = None
            self._tokens_written.set()

    async def _until_it_works(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Try until PostgreSQL answers. What is under way is tried again as it is."""
        wait_s = _AGAIN_S
        while True:
            try:
                await attempt()
            except Exception as error:
                if not isinstance(error, (*AWAY, asyncpg.PostgresError)):
                    log.exception("writing to %s failed, and is tried again", self.name)
                self._note_problem(self._database.unreachable(error))
                await asyncio.sleep(wait_s)
                wait_s = min(2 * wait_s, _AGAIN_MAX_S)
            else:
                self._note_well()
                return

    def _note_problem(self, error: StoreError) -> None:
        now = time.monotonic()
        if self._away_since is None:
            self._away_since = now
            log.error("%s", error)
        self.problem = str(error)
        if now - self._away_since > PATIENCE_S:
            for held in self._held.values():
                self._wake(held, error)

    def _note_well(self) -> None:
        if self._away_since is not None:
            log.info("writing to %s works again", self.name)
        self._away_since = self.problem = None

    def _done(self, held: Held, noted: int) -> None:
        held.written = max(held.written, noted)
        self._wake(held)

    def note_unread(self, error: Exception) -> None:
        """Log what could not be read."""
        log.error("%s", error)

    async def close(self) -> None:
        """Write nothing any more."""
        tasks = [*self._whole, *([self._writer] if self._writer is not None else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

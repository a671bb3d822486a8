"""Writes the changes of worlds to a state file, so that answers can wait until they are durable.

A change log notes units of work as they are committed, and writes nothing itself. Commits that
happen together share one write, and commits during a write share the next one. A failed write is
repeated with the next one, and until then no request is answered as saved.
"""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from time import monotonic
from typing import Final

from pydantic_core import from_json

from sandbox.measurements import Measured
from sandbox.store.files.port import COUNTERS, Change, Document, StateFile, StoreError
from sandbox.store.records import Records
from sandbox.store.store import UnitOfWork
from sandbox.store.world_documents import Moment, Put, counters_document, documents_of
from sandbox.worlds.world import World


class ChangeLog:
    """The unwritten changes of one world.

    `on_change` is called after each change that must be durable before an answer.
    """

    def __init__(self, world: World, on_change: Callable[[], None]) -> None:
        self._world_id, self._store = world.id, world.store
        # The fixture of the world, if it is not bundled and the file has to contain it.
        self._fixture = world.spec.fixture.document
        self._on_change = on_change
        self._is_anew = self._was_anew = False
        # What was taken last; it is noted again if it could not be written.
        self._taken: dict[tuple[Records, str], None] = {}
        self._counters: Document | None
        self.forget()

    def forget(self) -> None:
        """Forget all changes, because the file has them."""
        self._changed: dict[tuple[Records, str], None] = {}
        self._counters = counters_document(self._store.counters)

    def begin_anew(self) -> None:
        """Have the next write replace everything."""
        self.forget()
        self._is_anew = True
        self._on_change()

    def note(self, unit: UnitOfWork) -> None:
        """Note that a unit of work was committed."""
        self._changed |= dict.fromkeys(unit.changed)
        if not all(records.table.can_wait for records, _ in unit.changed):
            self._on_change()

    def take(self) -> Change | None:
        """Return the changes up to now and forget them; None if there are none."""
        self._taken, self._was_anew = self._changed, self._is_anew
        puts: list[Put] = []
        gone: list[tuple[str, str]] = []
        if self._is_anew:
            puts += Moment(self._store, self._fixture).documents()
            self.forget()
            self._is_anew = False
            return Change(self._world_id, puts, gone, is_replacement=True)
        for records, id in self._changed:
            record = records.by_id.get(id)
            if record is None:
                gone.append((records.table.name, id))
            else:
                puts += documents_of(records, records.numbers[id], record)
        if (counters := counters_document(self._store.counters)) != self._counters:
            puts.append((COUNTERS, counters))
        self.forget()
        return Change(self._world_id, puts, gone) if puts or gone else None

    def take_back(self) -> None:
        """Note again what was taken last, because it could not be written."""
        self._changed = self._taken | self._changed
        self._is_anew = self._is_anew or self._was_anew
        self._counters = None


# --- writing ------------------------------------------------------------------------------------

SOON_S: Final = 0.05
"""Changes for which no request waits are written after this many seconds."""

log = logging.getLogger("sandbox.store")


class FileSaver:
    """Writes the changes of all worlds to one file. `name` has the name and kind of the file."""

    measured: Measured
    """Set by the registry."""

    def __init__(self, file: StateFile) -> None:
        self.file, self.name = file, file.name
        self._logs: dict[str, ChangeLog] = {}
        # The logs of changed worlds by id; None for deleted worlds.
        self._dirty: dict[str, ChangeLog | None] = {}
        self._under_way: asyncio.Task[None] | None = None
        self._soon: asyncio.TimerHandle | None = None
        self._noted = self._written = 0
        # The number of the last change of each world that has unwritten ones.
        self._noted_of: dict[str, int] = {}
        self.problem: str | None = None

    # --- noting

    def follow(self, world: World, *, is_in_file: bool) -> None:
        """Write every change of the world from now on, and all its content unless it is there."""
        log = ChangeLog(world, partial(self._note, world.id))
        self._logs[world.id], world.store.log = log, log.note
        if not is_in_file:
            log.begin_anew()

    def _note(self, world_id: str) -> None:
        """Note that the world was changed or deleted."""
        self._noted += 1
        self._noted_of[world_id] = self._noted
        self._dirty[world_id] = self._logs.get(world_id)
        if self._soon is None:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return
            self._soon = loop.call_later(SOON_S, self._write_soon)

    def forget(self, world_id: str) -> None:
        """Note that the world was deleted."""
        self._logs.pop(world_id, None)
        self._note(world_id)

    def keep_tokens(self, tokens: str) -> None:
        """Replace the tokens of teams in the file."""
        self._noted += 1
        self.file.keep(tokens=from_json(tokens or "[]"))

    def _write_soon(self) -> None:
        self._soon = None
        if self._written < self._noted and self._under_way is None:
            # A failure is logged already; a waiting request gets it from the next write.
            asyncio.gather(self._begin(), return_exceptions=True)

    # --- writing

    async def saved(self, world: World | None = None) -> None:
        """Wait until all changes so far of the world, or of all worlds, are written.

        Raises StoreError.
        """
        wanted = self._noted if world is None else self._noted_of.get(world.id, 0)
        while self._written < wanted:
            await asyncio.shield(self._under_way or self._begin())

    def _begin(self) -> "asyncio.Task[None]":
        self._under_way = asyncio.get_running_loop().create_task(self._write())
        return self._under_way

    async def _write(self) -> None:
        """Write all commits of this round of the loop and of the time of the last write."""
        try:
            await asyncio.sleep(0)
            with self._take() as changes:
                # The loop continues while the thread waits for the disk.
                await asyncio.to_thread(self.file.write, changes)
        finally:
            self._under_way = None

    def save(self) -> None:
        """Write everything now. Raises StoreError."""
        with self._take() as changes:
            self.file.write(changes)

    @contextmanager
    def _take(self) -> Iterator[list[Change]]:
        """Take the changes that the block writes; they are noted again if it fails."""
        noted, began_s = self._noted, monotonic()
        taken, self._dirty = self._dirty, {}
        changes: list[Change] = []
        for world_id, its_log in taken.items():
            change = Change(world_id, is_replacement=True) if its_log is None else its_log.take()
            if change is not None:
                changes.append(change)
        try:
            yield changes
        except BaseException as error:
            # A world that was replaced or deleted meanwhile has another log by now.
            self._dirty = taken | self._dirty
            for its_log in filter(None, taken.values()):
                its_log.take_back()
            if isinstance(error, StoreError):
                if self.problem is None:
                    log.error("%s", error)
                self.problem = str(error)
            raise
        if changes:
            self.measured.writes.observe(monotonic() - began_s)
            self.measured.written_together.observe(len(changes))
        self._written = noted
        self._noted_of = {id: number for id, number in self._noted_of.items() if number > noted}
        if self.problem is not None:
            log.info("writing to %s works again", self.name)
            self.problem = None

    async def close(self) -> None:
        """Write the remaining changes, and close the file."""
        # Include changes that can wait: counts of requests, and uses of keys.
        for world_id in self._logs:
            self._note(world_id)
        if self._soon is not None:
            self._soon.cancel()
        try:
            await self.saved()
        except StoreError as error:
            log.error("not everything was written: %s", error)
        finally:
            self.file.close()

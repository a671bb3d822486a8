"""All worlds of a server, and how a key leads to its world.

One dictionary finds keys by their lookup segment, so the cost does not grow with the number of
worlds. Keys of two worlds may have the same lookup; their secrets distinguish them.
"""

from asyncio import Lock
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import Any, Final
from weakref import WeakValueDictionary

from msgspec.structs import replace

from sandbox.domain.keys import ApiKey, ParsedKey, matches_secret
from sandbox.store.world_documents import NotRestored, SavedWorld
from sandbox.worlds.background import Background, Saver, run_in_thread
from sandbox.worlds.clock import SystemClock
from sandbox.worlds.coverage_counters import CoverageCounters
from sandbox.worlds.due_timers import TIMERS_IN_A_ROW, fire_due
from sandbox.worlds.elsewhere import WorldLost
from sandbox.worlds.lifecycle import begin_anew, end_busy_payments, fill
from sandbox.worlds.spec import (
    OPERATOR,
    UNUSED_AFTER_S,
    KeysTaken,
    Protected,
    WorldSpec,
    WorldTaken,
    team_of,
    world_of,
)
from sandbox.worlds.world import DEFAULT_WORLD, World

SKIPPED_MAX: Final = 1_000
"""How many world numbers to skip at once because their keys are taken."""


Ticks = Callable[[], float]
"""The seconds of a monotonic clock, which changes of the system clock do not affect."""


class Worlds:
    """The worlds of a server, by id and by the lookups of their keys."""

    def __init__(
        self,
        *,
        system_clock: SystemClock,
        background: Background,
        saver: Saver | None = None,
        ticks: Ticks = monotonic,
        known_keys: bool = True,
    ) -> None:
        self.profile = background.profile
        self.limits = background.limits
        self.system_clock = system_clock
        self.ticks = ticks
        # The server's secret, on which keys of new worlds depend unless `known_keys`.
        self.secret = b""
        self.known_keys = known_keys
        self._background = background
        self.saver = saver
        self._by_id: dict[str, World] = {}
        # The ids of worlds by the lookups of their keys; dictionaries serve as ordered sets.
        self._by_lookup: dict[str, dict[str, None]] = {}
        # The last number of a `world-N`, by team.
        self._numbered: dict[str, int] = {}
        # The ids of worlds that are being created.
        self._reserved_ids: set[str] = set()
        # Only worlds whose lock is in use have one.
        self._locks: WeakValueDictionary[str, Lock] = WeakValueDictionary()
        self.measured = background.measured
        self.measured.worlds.set_function(lambda: len(self._by_id))
        self.measured.deliveries_waiting.set_function(
            lambda: sum(world.outbox.waiting for world in self)
        )
        if saver is not None:
            saver.measured = self.measured
        # The keys that the platform has recognized; they hold their worlds.
        self.recognized: dict[bytes, Any] = {}
        # A world like `default` at its beginning, if another server may have the real one.
        self.likeness: World | None = None
        # Counts of deleted and reset worlds, and of requests outside all worlds.
        self.coverage = CoverageCounters()
        # Called with the id of a world before it is deleted.
        self.before_deleting: Callable[[str], Awaitable[None]] | None = None

    def create(self, spec: WorldSpec) -> World:
        """Create, fill and register a world with a free id, before there are requests.

        Raises KeysTaken, or NotRestored if its saved world cannot be used; then nothing changed.
        """
        return self._begin_use(self.make(replace(spec, are_keys_known=self.known_keys)))

    async def create_aside(self, spec: WorldSpec, team: str = OPERATOR) -> World:
        """Create a world like `create`, while other requests are served.

        An empty id becomes the team's next `world-N` whose id and keys are free. Raises WorldTaken
        and TooManyWorlds too.
        """
        self.drop_unused()
        spec = candidate = replace(spec, are_keys_known=self.known_keys)
        number = self._numbered.get(team, 0)
        for _ in range(1 if spec.id else SKIPPED_MAX):
            if not spec.id:
                number += 1
                while self._is_known(id := world_of(team, f"world-{number}")):
                    number += 1
                candidate = replace(spec, id=id)
            with self._reserved(candidate):
                world = await self._make_aside(candidate)
            try:
                self._begin_use(world)
            except KeysTaken:
                if spec.id:
                    raise
                continue
            self._numbered[team] = max(number, self._numbered.get(team, 0))
            return world
        raise WorldTaken(
            f"the keys of {SKIPPED_MAX:,} worlds up to 'world-{number}' are in use in other "
            "worlds; give the new world an id"
        )

    def _is_known(self, id: str) -> bool:
        """Whether a world has this id, or is being created with it."""
        return id in self._by_id or id in self._reserved_ids

    @contextmanager
    def _reserved(self, spec: WorldSpec) -> Iterator[None]:
        """Reserve the id inside the block. Raises WorldTaken and TooManyWorlds."""
        if self._is_known(spec.id):
            raise WorldTaken(f"a world {spec.id!r} already exists")
        team, known = team_of(spec.id), (*self._by_id, *self._reserved_ids)
        of_team = sum(team_of(id) == team for id in known)
        self.limits.check(team, of_all=len(known), of_team=of_team, holder="this server holds")
        self._reserved_ids.add(spec.id)
        try:
            yield
        finally:
            self._reserved_ids.discard(spec.id)

    def _begin_use(self, world: World) -> World:
        """Put a new world in use. Raises KeysTaken or NotRestored if another world has its keys."""
        for name, plaintext in world.cast.plaintexts.items():
            if not self.is_free(plaintext):
                raise KeysTaken(
                    f"the key {name!r} of a world {world.id!r} is in use in another world"
                )
        self._refuse_shared_keys(world)
        self._put_in_use(world)
        return world

    def make(self, spec: WorldSpec, saved: SavedWorld | None = None) -> World:
        """Create and fill a world without registering it; this may run in a thread."""
        world = World(
            spec,
            system_clock=self.system_clock,
            key_is_free=self.is_free,
            background=self._background,
            secret=self.secret,
        )
        fill(world, saved)
        self.touch(world)
        return world

    async def _make_aside(self, spec: WorldSpec, saved: SavedWorld | None = None) -> World:
        """Create a world like `make`, in a thread unless that is quick."""
        if spec.fixture.snapshot is None and spec.generated_data is None and saved is None:
            return self.make(spec)
        return await run_in_thread(self.make, spec, saved)

    def _put_in_use(self, world: World, *, is_in_file: bool = False) -> None:
        """Register the world with its id and its keys, and have its changes written."""
        self._note_keys(world)
        self._by_id[world.id] = world
        if self.saver is not None:
            self.saver.follow(world, is_in_file=is_in_file)
            world.saver = self.saver
        end_busy_payments(world)
        world.outbox.resume()

    def _note_keys(self, world: World) -> None:
        """Register the keys of the world, now and whenever it gets another one."""

        def note(key: ApiKey) -> None:
            self._by_lookup.setdefault(key.lookup, {})[world.id] = None

        world.on_key = note
        for key in world.store.all(ApiKey).values():
            note(key)

    def _forget_keys(self, world: World) -> None:
        for key in world.store.all(ApiKey).values():
            holders = self._by_lookup[key.lookup]
            del holders[world.id]
            if not holders:
                del self._by_lookup[key.lookup]

    def restore(self, spec: WorldSpec, saved: SavedWorld) -> World:
        """Restore a world from documents, in place of the world with the same id.

        Raises NotRestored; then nothing changed. Unfinished work of the old world is dropped.
        """
        return self._replace(self.make(self._restore_spec(spec, saved), saved), saved)

    async def restore_aside(self, spec: WorldSpec, saved: SavedWorld) -> World:
        """Restore a world like `restore`, while other requests are served."""
        world = await self._make_aside(self._restore_spec(spec, saved), saved)
        return self._replace(world, saved)

    def _restore_spec(self, spec: WorldSpec, saved: SavedWorld) -> WorldSpec:
        if not saved.is_from_file:
            # The world keeps its own keys, independent of the saved world's keys.
            spec = replace(spec, are_keys_known=self.known_keys, key_seed=None)
            if (before := self._by_id.get(spec.id)) is None:
                return spec
            seed = before.spec.seed_of_cast_keys
            key_seed = None if seed == spec.seed_of_cast_keys else seed
            known = before.spec.are_keys_known
            return replace(spec, are_keys_known=known, key_seed=key_seed)
        if not (spec.are_keys_known or self.secret):
            raise NotRestored("its keys need the server's secret, which is missing in the file")
        return spec

    def _replace(self, world: World, saved: SavedWorld) -> World:
        """Put a restored world in use, in place of the one with its id. Raises NotRestored."""
        self._refuse_shared_keys(world)
        if (before := self._by_id.get(world.id)) is not None:
            self.evict(before)
        self._put_in_use(world, is_in_file=saved.is_from_file)
        return world

    def _refuse_shared_keys(self, world: World) -> None:
        """Raise NotRestored if another world has one of the keys too (docs/design/worlds.md).

        The salts and digests of documents can be forged, so they prove nothing about the secret.
        If neither plaintext is known, an equal lookup counts as the same key.
        """
        for key in world.store.all(ApiKey).values():
            for other, its in self._holders_of(key.lookup):
                if other.id == world.id:
                    continue
                secret, its_secret = self._secret(world, key), self._secret(other, its)
                known = secret or its_secret
                if known is None or (matches_secret(key, known) and matches_secret(its, known)):
                    # A team must not learn of the worlds of others.
                    is_own = team_of(world.id) in (OPERATOR, team_of(other.id))
                    whose = f"the world {other.id!r}" if is_own else "another world"
                    raise NotRestored(f"api_keys, {key.id}: {whose} has this key")

    def _secret(self, world: World, key: ApiKey) -> str | None:
        """Return the secret of a key if the world knows a plaintext that matches it, or None."""
        cast = world.cast
        known = [cast.plaintexts[name] for name, id in cast.keys.items() if id == key.id]
        for plaintext in (*known, key.readable_key):
            parsed = self.profile.key_format.parse(plaintext or "")
            if parsed.lookup == key.lookup and matches_secret(key, parsed.secret):
                return parsed.secret
        return None

    def get(self, id: str) -> World | None:
        """Return the world with this id, or None."""
        return self._by_id.get(id)

    @property
    def default(self) -> World:
        """The world `default`, or one like it at its beginning if another server may have it."""
        default = self._by_id.get(DEFAULT_WORLD) or self.likeness
        assert default is not None
        return default

    def lock_of(self, id: str) -> Lock:
        """Return the lock under which a world is saved, loaded, reset or deleted."""
        return self._locks.setdefault(id, Lock())

    def __iter__(self) -> Iterator[World]:
        return iter(tuple(self._by_id.values()))

    def delete(self, world: World) -> None:
        """Forget the world and its keys. Raises Protected for `default`."""
        if world.id == DEFAULT_WORLD:
            raise Protected("the world 'default' cannot be deleted; you can reset it")
        if self._by_id.get(world.id) is world:
            self._remove(world)

    def _remove(self, world: World) -> None:
        if self.saver is not None:
            self.saver.forget(world.id)
        self.evict(world)

    def evict(self, world: World) -> None:
        """Forget the world without deleting it: another server has or will have it."""
        self.hide(world)
        # The last requests in it are counted as well.
        if world.coverage is not self.coverage:
            self.coverage.add(world.coverage)
            world.coverage = self.coverage
        world.close()

    def hide(self, world: World) -> None:
        """Unregister the world; requests that are under way in it continue."""
        if self._by_id.get(world.id) is world:
            del self._by_id[world.id]
            self._forget_keys(world)
            self.recognized.clear()

    async def reset_aside(self, world: World) -> None:
        """Reset the world to its fixture, with the same keys, while other requests are served.

        Raises NotRestored if the fixture is a saved world that cannot be used, or if another world
        now has one of the keys, and WorldLost if another server has the world by then. Then nothing
        changed.
        """
        fresh = await self._make_aside(world.spec)
        if self.get(world.id) is not world:
            raise WorldLost(world.id)
        self._refuse_shared_keys(fresh)
        self._forget_keys(world)
        self.coverage.add(world.coverage)
        begin_anew(world, fresh)
        self._note_keys(world)

    def wake(self) -> None:
        """Continue the unfinished work of an earlier run, now that an event loop runs."""
        for world in self:
            # There are no requests yet, so a long loop holds up nothing.
            while len(fire_due(world)) == TIMERS_IN_A_ROW:
                pass
            self.wake_one(world)

    def stop(self) -> None:
        """Wake no world again, because the server stops."""
        for world in self:
            world.watch(None)

    def wake_one(self, world: World) -> None:
        """Continue the unfinished work of this world."""
        fire_due(world)
        # Wake-ups and delays that were planned on an earlier loop ended with it.
        world.watch(world.store.timers.soonest)
        world.outbox.end_delays()
        for endpoint_id in world.outbox.endpoints:
            self._background.deliveries.work(world, endpoint_id)

    def exercised(self, of: list[World] | None = None) -> CoverageCounters:
        """Return the coverage of all worlds since the server started, or of these worlds alone."""
        total = CoverageCounters()
        own = [self.coverage, *(one.coverage for one in self)]
        for coverage in own if of is None else [one.coverage for one in of]:
            total.add(coverage)
        return total

    def touch(self, world: World) -> None:
        """Note that the world is in use now."""
        world.touched_s = self.ticks()

    def drop_unused(self) -> None:
        """Delete worlds without waiting clients that were unused for longer than the limit.

        Only time in this process counts: neither a jump of the system clock nor a restart makes a
        world older. Without an explicit limit, worlds in a file stay.
        """
        limit_s = self.limits.unused_after_s
        if limit_s is None:
            if self.saver is not None:
                return
            limit_s = UNUSED_AFTER_S
        unused_since = self.ticks() - limit_s
        for world in [one for one in self if one.touched_s < unused_since]:
            is_protected = world.id == DEFAULT_WORLD or self.lock_of(world.id).locked()
            if not is_protected and not world.has_waiting_clients:
                self._remove(world)

    def holder(self, parsed: ParsedKey) -> tuple[World, ApiKey] | None:
        """Return the world that has exactly this key, with its record, or None.

        Deleted, revoked and expired keys are found too; the caller checks whether one can be used.
        """
        for world, key in self._holders_of(parsed.lookup):
            if matches_secret(key, parsed.secret):
                return world, key
        return None

    def _holders_of(self, lookup: str) -> Iterator[tuple[World, ApiKey]]:
        """Yield the worlds that have a key with this lookup, each with that key."""
        for id in self._by_lookup.get(lookup, ()):
            if (key := self._by_id[id].store.one(ApiKey, "lookup", lookup)) is not None:
                yield self._by_id[id], key

    def is_free(self, plaintext: str) -> bool:
        """Whether no world on this server has this key."""
        return self.holder(self.profile.key_format.parse(plaintext)) is None

"""All worlds of a server, and the lookup of the world that a key belongs to.

Keys are found by their lookup segment in one dictionary, so the cost does not grow with the number
of worlds. Two worlds may have the same lookup; the secret distinguishes them.
"""

from collections.abc import Awaitable, Callable, Iterator
from time import monotonic
from typing import Final

from msgspec.structs import replace

from sandbox.domain.keys import ApiKey, ParsedKey, secret_fits
from sandbox.domain.profile import Profile
from sandbox.domain.teams import OPERATOR, team_of, world_of
from sandbox.store.saved_world import NotRestored, SavedWorld
from sandbox.store.steps import Container, Steps, let_go, run_through
from sandbox.worlds.background import IDLE, Background, Saver
from sandbox.worlds.clock import SystemClock
from sandbox.worlds.coverage_counters import CoverageCounters
from sandbox.worlds.due_timers import TIMERS_IN_A_ROW, fire_due
from sandbox.worlds.key_holders import KeyHolders
from sandbox.worlds.lifecycle import begin_anew, end_busy_payments, fill
from sandbox.worlds.limits import (
    UNUSED_AFTER_S,
    KeysTaken,
    Limits,
    Protected,
    TooManyWorlds,
    WorldTaken,
)
from sandbox.worlds.slices import Alone, Slices
from sandbox.worlds.spec import WorldSpec
from sandbox.worlds.world import DEFAULT_WORLD, TimerHandler, World

SKIPPED_MAX: Final = 1_000
"""The most world numbers to skip at once because their keys are taken."""


Ticks = Callable[[], float]
"""Seconds of a steady clock, which changes of the system clock do not affect."""


class Worlds:
    """The worlds by id, and every key's lookup."""

    def __init__(
        self,
        *,
        profile: Profile,
        system_clock: SystemClock,
        limits: Limits,
        background: Background[World],
        on_timer: TimerHandler,
        saver: Saver[World] | None = None,
        ticks: Ticks = monotonic,
        known_keys: bool = True,
    ) -> None:
        self.profile = profile
        self.limits = limits
        self._system_clock = system_clock
        self._ticks = ticks
        # The server's own secret. Keys of new worlds depend on it, unless they are documented keys.
        self.secret = b""
        self.known_keys = known_keys
        self._background = background
        self._on_timer = on_timer
        self.saver = saver
        self.slices = Slices()
        self._by_id: dict[str, World] = {}
        self.key_holders = KeyHolders()
        # The last number of a world without an id of its own, by team.
        self._numbered: dict[str, int] = {}
        # The ids of worlds that are being made.
        self._reserved: set[str] = set()
        # Saving, loading, resetting and deleting a world exclude each other.
        self.alone = Alone()
        self.measured = background.measured
        if saver is not None:
            saver.measured = self.measured
        # The world `default` as it begins, if another server may have it.
        self.likeness: World | None = None
        # Counts of deleted and reset worlds, and of requests for no world.
        self.coverage = CoverageCounters()
        # Called with the id of a world that somebody deletes, while it is still there.
        self.before_deleting: Callable[[str], Awaitable[None]] | None = None

    def create(self, spec: WorldSpec) -> World:
        """As `creating`, at once."""
        return run_through(self.creating(spec))

    def creating(self, spec: WorldSpec, team: str = OPERATOR) -> Steps[World]:
        """A new world, filled and ready.

        An empty id becomes the team's next free `world-N` whose keys are free. Raises WorldTaken,
        TooManyWorlds, or NotRestored if its saved world cannot be used; then nothing changed.
        """
        yield from self.dropping_unused()
        if spec.id:
            return (yield from self._create(spec))
        for _ in range(SKIPPED_MAX):
            spec = replace(spec, id=self._free_id(team))
            numbered = self._numbered[team]
            try:
                return (yield from self._create(spec))
            except KeysTaken:
                # A key of that world exists elsewhere; the next number has other keys.
                continue
            except (WorldTaken, TooManyWorlds, NotRestored):
                if self._numbered[team] == numbered:
                    self._numbered[team] -= 1
                raise
        raise WorldTaken(
            f"the keys of {SKIPPED_MAX:,} worlds up to 'world-{self._numbered[team]}' are in use "
            "in other worlds; give the new world an id"
        )

    def _create(self, spec: WorldSpec) -> Steps[World]:
        if spec.id in self._by_id or spec.id in self._reserved:
            raise WorldTaken(f"a world {spec.id!r} is there already")
        if len(self._by_id) + len(self._reserved) >= self.limits.worlds_max:
            raise TooManyWorlds(
                f"{len(self._by_id)} worlds are in use, which is the most that this server holds; "
                "delete those that are done with"
            )
        self._refuse_too_many(team_of(spec.id))
        self._reserved.add(spec.id)
        try:
            world = yield from self._make(replace(spec, keys_are_known=self.known_keys))
        finally:
            self._reserved.discard(spec.id)
        self._put_in_use(world)
        self._refuse_taken_keys(world)
        try:
            self._refuse_shared_keys(world)
        except NotRestored:
            run_through(self._remove(world))
            raise
        return world

    def _refuse_too_many(self, team: str) -> None:
        """Raises TooManyWorlds for a team that has as many as a team may."""
        most = self.limits.worlds_per_team_max
        if team != OPERATOR and sum(team_of(id) == team for id in self._by_id) >= most:
            raise TooManyWorlds(
                f"the team has {most} worlds, which is the most that a team may have; delete those "
                "that are done with"
            )

    def _make(
        self,
        spec: WorldSpec,
        saved: SavedWorld | None = None,
        background: Background[World] | None = None,
    ) -> Steps[World]:
        """A world that is not registered yet. It is filled beside the worlds in use."""
        world = World(
            spec,
            profile=self.profile,
            system_clock=self._system_clock,
            journal_entries_max=self.limits.journal_entries_max,
            key_is_free=self.is_free,
            background=background or self._background,
            on_timer=self._on_timer,
            secret=self.secret,
        )
        yield from fill(world, saved)
        self.touch(world)
        return world

    def _put_in_use(self, world: World, *, is_in_file: bool = False) -> None:
        """Have the world found by its id and its keys, and its changes written."""
        world.tell_of_keys(self.key_holders.learner(world.id))
        self._by_id[world.id] = world
        if self.saver is not None:
            self.saver.follow(world, is_in_file=is_in_file)
            world.saver = self.saver
        end_busy_payments(world)
        world.outbox.resume()

    def restoring(self, spec: WorldSpec, saved: SavedWorld) -> Steps[World]:
        """A world restored from documents, which replaces a world with the same id.

        Raises NotRestored; then nothing changed. Unfinished work of the old world is over.
        """
        before = self._by_id.get(spec.id)
        if not saved.is_from_file:
            # The world gets keys of its own, independent of the saved world's keys.
            known = self.known_keys if before is None else before.spec.keys_are_known
            spec = replace(spec, keys_are_known=known)
        elif not (spec.keys_are_known or self.secret):
            raise NotRestored("its keys are made of the server's secret, which the file has lost")
        world = yield from self._make(spec, saved)
        before = self._by_id.get(spec.id)
        if before is not None:
            yield from before.coverage.count()
        # No other task runs from here until the world is in use.
        self._refuse_shared_keys(world)
        left: list[Container] = []
        if before is not None:
            self.key_holders.forget(before)
            self._count_in(before)
            left = before.close()
            self._background.timers.arm_wakeup(before, None)
        self._put_in_use(world, is_in_file=saved.is_from_file)
        yield from let_go(left)
        return world

    def _refuse_shared_keys(self, world: World) -> None:
        """No key of a world leads to another one as well (decisions 6 and 45).

        The salts and digests of documents can be forged, so they prove nothing about the secret.
        If neither plaintext is known, an equal lookup counts as the same key.
        """
        for key in world.store.begin().find(ApiKey, {})[0]:
            for id in self.key_holders.of(key.lookup):
                other = self._by_id.get(id) if id != world.id else None
                its = other.store.one(ApiKey, "lookup", key.lookup) if other else None
                if other is None or its is None:
                    continue
                secret, its_secret = self._secret(world, key), self._secret(other, its)
                known = secret or its_secret
                if known is None or (secret_fits(key, known) and secret_fits(its, known)):
                    # Nobody learns of the worlds of others.
                    is_own = team_of(world.id) in (OPERATOR, team_of(id))
                    whose = f"the world {id!r}" if is_own else "another world"
                    raise NotRestored(f"api_keys, {key.id}: {whose} has this key")

    def _secret(self, world: World, key: ApiKey) -> str | None:
        """The secret of a key whose plaintext the world knows, and which fits; None otherwise."""
        known = [plaintext for id, plaintext in world.cast.keys.values() if id == key.id]
        for plaintext in (*known, key.readable_key):
            parsed = self.profile.key_format.parse(plaintext or "")
            if parsed.lookup == key.lookup and secret_fits(key, parsed.secret):
                return parsed.secret
        return None

    def _refuse_taken_keys(self, world: World) -> None:
        """The keys of a new world must lead to it, and not to one that was given the same key."""
        for name, (_, plaintext) in world.cast.keys.items():
            holder = self.holder(self.profile.key_format.parse(plaintext))
            if holder is None or holder[0] is not world:
                run_through(self._remove(world))
                raise KeysTaken(
                    f"the key {name!r} of a world {world.id!r} is in use in another world"
                )

    def get(self, id: str) -> World | None:
        """The world with this id, or None."""
        return self._by_id.get(id)

    @property
    def default(self) -> World:
        """The world that is always there; where other servers may have it, one that began alike."""
        default = self._by_id.get(DEFAULT_WORLD) or self.likeness
        assert default is not None
        return default

    def sketch(self, spec: WorldSpec) -> World:
        """A world as it would begin, which is not in use."""
        return run_through(self._make(spec, background=IDLE))

    def __iter__(self) -> Iterator[World]:
        return iter(tuple(self._by_id.values()))

    def deleting(self, world: World) -> Steps[None]:
        """Forget the world and its keys. Raises Protected for `default`."""
        if world.id == DEFAULT_WORLD:
            raise Protected("the world 'default' stays; it can be reset")
        yield from world.coverage.count()
        if self._by_id.get(world.id) is world:
            yield from self._remove(world)

    def _remove(self, world: World) -> Steps[None]:
        if self.saver is not None:
            self.saver.forget(world.id)
        yield from self._close(world)

    def _close(self, world: World) -> Steps[None]:
        self.hide(world)
        self._count_in(world)
        left = world.close()
        self._background.timers.arm_wakeup(world, None)
        yield from let_go(left)

    def hide(self, world: World) -> None:
        """Have the world be found no longer; what is under way in it goes on."""
        if self._by_id.get(world.id) is world:
            del self._by_id[world.id]
            self.key_holders.forget(world)

    def evicting(self, world: World) -> Steps[None]:
        """Forget the world without deleting it: another server has it, or shall have it."""
        yield from self._close(world)

    def resetting(self, world: World) -> Steps[None]:
        """Reset the world to its fixture, with the same keys.

        Raises NotRestored if the fixture is a saved world that cannot be used, or if another world
        now has one of the keys; then nothing changed.
        """
        fresh = yield from self._make(world.spec, background=IDLE)
        yield from world.coverage.count()
        # No other task runs from here until the world is reset.
        if not world.has_begun:
            # One that has begun has had the keys ever since.
            self._refuse_shared_keys(fresh)
        self.key_holders.forget(world)
        self.coverage.add(world.coverage)
        left = begin_anew(world, fresh)
        fresh.tell_of_keys(self.key_holders.learner(world.id))
        yield from let_go(left)

    def wake(self) -> None:
        """Continue the unfinished work of an earlier run, now that an event loop runs."""
        for world in self:
            # No request waits yet.
            while len(fire_due(world)) == TIMERS_IN_A_ROW:
                pass
            self.wake_one(world)

    def wake_one(self, world: World) -> None:
        """Continue the unfinished work of this world."""
        fire_due(world)
        # Timers that were armed on an earlier loop are gone with it.
        world.watch(world.store.next_timer())
        for endpoint_id in world.outbox.endpoints:
            self._background.deliveries.work(world, endpoint_id)

    def _count_in(self, world: World) -> None:
        """Keep the counts of a world that is removed, and of its last requests."""
        self.coverage.add(world.coverage)
        world.coverage = self.coverage

    def exercised(self, of: list[World] | None = None) -> Steps[CoverageCounters]:
        """The coverage of all worlds since the server started, or of these alone."""
        total = CoverageCounters()
        own = [self.coverage, *(one.coverage for one in self)]
        counted = own if of is None else [one.coverage for one in of]
        for coverage in counted:
            yield from coverage.count()
        for coverage in counted:
            total.add(coverage)
        return total

    def touch(self, world: World) -> None:
        """Note that the world is in use now."""
        world.touched_s = self._ticks()

    def dropping_unused(self) -> Steps[None]:
        """Drop the worlds that were unused for longer than the limit.

        Only time in this process counts: neither a jump of the system clock nor a restart makes a
        world older. If the worlds are in a file, only an explicit limit drops any.
        """
        limit_s = self.limits.unused_after_s
        if limit_s is None:
            if self.saver is not None:
                return
            limit_s = UNUSED_AFTER_S
        unused_since = self._ticks() - limit_s

        def is_unused(world: World) -> bool:
            is_there = self._by_id.get(world.id) is world and world.id not in self.alone
            return is_there and world.touched_s < unused_since and world.id != DEFAULT_WORLD

        for world in self:
            if is_unused(world):
                yield from world.coverage.count()
                # A request may have used it in the meantime.
                if is_unused(world):
                    yield from self._remove(world)

    def holder(self, parsed: ParsedKey) -> tuple[World, ApiKey] | None:
        """The world that has exactly this key, and its record of it; None when none has.

        Deleted, revoked and expired keys are found too; whether one may be used is another matter.
        """
        for world_id in self.key_holders.of(parsed.lookup):
            world = self._by_id[world_id]
            key = world.store.one(ApiKey, "lookup", parsed.lookup)
            if key is not None and secret_fits(key, parsed.secret):
                return world, key
        return None

    def is_free(self, plaintext: str) -> bool:
        """Whether no world has this very key."""
        if plaintext in self.key_holders.taken_elsewhere:
            return False
        return self.holder(self.profile.key_format.parse(plaintext)) is None

    def _free_id(self, team: str) -> str:
        while True:
            self._numbered[team] = number = self._numbered.get(team, 0) + 1
            id = world_of(team, f"world-{number}")
            if id not in self._by_id and id not in self._reserved:
                return id

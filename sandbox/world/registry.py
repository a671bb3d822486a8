"""All worlds of a server, and the one question between them: to which a key belongs.

Keys are found by their lookup segment, in a dictionary over all worlds, so that the cost does not
grow with their number. Two worlds may hold the same lookup; its secret tells them apart.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Final

from sandbox.domain.keys import ApiKey, ParsedKey, secret_fits
from sandbox.domain.profile import Profile
from sandbox.world.agenda import fire_due
from sandbox.world.clock import Wall
from sandbox.world.host import Host, Nobody
from sandbox.world.kept import Kept, NotRestored
from sandbox.world.slices import Slices
from sandbox.world.spec import WorldSpec
from sandbox.world.tally import Tally
from sandbox.world.world import DEFAULT_WORLD, World

if TYPE_CHECKING:
    from sandbox.world.saving import Saver

UNUSED_AFTER_S: Final = 86_400.0
"""How long a world in memory may be unused. Those that a file keeps stay (decision 45)."""
WORLDS_MAX: Final = 1_000
JOURNAL_ENTRIES_MAX: Final = 1_000

SKIPPED_MAX: Final = 1_000
"""So many numbers of worlds are passed over in one go because their keys are taken."""


Ticks = Callable[[], float]
"""Seconds that pass evenly, whatever is done to the clock of the host."""


class WorldTaken(ValueError):
    """A world with this id is there already, or one that has its keys."""


class KeysTaken(WorldTaken):
    """Another world has a key that this world would have."""


class TooManyWorlds(RuntimeError):
    """The server holds as many worlds as it may, and all of them are in use."""


class Protected(ValueError):
    """The world `default` cannot be removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many worlds are kept, for how long unused, and how long each journal is.

    `unused_after_s` None: a day in memory, and without end where a file keeps the worlds.
    """

    worlds_max: int = WORLDS_MAX
    unused_after_s: float | None = None
    journal_entries_max: int = JOURNAL_ENTRIES_MAX


class Worlds:
    """The worlds by id, and every key's lookup."""

    def __init__(
        self,
        *,
        profile: Profile,
        wall: Wall,
        limits: Limits,
        host: Host,
        saver: "Saver | None" = None,
        ticks: Ticks = monotonic,
    ) -> None:
        self.profile = profile
        self.limits = limits
        self._wall = wall
        self._ticks = ticks
        self._host = host
        self.saver = saver
        self.slices = Slices()
        self._by_id: dict[str, World] = {}
        # Lookup segment to the ids of the worlds that hold it; a dictionary as an ordered set.
        self._by_lookup: dict[str, dict[str, None]] = {}
        self._numbered = 0
        # What worlds did that are gone or began anew, and what came for none.
        self.tally = Tally()

    def create(self, spec: WorldSpec) -> World:
        """A new world, filled and ready.

        An empty id is replaced by the next `world-N` that is free, and whose keys are. Raises
        WorldTaken, TooManyWorlds, or NotRestored where it is to begin as a saved one that cannot
        be used; then nothing changed.
        """
        if spec.id:
            return self._create(spec)
        for _ in range(SKIPPED_MAX):
            numbered = self._numbered
            try:
                return self._create(replace(spec, id=self._free_id()))
            except KeysTaken:
                # Somebody supplied a key of that world elsewhere; the next number has others.
                continue
            except (WorldTaken, TooManyWorlds, NotRestored):
                self._numbered = numbered
                raise
        raise WorldTaken(
            f"the keys of {SKIPPED_MAX:,} worlds up to 'world-{self._numbered}' are in use in "
            "other worlds; give the new world an id"
        )

    def _create(self, spec: WorldSpec) -> World:
        self.drop_unused()
        if spec.id in self._by_id:
            raise WorldTaken(f"a world {spec.id!r} is there already")
        if len(self._by_id) >= self.limits.worlds_max:
            raise TooManyWorlds(
                f"{len(self._by_id)} worlds are in use, which is the most that this server holds; "
                "delete those that are done with"
            )
        world = self._made(spec)
        self._by_id[spec.id] = world
        self._refuse_taken_keys(world)
        try:
            self._refuse_shared_keys(world)
        except NotRestored:
            self._remove(world)
            raise
        return world

    def _made(self, spec: WorldSpec, kept: Kept | None = None) -> World:
        world = World(
            spec,
            profile=self.profile,
            wall=self._wall,
            journal_entries_max=self.limits.journal_entries_max,
            on_new_key=self._learn(spec.id),
            key_is_free=self.is_free,
            host=self._host,
            saver=self.saver,
            kept=kept,
        )
        self.touch(world)
        return world

    def restore(self, spec: WorldSpec, kept: Kept) -> World:
        """The world that documents make, in place of the one with its id, if there is one.

        Raises NotRestored; then nothing changed. What was under way in the one before is over.
        """
        before = self._by_id.get(spec.id)
        learned = {lookup: dict(holders) for lookup, holders in self._by_lookup.items()}
        if before is not None:
            self._forget_keys(before)
        try:
            world = self._made(spec, kept)
            self._refuse_shared_keys(world)
        except BaseException:
            self._by_lookup = learned
            raise
        if before is not None:
            self._count_in(before)
            before.close()
            self._host.look(before, None)
        self._by_id[spec.id] = world
        world.outbox.resume()
        return world

    def _refuse_shared_keys(self, world: World) -> None:
        """No key of a world leads to another one as well (decisions 6 and 45).

        Documents hold salts and digests of somebody's choice, which tell nothing of the secret:
        where neither plaintext is known, an equal lookup counts as the same key.
        """
        for key in world.store.begin().find(ApiKey, {})[0]:
            for id in self._by_lookup.get(key.lookup, ()):
                other = self._by_id.get(id) if id != world.id else None
                its = other.store.one(ApiKey, "lookup", key.lookup) if other else None
                if other is None or its is None:
                    continue
                secret, its_secret = self._secret(world, key), self._secret(other, its)
                known = secret or its_secret
                if known is None or (secret_fits(key, known) and secret_fits(its, known)):
                    raise NotRestored(f"api_keys, {key.id}: the world {id!r} has this key")

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
                self._remove(world)
                raise KeysTaken(
                    f"the key {name!r} of a world {world.id!r} is in use in another world"
                )

    def get(self, id: str) -> World | None:
        """The world with this id; None when there is none."""
        return self._by_id.get(id)

    @property
    def default(self) -> World:
        """The world that is always there."""
        return self._by_id[DEFAULT_WORLD]

    def __iter__(self) -> Iterator[World]:
        return iter(tuple(self._by_id.values()))

    def delete(self, world: World) -> None:
        """Forget the world and its keys. Raises Protected for `default`."""
        if world.id == DEFAULT_WORLD:
            raise Protected("the world 'default' stays; it can be reset")
        self._remove(world)

    def _remove(self, world: World) -> None:
        del self._by_id[world.id]
        if self.saver is not None:
            self.saver.forget(world.id)
        self._count_in(world)
        world.close()
        self._host.look(world, None)
        self._forget_keys(world)

    def reset(self, world: World) -> None:
        """Bring the world back to its fixture, with the same keys.

        Raises NotRestored where that is a saved world that cannot be used, or another world has
        one of the keys by now; then nothing changed.
        """
        if not world.has_begun:
            # One that has begun has had the keys ever since.
            self._try_to_begin(world.spec)
        self._forget_keys(world)
        self.tally.add(world.tally)
        world.reset()
        world.has_begun = True

    def _try_to_begin(self, spec: WorldSpec) -> None:
        """Raises NotRestored where a world cannot begin like this; nobody sees the one that can."""
        tried = World(
            replace(spec, invention=None),
            profile=self.profile,
            wall=self._wall,
            journal_entries_max=1,
            on_new_key=lambda key: None,
            key_is_free=self.is_free,
            host=Nobody(),
        )
        tried.close()
        self._refuse_shared_keys(tried)

    def wake(self) -> None:
        """Go on with what an earlier run left undone, now that there is an event loop."""
        for world in self:
            fire_due(world)
            for endpoint_id in world.outbox.endpoints:
                self._host.work(world, endpoint_id)

    async def note_reading(self) -> None:
        """Have written what reading changes: how many requests came, and which keys were used."""
        for world in self:
            world.note_change()

    def _count_in(self, world: World) -> None:
        """What a world did that goes, and what may still end there, stays counted."""
        self.tally.add(world.tally)
        world.tally = self.tally

    def exercised(self) -> Tally:
        """What was exercised in all worlds since the server began."""
        total = Tally()
        for tally in (self.tally, *(world.tally for world in self)):
            total.add(tally)
        return total

    def touch(self, world: World) -> None:
        """Note that the world is in use now."""
        world.touched_s = self._ticks()

    def drop_unused(self) -> None:
        """Forget the worlds that nobody has used for as long as the limits say.

        That is time that passed in this process: neither a jump of the host's clock nor a restart
        makes a world older. Where a file keeps the worlds, only an explicit limit drops any.
        """
        limit_s = self.limits.unused_after_s
        if limit_s is None:
            if self.saver is not None:
                return
            limit_s = UNUSED_AFTER_S
        unused_since = self._ticks() - limit_s
        for world in self:
            if world.touched_s < unused_since and world.id != DEFAULT_WORLD:
                self.delete(world)

    def holder(self, parsed: ParsedKey) -> tuple[World, ApiKey] | None:
        """The world that has exactly this key, and its record of it; None when none has.

        Deleted, revoked and expired keys are found too; whether one may be used is another matter.
        """
        for world_id in self._by_lookup.get(parsed.lookup, ()):
            world = self._by_id[world_id]
            key = world.store.one(ApiKey, "lookup", parsed.lookup)
            if key is not None and secret_fits(key, parsed.secret):
                return world, key
        return None

    def is_free(self, plaintext: str) -> bool:
        """Whether no world has this very key."""
        return self.holder(self.profile.key_format.parse(plaintext)) is None

    def _learn(self, world_id: str) -> Callable[[ApiKey], None]:
        """What a world's store is to call with every key that it keeps."""

        def learn(key: ApiKey) -> None:
            self._by_lookup.setdefault(key.lookup, {})[world_id] = None

        return learn

    def _forget_keys(self, world: World) -> None:
        keys, _ = world.store.begin().find(ApiKey, {})
        for key in keys:
            holders = self._by_lookup[key.lookup]
            del holders[world.id]
            if not holders:
                del self._by_lookup[key.lookup]

    def _free_id(self) -> str:
        while True:
            self._numbered += 1
            if (id := f"world-{self._numbered}") not in self._by_id:
                return id

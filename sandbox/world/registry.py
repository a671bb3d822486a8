"""All worlds of a server, and the one question between them: to which a key belongs.

Keys are found by their lookup segment, in a dictionary over all worlds, so that the cost does not
grow with their number. Two worlds may hold the same lookup; its secret tells them apart.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
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
WORLDS_MAX: Final = 1_000
JOURNAL_ENTRIES_MAX: Final = 1_000


class WorldTaken(ValueError):
    """A world with this id is there already, or one that has its keys."""


class TooManyWorlds(RuntimeError):
    """The server holds as many worlds as it may, and all of them are in use."""


class Protected(ValueError):
    """The world `default` cannot be removed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """How many worlds are kept, for how long unused, and how long each journal is."""

    worlds_max: int = WORLDS_MAX
    unused_after_s: float = UNUSED_AFTER_S
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
    ) -> None:
        self.profile = profile
        self.limits = limits
        self._wall = wall
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

        An empty id is replaced by the next free `world-N`. Raises WorldTaken, TooManyWorlds, or
        NotRestored where it is to begin as a saved one that cannot be used; then nothing changed.
        """
        numbered = self._numbered
        try:
            return self._create(spec)
        except (WorldTaken, TooManyWorlds, NotRestored):
            self._numbered = numbered
            raise

    def _create(self, spec: WorldSpec) -> World:
        self.drop_unused()
        if not spec.id:
            spec = replace(spec, id=self._free_id())
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
        return world

    def _made(self, spec: WorldSpec, kept: Kept | None = None) -> World:
        return World(
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
        """No key of a restored world leads to another, where somebody may have brought it."""
        for key in world.store.begin().find(ApiKey, {})[0]:
            for id in self._by_lookup.get(key.lookup, ()):
                other = self._by_id.get(id) if id != world.id else None
                its = other.store.one(ApiKey, "lookup", key.lookup) if other else None
                if its is not None and _is_same_key(its, key):
                    raise NotRestored(f"api_keys, {key.id}: the world {id!r} has this key")

    def _refuse_taken_keys(self, world: World) -> None:
        """The keys of a new world must lead to it, and not to one that was given the same key."""
        for name, (_, plaintext) in world.cast.keys.items():
            holder = self.holder(self.profile.key_format.parse(plaintext))
            if holder is None or holder[0] is not world:
                self._remove(world)
                raise WorldTaken(
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

        Raises NotRestored where that is a saved world that cannot be used; then nothing changed.
        """
        if not world.has_begun and world.spec.fixture.snapshot is not None:
            self._try_to_begin(world.spec)
        self._forget_keys(world)
        self.tally.add(world.tally)
        world.reset()
        world.has_begun = True

    def _try_to_begin(self, spec: WorldSpec) -> None:
        """Raises NotRestored where a world cannot begin like this; nobody sees the one that can."""
        World(
            spec,
            profile=self.profile,
            wall=self._wall,
            journal_entries_max=1,
            on_new_key=lambda key: None,
            key_is_free=self.is_free,
            host=Nobody(),
        ).close()

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
        world.touched_s = self._wall()

    def drop_unused(self) -> None:
        """Forget the worlds that nobody has used for a day, or as long as the limits say."""
        unused_since = self._wall() - self.limits.unused_after_s
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


def _is_same_key(one: ApiKey, other: ApiKey) -> bool:
    """Whether both stand for one plaintext; only those that were brought can, and are readable."""
    readable = one.readable_key is not None and one.readable_key == other.readable_key
    return readable or (one.salt, one.digest) == (other.salt, other.digest)

"""Which worlds of a server have a key, by its lookup segment."""

from collections.abc import Callable, Iterable
from typing import Final

from sandbox.domain.keys import ApiKey
from sandbox.worlds.world import World

TAKEN_MAX: Final = 1_000


class KeyHolders:
    """Lookup segments, and the ids of the worlds that hold them.

    `taken_elsewhere` are keys that somebody brought lately, and that worlds of other servers have.
    """

    def __init__(self) -> None:
        # A dictionary as an ordered set.
        self._by_lookup: dict[str, dict[str, None]] = {}
        self.taken_elsewhere: set[str] = set()

    def of(self, lookup: str) -> Iterable[str]:
        """The ids of the worlds that hold this lookup."""
        return self._by_lookup.get(lookup, ())

    def learner(self, world_id: str) -> Callable[[ApiKey], None]:
        """The function that a world's store calls with every key that it stores."""

        def learn(key: ApiKey) -> None:
            self._by_lookup.setdefault(key.lookup, {})[world_id] = None

        return learn

    def forget(self, world: World) -> None:
        """The world holds its keys no longer."""
        keys, _ = world.store.begin().find(ApiKey, {})
        for key in keys:
            holders = self._by_lookup[key.lookup]
            del holders[world.id]
            if not holders:
                del self._by_lookup[key.lookup]

    def note_taken(self, plaintext: str, *, is_taken: bool) -> None:
        """Whether a world of another server has this key."""
        if not is_taken:
            self.taken_elsewhere.discard(plaintext)
            return
        if len(self.taken_elsewhere) >= TAKEN_MAX:
            self.taken_elsewhere.clear()
        self.taken_elsewhere.add(plaintext)

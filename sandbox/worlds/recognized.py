"""The keys that were recognized before, so that the next request with one is quick."""

from typing import Final

from sandbox.domain.keys import ApiKey, KeyFormat, KeyKind
from sandbox.worlds.presented import PresentedKey
from sandbox.worlds.registry import Worlds

KEYS_MAX: Final = 1_000
"""As many are remembered; then all are forgotten, and recognized anew."""


class RecognizedKeys:
    """Recognizes keys, and remembers them in memory for as long as their world has them.

    Only what a key is is remembered. Whether it may be used is asked at each request.
    """

    def __init__(self, worlds: Worlds, key_format: KeyFormat) -> None:
        self._worlds = worlds
        self._format = key_format
        self._known: dict[bytes, PresentedKey] = {}

    def find(self, sent: bytes) -> PresentedKey | KeyKind:
        """The key that was sent, with its world, else what kind of key it would be."""
        known = self._known.get(sent)
        if known is not None:
            world, key = known.world, known.key
            assert world
            assert key
            now = world.store.get(ApiKey, key.id)
            if now is key and self._worlds.get(world.id) is world:
                return known
            del self._known[sent]
        parsed = self._format.parse(sent.decode("latin-1"))
        holder = self._worlds.holder(parsed)
        if holder is None:
            return parsed.kind
        if len(self._known) >= KEYS_MAX:
            self._known.clear()
        found = self._known[sent] = PresentedKey(*holder)
        return found

"""Ids and key material, drawn from the seed in the order of a world's requests.

A draw is a keyed hash of the world's seed and the number of the draw, so the only state is a
counter. The same seed and the same requests give the same ids, whatever happens in other worlds.
Draws are repeatable on purpose. Nothing here is secret, except key material into which a server
mixes its own secret (docs/design/worlds.md).
"""

from collections.abc import Container
from hashlib import blake2b
from typing import Final

from sandbox.store.world_state import Counters

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_TO_CHARS: Final = bytes(ord(_ALPHABET[byte % 62]) for byte in range(256))
_BLOCK: Final = 64
_VARIANT: Final = {digit: "89ab"[int(digit, 16) & 3] for digit in "0123456789abcdef"}


class Ids:
    """The draws of one world.

    `counters.drawn` counts the drawn bytes, including skipped ones, and is the only state. A hash
    gives a block of 64 bytes; a draw that does not fit in the rest of a block starts the next one.

    With a `secret`, key material cannot be derived from seed and world; ids stay the same. Ids that
    are `taken` are skipped, since the `drawn` of restored documents may be wrong.
    """

    def __init__(
        self,
        *,
        seed: int,
        world_id: str,
        key_seed: int | None = None,
        counters: Counters | None = None,
        secret: bytes = b"",
        taken: Container[str] = (),
    ) -> None:
        self._key = _key_of_seed(seed)
        # Only key material depends on the world; everything else is the same for one seed.
        seed_of_keys = self._key if key_seed is None else _key_of_seed(key_seed)
        self._key_of_keys = _digest(seed_of_keys, world_id.encode(), 32)
        if secret:
            self._key_of_keys = _digest(secret, self._key_of_keys, 32)
        self._secret = secret
        self._taken = taken
        self._counters = Counters() if counters is None else counters
        # Copied for each block, so that the key is taken in once.
        self._keyed_hash = blake2b(key=self._key, digest_size=_BLOCK)
        self._number = -1
        self._block = b""

    def uuid(self) -> str:
        """Return a UUIDv4 in lower case (assumed 0.5-ids)."""
        while (id := _uuid(self._take(16))) in self._taken:
            pass
        return id

    def message_id(self) -> str:
        """Return `msg_` and 27 letters and digits (assumed 8.3)."""
        while (id := "msg_" + _chars(self._take(27))) in self._taken:
            pass
        return id

    def plain_chars(self, length: int) -> str:
        """Return letters and digits for an id, at most 64 of them."""
        return _chars(self._take(length))

    def digits(self, length: int) -> str:
        """Return decimal digits, at most 64 of them."""
        return "".join(str(byte % 10) for byte in self._take(length))

    def secret_chars(self, length: int) -> str:
        """Return letters and digits for key material, at most 64 of them."""
        return _chars(self.secret_bytes(length))

    def uuid_of(self, name: str) -> str:
        """Return the UUIDv4 of a name under this seed, without a draw."""
        return _uuid(_digest(self._key, name.encode(), 16))

    def fraction(self, name: str) -> float:
        """Return the number from 0 to 1 of a name under this seed, without a draw."""
        return int.from_bytes(_digest(self._key, name.encode(), 6), "big") / 2**48

    def secret_bytes(self, size: int) -> bytes:
        """Return bytes for a secret, at most 64 of them."""
        drawn = self._counters.drawn
        # Each secret takes a whole block, never the first.
        number = drawn // _BLOCK + (1 if drawn % _BLOCK or not drawn else 0)
        self._counters.drawn = (number + 1) * _BLOCK
        return _digest(self._key_of_keys, b"%d" % number, size)

    def chars_of(self, name: str, length: int) -> str:
        """Return the letters and digits of a name under this seed and world, without a draw."""
        return _chars(_digest(self._key_of_keys, name.encode(), length))

    def fixed_chars(self, name: str, length: int) -> str:
        """Return letters and digits that depend on the name alone, for keys of world `default`.

        With a secret they also depend on the secret, so other servers have different ones.
        """
        key = _digest(self._secret, b"default", 32) if self._secret else b"default"
        return _chars(_digest(key, name.encode(), length))

    def _take(self, size: int) -> bytes:
        counters = self._counters
        drawn = counters.drawn
        number, start = drawn // _BLOCK, drawn % _BLOCK
        end = start + size
        if end > _BLOCK:
            number, start, end = number + 1, 0, size
        if number != self._number:
            hash = self._keyed_hash.copy()
            hash.update(b"%d" % number)
            self._number, self._block = number, hash.digest()
        counters.drawn = number * _BLOCK + end
        return self._block[start:end]


def _key_of_seed(seed: int) -> bytes:
    return _digest(b"seed", str(seed).encode(), 32)


def _digest(key: bytes, value: bytes, size: int) -> bytes:
    return blake2b(value, digest_size=size, key=key).digest()


def _chars(digest: bytes) -> str:
    return digest.translate(_TO_CHARS).decode()


def _uuid(digest: bytes) -> str:
    hex = digest.hex()
    return f"{hex[:8]}-{hex[8:12]}-4{hex[13:16]}-{_VARIANT[hex[16]]}{hex[17:20]}-{hex[20:]}"

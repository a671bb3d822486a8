"""Seeds of worlds: different ids in each test, but the same ones in each run."""

from hashlib import sha256
from typing import Final

BY_TEST: Final = "test"
"""The value of the option that gives each test its own seed."""

_SEEDS: Final = 10**12
"""Seeds are smaller, since numbers of 13 digits or more could be refused as card numbers."""


def seed_of(test: str, number: int = 0) -> int:
    """Return a seed for a world of this test; `number` counts further worlds of it."""
    text = test if number == 0 else f"{test}#{number}"
    return int.from_bytes(sha256(text.encode()).digest()) % _SEEDS

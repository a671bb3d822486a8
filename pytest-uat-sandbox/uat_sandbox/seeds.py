"""Seeds of worlds: other ids in each test, the same ones in each run."""

from hashlib import sha256
from typing import Final

BY_TEST: Final = "test"
"""The value of the option that gives each test a seed of its own."""

_SEEDS: Final = 10**12
"""A number of thirteen digits or more could be taken for a card number, and be refused."""


def seed_of(test: str, number: int = 0) -> int:
    """Return a seed for a world of this test; `number` counts further worlds of it."""
    text = test if number == 0 else f"{test}#{number}"
    return int.from_bytes(sha256(text.encode()).digest()) % _SEEDS

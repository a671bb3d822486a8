"""Results that follow from the directory of a world, kept until the directory changes."""

from typing import Final, TypeVar

K = TypeVar("K")
V = TypeVar("V")

MEMO_MAX: Final = 10_000
"""The most results of one memo."""


class Memo(dict[K, V]):
    """Results by their key: all that they depend on besides the directory.

    A world clears its memos whenever an account, a terminal, a location or a key changes. A full
    memo starts again.
    """

    def __setitem__(self, key: K, value: V) -> None:
        if len(self) >= MEMO_MAX:
            self.clear()
        super().__setitem__(key, value)

"""The numbers of rows in a table with moments: in the order of time, then of first puts."""

from collections.abc import Sequence
from typing import Final

from sandbox.store.memory.indexes import position
from sandbox.store.port import Between

_PUT_BITS: Final = 40
"""A number is the moment in milliseconds, then so many bits for the order of puts."""
_PUT_MASK: Final = (1 << _PUT_BITS) - 1


def numbered(moment_ms: int, put: int) -> int:
    """The number of a row of that moment, which was put as that one of all rows."""
    return moment_ms << _PUT_BITS | put


def put_of(number: int) -> int:
    """The place of a row in the order of first puts."""
    return number & _PUT_MASK


def bounds(between: Between) -> tuple[float, float]:
    """The smallest number of a row of that time, and the first that is too large."""
    first_ms, last_ms = between
    first = float("-inf") if first_ms is None else first_ms << _PUT_BITS
    last = float("inf") if last_ms is None else (last_ms + 1) << _PUT_BITS
    return first, last


def window(numbers: Sequence[int], between: Between) -> tuple[int, int]:
    """Which of the ascending numbers lie in that time."""
    first_ms, last_ms = between
    first = 0 if first_ms is None else position(numbers, first_ms << _PUT_BITS)
    last = len(numbers) if last_ms is None else position(numbers, (last_ms + 1) << _PUT_BITS)
    return first, max(first, last)

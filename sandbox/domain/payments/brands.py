"""The brands of cards: the beginnings and lengths of their numbers.

Source: ISO/IEC 7812-1 for the form of a number. The ranges are those that the brands publish
(assumed 6.4-spelling).
"""

from collections.abc import Iterator
from typing import Final

from sandbox.domain.values import Value

DIGITS_MIN, DIGITS_MAX = 13, 19
"""The lengths of card numbers. A number of 12 digits is usually a processor's reference."""


class Brand(Value, frozen=True):
    """A brand. `prefixes` are first digits, or ranges of them; `lengths` are counts of digits."""

    name: str
    prefixes: tuple[str, ...]
    lengths: tuple[int, ...]


_LONG: Final = (16, 17, 18, 19)

BRANDS: Final = (
    Brand("Visa", ("4",), (13, 16, 19)),
    Brand("Mastercard", ("51-55", "2221-2720"), (16,)),
    Brand("American Express", ("34", "37"), (15,)),
    Brand("Discover", ("6011", "644-649", "65"), _LONG),
    Brand("JCB", ("3528-3589",), _LONG),
    Brand("Diners Club", ("300-305", "3095", "36", "38-39"), (14, *_LONG)),
    Brand("UnionPay", ("62", "8100-8171"), _LONG),
    Brand("Maestro", ("50", "56-69"), _LONG),
    # Fewer digits only where they are known to be in use: a telephone number begins like these too.
    Brand("Maestro", ("5018", "5020", "5038", "5893", "6304", "6759", "6761-6763"), (13, 14, 15)),
    Brand("Mir", ("2200-2204",), _LONG),
    Brand("RuPay", ("353", "356", "508", "60", "65", "81-82"), (16,)),
)

PAIRS: Final = 100
"""The number of values with two digits."""


def beginnings(length: int) -> Iterator[tuple[int, range]]:
    """How numbers of this length begin: two digits, and the range of the two after them."""
    for brand in BRANDS:
        if length in brand.lengths:
            for prefix in brand.prefixes:
                yield from _pairs(prefix)


def _pairs(prefix: str) -> Iterator[tuple[int, range]]:
    first, _, last = prefix.partition("-")
    low, high = int(first.ljust(4, "0")), int((last or first).ljust(4, "9"))
    for two in range(low // PAIRS, high // PAIRS + 1):
        begin = low % PAIRS if two == low // PAIRS else 0
        end = high % PAIRS if two == high // PAIRS else PAIRS - 1
        yield two, range(begin, end + 1)

"""The spelling of card numbers, which distinguishes them from dates, places and codes.

The rules are assumed 6.4-spelling: the spec does not mention other numbers.
"""

import re
from typing import Final, NamedTuple

_GROUPS: Final = re.compile(r"\d+")
_USUAL: Final = frozenset(
    {
        *((4, 4, 4, 1), (4, 3, 3, 3)),
        *((4, 6, 4), (4, 4, 4, 2)),
        *((4, 6, 5), (4, 4, 4, 3)),
        *((4, 4, 4, 4), (8, 8)),
        *((4, 4, 4, 5), (4, 4, 4, 4, 1), (4, 4, 4, 4, 2), (4, 4, 4, 6)),
        *((4, 4, 4, 4, 3), (6, 13), (8, 11)),
    }
)
"""The numbers of digits in the groups of a number, as on cards and in forms."""

PRODUCT_CODE_DIGITS: Final = 13
"""A product code (EAN-13) and an old Visa number have the same length."""


class Found(NamedTuple):
    """A card number: its start and end in the text, and its digits."""

    start: int
    end: int
    digits: str


def is_written_as_one(text: str, found: Found) -> bool:
    """Whether the digits are written as those of a card number are."""
    if len(found.digits) == PRODUCT_CODE_DIGITS and _is_another_number(text, found):
        return False
    written = text[found.start : found.end]
    if len(written) == len(found.digits):
        return True
    groups = [len(group) for group in _GROUPS.findall(written)]
    if max(groups, default=1) == 1 or tuple(groups) in _USUAL:
        return True
    # Dates with a time, places on a map and addresses with a port have several separators.
    return len({*_GROUPS.split(written)[1:-1]}) == 1


def _is_another_number(text: str, found: Found) -> bool:
    """Whether it is a telephone number, which a plus sign begins, or the code of a product."""
    if text[max(found.start - 1, 0) : found.start] == "+":
        return True
    odd, even = (sum(map(int, found.digits[place::2])) for place in (0, 1))
    return (odd + 3 * even) % 10 == 0

"""Card numbers where none belong: telling them, and masking them. Source: spec 6.1.7; assumed 6.4.

What counts is the shape of a number that some card may have: a brand's first digits, its length,
and a right check digit. Timestamps, ids and terminal numbers do not look like that.
"""

import re
from collections.abc import Iterator
from typing import Final

READER_FIELD: Final = "card_reader_data"
CARD_FIELD: Final = "paymentCardData"
CARD_FIELDS: Final = (READER_FIELD, CARD_FIELD, "generalCardData")
"""The fields of a body in which a reader's data belongs."""

DIGITS_MIN, DIGITS_MAX = 13, 19
"""How long the number of a card is (ISO/IEC 7812-1, annex B; 12 digits are used by no brand)."""

_LONG_RUN: Final = re.compile(rb"\d{13}")
_DIGITS_IN_A_ROW: Final = re.compile(r"[0-9][0-9 -]{12}")
_SUSPECT: Final = re.compile(
    # An id is no card, whatever its digits are.
    r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    # Digits, perhaps in groups, perhaps with a word before or after that touches them.
    r"|(?<![0-9A-Za-z])[A-Za-z]*(?P<digits>\d(?:[ -]?\d){12,})[A-Za-z]*(?![0-9A-Za-z])",
    re.ASCII | re.IGNORECASE,
)
_BRANDS: Final = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}"
    r"|35\d{14}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}",
    re.ASCII,
)


def masked(pan: str) -> str:
    """First six and last four digits, a star for each between. Source: spec 2.4-card."""
    return f"{pan[:6]}{'*' * (len(pan) - 10)}{pan[-4:]}"


def may_mention(body: bytes) -> bool:
    """Whether a closer look is worth it: a run of digits as long as a card number is there."""
    return _LONG_RUN.search(body.replace(b" ", b"").replace(b"-", b"")) is not None


def mentions(text: str) -> bool:
    """Whether something in the text looks like the number of a real card."""
    return next(_places(text), None) is not None


def numbers_in(text: str) -> list[str]:
    """The card numbers in the text, without what groups their digits."""
    return [_plain(text[start:end]) for start, end in _places(text)]


def scrub(text: str) -> str:
    """The text with every card number masked, first six and last four visible."""
    parts: list[str] = []
    done = 0
    for start, end in _places(text):
        parts += (text[done:start], masked(_plain(text[start:end])))
        done = end
    return "".join(parts) + text[done:] if parts else text


def _places(text: str) -> Iterator[tuple[int, int]]:
    """Where card numbers stand in the text."""
    if _DIGITS_IN_A_ROW.search(text) is None:
        return  # As nearly always, and many times as fast to tell.
    for suspect in _SUSPECT.finditer(text):
        if suspect["digits"] is not None:
            yield from _within(suspect["digits"], suspect.start("digits"))


def _within(run: str, offset: int) -> Iterator[tuple[int, int]]:
    """Where card numbers stand in digits and separators: each begins and ends with a group.

    So a number is found with an expiry date or a security code beside it.
    """
    groups = [(group.start(), group.end()) for group in re.finditer(r"\d+", run)]
    first = 0
    while first < len(groups):
        start, size, last = groups[first][0], 0, first
        found = None
        while last < len(groups) and size < DIGITS_MAX:
            begin, end = groups[last]
            size += end - begin
            last += 1
            if size >= DIGITS_MIN and _is_card(run[start:end]):
                found = (last, end)
        if found is None:
            first += 1
        else:
            first, end = found
            yield offset + start, offset + end


def _plain(run: str) -> str:
    return run.replace(" ", "").replace("-", "")


def _is_card(run: str) -> bool:
    digits = _plain(run)
    return _BRANDS.fullmatch(digits) is not None and has_check_digit(digits)


def has_check_digit(digits: str) -> bool:
    """Whether the last digit is the right one (ISO/IEC 7812-1, annex B)."""
    total = 0
    for place, digit in enumerate(reversed(digits)):
        value = int(digit) * (1 + place % 2)
        total += value - 9 if value > 9 else value
    return total % 10 == 0

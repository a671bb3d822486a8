"""Card numbers where none belong: telling them, and masking them. Source: spec 6.1.7; assumed 6.4.

What counts is the shape of a number that some card may have: a brand's first digits, its length,
and a right check digit. Timestamps, ids and terminal numbers do not look like that.
"""

import re
from typing import Final

from sandbox.domain.payments.cards import masked

CARD_FIELDS: Final = ("card_reader_data", "paymentCardData", "generalCardData")
"""The fields of a body in which a reader's data belongs."""

_DIGITS: Final = r"(?<![0-9A-Za-z])\d(?:[ -]?\d){12,18}(?![0-9A-Za-z])"
_RUN: Final = re.compile(_DIGITS, re.ASCII)
_LONG_RUN: Final = re.compile(rb"\d{13}")
_BRANDS: Final = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12}"
    r"|35\d{14}|3(?:0[0-5]|[68]\d)\d{11}|62\d{14,17}",
    re.ASCII,
)


def may_mention(body: bytes) -> bool:
    """Whether a closer look is worth it: a run of digits as long as a card number is there."""
    return _LONG_RUN.search(body.replace(b" ", b"").replace(b"-", b"")) is not None


def mentions(text: str) -> bool:
    """Whether something in the text looks like the number of a real card."""
    return any(_is_card(run[0]) for run in _RUN.finditer(text))


def scrub(text: str) -> str:
    """The text with every card number masked, first six and last four visible."""
    return _RUN.sub(_mask, text)


def _mask(run: re.Match[str]) -> str:
    return masked(_plain(run[0])) if _is_card(run[0]) else run[0]


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

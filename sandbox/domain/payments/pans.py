"""Recognizing and masking card numbers outside their fields. Source: spec 6.1.7; assumed 6.4.

A card number has a brand's first digits, its length, and a correct check digit. Timestamps, ids and
terminal numbers do not look like that.
"""

from typing import Final

from sandbox.domain.payments import pan_scan
from sandbox.domain.payments.pan_scan import may_mention, mentions

READER_FIELD: Final = "card_reader_data"
CARD_FIELD: Final = "paymentCardData"
CARD_FIELDS: Final = (READER_FIELD, CARD_FIELD, "generalCardData")
"""The fields of a body in which a reader's data belongs."""

__all__ = [
    "CARD_FIELD",
    "CARD_FIELDS",
    "READER_FIELD",
    "masked",
    "may_mention",
    "mentions",
    "numbers_in",
    "scrub",
]


def masked(pan: str) -> str:
    """First six and last four digits, a star for each between. Source: spec 2.4-card."""
    return f"{pan[:6]}{'*' * (len(pan) - 10)}{pan[-4:]}"


def numbers_in(text: str) -> list[str]:
    """The card numbers in the text, without what groups their digits."""
    return [found.digits for found in pan_scan.find(text)]


def scrub(text: str) -> str:
    """The text with every card number masked, first six and last four visible."""
    parts: list[str] = []
    done = 0
    for start, end, digits in pan_scan.find(text):
        parts += (text[done:start], masked(digits))
        done = end
    return "".join(parts) + text[done:] if parts else text

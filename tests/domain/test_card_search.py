"""The search for card numbers finds what a slow and plain one finds, in time that is linear.

The slow one is written here from the rules in words (assumed 6.4-spelling); it looks at one place
after the other.
"""

import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.domain import secrets
from sandbox.domain.secrets import BRANDS, CardNumber
from tests.properties import examples

# --- the slow one -----------------------------------------------------------------------------

ID = re.compile(
    r"(?<![0-9A-Za-z])[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?![0-9A-Za-z])"
)


def has_check_digit(digits: str) -> bool:
    """ISO/IEC 7812-1, annex B."""
    doubled = [2 * int(digit) for digit in digits[-2::-2]]
    return (sum(map(int, digits[-1::-2])) + sum(one // 10 + one % 10 for one in doubled)) % 10 == 0


def is_of_a_brand(digits: str) -> bool:
    ranges = [
        prefix.partition("-")
        for brand in BRANDS
        if len(digits) in brand.lengths
        for prefix in brand.prefixes
    ]
    return any(low <= digits[: len(low)] <= (high or low) for low, _, high in ranges)


USUAL = {
    *((4, 4, 4, 1), (4, 3, 3, 3), (4, 6, 4), (4, 4, 4, 2), (4, 6, 5), (4, 4, 4, 3)),
    *((4, 4, 4, 4), (8, 8), (4, 4, 4, 5), (4, 4, 4, 4, 1), (4, 4, 4, 4, 2), (4, 4, 4, 6)),
    *((4, 4, 4, 4, 3), (6, 13), (8, 11)),
}


def is_product_code(digits: str) -> bool:
    """The check digit of an EAN-13."""
    return (sum(map(int, digits[::2])) + 3 * sum(map(int, digits[1::2]))) % 10 == 0


def is_spelled_as_card(text: str, found: CardNumber) -> bool:
    if len(found.digits) == 13 and (
        text[: found.start].endswith("+") or is_product_code(found.digits)
    ):
        return False
    written = text[found.start : found.end]
    groups = [len(group) for group in re.findall(r"\d+", written)]
    separators = set(re.split(r"\d+", written)[1:-1])
    return (
        len(written) == len(found.digits)
        or max(groups, default=1) == 1
        or tuple(groups) in USUAL
        or len(separators) == 1
    )


class Slow:
    """Each character as a digit, `a` for letters, `d` for a D, a space, `|` for what separates."""

    def __init__(self, text: str) -> None:
        self.text = text
        kinds = [self._kind(char) for char in text]
        for escape in re.finditer(r"\\[bfnrt]", text):
            kinds[escape.start() : escape.end()] = ["", " "]
        for place in range(len(kinds) - 2):
            if {" ", "|"} >= set(kinds[place : place + 3]) and kinds[place + 2] == " ":
                kinds[place] = "|"
        for id in ID.finditer(text):
            kinds[id.start() : id.end()] = ["|"] * (id.end() - id.start())
        self.kinds = kinds
        self.places = [place for place, kind in enumerate(kinds) if kind.isdecimal()]

    @staticmethod
    def _kind(char: str) -> str:
        if char.isdigit():
            return str(unicodedata.digit(char))
        if not char.isalnum():
            return " "
        return "d" if char in "dD" else "a"

    def found(self) -> list[CardNumber]:
        found: list[CardNumber] = []
        at = 0
        while at < len(self.places):
            one = next(filter(None, (self._number(at, size) for size in range(19, 12, -1))), None)
            if one is not None:
                found.append(one)
                at += len(one.digits)
            else:
                at += 1
        return found

    def _number(self, at: int, size: int) -> CardNumber | None:
        digits = self._digits(at, size)
        if not digits or not self._begins(at) or not self._ends(at + size - 1):
            return None
        one = CardNumber(self.places[at], self.places[at + size - 1] + 1, digits)
        is_card = is_of_a_brand(digits) and has_check_digit(digits)
        return one if is_card and is_spelled_as_card(self.text, one) else None

    def _digits(self, at: int, size: int) -> str:
        """So many digits from there on; none where something stands between them."""
        places = self.places[at : at + size]
        if at < 0 or len(places) < size:
            return ""
        between = self.kinds[places[0] : places[-1] + 1]
        return "" if {"a", "d", "|"} & set(between) else "".join(between).replace(" ", "")

    def _begins(self, at: int) -> bool:
        before = re.search(r"([0-9]?)([ad]*)$", "".join(self._until(self.places[at])))
        assert before
        return not before[1]

    def _until(self, place: int) -> list[str]:
        return [kind or " " for kind in self.kinds[:place]]

    def _ends(self, at: int) -> bool:
        """With its group, or before an expiry date and perhaps a code that do."""
        if self._group_ends(at):
            return True
        date = self._digits(at, 5)[1:]
        is_date = date and any(
            1 <= int(month) <= 12 and 20 <= int(year) <= 49
            for month, year in ((date[:2], date[2:]), (date[2:], date[:2]))
        )
        if not is_date:
            return False
        return self._group_ends(at + 4) or (bool(self._digits(at, 8)) and self._group_ends(at + 7))

    def _group_ends(self, at: int) -> bool:
        rest = "".join(kind or " " for kind in self.kinds[self.places[at] + 1 :])
        return bool(re.match(r"[ad]*(?![0-9ad])|d[0-9]{7}", rest))


# --- they agree -------------------------------------------------------------------------------

NUMBERS = [
    "4111111111111111",
    "4222222222222",
    "371449635398431",
    "30569309025904",
    "6759649826438453",
    "2200700000000009",
    "4000000000000000006",
    "6304000000000000000",
]
PIECES = [
    *NUMBERS,
    *(number[:-3] for number in NUMBERS),
    *(number[3:] for number in NUMBERS),
    "d472ec81-0a38-4fcf-a9b1-567a82756d4c",
    "41111111-1111-4111-8111-411111111111",
    *("4111 1111 1111 1111", "3714 496353 98431", "4.1.1.1.1.1.1.1.1.1.1.1.1.1.1.1"),
    *("1228", "2812", "12/28", "123", "4", "1", "0", "37", "4111", "1111"),
    *(" ", "  ", "   ", "-", ".", "_", ",", ", ", "\t", "\n", "\r\n", "\\n", "\\t", "\\", '"', ":"),
    *("a", "d", "D", "card", "dead", "é", "條", "+", "=", "^", "²", "①", "\u0664", "\uff11"),
    *("\xa0", "\u2009", "\u200b", "\u2013", "\U0001f4b3", "\ud800"),
]
SOUP = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)
DIGITS = st.text(alphabet="0123456789 -", max_size=60)


@pytest.mark.proves("assumed 6.4-spelling")
@settings(max_examples=examples(600))
@given(SOUP | DIGITS)
def test_it_finds_what_a_slow_and_plain_search_finds(text):
    assert list(secrets.find_cards(text)) == Slow(text).found()


@settings(max_examples=examples(600))
@given(SOUP | DIGITS)
def test_what_may_hold_none_holds_none(text):
    body = text.encode("utf-8", "replace")
    if not secrets.may_hold_card(body):
        assert not secrets.has_card(body.decode("utf-8"))


def test_the_slow_one_finds_something():
    found = [one.digits for one in Slow("a 4111-1111-1111-1111, 3714496353984311228").found()]

    assert found == ["4111111111111111", "371449635398431"]


# --- what it costs ----------------------------------------------------------------------------

SOUPS: dict[str, str] = {
    "digits and dashes": "4-",
    "fours and dashes": "4444-",
    "seven digits and a dash": "0123456-",
    "one digit": "4",
    "zeroes and spaces": "0 ",
    "all digits": "4715208396",
    "twelve digits and a letter": "412345678901a",
    "twelve digits, apart, and a letter": "4-1-2-3-4-5-6-7-8-9-0-1-a",
    "letters and digits": "4a",
    "an id's beginning": "d4111111-1111-1111-1111-",
    "ids": "41111111-1111-4111-8111-411111111111,",
    "nothing but spaces": " ",
    "nothing but no-break spaces": "\xa0",
    "digits and no-break spaces": "4\xa0",
    "Arabic digits": "\u0664",
    "letters of another script": "條",
    "digits among such letters": "4é",
    "escapes": "4\\n",
    "backslashes": "\\",
    "symbols beyond 16 bits": "4\U0001f4b3",
    "numbers but for their check digit": "4111111111111112 ",
    "digits of Diners with dates": "30",
}
"""What has no card number in it, however often it is repeated."""

NEARLY = {
    "places on a map": "48.137154,11.576124 ",
    "numbers that touch letters on both sides": "1a4111111111111111 ",
    "telephone numbers": "+4915130535805 ",
}

LONG = 65_536
"""Bytes: those of the longest body of a payment."""


@pytest.mark.parametrize("piece", (SOUPS | NEARLY).values(), ids=SOUPS | NEARLY)
def test_soup_of_the_size_of_a_body_takes_no_longer_than_its_size_says(piece):
    short, long = (piece * (size // len(piece.encode())) for size in (LONG // 8, LONG))

    def took_s(text: str) -> float:
        began = time.process_time()
        secrets.has_card(text)
        return time.process_time() - began

    took_s("é 4111111111111111")
    least_s = max(min(took_s(short) for _ in range(3)), 0.001)

    assert min(took_s(long) for _ in range(2)) < 4 * 8 * least_s


@pytest.mark.parametrize("piece", NEARLY.values(), ids=NEARLY)
def test_a_long_text_of_other_numbers_holds_no_card_number(piece):
    assert not secrets.has_card(piece * (LONG // len(piece)))


def test_the_numbers_of_a_long_text_are_found_one_after_the_other():
    text = "4111111111111111 " * 1_000

    assert [one.start for one in secrets.find_cards(text)] == list(range(0, 17_000, 17))

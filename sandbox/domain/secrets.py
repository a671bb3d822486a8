"""Card numbers and keys in text from outside, which must never be stored.

Text is checked where it comes in: bodies, queries, fixtures, scenarios, saved worlds. A card number
has a brand's first digits and length, and a correct check digit; between two of its digits there
are at most two characters that are neither letters nor digits. Source: assumed D5,
6.4-everywhere, 6.4-spelling.

A hostile text may have a possible number at every place, so check digits are computed from the sums
of all digits before each place.
"""

import json
import re
import unicodedata
from collections.abc import Iterator, Mapping
from functools import cache
from itertools import accumulate
from string import ascii_letters, digits
from typing import Any, Final, NamedTuple

from sandbox.domain.keys import KeyFormat

SEPARATORS_MAX: Final = 2
"""How many separators there may be between two digits of a number."""

DIGITS_MIN: Final = 13
"""The length of the shortest card numbers. With 12 digits it is usually a reference."""


class Brand(NamedTuple):
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
    # Shorter ones only in ranges that are in use: telephone numbers begin like these too.
    Brand("Maestro", ("5018", "5020", "5038", "5893", "6304", "6759", "6761-6763"), (13, 14, 15)),
    Brand("Mir", ("2200-2204",), _LONG),
    Brand("RuPay", ("353", "356", "508", "60", "65", "81-82"), (16,)),
)
"""The ranges that brands publish for their numbers (ISO/IEC 7812-1; assumed 6.4-spelling)."""


class CardNumber(NamedTuple):
    """A card number in a text: its start and end there, and its digits."""

    start: int
    end: int
    digits: str


def mask_card(number: str) -> str:
    """Return the first six and last four digits, and a star for each between (spec 2.4-card)."""
    return f"{number[:6]}{'*' * (len(number) - 10)}{number[-4:]}"


def mask_cards(text: str) -> str:
    """Return the text with every card number masked, first six and last four digits visible."""
    parts: list[str] = []
    done = 0
    for start, end, number in find_cards(text):
        parts += (text[done:start], mask_card(number))
        done = end
    return "".join(parts) + text[done:] if parts else text


def has_card(text: str) -> bool:
    """Whether there is a card number in the text."""
    return next(find_cards(text), None) is not None


def find_cards(text: str) -> Iterator[CardNumber]:
    """Find the card numbers, without overlaps: the longest one at each place."""
    line = _simplify(text)
    if _BEGINNING.search(line) is None:
        return
    for id in _ID.finditer(text):
        line[id.start() : id.end()] = b"|" * len(id[0])
    backwards, after = line[::-1], 0
    for run in _RUN.finditer(line):
        places = [digit.start() for digit in _DIGIT.finditer(line, *run.span())]
        number = run[0].translate(None, _LEFT_OUT).decode()
        sums = _sums(number)
        for first, start in enumerate(places):
            if start < after or (first and places[first - 1] == start - 1):
                continue
            for length in _lengths(number[first : first + 4]):
                last = first + length
                if last > len(places) or (sums[last % 2][last] - sums[last % 2][first]) % 10:
                    continue
                found = CardNumber(start, places[last - 1] + 1, number[first:last])
                if not _DIGIT_BEFORE.match(backwards, len(line) - start) and _is_spelled(
                    text, line, found
                ):
                    after = found.end
                    yield found
                    break


def _sums(number: str) -> tuple[list[int], list[int]]:
    """Return the sums of the digits before each place, with even or with odd places doubled.

    A number is valid if its sum, with every second digit from the right doubled, ends in 0 (ISO/IEC
    7812-1, annex B).
    """
    values = list(map(int, number))
    even, odd = values.copy(), values
    even[::2], odd[1::2] = (
        [(0, 2, 4, 6, 8, 1, 3, 5, 7, 9)[one] for one in values[begin::2]] for begin in (0, 1)
    )
    return list(accumulate(even, initial=0)), list(accumulate(odd, initial=0))


@cache
def _lengths(beginning: str) -> list[int]:
    """Return how many digits a number with this beginning may have, the most first."""
    return sorted(
        {
            length
            for brand in BRANDS
            for low, _, high in (prefix.partition("-") for prefix in brand.prefixes)
            if low <= beginning[: len(low)] <= (high or low)
            for length in brand.lengths
        },
        reverse=True,
    )


# --- from a text to one byte for each character -----------------------------------------------

_LEFT_OUT: Final = b" \xff"
_ESCAPES: Final = re.compile(rb"\\[bfnrt]")
_DIGIT: Final = re.compile(rb"[0-9]")
_BEGINNING: Final = re.compile(rb"(?<![0-9])[2-68](?:[ \xff]*[0-9]){12}")
"""The beginning of a number of any brand. Times in milliseconds, which are common, differ."""

_RUN: Final = re.compile(rb"[0-9](?:[ \xff]*[0-9]){12,}")
_ID: Final = re.compile(
    r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])"
)
"""An id is never a card number."""

_SIMPLE: Final = bytes(
    code
    if chr(code) in digits or code == 0xFF
    else ord("d" if chr(code) in "dD" else "a" if chr(code) in ascii_letters else " ")
    for code in range(256)
)
"""Digits stay, D becomes `d`, other letters `a`, and everything else a space."""


def _simplify(text: str) -> bytearray:
    """Return one byte for each character; 0xFF for the backslash of a JSON escape."""
    if not text.isascii():
        text = text.translate(_ascii_characters())
    line = _ESCAPES.sub(b"\xff ", text.encode("ascii", "replace")).translate(_SIMPLE)
    return bytearray(line.replace(b" " * (SEPARATORS_MAX + 1), b"|||"))


@cache
def _ascii_characters() -> str:
    """Return an ASCII character for each one up to U+1FFFF, after which Unicode has no digits.

    Full-width, Arabic and circled digits become the digits that they stand for.
    """
    every = "".join(map(chr, range(0x20000)))
    known = list(re.sub(r"[^\W\d_]", "a", every))
    for code, char in enumerate(every):
        if char.isdigit():
            known[code] = str(unicodedata.digit(char))
        elif code >= 0x80 and known[code] != "a":
            known[code] = "?"
    return every[:0x80] + "".join(known[0x80:])


# --- spelling ---------------------------------------------------------------------------------

_GAP: Final = r"[ \xff]*"
_MONTH: Final = rf"{_GAP}(?:0{_GAP}[1-9]|1{_GAP}[0-2])"
_YEAR: Final = rf"{_GAP}[2-4]{_GAP}[0-9]"
_CODE: Final = rf"(?:{_GAP}[0-9]){{3}}"
_DIGIT_BEFORE: Final = re.compile(rb"[ad]*[0-9]")
_END: Final = re.compile(
    # An expiry date of the years 2020 to 2049 may follow, with a code behind it. In chip data, a D
    # separates the two (EMV, tag 57).
    rf"(?:(?:{_MONTH}{_YEAR}|{_YEAR}{_MONTH})(?:{_CODE})?)?(?:[ad]*+(?![0-9])|d[0-9]{{7}})".encode(
        "latin-1"
    )
)
"""What may follow a number. Letters may touch it on one side, but not on both."""

_USUAL_GROUPS: Final = (
    *((4, 4, 4, 1), (4, 3, 3, 3)),
    *((4, 6, 4), (4, 4, 4, 2)),
    *((4, 6, 5), (4, 4, 4, 3)),
    *((4, 4, 4, 4), (8, 8)),
    *((4, 4, 4, 5), (4, 4, 4, 4, 1), (4, 4, 4, 4, 2), (4, 4, 4, 6)),
    *((4, 4, 4, 4, 3), (6, 13), (8, 11)),
)
"""How cards and forms group the digits of a number."""

_SPELLING: Final = re.compile(
    # One separator throughout: dates with a time, coordinates and addresses with a port have
    # several. A raised or circled digit is not part of a group.
    r"\D*(?:\d+(\D+)\d+(?:\1\d+)*|(?:\d(?:\D+\d)*)?|"
    + "|".join(r"\D+".join(rf"\d{{{size}}}" for size in groups) for groups in _USUAL_GROUPS)
    + r")\D*"
)

_PRODUCT_CODE_DIGITS: Final = 13
"""Product codes (EAN-13) are as long as old Visa numbers."""


def _is_spelled(text: str, line: bytearray, found: CardNumber) -> bool:
    """Whether it ends and is grouped like a card number, unlike a telephone number or an EAN."""
    start, end, number = found
    if not _END.match(line, end) or not (
        end - start == len(number) or _SPELLING.fullmatch(text, start, end)
    ):
        return False
    if len(number) != _PRODUCT_CODE_DIGITS:
        return True
    values = list(map(int, number))
    return text[start - 1 : start] != "+" and (sum(values[::2]) + 3 * sum(values[1::2])) % 10 != 0


# --- where secrets do not belong --------------------------------------------------------------


class Secret(NamedTuple):
    """A kind of secret: the message about one in the wrong place, and the clause."""

    sentence: str
    source: str


PRODUCTION_KEY: Final = Secret("a production key must never be sent to a sandbox", "assumed D5")
API_KEY: Final = Secret("an API key is not allowed here", "assumed D26")
CARD_NUMBER: Final = Secret("a card number is not allowed here", "assumed 6.4-unknown")

_APART: Final = "   "
"""More separators than a number may have, so that two values are never read as one."""

_CONTROL_ESCAPES: Final = re.compile(r"\\(?:[bfnrt]|u00[01][0-9a-f])")
"""Escapes that JSON requires."""

_NAME_CHARS_MAX: Final = 80
"""How many characters of a field's name a message quotes."""

_SHAPE: Final = bytes(ord("0" if chr(code) in digits else "a") for code in range(256))
_NEITHER: Final = bytes(code for code in range(128) if not chr(code).isalnum())


class Misplaced(NamedTuple):
    """A secret in the wrong place; `place` is the field, empty if the whole text was checked."""

    secret: Secret
    place: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.secret.sentence}" if self.place else self.secret.sentence


def may_hold_card(body: bytes) -> bool:
    """Whether a JSON body has enough digits for a card number, without letters between them.

    Few bodies do, and the check is quick. Escapes and non-ASCII characters could be digits.
    """
    if b"\\" in body or not body.isascii():
        return True
    return body.translate(_SHAPE, _NEITHER).find(b"0" * DIGITS_MIN) >= 0


def may_hold_secret(body: bytes, key_format: KeyFormat) -> bool:
    """Whether a JSON body needs a closer look."""
    return body.find(key_format.hint_bytes) >= 0 or may_hold_card(body)


def find_secret(text: str, key_format: KeyFormat) -> Secret | None:
    """Return the first kind of secret that is in the text."""
    if key_format.has_production_key(text):
        return PRODUCTION_KEY
    if key_format.has_whole_key(text):
        return API_KEY
    return CARD_NUMBER if has_card(text) else None


def write_out(value: Any) -> str:
    """Return all names and values in a JSON value as one text, well separated."""
    text = json.dumps(value, ensure_ascii=False, separators=(_APART, _APART), default=str)
    return _CONTROL_ESCAPES.sub(" ", text) if "\\" in text else text


def find_misplaced(value: Any, key_format: KeyFormat) -> Misplaced | None:
    """Return the first secret within a JSON value, with the field that holds it."""
    found = find_secret(write_out(value), key_format)
    if found is None:
        return None
    places = ((find_secret(text, key_format), place) for place, text in _texts(value, ""))
    return next((Misplaced(secret, place) for secret, place in places if secret), Misplaced(found))


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Yield each text and number in the value, with its field; a name with the field around it."""
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield place, str(name)
            within = str(name)[:_NAME_CHARS_MAX]
            yield from _texts(inner, f"{place}.{within}" if place else within)
    elif isinstance(value, list | tuple):
        for inner in value:
            yield from _texts(inner, place)
    elif value is not None and not isinstance(value, bool):
        yield place, str(value)

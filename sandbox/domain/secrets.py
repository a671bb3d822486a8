"""Card numbers and keys in text from outside, which must never be stored.

Text is checked where it comes in: bodies, queries, fixtures, scenarios, saved worlds. A card number
has a brand's first digits and length, and a correct check digit; between two of its digits there
are at most two characters that are neither letters nor digits. Source: assumed D5,
6.4-everywhere, 6.4-spelling.

Regular expressions decide how a number is spelled. Check digits are computed for all places of a
text at once, as sums of long integers with one byte for each digit: a hostile text may have a
possible number at every place.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import compress
from string import ascii_letters
from typing import Any, Final, NamedTuple

from sandbox.domain.keys import KeyFormat

SEPARATORS_MAX: Final = 2
"""The most separators between two digits of a number."""

DIGITS_MIN, DIGITS_MAX = 13, 19
"""The lengths of card numbers. A number of 12 digits is usually a processor's reference."""


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
    # Fewer digits only where they are known to be in use: a telephone number begins like these too.
    Brand("Maestro", ("5018", "5020", "5038", "5893", "6304", "6759", "6761-6763"), (13, 14, 15)),
    Brand("Mir", ("2200-2204",), _LONG),
    Brand("RuPay", ("353", "356", "508", "60", "65", "81-82"), (16,)),
)
"""The ranges that brands publish, for numbers by ISO/IEC 7812-1 (assumed 6.4-spelling)."""


class CardNumber(NamedTuple):
    """A card number in a text: its start and end there, and its digits."""

    start: int
    end: int
    digits: str


def mask_card(number: str) -> str:
    """First six and last four digits, a star for each between. Source: spec 2.4-card."""
    return f"{number[:6]}{'*' * (len(number) - 10)}{number[-4:]}"


def mask_cards(text: str) -> str:
    """The text with every card number masked, first six and last four digits visible."""
    parts: list[str] = []
    done = 0
    for start, end, digits in find_cards(text):
        parts += (text[done:start], mask_card(digits))
        done = end
    return "".join(parts) + text[done:] if parts else text


def has_card(text: str) -> bool:
    """Whether there is a card number in the text."""
    return next(find_cards(text), None) is not None


def find_cards(text: str) -> Iterator[CardNumber]:
    """Find the card numbers that do not overlap: at each beginning the longest."""
    line = _simplify(text)
    if _BEGINNING.search(line.translate(None, _LEFT_OUT)) is None:
        return
    row, candidates = _find_candidates(line)
    if candidates and _ID.search(text):
        line = _without_ids(text, line)
        row, candidates = _find_candidates(line)
    if not candidates:
        return
    places = list(compress(range(len(line)), line.translate(_IS_IN_ROW)))
    digits, backwards = row.translate(_PLAIN).decode(), line[::-1]
    after = 0
    for first, minus_length in candidates:
        length, last = -minus_length, first - minus_length
        start, end = places[first], places[last - 1] + 1
        if (
            first >= after
            and _has_brand(digits[first : first + 4], length)
            and _END.match(line, end)
            and not _DIGIT_BEFORE.match(backwards, len(line) - start)
            and (end - start == length or _SPELLING.fullmatch(text, start, end))
            and not (length == _PRODUCT_CODE_DIGITS and _is_another(text, start, row[first:last]))
        ):
            after = last
            yield CardNumber(start, end, digits[first:last])


# --- from a text to one byte for each character -----------------------------------------------

_ID: Final = re.compile(
    r"(?<![0-9A-Za-z])[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])"
)
"""An id is never a card number."""

_ESCAPES: Final = re.compile(rb"\\[bfnrt]")
_BEGINNING: Final = re.compile(rb"[2-68][0-9]{12}")
"""How a number of any brand begins. The time in milliseconds does not, of which texts are full."""

_BEGINS: Final = 0x40
"""The bit that marks the first digit of a group."""

_LEFT_OUT: Final = b" \xff"


def _table(values: Mapping[int, int], otherwise: int = 0) -> bytes:
    """A table for `bytes.translate`."""
    return bytes(values.get(code, otherwise) for code in range(256))


def _digit_table(values: Iterable[int], otherwise: int = 0) -> bytes:
    """A table with a value for each digit, the first of a group or not."""
    codes = dict(enumerate(values, ord("0")))
    return _table(codes | {code | _BEGINS: value for code, value in codes.items()}, otherwise)


_SIMPLE: Final = _table(
    dict.fromkeys(ascii_letters.encode(), ord("a"))
    | dict.fromkeys(b"dD", ord("d"))
    | {code: code for code in b"0123456789\xff"},
    otherwise=ord(" "),
)
"""Digits stay, a D is `d`, other letters are `a`; all else is a space, and too many of them `|`."""


def _simplify(text: str) -> bytes:
    """One byte for each character; 0xFF for the backslash of an escape of JSON."""
    if not text.isascii():
        text = text.translate(_ascii_characters())
    line = text.encode("ascii", "replace")
    if b"\\" in line:
        line = _ESCAPES.sub(b"\xff ", line)
    return line.translate(_SIMPLE).replace(b" " * (SEPARATORS_MAX + 1), b"|||")


@cache
def _ascii_characters() -> str:
    """The ASCII character for each one up to U+1FFFF. Further up, Unicode has no digits.

    Full-width digits, Arabic ones, circled ones: NFKC and Unicode's values of digits say which.
    """
    every = "".join(map(chr, range(0x20000)))
    known = list(re.sub(r"[^\W\d_]", "a", every))
    for code, char in enumerate(every):
        if char.isdigit():
            known[code] = str(unicodedata.digit(char))
        elif code >= 0x80 and known[code] != "a":
            known[code] = "?"
    return every[:0x80] + "".join(known[0x80:])


def _without_ids(text: str, line: bytes) -> bytes:
    left = bytearray(line)
    for id in _ID.finditer(text):
        left[id.start() : id.end()] = b"|" * (id.end() - id.start())
    return bytes(left)


# --- check digits, at all places at once ------------------------------------------------------

_DIGITS: Final = range(10)
_PAIRS: Final = 100
_IS_DIGIT: Final = _table(dict.fromkeys(b"0123456789", 1))
_IS_IN_ROW: Final = _table(dict.fromkeys(_LEFT_OUT, 0), otherwise=1)
_PLAIN: Final = _digit_table(b"0123456789", otherwise=ord("a"))
_VALUES: Final = _digit_table(_DIGITS)
_DOUBLED: Final = _digit_table([0, 2, 4, 6, 8, 1, 3, 5, 7, 9])
_TENS: Final = _digit_table([10 * digit for digit in _DIGITS], otherwise=_PAIRS)
_ONES: Final = _digit_table(_DIGITS, otherwise=_PAIRS)
_IS_NO_DIGIT: Final = _digit_table([0] * 10, otherwise=1)
_IS_FIRST: Final = _table({ord("0") + digit | _BEGINS: 1 for digit in _DIGITS})
_IS_RIGHT: Final = _table(dict.fromkeys(range(0, 256, 10), 1))


def _find_candidates(line: bytes) -> tuple[bytes, list[tuple[int, int]]]:
    """The digits and letters of a line side by side, and where numbers may begin in them.

    A candidate is a place and a negative length, so that the longest is the first. A group of
    digits begins there as those of some brand do, and the last digit of so many is their check
    digit (ISO/IEC 7812-1, annex B).
    """
    is_digit = _number(line.translate(_IS_DIGIT))
    marked = _number(line) | (is_digit & ~(is_digit << 8)) * _BEGINS
    row = marked.to_bytes(len(line), "little").translate(None, _LEFT_OUT)
    pairs = _number(row.translate(_TENS)) + (_number(row.translate(_ONES)) >> 8)
    pair = pairs.to_bytes(len(row), "little")
    first, values, doubled, is_no_digit = (
        _number(row.translate(table)) for table in (_IS_FIRST, _VALUES, _DOUBLED, _IS_NO_DIGIT)
    )
    is_no_digit |= 1 << 8 * len(row)
    candidates: list[tuple[int, int]] = []
    total = broken = 0
    for length in range(1, DIGITS_MAX + 1):
        back = 8 * (length - 1)
        # Of all digits up to a place, from there back.
        total += (values if length % 2 else doubled) << back
        broken |= is_no_digit << back
        if length < DIGITS_MIN:
            continue
        hits = first & _number(pair.translate(_brand_pairs(length))) & ~(broken >> back)
        if hits:
            sums = (total >> back).to_bytes(len(row), "little")
            hits &= _number(sums.translate(_IS_RIGHT))
            found = hits.to_bytes(len(row), "little")
            candidates += ((hit.start(), -length) for hit in re.finditer(rb"\x01", found))
    return row, sorted(candidates)


def _number(row: bytes) -> int:
    """The row as one number, its first byte the lowest."""
    return int.from_bytes(row, "little")


@cache
def _ranges(length: int) -> tuple[tuple[str, str], ...]:
    """The first and last four digits that numbers of this length may begin with."""
    prefixes = (
        prefix.partition("-")
        for brand in BRANDS
        if length in brand.lengths
        for prefix in brand.prefixes
    )
    return tuple((low.ljust(4, "0"), (high or low).ljust(4, "9")) for low, _, high in prefixes)


@cache
def _brand_pairs(length: int) -> bytes:
    """The table of the two digits that numbers of this length may begin with."""
    return _table(
        {
            pair: 1
            for low, high in _ranges(length)
            for pair in range(int(low[:2]), int(high[:2]) + 1)
        }
    )


@lru_cache(maxsize=4096)
def _has_brand(beginning: str, length: int) -> bool:
    return any(low <= beginning <= high for low, high in _ranges(length))


# --- spelling ---------------------------------------------------------------------------------

_GAP: Final = r"[ \xff]*"
_MONTH: Final = rf"{_GAP}(?:0{_GAP}[1-9]|1{_GAP}[0-2])"
_YEAR: Final = rf"{_GAP}[2-4]{_GAP}[0-9]"
_CODE: Final = rf"(?:{_GAP}[0-9]){{3}}"
_DIGIT_BEFORE: Final = re.compile(rb"[ad]*[0-9]")
_END: Final = re.compile(
    # An expiry date of the years 2020 to 2049 hides no number, nor does a code behind it. In the
    # data of a chip, a D separates the two (EMV, tag 57).
    rf"(?:(?:{_MONTH}{_YEAR}|{_YEAR}{_MONTH})(?:{_CODE})?)?(?:[ad]*+(?![0-9])|d[0-9]{{7}})".encode(
        "latin-1"
    )
)
"""What follows a number. Letters may touch it on one side, not on both."""

_USUAL_GROUPS: Final = (
    *((4, 4, 4, 1), (4, 3, 3, 3)),
    *((4, 6, 4), (4, 4, 4, 2)),
    *((4, 6, 5), (4, 4, 4, 3)),
    *((4, 4, 4, 4), (8, 8)),
    *((4, 4, 4, 5), (4, 4, 4, 4, 1), (4, 4, 4, 4, 2), (4, 4, 4, 6)),
    *((4, 4, 4, 4, 3), (6, 13), (8, 11)),
)
"""The numbers of digits in the groups of a number, as on cards and in forms."""

_SPELLING: Final = re.compile(
    # One separator throughout. Dates with a time, places on a map and addresses with a port have
    # several. A raised or circled digit is no part of a group.
    r"\D*(?:\d+(\D+)\d+(?:\1\d+)*|(?:\d(?:\D+\d)*)?|"
    + "|".join(r"\D+".join(rf"\d{{{size}}}" for size in groups) for groups in _USUAL_GROUPS)
    + r")\D*"
)

_PRODUCT_CODE_DIGITS: Final = 13
"""A product code (EAN-13) and an old Visa number have the same length."""


def _is_another(text: str, start: int, number: bytes) -> bool:
    """Whether it is a telephone number, which a plus sign begins, or the code of a product."""
    if start and text[start - 1] == "+":
        return True
    values = number.translate(_VALUES)
    return (sum(values[::2]) + 3 * sum(values[1::2])) % 10 == 0


# --- where secrets do not belong --------------------------------------------------------------


class Secret(NamedTuple):
    """A kind of secret: its name, the message about one in the wrong place, and the clause."""

    name: str
    sentence: str
    source: str


PRODUCTION_KEY: Final = Secret(
    "production key", "a production key must never be sent to a sandbox", "assumed D5"
)
API_KEY: Final = Secret("API key", "an API key is not allowed here", "assumed D26")
CARD_NUMBER: Final = Secret(
    "card number", "a card number is not allowed here", "assumed 6.4-unknown"
)

_APART: Final = "   "
"""More than may be between two digits of a number: two values are never read as one."""

_CONTROL_ESCAPES: Final = re.compile(r"\\(?:[bfnrt]|u00[01][0-9a-f])")
"""What JSON writes for characters that it must not hold as they are."""

_NAME_CHARS_MAX: Final = 80
"""The most characters of a field's name in a message: a client may send a very long one."""

_NO_DIGITS: Final = bytes(code for code in range(256) if not chr(code).isalnum() or code > 0x7F)
_SHAPE: Final = _table(dict.fromkeys(b"0123456789", ord("0")), otherwise=ord("a"))


class Misplaced(NamedTuple):
    """A secret where none belongs; `place` is the field, empty if the whole text was checked."""

    secret: Secret
    place: str = ""

    def __str__(self) -> str:
        return f"{self.place}: {self.secret.sentence}" if self.place else self.secret.sentence


def may_hold_card(body: bytes) -> bool:
    r"""Whether a body of JSON has as many digits as a card number, and no letter between them.

    It rarely has, and this check is quick. Any `\u` could be a digit.
    """
    if b"\\" in body:
        if b"\\u" in body:
            return True
        body = _ESCAPES.sub(b" ", body)
    if not body.isascii():
        body = _simplify(body.decode("utf-8", "replace"))
    return body.translate(_SHAPE, _NO_DIGITS).find(b"0" * DIGITS_MIN) >= 0


def may_hold_secret(body: bytes, key_format: KeyFormat) -> bool:
    """Whether a body of JSON needs a closer look."""
    return body.find(key_format.hint_bytes) >= 0 or may_hold_card(body)


def find_secret(text: str, key_format: KeyFormat) -> Secret | None:
    """The first kind of secret that is in the text."""
    if key_format.mentions_production(text):
        return PRODUCTION_KEY
    if key_format.mentions_whole_key(text):
        return API_KEY
    return CARD_NUMBER if has_card(text) else None


def write_out(value: Any) -> str:
    """All names and values in a JSON value as one text, each separate from the next."""
    text = json.dumps(value, ensure_ascii=False, separators=(_APART, _APART), default=str)
    return _CONTROL_ESCAPES.sub(" ", text) if "\\" in text else text


def find_misplaced(value: Any, key_format: KeyFormat) -> Misplaced | None:
    """The first secret within a JSON value, with the field that holds it."""
    found = find_secret(write_out(value), key_format)
    if found is None:
        return None
    for place, text in _texts(value, ""):
        secret = find_secret(text, key_format)
        if secret is not None:
            return Misplaced(secret, place)
    return Misplaced(found)


def _texts(value: Any, place: str) -> Iterator[tuple[str, str]]:
    """Each text and number within the value, and its field. A name is in the field around it."""
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

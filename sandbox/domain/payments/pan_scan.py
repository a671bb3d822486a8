"""Finding card numbers in a text, in time that is linear in its length.

Assumed 6.4-spelling defines what counts as a card number.

A hostile text has a digit that could begin a number at every place. So no place is checked alone:
one byte represents each digit, and each step handles all of them at once, with the whole row of
bytes as one large number. Adding two rows, one of them moved,
gives sums of neighbors; no byte of them is ever large enough to carry into the next.
"""

import re
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import compress
from typing import Final

from sandbox.domain.byte_search import has
from sandbox.domain.payments.brands import DIGITS_MAX, DIGITS_MIN, PAIRS, beginnings
from sandbox.domain.payments.pan_writing import Found, is_written_as_one

SEPARATORS_MAX: Final = 2
"""The most characters, neither letters nor digits, that may separate two digits (assumed)."""

EXPIRY_YEARS: Final = range(20, 50)
"""The possible years of an expiry date that touches a number (assumed 6.4-spelling)."""

CODE_DIGITS: Final = 3
"""How many digits may follow that date: a service code or a security code."""

DISMISSED_MAX: Final = 5_000
"""How often in one text the spelling alone may rule out a number; later matches count as numbers.

Only a text made for this purpose has so many, and each of them costs time.
"""

# The classes of characters. Digits are their value; a digit has marks where a group begins or ends.
_BREAK, _LETTER, _D, _MIXED, _SEPARATOR, _NOTHING = 0x40, 0x41, 0x42, 0x43, 0x80, 0x81
_BEGINS, _ENDS = 0x10, 0x20

_ESCAPED: Final = b"\xff"
_ESCAPES: Final = tuple(b"\\" + letter for letter in (b"b", b"f", b"n", b"r", b"t"))
"""What JSON writes for the separators that it must not hold as they are."""

_ID: Final = re.compile(
    r"(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])",
    re.ASCII | re.IGNORECASE,
)
"""An id is never a card number."""

_BEGINNING: Final = re.compile(rb"[\x02-\x06\x08][\x00-\x09]{12}")
"""How a number of any brand begins; the time in milliseconds does not, of which texts are full."""

_SHORT: Final = 65_536
"""Up to so many characters, looking for that first is quicker."""

_TOUCHING: Final = re.compile(
    # The first letter of those between two digits. What is between a number and its expiry date in
    # the data of a chip is no such letter (EMV, tag 57).
    rb"(?<=[\x00-\x09])(?!\x42[\x00-\x09]{7})[\x41\x42](?=[\x41\x42]*[\x00-\x09])"
)

_TOUCHING_TOO: Final = re.compile(
    # Read backwards, the last letter of those: the first one has its mark already.
    rb"(?<=[\x00-\x09])[\x41\x42](?=[\x41\x42]*\x43)"
)


def _table(values: dict[int, int], otherwise: int = 0) -> bytes:
    """The class of each byte."""
    row = bytearray([otherwise]) * 256
    for code, value in values.items():
        row[code] = value
    return bytes(row)


def _of_digits(values: list[int], otherwise: int = 0) -> bytes:
    """The table that strips the marks of digits and drops all else."""
    marks = (0, _BEGINS, _ENDS, _BEGINS | _ENDS)
    return _table({digit | mark: values[digit] for digit in _DIGITS for mark in marks}, otherwise)


_DIGITS: Final = range(10)
_ZERO: Final = ord("0")
_LETTERS: Final = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

_CLASSES: Final = _table(
    {_ZERO + digit: digit for digit in _DIGITS}
    | dict.fromkeys(_LETTERS, _LETTER)
    | dict.fromkeys(b"dD", _D)
    | {_ESCAPED[0]: _NOTHING},
    _SEPARATOR,
)
_NEITHER: Final = bytes(code for code in range(256) if _CLASSES[code] >= _SEPARATOR)
_SHAPES: Final = _table({_ZERO + digit: _ZERO for digit in _DIGITS}, ord("a"))
_LONG_RUN: Final = b"0" * DIGITS_MIN

_IS_DIGIT: Final = _table(dict.fromkeys(_DIGITS, 1))
_IS_MIXED: Final = _table({_MIXED: 1})
_IS_D: Final = _table({_D: 1})
_IS_KEPT: Final = _table(dict.fromkeys(range(_SEPARATOR), 1))
_LEFT_OUT: Final = bytes((_SEPARATOR, _NOTHING))

_PLAIN: Final = _of_digits(list(_DIGITS))
_DOUBLED: Final = _of_digits([0, 2, 4, 6, 8, 1, 3, 5, 7, 9])
# Beyond the value of any two digits where one of them is none.
_TENS: Final = _of_digits([10 * digit for digit in _DIGITS], PAIRS)
_ONES: Final = _of_digits(list(_DIGITS), PAIRS)
_TEXT: Final = _of_digits([_ZERO + digit for digit in _DIGITS])
_IS_BROKEN: Final = _of_digits([0] * 10, 1)
_DOES_BEGIN: Final = _table({digit | mark: 1 for digit in _DIGITS for mark in (0x10, 0x30)})
_DOES_END: Final = _table({digit | mark: 1 for digit in _DIGITS for mark in (0x20, 0x30)})
_IS_RIGHT: Final = _table(dict.fromkeys(range(0, 256, 10), 1))
_IS_MONTH: Final = _table(dict.fromkeys(range(1, 13), 1))
_IS_YEAR: Final = _table(dict.fromkeys(EXPIRY_YEARS, 1))
_IS_SOME: Final = _table({0: 0}, 1)


@cache
def _brand_tables(length: int) -> tuple[bytes, bytes]:
    """For the first two digits and for the two after them, to which sets each value belongs.

    Each set has a bit. A number begins as some brand does where both values have one in common.
    """
    after: dict[int, set[int]] = {}
    for first, seconds in beginnings(length):
        after.setdefault(first, set()).update(seconds)
    bits: dict[frozenset[int], int] = {}
    for one in after.values():
        bits.setdefault(frozenset(one), 1 << len(bits))
    return (
        _table({first: bits[frozenset(seconds)] for first, seconds in after.items()}),
        _table({two: sum(bit for one, bit in bits.items() if two in one) for two in range(PAIRS)}),
    )


def may_mention(body: bytes) -> bool:
    r"""Whether a closer look is worth it: as many digits as a card number has, and no letter.

    Digits that are written as \u escapes are not seen.
    """
    if not body.isascii():
        body = _in_ascii(body.decode("utf-8", "replace"))
    if has(body, b"\\"):
        body = _unescaped(body)
    return has(body.translate(_SHAPES, _NEITHER), _LONG_RUN)


def mentions(text: str) -> bool:
    """Whether there is a card number in the text."""
    return next(iter(find(text)), None) is not None


def find(text: str) -> Iterable[Found]:
    """The card numbers in the text that do not overlap: at each beginning the longest."""
    row = _looked_through(text)
    # Almost no text has one, and many are scanned.
    return () if row is None else _apart(text, row)


def _apart(text: str, row: "_Row") -> Iterator[Found]:
    places = list(compress(range(len(text)), row.classes.translate(_IS_KEPT)))
    digits = row.row.translate(_TEXT).decode("ascii")
    lengths = sorted(row.hits, reverse=True)
    after = dismissed = 0
    for hit in re.finditer(rb"\x01", row.begins):
        first = hit.start()
        for length in lengths if first >= after else ():
            if not row.hits[length][first]:
                continue
            last = first + length
            found = Found(places[first], places[last - 1] + 1, digits[first:last])
            if dismissed < DISMISSED_MAX and not is_written_as_one(text, found):
                dismissed += 1
                continue
            after = last
            yield found
            break


def _looked_through(text: str) -> "_Row | None":
    """The row of the text's digits; None if they contain no card number."""
    raw = text.encode("ascii") if text.isascii() else _in_ascii(text)
    if has(raw, b"\\"):
        raw = _unescaped(raw)
    if not has(raw.translate(_SHAPES, _NEITHER), _LONG_RUN):
        return None
    many = SEPARATORS_MAX + 1
    classes = raw.translate(_CLASSES)
    classes = classes.replace(bytes([_SEPARATOR] * many), bytes([_BREAK] * many))
    is_short = len(classes) <= _SHORT
    if is_short and _BEGINNING.search(classes.translate(None, _LEFT_OUT)) is None:
        return None
    if not _Row(classes).hits:
        return None
    # Text without a card number rarely gets this far.
    row = _Row(_without_ids(text, classes))
    return row if row.hits else None


# --- from a text to the classes of its characters ---------------------------------------------


def _unescaped(raw: bytes) -> bytes:
    """With each escape of JSON as one separator. All stays in its place."""
    for escape in _ESCAPES:
        raw = raw.replace(escape, _ESCAPED + b" ")
    return raw


def _in_ascii(text: str) -> bytes:
    """Digits of all scripts as those of ASCII, letters as some letter, anything else as a `?`."""
    return text.translate(_ascii_of()).encode("ascii", "replace")


@cache
def _ascii_of() -> str:
    """The class of each character up to U+1FFFF. Further up, Unicode has no digits.

    Full-width digits, Arabic ones, circled ones: NFKC and Unicode's values of digits say which.
    """
    import unicodedata

    every = "".join(map(chr, range(0x20000)))
    known = list(re.sub(r"[^\W\d_]", "a", every))
    for code, char in enumerate(every):
        if char.isdigit():
            known[code] = str(unicodedata.digit(char))
        elif code >= 0x80 and known[code] != "a":
            known[code] = "?"
    return every[:0x80] + "".join(known[0x80:])


def _without_ids(text: str, classes: bytes) -> bytes:
    """The same without the digits of ids, and with marks on letters that digits touch twice."""
    left = bytearray(classes)
    for id in _ID.finditer(text):
        left[id.start() : id.end()] = bytes([_BREAK] * (id.end() - id.start()))
    mixed = bytes([_MIXED])
    backwards = _TOUCHING.sub(mixed, bytes(left))[::-1]
    return _TOUCHING_TOO.sub(mixed, backwards)[::-1]


# --- all places at once -----------------------------------------------------------------------


def _number(row: bytes) -> int:
    """The row as one number, its first byte the lowest."""
    return int.from_bytes(row, "little")


class _Row:
    """The digits of a text, side by side, and the places where card numbers begin.

    `classes` are the characters of the text. `row` has a byte for each of its digits, with marks
    where a group of them begins or ends, and for each letter. `hits` has, for each length that
    there is, a 1 where a number of that length begins; `begins` where one of any length does.
    """

    def __init__(self, classes: bytes) -> None:
        self.classes = classes
        is_digit = _number(classes.translate(_IS_DIGIT))
        is_mixed = _number(classes.translate(_IS_MIXED))
        d_after_digit = _number(classes.translate(_IS_D)) & (is_digit << 8)
        begins = is_digit & ~((is_digit | is_mixed | d_after_digit) << 8)
        ends = is_digit & ~((is_digit | is_mixed) >> 8)
        marked = _number(classes) | begins * _BEGINS | ends * _ENDS
        self.row = marked.to_bytes(len(classes), "little").translate(None, _LEFT_OUT)
        self.hits = dict(self._hits())

    @property
    def begins(self) -> bytes:
        """Where a number of any length begins."""
        some = 0
        for hits in self.hits.values():
            some |= _number(hits)
        return some.to_bytes(len(self.row), "little")

    def _hits(self) -> Iterator[tuple[int, bytes]]:
        row, size = self.row, len(self.row)
        pairs = _number(row.translate(_TENS)) + (_number(row.translate(_ONES)) >> 8)
        is_broken, begins = (_number(row.translate(one)) for one in (_IS_BROKEN, _DOES_BEGIN))
        plain, doubled = (_number(row.translate(one)) for one in (_PLAIN, _DOUBLED))
        pair, next_pair = (_bytes(pairs >> bits, size) for bits in (0, 16))
        ends = self._ends(pairs, is_broken)
        # Of all digits up to a place, from there back (ISO/IEC 7812-1, annex B).
        total = broken = 0
        for length in range(1, DIGITS_MAX + 1):
            back = 8 * (length - 1)
            total += (plain if length % 2 else doubled) << back
            broken |= is_broken << back
            if length < DIGITS_MIN:
                continue
            hits = begins & ((ends & ~broken) >> back)
            if hits:
                hits &= _number(_bytes(total >> back, size).translate(_IS_RIGHT))
            if hits:
                first, second = _brand_tables(length)
                both = _number(pair.translate(first)) & _number(next_pair.translate(second))
                hits &= _number(_bytes(both, size).translate(_IS_SOME))
            if hits:
                yield length, _bytes(hits, size)

    def _ends(self, pairs: int, is_broken: int) -> int:
        """Where a number may end: with its group, or before an expiry date that does.

        A code of three digits may follow the date.
        """
        pair = _bytes(pairs, len(self.row))
        month, year = (_number(pair.translate(one)) for one in (_IS_MONTH, _IS_YEAR))
        ends = _number(self.row.translate(_DOES_END))
        expiry = (month & (year >> 16)) | (year & (month >> 16))
        code = ends >> 8 * CODE_DIGITS
        for place in range(1, CODE_DIGITS + 1):
            code &= ~(is_broken >> 8 * place)
        # The date's last digit is three places further than its first, which follows the number.
        return ends | ((expiry & ((ends | code) >> 24)) >> 8)


def _bytes(number: int, size: int) -> bytes:
    """The number as a row, without the digits after its end."""
    return (number & ((1 << 8 * size) - 1)).to_bytes(size, "little")

"""Telling card numbers, wherever they stand, and masking them. Source: spec 6.1.7; assumed 6.4."""

import re
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.domain import secrets
from tests.properties import examples

NUMBERS = {
    "visa": ("4111111111111111", "411111******1111"),
    "visa of 13 digits": ("4222222222222", "422222***2222"),
    "visa of 19 digits": ("4000000000000000006", "400000*********0006"),
    "mastercard": ("5413330089604111", "541333******4111"),
    "mastercard of the second series": ("2223003122003222", "222300******3222"),
    "amex": ("371449635398431", "371449*****8431"),
    "discover": ("6011000990139424", "601100******9424"),
    "discover of the 65 range": ("6500000000000002", "650000******0002"),
    "jcb": ("3566002020360505", "356600******0505"),
    "diners": ("30569309025904", "305693****5904"),
    "unionpay": ("6200000000000005", "620000******0005"),
    "unionpay of 19 digits": ("6200000000000000000", "620000*********0000"),
    "unionpay of the 81 range": ("8171999927660000", "817199******0000"),
    "maestro": ("6759649826438453", "675964******8453"),
    "maestro of the 50 range": ("5018000000000009", "501800******0009"),
    "maestro of 13 digits": ("6759000000005", "675900***0005"),
    "maestro of 19 digits": ("6304000000000000000", "630400*********0000"),
    "discover of the 644 range": ("6445644564456445", "644564******6445"),
    "diners of 16 digits": ("3852000002323700", "385200******3700"),
    "diners of the 39 range": ("39000000000005", "390000****0005"),
    "jcb of 19 digits": ("3528000000000000007", "352800*********0007"),
    "mir": ("2200700000000009", "220070******0009"),
    "mir of 19 digits": ("2204000000000000006", "220400*********0006"),
    "rupay": ("8208200000000009", "820820******0009"),
}


def in_fours(number, between):
    return between.join(number[at : at + 4] for at in range(0, len(number), 4))


def in_script(number, zero):
    """The number with the digits of another script."""
    return "".join(chr(ord(zero) + int(digit)) for digit in number)


# Each way of writing a number keeps its digits in order.
SPELLINGS = {
    "plain": lambda number: number,
    "digit by digit": lambda number: " ".join(number),
    "digit by digit with anything between": lambda number: "".join(
        digit + " -._/"[at % 5] for at, digit in enumerate(number)
    ).rstrip(" -._/"),
    "in pairs": lambda number: " ".join(number[at : at + 2] for at in range(0, len(number), 2)),
    "in fours with different separators": lambda number: "".join(
        number[at : at + 4] + " -./ "[at // 4] for at in range(0, len(number), 4)
    ).rstrip(" -./"),
    "in Arabic digits": lambda number: in_script(number, "\u0660"),
    "in Persian digits, in fours": lambda number: in_fours(in_script(number, "\u06f0"), " "),
    "in bold digits": lambda number: in_script(number, "\U0001d7ce"),
    "in circled and raised digits": lambda number: (
        in_script(number, "\u245f").replace("\u245f", "\u24ea").replace("\u2461", "\xb2")
    ),
}


SURROUNDINGS = ["{}", "card {} here", "({})", '"{}"', "{},{}", "%{}^NAME", ";{}=2512", "\n{}\n"]


@pytest.mark.proves("spec 2.4-card", "assumed 2.11, 6.4-spelling")
def test_a_number_of_every_brand_is_found_and_masked_however_it_is_written():
    for name, spelling in SPELLINGS.items():
        for number, masked in NUMBERS.values():
            written = spelling(number)
            assert secrets.has_card(written), name
            assert secrets.may_hold_card(written.encode())
            assert secrets.mask_cards(f"card {written} here") == f"card {masked} here"
    number, masked = NUMBERS["visa"]
    for around in SURROUNDINGS:
        assert secrets.mask_cards(around.format(number, number)) == around.format(masked, masked)


BESIDE = [
    "4111111111111111 123",  # with its security code
    "4111111111111111 12/28",
    "12 4111111111111111",
    "%B4111111111111111^NAME^2512",  # track 1, as a stripe has it (ISO/IEC 7813)
    "card4111111111111111",
    "4111111111111111card",
    "41111111111111111228",  # with its expiry date, as month and year
    "41111111111111112812",  # as year and month
    "41111111111111111228123",  # with its security code as well
    "4111-1111-1111-11111228",
    "4111 1111 1111 1111 1228 123",
    "4111111111111111=25121010000000000",  # track 2
    "4111111111111111D25121010000000000",  # the same from a chip
    "1228 4111111111111111",
    r"4111\n1111\n1111\n1111",  # as JSON writes line breaks
    "a-4111111111111111-b",
    "x_4111111111111111",
    "\u00e94111111111111111\u00e9",
    "+4111111111111111",
    "4111,1111,1111,1111, and 2 more",
    "8 5555555555554444 is not 4111111111111111",
]


@settings(max_examples=examples(300))
@given(
    number=st.sampled_from(list(NUMBERS.values())),
    between=st.text(st.characters(exclude_categories=["L", "N"]), min_size=1, max_size=2)
    | st.sampled_from([r"\n", "\u200b", "\xad", "\ufeff", "\xa0"]),
)
def test_separators_between_the_groups_of_a_number_do_not_hide_it(number, between):
    number, masked = number
    written = in_fours(number, between)

    assert secrets.has_card(written)
    assert secrets.may_hold_card(written.encode("utf-8", "replace"))
    assert secrets.mask_cards(f"card {written} here") == f"card {masked} here"


def test_text_beside_a_number_does_not_hide_it():
    for text in BESIDE:
        assert secrets.has_card(text), text
        assert not secrets.has_card(secrets.mask_cards(text))
        assert "1111111111" not in re.sub(r"[^0-9a-z*]|\\n", "", secrets.mask_cards(text))
    text = "first 4111111111111111, then 371449635398431; not 886000001131"
    assert secrets.mask_cards(text) == (
        "first 411111******1111, then 371449*****8431; not 886000001131"
    )
    many = "4111111111111111 " * 1_000
    assert [one.start for one in secrets.find_cards(many)] == list(range(0, 17_000, 17))


NO_NUMBERS = {
    "a wrong check digit": "4111111111111112",
    "the time in milliseconds": "1772366400000",
    "a merchant number": "886000001131",
    "too long": "41111111111111111111",
    "no brand's first digits": "9111111111111111",
    "a masked number": "411111******1111",
    "an id in capitals": "41111111-1111-4111-8111-411111111111",
    "digits within an id without dashes": "d4111111111111111a38c4fcf9b156ad",
    "digits before a digit": "4111111111111111abc1",
    "digits after a digit": "1abc4111111111111111",
    "digits that a D follows, and too few": "4111111111111111D2512",
    "separated too widely": "4111   1111   1111   1111",
    "a telephone number": "+49 151 30535805",
    "a telephone number in one": "+4915130535805",
    "a product code": "4006381333931",
    "an expiry date long ago": "41111111111111110711",
    "no month": "41111111111111111328",
    "a date and a time": "2026-08-30 10:12:15.604240",
    "a date as Europe writes it": "30/05/2018 12:09:51",
    "a time without separators": "20260830101215",
    "the time in microseconds": "1772366400000000",
    "the time in nanoseconds": "1772366400000000000",
    "a place on a map": "48.137154,11.576127",
    "an address and a port": "54.169.112.239:52180",
    "a reference of a processor": "630419000008",
    "a merchant's number of 15 digits": "886000001131001",
    "letters between": "4111a1111b1111c1111",
    "letters of another script between": "4111條1111條1111條1111",
    "nothing but zeroes": "0000000000000000",
}


@pytest.mark.proves("assumed 6.4-spelling")
def test_a_text_that_is_not_a_card_number_is_left_alone():
    for why, text in NO_NUMBERS.items():
        assert not secrets.has_card(text), why
        assert secrets.mask_cards(text) == text
    assert not secrets.may_hold_card(b'{"amount":1000,"terminal_id":"d472ec81-0a38-4fcf-a9b1"}')


# --- any text ---------------------------------------------------------------------------------

PIECES = [
    *(number for number, _ in NUMBERS.values()),
    *("411111111111", "3714496353984", "1111111111111", "41111111-1111-4111-8111-411111111111"),
    *("4111 1111 1111 1111", "3714 496353 98431", "1228", "2812", "123", "4", "0", "37"),
    *("  ", "   ", ", ", "\\n", "card", "\ud800"),
]
SIGNS = st.sampled_from(" -.\n\\adD+=^\u00e9\u689d\u00b2\u0664\uff11\xa0\u200b\U0001f4b3")
SOUP = st.lists(st.sampled_from(PIECES) | SIGNS, max_size=14).map("".join)


@settings(max_examples=examples(600))
@given(SOUP | st.text(alphabet="0123456789 -", max_size=60))
def test_every_match_in_a_text_is_a_card_number_and_none_is_left(text):
    end = 0
    for found in secrets.find_cards(text):
        written = text[found.start : found.end]
        assert found.start >= end
        end = found.end
        digits = [unicodedata.digit(char) for char in written if char.isdigit()]
        assert found.digits == "".join(map(str, digits))
        # ISO/IEC 7812-1, annex B.
        doubled = [sum(divmod(2 * one, 10)) for one in digits[-2::-2]]
        assert (sum(digits[-1::-2]) + sum(doubled)) % 10 == 0
        assert 13 <= len(digits) <= 19
    body = text.encode("utf-8", "replace")
    assert secrets.may_hold_card(body) or not secrets.has_card(body.decode("utf-8"))


# --- what it costs ----------------------------------------------------------------------------

SOUPS = [
    *("4-", "4444-", "0123456-", "4", "0 ", "4715208396", "412345678901a", "4a", " ", "\xa0"),
    *("4-1-2-3-4-5-6-7-8-9-0-1-a", "d4111111-1111-1111-1111-", "4\\n", "\\", "4\U0001f4b3", "30"),
    *("41111111-1111-4111-8111-411111111111,", "\u0664", "\u689d", "4\u00e9", "4111111111111112 "),
    # Places on a map, numbers that touch letters on both sides, telephone numbers.
    *("48.137154,11.576124 ", "1a4111111111111111 ", "+4915130535805 "),
]
"""What has no card number in it, however often it is repeated."""


def test_the_largest_random_body_is_searched_quickly():
    secrets.has_card("\u00e9 4111111111111111")
    for piece in SOUPS:
        began = time.process_time()
        secrets.has_card(piece * (65_536 // len(piece.encode())))
        # A search of quadratic cost takes minutes.
        assert time.process_time() - began < 2, piece
    for piece in SOUPS[-3:]:
        assert not secrets.has_card(piece * 1_000)

"""Telling card numbers, wherever they stand, and masking them. Source: spec 6.1.7; assumed 6.4."""

import pytest

from sandbox.domain.payments import pans

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
}

# Each way of writing a number keeps its digits in order.
SPELLINGS = {
    "plain": lambda number: number,
    "in fours with spaces": lambda number: " ".join(
        number[at : at + 4] for at in range(0, len(number), 4)
    ),
    "in fours with dashes": lambda number: "-".join(
        number[at : at + 4] for at in range(0, len(number), 4)
    ),
    "digit by digit": lambda number: " ".join(number),
}

SURROUNDINGS = ["{}", "card {} here", "({})", '"{}"', "{},{}", "%{}^NAME", ";{}=2512", "\n{}\n"]


@pytest.mark.proves("spec 2.4-card", "assumed 2.11")
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("brand", NUMBERS)
def test_a_number_of_every_brand_is_told_and_masked_however_it_is_written(brand, spelling):
    number, masked = NUMBERS[brand]
    written = SPELLINGS[spelling](number)

    assert pans.mentions(written)
    assert pans.may_mention(written.encode())
    assert pans.scrub(f"card {written} here") == f"card {masked} here"


@pytest.mark.parametrize("around", SURROUNDINGS)
def test_what_stands_around_a_number_does_not_hide_it(around):
    number, masked = NUMBERS["visa"]

    assert pans.mentions(around.format(number, number))
    assert pans.scrub(around.format(number, number)) == around.format(masked, masked)


@pytest.mark.parametrize(
    "text",
    [
        "4111111111111111 123",  # with its security code
        "4111111111111111 12/28",
        "12 4111111111111111",
        "%B4111111111111111^NAME^2512",  # track 1, as a stripe has it (ISO/IEC 7813)
        "card4111111111111111",
    ],
)
def test_what_is_written_beside_a_number_does_not_hide_it(text):
    assert pans.mentions(text)
    assert "4111111111111111" not in pans.scrub(text)


NO_NUMBERS = {
    "a wrong check digit": "4111111111111112",
    "the time in milliseconds": "1772366400000",
    "an id": "d472ec81-0a38-4fcf-a9b1-567a82756d4c",
    "a merchant number": "886000001131",
    "too short": "411111111111",
    "too long": "41111111111111111111",
    "no brand's first digits": "9111111111111111",
    "a masked number": "411111******1111",
    "nothing": "",
    "nothing but zeroes": "0000000000000000",
}


@pytest.mark.parametrize("text", NO_NUMBERS.values(), ids=NO_NUMBERS)
def test_what_is_no_card_number_is_left_alone(text):
    assert not pans.mentions(text)
    assert pans.scrub(text) == text


def test_several_numbers_of_one_text_are_all_masked():
    text = "first 4111111111111111, then 371449635398431; not 886000001131"

    assert pans.scrub(text) == ("first 411111******1111, then 371449*****8431; not 886000001131")


def test_a_body_without_a_long_run_of_digits_needs_no_closer_look():
    assert not pans.may_mention(b'{"amount":1000,"terminal_id":"d472ec81-0a38-4fcf-a9b1"}')
    assert pans.may_mention(b'{"x":"4111 1111 1111 1111"}')


@pytest.mark.parametrize("number", [number for number, _ in NUMBERS.values()])
def test_only_one_last_digit_is_the_right_one(number):
    right = [digit for digit in "0123456789" if pans.has_check_digit(number[:-1] + digit)]

    assert right == [number[-1]]

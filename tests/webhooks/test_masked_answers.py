"""Secrets that a receiver answers with are not kept.

Source: assumed D5; docs/design/webhooks.md.
"""

import pytest

from tests.webhooks import misbehaving as bad
from tests.webhooks.misbehaving import misbehaving
from tests.webhooks.receiving import Answer, receiving

PAN = "4532015112830366"
ESCAPED = "".join(f"\\u00{ord(digit):02x}" for digit in PAN)


def keys_of(hooked) -> list[str]:
    return [one["key"] for one in hooked.cast["keys"].values()]


@pytest.mark.parametrize("status", [200, 500])
def test_cards_and_keys_that_a_receiver_echoes_are_masked_wherever_they_are_kept(hooked, status):
    key = keys_of(hooked)[0]
    echo = f'{{"card": "{PAN}", "key": "{key}", "note": "fine"}}'.encode()
    with receiving(Answer(status, body=echo)) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        (attempt,) = hooked.tried(hooked.emit(), endpoint)["attempts"]

    kept = hooked.ask("GET", "/snapshot", status=200).text
    assert attempt["response"] == '{"card": "453201******0366", "key": "****", "note": "fine"}'
    assert PAN not in kept
    assert echo.decode() not in kept
    assert "453201******0366" in kept


def test_a_card_in_escapes_is_masked_and_other_escapes_stay_as_they_are(hooked):
    answers = [Answer(200, body=b'{"card": "%s"}' % one) for one in (ESCAPED.encode(), b"\\u0041")]
    with receiving(answers) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        kept = [hooked.tried(hooked.emit(), endpoint)["attempts"][0]["response"] for _ in range(2)]

    assert kept == ['{"card": "453201******0366"}', '{"card": "\\u0041"}']


@pytest.mark.parametrize("fits", [0, 1, 8, 30])
def test_a_key_across_the_end_of_what_is_kept_leaves_nothing_of_its_secret(hooked, fits):
    key = keys_of(hooked)[0]
    with receiving(Answer(200, body=b"." * (4_096 - fits) + key.encode() + b"." * 50)) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        (attempt,) = hooked.tried(hooked.emit(), endpoint)["attempts"]

    assert attempt["response"].strip(".") == "****"[:fits]
    assert len(attempt["response"]) == 4_096


def test_what_an_error_quotes_of_an_answer_is_masked(hooked):
    key = keys_of(hooked)[0]
    with misbehaving(bad.raw(f"{key} {PAN}\r\n\r\n".encode())) as receiver:
        endpoint = hooked.endpoint(receiver.url)
        (attempt,) = hooked.tried(hooked.emit(), endpoint)["attempts"]

    assert attempt["error"].startswith("the answer cannot be read: ")
    assert key not in attempt["error"]
    assert PAN not in attempt["error"]

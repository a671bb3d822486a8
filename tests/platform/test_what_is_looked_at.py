"""Only the beginning of a long request is kept, with no secret in part, and no error repeats it."""

import re

import pytest

from sandbox.domain.profile import Profile
from sandbox.worlds.journal import (
    ADDRESS_CHARS_MAX,
    CAPTURE_BYTES_MAX,
    REASON_CHARS_MAX,
    capture_answer,
    capture_body,
)
from tests.driving import fresh
from tests.openapi.planting import LIVE, WHOLE
from tests.platform.secret_texts import secret_of


@pytest.fixture
def sandbox():
    """A sandbox that takes large bodies."""
    return fresh(body_bytes_max=2 * 1_048_576)


# --- where it is cut --------------------------------------------------------------------------


def _shown_of(text: str) -> int:
    """How many digits of the number can be read at once."""
    digits = re.sub(r"[^0-9*]", "", text)
    return max((size for size in range(17) if LIVE[:size] in digits), default=0)


SPELLINGS = {
    "plain": LIVE,
    "digit by digit": "  ".join(LIVE),
    "in escapes": "".join(f"\\u{ord(digit):04x}" for digit in LIVE),
    "a key": WHOLE,
}


def _around(before: int, text: str) -> bytes:
    """A body in which the text stands after so many bytes."""
    return b'{"x":"' + b"-" * (before - 6) + text.encode() + b"-" * 999 + b'"}'


def _last_entry(sandbox):
    return sandbox.sandbox.worlds.default.journal.entries()[-1]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_a_number_or_a_key_where_a_body_is_cut_is_not_kept_in_part(sandbox, spelling):
    text = SPELLINGS[spelling]
    for before in range(CAPTURE_BYTES_MAX - len(text) - 200, CAPTURE_BYTES_MAX + 9, 7):
        sandbox.ask("POST", "/v3/payment", key="merchant", body=_around(before, text))
        kept = _last_entry(sandbox).request.decode()

        assert kept.endswith(" ... cut off")
        assert _shown_of(kept) <= 6, before
        assert "\\u00" not in kept
        assert secret_of(WHOLE)[:4] not in kept, before
        assert len(kept) <= CAPTURE_BYTES_MAX + 12


def test_a_secret_field_or_a_key_in_an_answer_is_not_kept_in_part():
    for before in range(CAPTURE_BYTES_MAX - len(WHOLE) - 40, CAPTURE_BYTES_MAX + 9):
        pin = capture_body(_around(before, '","pin":"hush-hush","y":"'), Profile(), ("pin",))
        key = capture_answer(_around(before, f'{WHOLE}","y":"'), Profile())
        plain = capture_body(_around(before, "-"), Profile(), may_hold_secret=False)

        assert b"hush" not in pin, before
        assert b"Plant" not in key, before
        assert max(len(key), len(plain)) <= CAPTURE_BYTES_MAX + 12


@pytest.mark.parametrize("spelling", ["plain", "digit by digit"])
def test_nor_is_one_where_a_path_or_a_query_is_cut(sandbox, spelling):
    number = SPELLINGS[spelling]
    for before in range(ADDRESS_CHARS_MAX - len(number) - 9, ADDRESS_CHARS_MAX + 3):
        text = "/" + "-" * (before - 1) + number + "-" * 200
        sandbox.get(text, by="merchant", query=text)
        entry = _last_entry(sandbox)

        assert max(_shown_of(entry.path), _shown_of(entry.query)) <= 6, before
        assert max(len(entry.path), len(entry.query)) <= ADDRESS_CHARS_MAX
        assert all(len(why) <= REASON_CHARS_MAX for _, _, why, _ in entry.decisions)


def test_a_reason_that_repeats_a_body_is_cut_too(sandbox):
    body = {"amount": 1000, "terminal_id": "x" * 50_000}

    sandbox.post("/v3/payment", body, by="merchant").expect(404)

    reasons = [why for _, _, why, _ in _last_entry(sandbox).decisions]
    assert max(map(len, reasons)) == REASON_CHARS_MAX


# --- what is said -----------------------------------------------------------------------------

LONG = {
    "fixture": ("POST", "/worlds", {"fixture": "4-" * 50_000}),
    "scenario": ("POST", "/worlds", {"scenario": "4-" * 50_000}),
    "a scenario's field": ("PUT", "/worlds/default/scenario", {"name": "x", "4-" * 50_000: 1}),
    "a switch": ("PUT", "/worlds/default/switches", {"4-" * 50_000: 1}),
    "an outcome": ("POST", "/worlds/default/scenario/next", {"outcome": "4-" * 50_000}),
    "an event": ("POST", "/worlds/default/messages", {"event_type": "4-" * 50_000}),
    "a field": ("POST", "/worlds", {"4-" * 50_000: 1}),
    "a duration": ("POST", "/worlds/default/clock/advance", {"by": "4-" * 50_000}),
    "a world": ("GET", "/worlds/" + "4-" * 30_000, ...),
    "a path": ("GET", "/" + "4-" * 30_000, ...),
}


def test_an_error_never_repeats_a_long_word(sandbox):
    for case, (method, path, body) in LONG.items():
        answer = sandbox.control(method, path, body)
        assert 400 <= answer.status < 500, case
        assert len(answer.body) < 10_000, case


def test_nor_does_the_platform(sandbox):
    permissions = {"name": "x", "permissions": ["payments:" + "x" * 50_000] * 2}
    long = {"status": "x" * 60_000, "transaction_type": "y" * 60_000}
    query = "&".join(f"{name}={value}" for name, value in long.items())

    keys = sandbox.post("/v5/apikeys", permissions, by="merchant")
    search = sandbox.get("/v2/transactions", by="merchant", query=query)

    assert (keys.status, search.status) == (400, 400)
    assert max(len(keys.body), len(search.body)) < 10_000

"""Lengths of time are read as people write them, and nothing else is."""

from datetime import timedelta

import pytest

from sandbox.domain.instants import parse_duration


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("250ms", timedelta(milliseconds=250)),
        ("30s", timedelta(seconds=30)),
        ("5m", timedelta(minutes=5)),
        ("2h", timedelta(hours=2)),
        ("3d", timedelta(days=3)),
        ("2w", timedelta(weeks=2)),
        ("0s", timedelta()),
        ("PT30S", timedelta(seconds=30)),
        ("PT0.25S", timedelta(milliseconds=250)),
        ("PT36H", timedelta(hours=36)),
        ("P1DT2H3M4S", timedelta(days=1, hours=2, minutes=3, seconds=4)),
        ("P2W", timedelta(weeks=2)),
    ],
)
def test_a_duration_is_what_it_says(text, meant):
    assert parse_duration(text) == meant


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "5", "5 m", "m", "-5m", "5.5h", "5M", "5min", "five", "1h30m", "\u0665m"),
        *("P", "PT", "P1Y", "P1M", "PT5", "P5", "1DT", "pt5s", "P999999999W"),
    ],
)
def test_an_invalid_duration_is_refused_in_words(text):
    with pytest.raises(ValueError, match=r"duration like|calendar"):
        parse_duration(text)

"""Points and lengths of time: what is read, how it is written, and that nothing is lost."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.domain.instants import (
    from_ms,
    parse_duration,
    parse_rfc3339,
    to_wire,
)

READ = {
    "2030-01-31T00:00:00Z": "2030-01-31T00:00:00.000Z",
    "2030-01-31t00:00:00z": "2030-01-31T00:00:00.000Z",
    "2030-01-31 00:00:00Z": "2030-01-31T00:00:00.000Z",
    "2030-01-31T23:59:59.5Z": "2030-01-31T23:59:59.500Z",
    "2030-01-31T23:59:59.999999999Z": "2030-01-31T23:59:59.999Z",
    "2030-01-31T23:59:59.0009Z": "2030-01-31T23:59:59.000Z",
    "2030-01-31T00:00:00-00:00": "2030-01-31T00:00:00.000Z",
    "2030-01-31T00:00:00+05:30": "2030-01-30T18:30:00.000Z",
    "2030-12-31T23:59:59-23:59": "2031-01-01T23:58:59.000Z",
    "2000-02-29T12:00:00Z": "2000-02-29T12:00:00.000Z",
    "0001-01-01T00:00:00Z": "0001-01-01T00:00:00.000Z",
    "9999-12-31T23:59:59.999Z": "9999-12-31T23:59:59.999Z",
}


@pytest.mark.proves("assumed 1.2-expires")
def test_an_rfc3339_date_time_is_read_as_utc_to_the_millisecond():
    assert {text: to_wire(parse_rfc3339(text)) for text in READ} == READ


INVALID = [
    *("", "now", "2030", "2030-01-31", "00:00:00Z", "1893456000", "2030-01-31T00:00:00"),
    *("2030-01-31T00:00Z", "2030-01-31T00Z", "2030-01-31T00:00:00.Z"),
    *("2030-01-31T00:00:00.1234567890Z", "2030-01-31T00:00:00,5Z", "2030-01-31T00:00:00 Z"),
    *("2030-01-31T00:00:00+0000", "2030-01-31T00:00:00+00", "2030-01-31T00:00:00+0:00"),
    *("2030-01-31T00:00:00UTC", "2030-01-31T00:00:00+00:00Z", "2030-01-31_00:00:00Z"),
    *("20300131T000000Z", "2030-W05-4T00:00:00Z", "2030-031T00:00:00Z", "30-01-31T00:00:00Z"),
    *("+2030-01-31T00:00:00Z", "-2030-01-31T00:00:00Z", "12030-01-31T00:00:00Z"),
    *(" 2030-01-31T00:00:00Z", "2030-01-31T00:00:00Z ", "2030-01-31T00:00:00Z\n"),
    *("2030-1-31T00:00:00Z", "\u0662\u0660\u0663\u0660-01-31T00:00:00Z"),
    *("2030\u201301\u201331T00:00:00Z",),
]
IMPOSSIBLE = [
    *("2030-02-29T00:00:00Z", "2100-02-29T00:00:00Z", "1900-02-29T00:00:00Z"),
    *("2030-02-30T00:00:00Z", "2030-04-31T00:00:00Z", "2030-00-01T00:00:00Z"),
    *("2030-13-01T00:00:00Z", "2030-01-00T00:00:00Z", "2030-01-32T00:00:00Z"),
    *("0000-01-01T00:00:00Z", "2030-01-31T24:00:00Z", "2030-01-31T25:00:00Z"),
    *("2030-01-31T00:60:00Z", "2030-01-31T00:00:60Z", "2030-12-31T23:59:60Z"),
    *("2030-01-31T00:00:00+24:00", "2030-01-31T00:00:00+99:99", "2030-01-31T00:00:00+00:60"),
    *("2030-01-31T00:00:00-05:75", "0001-01-01T00:00:00+00:01", "9999-12-31T23:59:59-00:01"),
]


@pytest.mark.proves("assumed 1.2-expires")
def test_a_text_that_is_not_an_instant_is_refused_in_a_sentence():
    for texts, said in (
        (INVALID, "must be an RFC 3339 date-time with an offset"),
        (IMPOSSIBLE, "must name a date and time that exist"),
    ):
        for text in texts:
            with pytest.raises(ValueError, match=said):
                parse_rfc3339(text)


@pytest.mark.proves("spec 2.4-created-at")
@given(since_1970_ms=st.integers(0, 221_845_392_000_000))
def test_an_instant_lies_its_milliseconds_after_the_start_of_1970(since_1970_ms):
    start = datetime(1970, 1, 1, tzinfo=UTC)

    assert (from_ms(since_1970_ms) - start) / timedelta(milliseconds=1) == since_1970_ms
    assert to_wire(from_ms(1_772_366_400_123)) == "2026-03-01T12:00:00.123Z"


# --- lengths of time, as people write them ----------------------------------------------------

DURATIONS = {
    "250ms": timedelta(milliseconds=250),
    "30s": timedelta(seconds=30),
    "5m": timedelta(minutes=5),
    "2h": timedelta(hours=2),
    "3d": timedelta(days=3),
    "2w": timedelta(weeks=2),
    "0s": timedelta(),
    "PT30S": timedelta(seconds=30),
    "PT0.25S": timedelta(milliseconds=250),
    "PT36H": timedelta(hours=36),
    "P1DT2H3M4S": timedelta(days=1, hours=2, minutes=3, seconds=4),
    "P2W": timedelta(weeks=2),
}
NO_DURATIONS = [
    *("", " ", "5", "5 m", "m", "-5m", "5.5h", "5M", "5min", "five", "1h30m", "\u0665m"),
    *("P", "PT", "P1Y", "P1M", "PT5", "P5", "1DT", "pt5s", "P999999999W"),
]


def test_a_duration_is_parsed_and_anything_else_is_refused_in_a_sentence():
    assert {text: parse_duration(text) for text in DURATIONS} == DURATIONS
    for text in NO_DURATIONS:
        with pytest.raises(ValueError, match=r"duration like|calendar"):
            parse_duration(text)

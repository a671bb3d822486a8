"""Warnings that clients cause are written once a minute, and the others are counted."""

import logging

import pytest

from sandbox.platform.security import EVERY_S, RareLog
from sandbox.platform.wire import quote


def test_one_line_a_minute_for_each_kind_and_the_next_counts_the_others(caplog):
    now = 1_000.0
    rare = RareLog(logging.getLogger("sandbox.test"), seconds=lambda: now)
    with caplog.at_level(logging.WARNING):
        for _ in range(5):
            rare.warn("host", "a host")
            rare.warn("origin", "an origin")
        now += EVERY_S - 1
        rare.warn("host", "a host")
        now += 1
        rare.warn("host", "another host")
        now += EVERY_S
        rare.warn("host", "a third host")

    assert [record.getMessage() for record in caplog.records] == [
        "a host",
        "an origin",
        "another host (5 more of this kind since the last line)",
        "a third host",
    ]


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (b"evil.example", "'evil.example'"),
        (b"a\r\nERROR forged\x1b[31m", r"'a\r\nERROR forged\x1b[31m'"),
        (b"\xe9", r"'\xe9'"),
        (b"x" * 101, "'" + "x" * 100 + "...'"),
    ],
)
def test_what_a_client_sent_is_quoted_short_and_in_one_line(value, expected):
    assert quote(value) == expected

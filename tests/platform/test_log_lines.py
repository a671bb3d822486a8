"""A line of the log is one line, whoever sent the request: none is forged, and none is obeyed."""

import json
import logging
import re
from urllib.parse import quote

import pytest

from sandbox.platform.security import EVERY_S, RareLog
from sandbox.server.banner import JsonLines, TextLines
from tests.driving import fresh

SENT = {
    "a line of its own": "x\nERROR forged: everything is broken",
    "a carriage return": "x\rERROR forged",
    "an escape sequence": "x\x1b[31m\x1b[2J",
    "a title for the window": "x\x1b]0;pwned\x07",
    "a sequence in one character": "x\x9b31m",
    "another line break": "x\u2028ERROR forged\u2029\x85",
    "a turned line": "x\u202egnirts\u2066",
    "nothing": "x\x00y",
}
OBEYED = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.mark.proves("assumed D25-plain")
def test_a_path_in_the_log_has_no_line_break_and_no_control_character(caplog):
    sandbox = fresh(log_requests=True)
    with caplog.at_level(logging.INFO):
        for text in SENT.values():
            sandbox.ask("GET", f"/{text}", query=quote(text))

    lines = [TextLines().format(one) for one in caplog.records]
    for_programs = [JsonLines().format(one) for one in caplog.records]

    assert len(lines) == len(SENT)
    assert [line for line in lines if not line.startswith("INFO GET /") or "\n" in line] == []
    assert [OBEYED.findall(line) for line in lines if OBEYED.search(line)] == []
    assert r"x\nERROR forged: everything is broken" in lines[0]
    assert r"x\x1b[31m\x1b[2J" in lines[2]
    assert all(line.isascii() and "\n" not in line for line in for_programs)
    assert "\nERROR forged" in json.loads(for_programs[0])["message"]


def test_a_defect_is_logged_and_answered_in_the_documented_form(sandbox, monkeypatch, caplog):
    monkeypatch.setattr(sandbox.get_world(), "draws", None)

    answer = sandbox.pay()

    sandbox.refused(answer, 500, "internal_error")
    why = sandbox.journal(answer)["decisions"][-1]["reason"]
    assert why == "AttributeError; the log has the traceback"
    assert [record.exc_info is not None for record in caplog.records] == [True]


@pytest.mark.parametrize("message", ["a\nb", "\x1b[2J", "\u202e", "plain, grün and 條"])
def test_a_traceback_follows_its_line(message):
    try:
        raise ValueError(f"said\nERROR {message}")
    except ValueError as error:
        record = logging.LogRecord(
            "sandbox", logging.ERROR, "", 0, "failed: %s", (message,), (type(error), error, None)
        )

    first, *rest = TextLines().format(record).split("\n")

    assert first.startswith("ERROR failed: ")
    assert [line for line in rest if not line.startswith("  ")] == []
    assert not OBEYED.search("\n".join([first, *rest]))
    assert ("plain, grün and 條" in first) is (message == "plain, grün and 條")


def test_warnings_have_a_line_a_minute_for_each_kind_and_the_next_counts_the_others(caplog):
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

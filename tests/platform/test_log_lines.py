"""A line of the log is one line, whoever sent the request: none is forged, and none is obeyed."""

import io
import json
import logging
import re
import socket
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

import pytest

from tests.processes import Process

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
END_S = 15


def _served(log: Path, form: str) -> list[str]:
    """What a server wrote of these requests."""
    options = ["--port", "0", "--log-requests", "--log-format", form]
    process = Process(["serve", *options], stderr=log)
    try:
        address = _address(process.stdout)
        for text in SENT.values():
            _get(address, f"/{quote(text)}?{quote(text)}")
        # Written last, when all the others are.
        _get(address, "/the-end")
        deadline = time.monotonic() + END_S
        while "the-end" not in log.read_text("utf-8") and time.monotonic() < deadline:
            time.sleep(0.01)
    finally:
        process.terminate()
        process.wait(END_S)
        process.close()
    return log.read_bytes().decode("utf-8").split("\n")[:-1]


def _address(stdout: io.TextIOBase) -> tuple[str, int]:
    found = None
    while found is None:
        found = re.search(r"http://[0-9.]+:[0-9]+", stdout.readline())
    parts = urlsplit(found[0])
    return str(parts.hostname), int(parts.port or 0)


def _get(address: tuple[str, int], path: str) -> None:
    """One request, its path as it is."""
    with socket.create_connection(address, timeout=END_S) as connection:
        connection.sendall(
            f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode()
        )
        while connection.recv(65_536):
            pass


@pytest.mark.proves("assumed D25-plain")
def test_a_path_makes_no_line_of_its_own_and_nothing_that_a_terminal_obeys(tmp_path):
    lines = _served(tmp_path / "log", "text")

    assert len(lines) == len(SENT) + 1
    assert [line for line in lines if not line.startswith("INFO GET /")] == []
    assert [OBEYED.findall(line) for line in lines if OBEYED.search(line)] == []
    assert r"x\nERROR forged: everything is broken" in lines[0]
    assert r"x\x1b[31m\x1b[2J" in lines[2]


def test_nor_does_it_in_the_log_for_programs(tmp_path):
    lines = _served(tmp_path / "log", "json")

    assert len(lines) == len(SENT) + 1
    assert all(line.isascii() for line in lines)
    assert "\nERROR forged" in json.loads(lines[0])["message"]


@pytest.mark.parametrize("message", ["a\nb", "\x1b[2J", "\u202e", "plain, grün and 條"])
def test_a_traceback_stands_below_its_line(message):
    from sandbox.server.banner import TextLines

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

"""A sign of life on a terminal, while something takes long."""

import io
import os
import pty
import sys

from sandbox.cli.output import working


def test_on_a_terminal_it_shows_what_goes_on_and_clears_the_line_at_the_end(monkeypatch):
    person, terminal = pty.openpty()
    monkeypatch.setattr(sys, "stderr", os.fdopen(terminal, "w"))
    shown = b""

    with working("saving till"):
        while b"saving till" not in shown:
            shown += os.read(person, 1_000)
    sys.stderr.close()
    while not shown.endswith(b" \r"):
        shown += os.read(person, 1_000)
    os.close(person)

    assert shown.startswith(b"\r| saving till, 0 s")


def test_elsewhere_it_shows_nothing(monkeypatch):
    written = io.StringIO()
    monkeypatch.setattr(sys, "stderr", written)

    with working("saving till"):
        pass

    assert written.getvalue() == ""

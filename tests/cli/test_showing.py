"""What is common to all commands: tables, colours, endings, and what help says."""

import io
import os
import pty
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from sandbox.cli.control_client import ServerCommand
from sandbox.cli.main import Commands
from sandbox.cli.output import printable, table, working
from tests.cli.asking import ask, assert_refused, commands, following, told
from tests.processes import Process

WITHOUT_JSON = {
    *("serve", "run", "scenario play", "scenario show", "scenario schema", "world save"),
    *("export postman", "open"),
}
WITHOUT_EXAMPLES = {"clock show", "scenario list", "scenario show", "world list"}


def test_every_command_explains_itself():
    assert "serve" in ask().output, "the help is shown without a command"
    for words in commands():
        shown = told(*words.split(), "-h")

        assert f"Usage: sandbox {words}" in shown
        assert words in WITHOUT_EXAMPLES or re.search(rf"Examples?:\n +.*sandbox {words}", shown)
        assert words in WITHOUT_JSON or "--json" in shown, words


def test_every_command_that_asks_a_server_reports_a_missing_one(tmp_path, monkeypatch):
    """As the first example in its help has it."""
    monkeypatch.chdir(tmp_path)
    for file in ("friday.json", "ledger.csv"):
        Path(file).touch()
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        for words, command in commands().items():
            if {"url", "token"} <= {param.name for param in command.params}:
                shown = told(*words.split(), "-h")
                example = re.search(rf"^ +sandbox ({words}.*)$", shown, re.MULTILINE)
                line = words if example is None else example[1]

                done = ask(*line.split(), "--url", url)

                assert_refused(done, 2, "sandbox: no server answers at ")


# --- tables ------------------------------------------------------------------------------------


def test_a_table_has_columns_as_wide_as_they_need_to_be():
    lines = table(("a", "long header"), [("first", 1), ("x", None), ("", "é")], width=None)

    assert lines == ["a      long header", "first  1", "x      -", "-      é"]


def test_on_a_narrow_terminal_texts_are_wrapped_and_columns_left_out_but_no_word_is_cut():
    wrapped = table(("key", "about"), [("one", "a sentence that goes on and on")], width=20)
    rows = [("0123456789", "abcdefghij", "x")]
    dropped = table(("key", "long", "about"), rows, width=18, drops=("long",))
    rows = [("0123456789", "0123456789", None), ("second", "a b c d", "x")]
    blocks = table(("key", "about", "more"), rows, width=9)

    assert wrapped == ["key  about", "one  a sentence that", "     goes on and on"]
    assert dropped == ["key         about", "0123456789  x"]
    assert blocks[:4] == ["key", "0123456789", "  about:", "    0123456789"]
    assert blocks[4:] == ["second", "  about:", "    a b c", "    d", "  more: x"]


def test_control_characters_are_written_as_escapes():
    assert printable("a\x1b[2J\n\u202eb") == r"a\x1b[2J\n\u202eb"


# --- colours, progress and endings -------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "is_colored"), [("LANG", True), ("NO_COLOR", False), ("TERM", False)]
)
def test_colours_are_left_out_where_the_environment_says_so(name, is_colored):
    @click.group(cls=Commands, lazy={})
    def group() -> None:
        pass

    @group.command()
    def paint() -> None:
        click.echo(click.style("1 €", fg="red"))

    runner = CliRunner(charset="latin-1", env={"TERM": "xterm", name: "dumb"})
    done = runner.invoke(group, ["paint"], color=True)

    assert ("\x1b" in done.stdout) is is_colored
    assert r"1 \u20ac" in done.stdout, "a sign that the output cannot show"


def test_only_a_terminal_shows_progress_and_clears_the_line_at_the_end(monkeypatch):
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
    monkeypatch.setattr(sys, "stderr", elsewhere := io.StringIO())
    with working("saving till"):
        pass

    assert shown.startswith(b"\r| saving till, 0 s")
    assert elsewhere.getvalue() == ""


def test_ctrl_c_before_it_is_done_ends_with_130_and_no_complaint():
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = Process(["world", "list", "--url", url])
        connection, _ = silent.accept()
        ended = process.stop(signal.SIGINT)
        process.close()
        connection.close()

    assert ended == (130, "", "")


def test_a_full_disk_under_the_output_is_reported_in_a_sentence(served):
    for words in (["outcomes"], ["world", "save", "-"]):
        at = ["--url", served.url] if "-" in words else []
        command = [sys.executable, "-m", "sandbox", *words, *at]
        with Path("/dev/full").open("wb") as full:
            ended = subprocess.run(
                command, stdout=full, stderr=subprocess.PIPE, text=True, check=False
            )
        assert ended.returncode == 2
        assert ended.stderr == "sandbox: the output cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    ("words", "closed"),
    [
        ("keys", "<&-"),
        ("outcomes", ">&-"),
        ("world delete default", "2>&-"),
        ("world delete default", "<&- >&- 2>&-"),
    ],
)
def test_a_command_runs_without_a_standard_stream(served, words, closed):
    line = f'"$0" -m sandbox {words} {closed}'
    env = os.environ | {"SANDBOX_URL": served.url}
    command = ["sh", "-c", line, sys.executable]
    ended = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert ended.returncode == ("delete" in words), ended.stderr
    assert "isatty" not in ended.stderr


def test_a_defect_of_a_command_is_not_blamed_on_a_server_that_it_did_not_ask():
    broken = ServerCommand("broken", callback=lambda server: int("ten"))
    assert isinstance(CliRunner().invoke(broken).exception, ValueError)


def test_a_pipe_that_is_closed_is_not_a_failure(served):
    with following("world", "show", SANDBOX_URL=served.url) as showing:
        showing.process.stdout.close()
        assert (showing.process.wait(20), showing.complaints()) == (0, "")

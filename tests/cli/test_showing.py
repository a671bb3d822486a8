"""What is common to all commands: tables, colours, endings, and what help says."""

import re
import signal
import socket

import click
import pytest

from sandbox.cli.main import COMMANDS, Commands, main
from sandbox.cli.output import printable, table
from tests.cli.asking import ask, commands, following, told
from tests.driving import Served
from tests.processes import Process

EVERY = sorted(commands())
WITHOUT_JSON = {
    *("serve", "run", "scenario play", "scenario show", "scenario schema", "world save"),
    *("export postman", "open"),
}
WITHOUT_EXAMPLES = {"clock show", "scenario list", "scenario show", "world list"}


@pytest.mark.parametrize("words", EVERY)
def test_every_command_explains_itself(words):
    shown = told(*words.split(), "--help")

    assert f"Usage: sandbox {words}" in shown
    assert words in WITHOUT_EXAMPLES or re.search(rf"Examples?:\n +.*sandbox {words}", shown)
    assert words in WITHOUT_JSON or "--json" in shown


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_has_the_first_sentence_of_each(name):
    command = main.get_command(click.Context(main), name)

    assert command is not None
    assert COMMANDS[name][1] == ("" if command.hidden else command.get_short_help_str(1_000))


@pytest.mark.parametrize(
    "words",
    [
        words
        for words, command in commands().items()
        if {"url", "token"} <= {param.name for param in command.params}
    ],
)
def test_every_command_that_asks_a_server_says_when_there_is_none(words):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        arguments = {
            "answer": ["last"],
            "batch answer": ["last", "accepted"],
            "batch report": ["last"],
            "capture": ["last"],
            "clock advance": ["1s"],
            "clock set": ["2026-03-01T12:00:00Z"],
            "confirm": ["last", "yes"],
            "find": ["0011"],
            "increment": ["last", "5"],
            "lens": ["merchant"],
            "listen": ["9000"],
            "pay": ["10"],
            "reconcile": [__file__],
            "refund": ["last"],
            "reverse": ["last"],
            "tip": ["last", "2"],
            "token delete": ["tok_4f2a9c01b7d3"],
            "token new": ["mobile"],
            "trigger": ["transaction.sale"],
            "world capture": ["world.gz"],
            "world load": ["-"],
            "scenario play": ["late_answer"],
            "scenario run": ["late_answer"],
        }
        done = ask(*words.split(), *arguments.get(words, []), "--url", url)

    assert done.exit_code == 2
    assert done.stderr.startswith("sandbox: no server answers at ")
    assert "Traceback" not in done.output


# --- tables ------------------------------------------------------------------------------------


def test_a_table_has_columns_as_wide_as_they_need_to_be():
    lines = table(("a", "long header"), [("first", 1), ("x", None), ("", "é")], width=None)

    assert lines == ["a      long header", "first  1", "x      -", "-      é"]


def test_on_a_narrow_terminal_texts_are_wrapped_between_words():
    lines = table(("key", "about"), [("one", "a sentence that goes on and on")], width=20)

    assert lines == ["key  about", "one  a sentence that", "     goes on and on"]


def test_a_terminal_too_narrow_for_the_words_goes_without_columns():
    rows = [("0123456789", "abcdefghij", "x")]

    lines = table(("key", "long", "about"), rows, width=18, drops=("long",))

    assert lines == ["key         about", "0123456789  x"]


def test_no_word_is_cut_on_the_narrowest_terminal():
    rows = [("0123456789", "0123456789", None), ("second", "a b c d", "x")]

    lines = table(("key", "about", "more"), rows, width=9)

    assert lines[:4] == ["key", "0123456789", "  about:", "    0123456789"]
    assert lines[4:] == ["second", "  about:", "    a b c", "    d", "  more: x"]


def test_what_would_move_the_cursor_is_written_out():
    assert printable("a\x1b[2J\n\u202eb") == r"a\x1b[2J\n\u202eb"


# --- colours and endings -----------------------------------------------------------------------


@pytest.mark.parametrize(("env", "is_colored"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_are_left_out_where_the_environment_says_so(env, is_colored):
    @click.group(cls=Commands, lazy={})
    def group() -> None:
        pass

    @group.command()
    def paint() -> None:
        click.echo(click.style("red", fg="red"))

    from click.testing import CliRunner

    done = CliRunner(env=env).invoke(group, ["paint"], color=True)

    assert ("\x1b" in done.stdout) is is_colored


def test_ctrl_c_before_it_is_done_ends_with_130_and_no_complaint(served: Served):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        process = Process(["world", "list", "--url", url])
        connection, _ = silent.accept()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=20)
        code = process.wait()
        process.close()
        connection.close()

    assert (code, out, err) == (130, "", "")


def test_a_pipe_that_is_closed_is_not_a_failure(served: Served):
    with following("world", "show", server=served) as showing:
        showing.process.stdout.close()
        code = showing.process.wait(20)
        err = showing.complaints()

    assert (code, err) == (0, "")

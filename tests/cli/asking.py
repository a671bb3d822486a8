"""The command line against a served sandbox: run to its end in process, or followed as it goes."""

import contextlib
import io
import json
import os
import pty
import re
import select
import shlex
import signal
import sys
import threading
from collections.abc import Iterator
from functools import partial
from typing import Any

import click
from click.testing import CliRunner, Result

from sandbox.cli.main import main
from tests.driving import Served
from tests.processes import Process
from tests.state.remote import Remote

WAIT_S = 20.0
"""So long a line is waited for at most."""


def ask(
    *arguments: str, server: Served | None = None, stdin: str | bytes = "", **env: str
) -> Result:
    """The command in process, at this server."""
    at = {} if server is None else {"SANDBOX_URL": server.url}
    shell = CliRunner(env=at | env)
    return shell.invoke(main, list(arguments), prog_name="sandbox", input=stdin)


def told(*arguments: str, server: Served | None = None, stdin: str | bytes = "", **env: str) -> str:
    """What the command prints, which succeeds without a complaint."""
    done = ask(*arguments, server=server, stdin=stdin, **env)
    assert (done.exit_code, done.stderr) == (0, ""), done.output
    return done.stdout


def assert_refused(done: Result, code: int, *words: str) -> None:
    """This exit status, a message with these words on stderr, and nothing of Python's."""
    assert done.exit_code == code, done.output
    assert isinstance(done.exception, SystemExit)
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    assert [word for word in words if word not in done.stderr] == [], done.stderr


@contextlib.contextmanager
def at_terminal(*arguments: str, **env: str) -> Iterator[tuple[Process, int]]:
    """The command at a terminal, from which it reads and to which it complains.

    With it comes what a person there has: the other end of the terminal.
    """
    person, terminal = pty.openpty()
    process = Process(arguments, env=env, before=partial(_attach, os.ttyname(terminal)))
    try:
        yield process, person
    finally:
        process.close()
        os.close(terminal)
        os.close(person)


def _attach(terminal: str) -> None:
    descriptor = os.open(terminal, os.O_RDWR)
    os.dup2(descriptor, 0)
    os.dup2(descriptor, 2)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)))


def read_until(person: int, words: str) -> str:
    """What the command says at the terminal, up to these words."""
    said = b""
    while words.encode() not in said:
        assert select.select([person], [], [], WAIT_S)[0], said
        said += os.read(person, 1_000)
    return said.decode()


def add_world(server: Served, id: str, **more: Any) -> dict[str, Any]:
    """A new world, frozen at the first of March.

    It replaces one of that id: where workers share tests out, a fixture of a module may be set up
    more than once.
    """
    server.control("DELETE", f"/worlds/{id}")
    body = {"id": id, "clock": "2026-03-01T12:00:00Z"} | more
    answer = server.control("POST", "/worlds", json=body)
    assert answer.status_code == 201, answer.text
    world: dict[str, Any] = answer.json()
    return world


class Shell(Remote):
    """A shell whose commands are about a world of a server. A line is split as shells do."""

    @property
    def env(self) -> dict[str, str]:
        return {"SANDBOX_URL": self.server.url, "SANDBOX_WORLD": self.world}

    def invoke(self, line: str) -> Result:
        return ask(*shlex.split(line), **self.env)

    def __call__(self, line: str) -> str:
        """What the command prints, which succeeds without a complaint."""
        return told(*shlex.split(line), **self.env)

    def json(self, line: str) -> Any:
        return json.loads(self(f"{line} --json"))

    def refuses(self, line: str, code: int, *words: str) -> None:
        """The command ends with this status and a message with these words, and no output."""
        assert_refused(self.invoke(line), code, *words)

    def following(self, line: str) -> "contextlib.AbstractContextManager[Followed]":
        return following(*shlex.split(line), **self.env)


def shell_in(server: Served, id: str, **more: Any) -> Shell:
    """A shell in a new world."""
    return Shell(server, add_world(server, id, **more)["id"])


class Followed:
    """A command that goes on until it is stopped, read line by line."""

    def __init__(self, process: Process) -> None:
        self.process = process

    def line(self) -> str:
        """The next line that it prints, as soon as it does."""
        line = self.process.stdout.readline()
        assert line, f"it ended: {self.complaints()}"
        return line.rstrip("\n")

    def until(self, *words: str) -> str:
        """The first line with these words in it."""
        while True:
            line = self.line()
            if all(word in line for word in words):
                return line

    def complaint(self) -> str:
        """The next line on stderr."""
        assert self.process.stderr is not None
        return self.process.stderr.readline().rstrip("\n")

    def complaints(self) -> str:
        assert self.process.stderr is not None
        return self.process.stderr.read()

    def stop(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Stop it; its exit status, and what it said on stderr."""
        code, _, err = self.process.stop(number)
        return code, err


@contextlib.contextmanager
def following(*arguments: str, **env: str) -> Iterator[Followed]:
    """The command in a process of its own, as a user's shell has it."""
    process = Process(arguments, env=env)
    # A line that never comes fails its test.
    watchdog = threading.Timer(WAIT_S, process.kill)
    watchdog.start()
    try:
        yield Followed(process)
    finally:
        watchdog.cancel()
        process.close()


NO_HOST = "256.256.256.256"


def refuse(*arguments: str) -> Result:
    """The command in process, for what is refused before anything is served.

    The host that does not exist keeps it from serving, should it no longer be refused.
    """
    return ask("serve", "--host", NO_HOST, *arguments)


@contextlib.contextmanager
def banner_of(*options: str) -> Iterator[tuple[list[str], Process]]:
    """What a server in text format says until it has said how to stop it."""
    with contextlib.closing(Process(["serve", "--port", "0", *options])) as process:
        lines: list[str] = []
        for line in process.stdout:
            lines.append(line.rstrip("\n"))
            if line.startswith("Ctrl-C"):
                break
        yield lines, process


def commands() -> dict[str, click.Command]:
    """Every command that does something, by its words."""

    def below(group: click.Group, words: str) -> dict[str, click.Command]:
        found: dict[str, click.Command] = {}
        context = click.Context(group)
        for name in group.list_commands(context):
            _, command, _ = group.resolve_command(context, [name])
            assert command is not None
            if command.hidden:
                continue
            path = f"{words} {name}".strip()
            found |= below(command, path) if isinstance(command, click.Group) else {path: command}
        return found

    return below(main, "")


def offered(line: str, shell: str = "bash", **env: str) -> list[str]:
    """The words that the shell offers for the last word of the line."""
    words = line.split(" ")
    if shell == "bash":
        words = [part for word in words for part in re.split("([:=]+)", word)]
    place = words[-1] if shell == "fish" else str(len(words) - 1)
    asked = {"_SANDBOX_COMPLETE": f"{shell}_complete", "COMP_CWORD": place}
    lines = told(**env, **asked, COMP_WORDS="\n".join(words)).splitlines()
    if shell == "zsh":
        return lines[1::3]
    return [one.split("\t")[0].partition(",")[2] for one in lines if one]

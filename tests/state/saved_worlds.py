"""How tests of kept state start, end and kill a server, and start it again on the same file."""

import contextlib
import json
import signal
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.driving import Served
from tests.processes import Process, run

KINDS = ("json", "db")

END_S = 15
"""So long a test waits at most for a process to end."""


@dataclass
class SavedWorld(Served):
    """A server that keeps its worlds in a file. What it has to say is in `log`."""

    log: Path

    def said(self) -> list[dict[str, Any]]:
        """What it wrote to its log so far."""
        lines = self.log.read_text(encoding="utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def kill(self) -> None:
        """`kill -9`: nothing more is done, whatever is under way."""
        self.process.kill()
        self.process.wait(END_S)

    def end(self) -> None:
        """Have it end as Ctrl-C does, and wait until it has."""
        self.process.send_signal(signal.SIGINT)
        assert self.process.wait(END_S) in (0, -signal.SIGINT), self.log.read_text()


def command(store: Path | str, *options: str) -> list[str]:
    serve = ["serve", "--port", "0", "--log-format", "json"]
    return [*serve, "--store", str(store), *options]


@contextlib.contextmanager
def serving_saved(
    path: Path, *options: str, before: Callable[[], None] | None = None
) -> Iterator[SavedWorld]:
    """A server on that file, ready; ended when the block ends, unless that was done before.

    `before` is called in its process before anything else.
    """
    log = path.with_name(path.name + ".log")
    with serving_with(command(path, *options), log, before=before) as server:
        yield server


@contextlib.contextmanager
def serving_with(
    arguments: list[str], log: Path, *, before: Callable[[], None] | None = None
) -> Iterator[SavedWorld]:
    """A server that is started by this command, with its log in that file."""
    with contextlib.closing(Process(arguments, stderr=log, before=before)) as process:
        line = process.stdout.readline()
        assert line, f"the server did not start: {log.read_text()}"
        with httpx2.Client(timeout=60, verify=False) as client:
            kept = SavedWorld(process, json.loads(line), client, log)
            yield kept
            if process.poll() is None:
                kept.end()


def refused(store: Path | str, *options: str) -> str:
    """What a server says that will not start on this store: status 2, and a sentence on stderr."""
    done = run(*command(store, *options))
    assert (done.returncode, done.stdout) == (2, ""), done
    return done.stderr

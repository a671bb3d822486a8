"""How tests start several servers on one database."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import httpx2

from tests.processes import Process, run
from tests.state.saved_worlds import END_S, SavedWorld


def command(url: str, *options: str) -> list[str]:
    serve = ["serve", "--log-format", "json", "--store", url]
    return [*serve, *options] if "--port" in options else [*serve, "--port", "0", *options]


@contextlib.contextmanager
def serving(url: str, folder: Path, name: str, *options: str) -> Iterator[SavedWorld]:
    """A server of that name on that database, ready; ended when the block ends."""
    log = folder / f"{name}.log"
    process = Process(command(url, "--name", name, *options), stderr=log)
    try:
        line = process.stdout.readline()
        assert line, f"the server did not start: {log.read_text()}"
        with httpx2.Client(timeout=20) as client:
            server = SavedWorld(process, json.loads(line), client, log)
            yield server
            if process.poll() is None:
                server.end()
    finally:
        process.close()


def refused(url: str, *options: str) -> str:
    """What a server says that will not start on this database: status 2, a sentence on stderr."""
    done = run(*command(url, *options), timeout=END_S)
    assert (done.returncode, done.stdout) == (2, b""), done
    return done.stderr.decode()

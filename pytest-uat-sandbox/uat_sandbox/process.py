"""A sandbox in a separate process, in whatever environment its command runs."""

import json
import os
import queue
import shlex
import subprocess
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Final

from uat_sandbox.errors import SandboxError
from uat_sandbox.waiting import Deadline

START_S: Final = 120.0
"""Time limit for a start. A command such as uvx may have to download first."""

_END_S: Final = 10.0
_OPTIONS: Final = ("--port", "0", "--log-format", "json")
_SAID_CHARS_MAX: Final = 2_000
_FOREIGN: Final = ("PYTHON", "SANDBOX_", "PYTEST_")
"""Prefixes of variables that are meant for the tests, and would affect the server."""


@contextmanager
def sandbox_process(
    command: Sequence[str], *, folder: Path | None = None, start_s: float = START_S
) -> Iterator[dict[str, Any]]:
    """Run this command until the block ends; yield what the sandbox announced at its start.

    It runs in the `folder`, by default the current one. Options that pick a free port are added.
    Raises SandboxError if it does not start.
    """
    with tempfile.TemporaryFile() as errors, _started(command, folder, errors) as process:
        assert process.stdout is not None
        lines: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        reader = threading.Thread(
            target=_read, args=(process.stdout, lines), name="sandbox process", daemon=True
        )
        reader.start()
        try:
            yield _wait_for_announcement(lines, command, errors, Deadline(start_s))
        finally:
            _end(process)
            reader.join()


def _started(
    command: Sequence[str], folder: Path | None, errors: IO[bytes]
) -> "subprocess.Popen[bytes]":
    env = {name: value for name, value in os.environ.items() if not name.startswith(_FOREIGN)}
    try:
        return subprocess.Popen(  # noqa: S603 - the command that the user gave
            [*command, *_OPTIONS],
            cwd=folder,
            env=env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            # Ctrl-C should only reach pytest, which then stops the sandbox.
            start_new_session=True,
        )
    except OSError as error:
        raise SandboxError(
            f"{shlex.join(command)} cannot be run: {error.strerror or error}"
        ) from None


def _read(output: IO[bytes], lines: "queue.SimpleQueue[bytes | None]") -> None:
    """Pass on lines until the end, so that a full pipe never blocks the process."""
    for line in output:
        lines.put(line)
    lines.put(None)


def _wait_for_announcement(
    lines: "queue.SimpleQueue[bytes | None]",
    command: Sequence[str],
    errors: IO[bytes],
    deadline: Deadline,
) -> dict[str, Any]:
    said = b""
    why = "did not announce in time that it serves"
    while deadline.left_s:
        try:
            line = lines.get(timeout=deadline.left_s)
        except queue.Empty:
            break
        if line is None:
            why = "ended before it served"
            break
        said += line
        try:
            facts = json.loads(line)
        except ValueError:
            continue
        if isinstance(facts, dict) and facts.get("event") == "started":
            return facts
    errors.seek(0)
    text = (said + errors.read()).decode("utf-8", "replace").strip()
    raise SandboxError(f"{shlex.join(command)} {why}:\n{text[-_SAID_CHARS_MAX:] or '(no output)'}")


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(_END_S)
    except subprocess.TimeoutExpired:
        process.kill()

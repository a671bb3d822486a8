"""The command `sandbox` in processes of their own, which begin warm.

A fresh interpreter spends half a second on imports. These are forked from a process that has them
already; everything after that is as a user's shell has it.
"""

import io
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from multiprocessing.connection import Connection
from pathlib import Path
from typing import IO

WARM = [
    "sandbox.cli.main",
    "sandbox.server",
    "sandbox.control.worlds",
    "sandbox.platform.payments.bodies",
    "sandbox.scenarios.scenario",
    "sandbox.worlds.lifecycle",
    "sandbox.store.files.file_kinds",
    "sandbox.cluster.server",
    "aiohttp",
    "httpx2",
    "pytest",
]

_FORKS = multiprocessing.get_context("forkserver")
_FORKS.set_forkserver_preload(WARM)


class Process:
    """A command that runs. As `subprocess.Popen`, of which it has what tests use.

    Errors go into the file that `stderr` names, else into a pipe.
    """

    def __init__(
        self,
        arguments: Sequence[str],
        *,
        stderr: Path | None = None,
        env: Mapping[str, str] | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        reading, writing = _FORKS.Pipe(duplex=False)
        errors, complaining = (None, str(stderr)) if stderr else _FORKS.Pipe(duplex=False)
        environment = {**os.environ, **(env or {})}
        self._process = _FORKS.Process(
            target=_command,
            args=(writing, list(arguments), complaining, environment, before),
        )
        self._process.start()
        writing.close()
        self.stdout = _taken_over(reading)
        self.stderr: IO[str] | None = None
        if errors is not None:
            complaining.close()
            self.stderr = _taken_over(errors)

    @property
    def pid(self) -> int:
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("sandbox", timeout or 0)
        return code

    def communicate(self, timeout: float | None = None) -> tuple[str, str]:
        """What is left of its output, and all of its errors, once it has ended."""
        assert self.stderr is not None
        # Both at once: it waits for whoever reads the one while the other is full.
        with ThreadPoolExecutor(1) as reader:
            errors = reader.submit(self.stderr.read)
            out = self.stdout.read()
        self.wait(timeout)
        return out, errors.result()

    def send_signal(self, number: int) -> None:
        if self._process.exitcode is None:
            # It may have ended, although its parent has not said so yet.
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str, str]:
        """Stop it; its exit status, what was left of its output, and its errors."""
        self.send_signal(number)
        out, errors = self.communicate(60)
        return self.wait(), out, errors

    def terminate(self) -> None:
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)

    def close(self) -> None:
        """End it, whatever it does, and forget it."""
        self.kill()
        self.wait(10)
        self.stdout.close()
        if self.stderr is not None:
            self.stderr.close()
        self._process.close()


def run(
    *arguments: str, before: Callable[[], None] | None = None, **env: str
) -> "subprocess.CompletedProcess[str]":
    """The command, run to its end."""
    with closing(Process(arguments, env=env, before=before)) as process:
        out, errors = process.communicate(60)
        return subprocess.CompletedProcess(arguments, process.wait(), out, errors)


def _taken_over(connection: Connection) -> IO[str]:
    file = os.fdopen(os.dup(connection.fileno()), "r", encoding="utf-8")
    connection.close()
    return file


def _command(
    stdout: Connection,
    arguments: list[str],
    stderr: Connection | str,
    env: dict[str, str],
    before: Callable[[], None] | None,
) -> None:
    """What runs in the forked process: the command, with files of its own."""
    os.dup2(stdout.fileno(), 1)
    stdout.close()
    if isinstance(stderr, str):
        _become(2, os.open(stderr, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
    else:
        os.dup2(stderr.fileno(), 2)
        stderr.close()
    _become(0, os.open(os.devnull, os.O_RDONLY))
    sys.stdin, sys.stdout, sys.stderr = _opened(0, "r"), _opened(1, "w"), _opened(2, "w")
    os.environ.clear()
    os.environ.update(env)
    # A shell has commands in the background ignore it, and whatever they start.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    if before is not None:
        before()
    from sandbox.cli.main import main

    main(args=arguments, prog_name="sandbox")


def _become(number: int, descriptor: int) -> None:
    os.dup2(descriptor, number)
    os.close(descriptor)


def _opened(number: int, mode: str) -> IO[str]:
    """A standard stream as Python opens it; nothing waits in it to be written."""
    raw = io.FileIO(number, mode, closefd=False)
    if mode == "r":
        return io.TextIOWrapper(io.BufferedReader(raw), encoding="utf-8")
    return io.TextIOWrapper(raw, encoding="utf-8", write_through=True)  # type: ignore[type-var]

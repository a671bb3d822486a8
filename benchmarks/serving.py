"""Servers in processes of their own, and plain requests to them over a socket."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Final, Self

from benchmarks.bare import ANSWER_VARIABLE

HOST: Final = "127.0.0.1"
START_WITHIN_S: Final = 30.0
_ANSWER_WITHIN_S: Final = 10.0
_POLL_S: Final = 0.002
_ROOT: Final = Path(__file__).parent.parent
_PIPELINED: Final = 50

SAME_AS_SANDBOX: Final = (
    "--loop=uvloop",
    "--http=httptools",
    "--log-level=warning",
    "--no-access-log",
    "--no-server-header",
    "--no-date-header",
    "--no-proxy-headers",
)
"""The uvicorn options that serve a bare application just as the sandbox is served."""


class BenchmarkError(RuntimeError):
    """A measurement failed; the message names it."""


# --- requests ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Answer:
    """A response; `bytes_on_wire` counts its head too."""

    status: int
    headers: dict[str, str]
    body: bytes
    bytes_on_wire: int

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)


def request(
    method: str, path: str, *, headers: dict[str, str] | None = None, body: bytes = b""
) -> bytes:
    """The bytes of a request."""
    fields = {"host": HOST, "accept": "application/json", **(headers or {})}
    if body:
        fields |= {"content-type": "application/json", "content-length": str(len(body))}
    lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
    return "\r\n".join([*lines, "", ""]).encode() + body


class Connection:
    """One connection to a server on this machine."""

    def __init__(self, port: int, *, within_s: float = _ANSWER_WITHIN_S) -> None:
        self._socket = socket.create_connection((HOST, port), timeout=within_s)
        self._reader: BinaryIO = self._socket.makefile("rb")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *raised: object) -> None:
        self._reader.close()
        self._socket.close()

    def ask(self, sent: bytes) -> Answer:
        """One request and its answer."""
        self._socket.sendall(sent)
        return self.read()

    def send(self, sent: bytes) -> None:
        """Send bytes, and wait for nothing."""
        self._socket.sendall(sent)

    def ask_all(self, requests: Sequence[bytes]) -> Iterator[Answer]:
        """The answers to all requests, several of which run at a time."""
        for first in range(0, len(requests), _PIPELINED):
            batch = requests[first : first + _PIPELINED]
            self._socket.sendall(b"".join(batch))
            for _ in batch:
                yield self.read()

    def read_some(self) -> bytes:
        """What has come of an answer without an end; waits for at least something."""
        return self._socket.recv(1 << 16)

    def read(self) -> Answer:
        """The answer to the request."""
        lines = [line := self._reader.readline()]
        while line not in (b"\r\n", b""):
            lines.append(line := self._reader.readline())
        if not line:
            raise ConnectionError("the server closed the connection")
        pairs = (text.decode("latin-1").partition(":") for text in lines[1:-1])
        headers = {name.lower(): value.strip() for name, _, value in pairs}
        body = self._reader.read(int(headers.get("content-length", 0)))
        bytes_on_wire = sum(map(len, lines)) + len(body)
        return Answer(int(lines[0].split()[1]), headers, body, bytes_on_wire)


def ask(port: int, sent: bytes) -> Answer:
    """One request on a connection of its own."""
    with Connection(port) as connection:
        return connection.ask(sent)


# --- servers ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Server:
    """A server that answers."""

    process: "subprocess.Popen[bytes]"
    port: int
    start_s: float

    def cpu_s(self) -> float | None:
        """Processor time that the server has used; None if the system does not report it."""
        try:
            text = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8")
        except OSError:
            return None
        # The name, in parentheses, may hold spaces; user and system time are fields 14 and 15.
        fields = text.rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def sandbox(*options: str, core: int | None = None) -> Iterator[Server]:
    """`python -m sandbox serve`, as a user starts it, from its first 200 until the block ends."""
    port = free_port()
    command = ("-m", "sandbox", "serve", "--port", str(port), *options)
    with _serving(command, port, "/_sandbox/health", core=core) as server:
        yield server


@contextmanager
def receiver(status: int = 204, *, core: int | None = None) -> Iterator[Server]:
    """A receiver of webhooks that answers with this status, until the block ends."""
    port = free_port()
    command = ("-m", "benchmarks.receiver", str(port), str(status))
    with _serving(command, port, "/", core=core) as server:
        yield server


@contextmanager
def bare(
    *options: str,
    path: str = "/",
    answer: Answer | None = None,
    checks_payments: bool = False,
    core: int | None = None,
) -> Iterator[Server]:
    """The bare application under uvicorn, from its first 200 until the block ends.

    With an `answer`, it gives just that on `path`; with `checks_payments` also to a POST there,
    once the body proved to be a payment.
    """
    port = free_port()
    command = ("-m", "uvicorn", "benchmarks.bare:app", "--host", HOST, "--port", str(port))
    environment = dict(os.environ)
    if answer is not None:
        headers = {name: text for name, text in answer.headers.items() if name != "content-length"}
        spec = {
            "path": path,
            "body": answer.body.decode(),
            "headers": headers,
            "checks_payments": checks_payments,
        }
        environment[ANSWER_VARIABLE] = json.dumps(spec)
    with _serving((*command, *options), port, path, core=core, environment=environment) as server:
        yield server


@contextmanager
def _serving(
    command: Iterable[str],
    port: int,
    path: str,
    *,
    core: int | None,
    environment: dict[str, str] | None = None,
) -> Iterator[Server]:
    started_s = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, *command],
        cwd=_ROOT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    try:
        pin(process.pid, core)
        _await_first_200(process, port, request("GET", path), started_s + START_WITHIN_S)
        yield Server(process, port, time.perf_counter() - started_s)
    finally:
        end(process)


def _await_first_200(
    process: "subprocess.Popen[bytes]", port: int, sent: bytes, deadline_s: float
) -> None:
    while time.perf_counter() < deadline_s:
        try:
            if ask(port, sent).status == 200:
                return
        except OSError:
            pass
        if process.poll() is not None:
            assert process.stderr is not None
            errors = process.stderr.read().decode(errors="replace").strip()
            raise BenchmarkError(f"a server ended at once: {errors}")
        time.sleep(_POLL_S)
    raise BenchmarkError(f"a server did not answer {sent.split()[1].decode()} with 200 in time")


def end(process: "subprocess.Popen[bytes]") -> None:
    """End a process that was started here, and wait until it is gone."""
    process.terminate()
    try:
        process.communicate(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()


def free_port() -> int:
    """A port on which nothing listened a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


# --- cores ------------------------------------------------------------------------------------


def two_cores() -> tuple[int | None, int | None]:
    """A core for the server and another for the load; None if there is only one."""
    if not hasattr(os, "sched_getaffinity"):
        return None, None
    usable = sorted(os.sched_getaffinity(0))
    return (usable[0], usable[1]) if len(usable) > 1 else (None, None)


def pin(pid: int, core: int | None) -> None:
    """Keep a process on one core."""
    if core is not None:
        os.sched_setaffinity(pid, {core})

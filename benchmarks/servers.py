"""Start servers as users do, ask them, and read what they cost."""

import http.client
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Final

HOST: Final = "127.0.0.1"
ROOT: Final = Path(__file__).parent.parent
WORLD: Final = "/_sandbox/worlds/default"
CORES: Final = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
SERVER_CORE, CLIENT_CORE = CORES[:2] if len(CORES) > 1 else (None, None)
START_WITHIN_S: Final = 30
BARE: Final = (
    *("-m", "uvicorn", "benchmarks.bare:app", "--host", HOST, "--loop", "uvloop"),
    *("--http", "httptools", "--log-level", "warning", "--no-access-log"),
    *("--no-server-header", "--no-date-header", "--no-proxy-headers"),
)


class BenchmarkError(RuntimeError):
    """A measurement failed; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request to the platform or to the control API."""

    method: str
    path: str
    key: str = ""
    body: Any = None

    @property
    def headers(self) -> dict[str, str]:
        """Its headers, without those of the body."""
        return {"host": HOST, "accept": "application/json", "x-service-apikey": self.key}

    @property
    def content(self) -> bytes:
        """Its body, which may be empty."""
        return b"" if self.body is None else json.dumps(self.body).encode()

    @property
    def raw(self) -> bytes:
        """Its bytes on the wire."""
        head = dict(self.headers)
        if content := self.content:
            head |= {"content-type": "application/json", "content-length": str(len(content))}
        lines = [f"{self.method} {self.path} HTTP/1.1", *(f"{a}: {b}" for a, b in head.items())]
        return "\r\n".join([*lines, "", ""]).encode() + content


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer with its headers and body."""

    status: int
    headers: dict[str, str]
    body: bytes
    took_ms: float


@dataclass(frozen=True, slots=True)
class Server:
    """A server process that has answered, and how long that took."""

    process: "subprocess.Popen[bytes]"
    port: int
    start_ms: float

    def ask(self, request: Request) -> Answer:
        """Send one request on a connection of its own. Raise BenchmarkError unless it succeeds."""
        answer = ask(self.port, request)
        if not 200 <= answer.status < 300:
            raise BenchmarkError(
                f"{request.method} {request.path} gave {answer.status}: {answer.body[:300]!r}"
            )
        return answer

    def control(self, method: str, path: str = "", body: Any = None) -> Any:
        """Ask the control API of the world `default`."""
        return json.loads(self.ask(Request(method, WORLD + path, body=body)).body)

    def cpu_us(self) -> float:
        """Processor time of all threads so far."""
        threads = Path(f"/proc/{self.process.pid}/task").glob("*/schedstat")
        return sum(int(one.read_text().split()[0]) for one in threads) / 1000

    def resident_mb(self) -> float:
        """Resident memory."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


def free_port() -> int:
    """Return a port that is free now."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        return int(probe.getsockname()[1])


def ask(port: int, request: Request) -> Answer:
    """Send one request on a connection of its own, whatever its status."""
    headers = request.headers
    if content := request.content:
        headers["content-type"] = "application/json"
    connection = http.client.HTTPConnection(HOST, port, timeout=60)
    connection.connect()
    started_s = time.perf_counter()
    connection.request(request.method, request.path, content or None, headers)
    with connection.getresponse() as response:
        found = {name.lower(): text for name, text in response.getheaders()}
        body = response.read()
        took_ms = (time.perf_counter() - started_s) * 1000
        connection.close()
        return Answer(response.status, found, body, took_ms)


@contextmanager
def sandbox(*options: str) -> Iterator[Server]:
    """Run `python -m sandbox serve`, as users start it, until the block ends."""
    with _serve(("-m", "sandbox", "serve", *options), "/_sandbox/health", {}) as server:
        yield server


@contextmanager
def bare(request: Request | None = None, answer: Answer | None = None) -> Iterator[Server]:
    """Run the bare application until the block ends; it gives this answer to this request."""
    environment = {}
    if request and answer:
        headers = {name: text for name, text in answer.headers.items() if name != "content-length"}
        fixed = {"method": request.method, "path": request.path, "headers": headers}
        environment["BARE_ANSWER"] = json.dumps({**fixed, "body": answer.body.decode()})
    with _serve(BARE, "/", environment) as server:
        yield server


@contextmanager
def _serve(command: tuple[str, ...], path: str, environment: Mapping[str, str]) -> Iterator[Server]:
    port = free_port()
    with tempfile.TemporaryFile() as log:
        started_s = time.perf_counter()
        process = subprocess.Popen(
            [sys.executable, *command, "--port", str(port)],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.DEVNULL,
            stderr=log,
        )
        try:
            pin(process.pid, SERVER_CORE)
            _wait_for_answer(process, port, path, log)
            yield Server(process, port, (time.perf_counter() - started_s) * 1000)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait_for_answer(
    process: "subprocess.Popen[bytes]", port: int, path: str, log: IO[bytes]
) -> None:
    until_s = time.monotonic() + START_WITHIN_S
    while time.monotonic() < until_s:
        if process.poll() is not None:
            log.seek(0)
            raise BenchmarkError(f"a server ended at once: {log.read().decode().strip()[-500:]}")
        try:
            ask(port, Request("GET", path))
        except OSError:
            time.sleep(0.002)
        else:
            return
    raise BenchmarkError(f"a server did not answer within {START_WITHIN_S} s")


def pin(pid: int, core: int | None) -> None:
    """Keep a process on one core, where the system can."""
    if core is not None:
        os.sched_setaffinity(pid, {core})

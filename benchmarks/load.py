"""Sending as many requests as a server answers, from a process of its own.

Run as `python -m benchmarks.load` it is that process: it reads an order from its standard input,
and writes the result to its standard output. Its connections read only the status and the length of
an answer. It needs about half of the processor time of a bare server, and reports its share, which
shows whether client or server set the pace.
"""

import asyncio
import json
import os
import re
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import cycle
from typing import Any, Final, Literal, cast

import uvloop

from benchmarks.serving import HOST, BenchmarkError, Server, pin, two_cores

CONNECTIONS: Final = 32
"""Each has one request under way, as with wrk and with most clients: a server that finds several
in one read is spared work that its users would not spare it."""

_SPARE_S: Final = 15.0
_OK: Final = b"HTTP/1.1 200 "


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """The result of a load. The shares are of one core; None if the system does not report them.

    One answer in a hundred took longer than `p99_ms`.
    """

    per_s: float
    p99_ms: float
    server_cpu_us: float | None
    server_share: float | None
    generator_share: float


def generators() -> list[Literal["wrk", "builtin"]]:
    """The available load generators, the best first."""
    return ["wrk", "builtin"] if shutil.which("wrk") else ["builtin"]


def load(
    server: Server,
    requests: Sequence[bytes],
    *,
    answer_bytes: int,
    duration_s: float,
    generator: Literal["wrk", "builtin"] = "builtin",
) -> Sent:
    """Send the requests over and over. Raises BenchmarkError for any answer that is not a 200.

    All answers are `answer_bytes` long. With `wrk` there can be only one request.
    """
    before_s = server.cpu_s()
    if generator == "wrk":
        found = _by_wrk(server.port, requests[0], duration_s)
    else:
        found = _by_builtin(server.port, requests, answer_bytes, duration_s)
    after_s = server.cpu_s()
    used_s = None if before_s is None or after_s is None else after_s - before_s
    if not found.completed:
        raise BenchmarkError("no request was answered")
    return Sent(
        per_s=found.completed / found.elapsed_s,
        p99_ms=found.p99_ms,
        server_cpu_us=None if used_s is None else used_s / found.completed * 1e6,
        server_share=None if used_s is None else used_s / found.elapsed_s,
        generator_share=found.cpu_s / found.elapsed_s,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """What a generator has to tell."""

    completed: int
    elapsed_s: float
    cpu_s: float
    p99_ms: float


def _run(command: Sequence[str], order: bytes, duration_s: float) -> tuple[str, float]:
    """The output of a generator, and its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    process = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    pin(process.pid, two_cores()[1])
    try:
        written, complaint = process.communicate(order, timeout=duration_s + _SPARE_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        raise BenchmarkError("the load did not end in time") from None
    if process.returncode:
        raise BenchmarkError(
            f"the load failed: {complaint.decode(errors='replace').strip()[-300:]}"
        )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return written.decode(), after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


# --- wrk --------------------------------------------------------------------------------------


def _by_wrk(port: int, sent: bytes, duration_s: float) -> _Found:
    first, *fields = sent.decode().rstrip().split("\r\n")
    headers = [part for field in fields if not field.startswith("host:") for part in ("-H", field)]
    url = f"http://{HOST}:{port}{first.split()[1]}"
    # It takes whole seconds only.
    whole_s = max(1, round(duration_s))
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{whole_s}s", "--latency", *headers, url]
    written, cpu_s = _run(command, b"", whole_s)
    if "Non-2xx" in written or "Socket errors" in written:
        raise BenchmarkError(f"wrk met errors: {written.strip()}")
    total = re.search(r"(\d+) requests in ([\d.]+)s", written)
    slowest = re.search(r"99% +([\d.]+)(us|ms|s)", written)
    if total is None or slowest is None:
        raise BenchmarkError(f"wrk wrote something unknown: {written.strip()}")
    return _Found(
        completed=int(total[1]),
        elapsed_s=float(total[2]),
        cpu_s=cpu_s,
        p99_ms=float(slowest[1]) * _MS_OF[slowest[2]],
    )


_MS_OF: Final = {"us": 0.001, "ms": 1.0, "s": 1000.0}


# --- the built-in generator -------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Order:
    """The order for the generator's process."""

    port: int
    requests: list[str]
    answer_bytes: int
    duration_s: float
    connections: int = CONNECTIONS


def _by_builtin(
    port: int, requests: Sequence[bytes], answer_bytes: int, duration_s: float
) -> _Found:
    order = _Order(
        port=port,
        requests=[sent.decode("latin-1") for sent in requests],
        answer_bytes=answer_bytes,
        duration_s=duration_s,
    )
    command = [sys.executable, "-m", "benchmarks.load"]
    written, _ = _run(command, json.dumps(asdict(order)).encode(), duration_s)
    outcome: dict[str, Any] = json.loads(written)
    if outcome["failure"]:
        raise BenchmarkError(outcome["failure"])
    del outcome["failure"]
    return _Found(**outcome)


class _Sender(asyncio.Protocol):
    """One connection, which sends a request for every answer until it is stopped."""

    def __init__(self, requests: Iterator[bytes], answer_bytes: int) -> None:
        self._requests = requests
        self._answer_bytes = answer_bytes
        self._rest = b""
        self._asked_s = 0.0
        self.waits_s: list[float] = []
        self.failure = ""
        self.is_stopped = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # What uvloop gives fulfils the class without being derived from it.
        self._transport = cast(asyncio.Transport, transport)
        self._ask()

    def _ask(self) -> None:
        self._asked_s = time.perf_counter()
        self._transport.write(next(self._requests))

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        if len(data) < self._answer_bytes and _OK.startswith(data[: len(_OK)]):
            self._rest = data
        elif len(data) != self._answer_bytes or not data.startswith(_OK):
            self._fail(f"an unexpected answer: {data[:300]!r}")
        elif not self.is_stopped:
            self._rest = b""
            self.waits_s.append(time.perf_counter() - self._asked_s)
            self._ask()

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.is_stopped:
            self._fail("the server closed a connection")

    def _fail(self, why: str) -> None:
        self.failure = self.failure or why
        self.stop()

    def stop(self) -> None:
        """Send and count no more."""
        self.is_stopped = True
        self._transport.abort()


async def _generate(order: _Order) -> dict[str, Any]:
    requests = cycle([sent.encode("latin-1") for sent in order.requests])
    loop = asyncio.get_running_loop()
    senders: list[_Sender] = []
    started_s, started_cpu = time.perf_counter(), os.times()
    for _ in range(order.connections):
        _, sender = await loop.create_connection(
            lambda: _Sender(requests, order.answer_bytes), HOST, order.port
        )
        senders.append(sender)
    await asyncio.sleep(order.duration_s)
    for sender in senders:
        sender.stop()
    elapsed_s, cpu = time.perf_counter() - started_s, os.times()
    waits_s = sorted(wait_s for sender in senders for wait_s in sender.waits_s)
    return {
        "completed": len(waits_s),
        "p99_ms": waits_s[len(waits_s) * 99 // 100] * 1000 if waits_s else 0,
        "elapsed_s": elapsed_s,
        "cpu_s": cpu.user + cpu.system - started_cpu.user - started_cpu.system,
        "failure": next((sender.failure for sender in senders if sender.failure), ""),
    }


def main() -> None:
    """Carry out the order on the standard input."""
    order = _Order(**json.load(sys.stdin))
    json.dump(uvloop.run(_generate(order)), sys.stdout)


if __name__ == "__main__":
    main()

"""Send many requests over 32 connections, at a given rate or as fast as the server answers.

`python -m benchmarks.client` is the process that sends: it reads what to do from standard input.
"""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import cycle, islice
from typing import cast

from benchmarks.servers import CLIENT_CORE, HOST, BenchmarkError, Request, Server, pin

CONNECTIONS = 32
PER_S = 1_500
SPARE_S = 60


@dataclass(frozen=True, slots=True)
class Sent:
    """What the requests cost the server, and how many it answered a second."""

    cpu_us: float
    per_s: float


def send(
    server: Server, requests: Sequence[Request], count: int, per_s: float | None = PER_S
) -> Sent:
    """Send so many requests from a process of its own. Raise BenchmarkError if one fails."""
    raw = [request.raw.decode("latin-1") for request in requests]
    order = json.dumps({"port": server.port, "raw": raw, "count": count, "per_s": per_s})
    command = [sys.executable, "-m", "benchmarks.client"]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    pin(process.pid, CLIENT_CORE)
    before_us = server.cpu_us()
    try:
        told, _ = process.communicate(order, timeout=SPARE_S + count / (per_s or 500))
    finally:
        process.kill()
    used_us = server.cpu_us() - before_us
    found = json.loads(told) if told else {"failure": "the client broke"}
    if failure := found.get("failure"):
        raise BenchmarkError(failure)
    return Sent(used_us / count, count / found["elapsed_s"])


class Connection(asyncio.Protocol):
    """One connection, with one request under way at a time."""

    def __init__(self, idle: "asyncio.Queue[Connection]") -> None:
        self.idle = idle
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready."""
        self.transport = cast(asyncio.Transport, transport)
        self.idle.put_nowait(self)

    def data_received(self, data: bytes) -> None:
        """Be ready again once the answer is complete."""
        self.received += data
        head, separator, body = self.received.partition(b"\r\n\r\n")
        if not separator:
            return
        if not head.startswith(b"HTTP/1.1 200 "):
            self.fail(f"a request failed: {self.received[:500].decode(errors='replace')}")
        length = head.lower().partition(b"content-length:")[2].partition(b"\r\n")[0]
        if len(body) >= int(length):
            self.received = b""
            self.idle.put_nowait(self)

    def connection_lost(self, error: Exception | None) -> None:
        """Give up: no connection ends before all requests are answered."""
        self.fail("the server closed a connection")

    def fail(self, why: str) -> None:
        """Tell why, and end this process."""
        print(json.dumps({"failure": why}), flush=True)
        sys.exit(1)


async def send_all(port: int, raw: list[str], count: int, per_s: float | None) -> float:
    """Return the seconds from the first request to the last answer."""
    idle: asyncio.Queue[Connection] = asyncio.Queue()
    loop = asyncio.get_running_loop()
    for _ in range(CONNECTIONS):
        await loop.create_connection(lambda: Connection(idle), HOST, port)
    started_s = time.perf_counter()
    requests = cycle([one.encode("latin-1") for one in raw])
    for number, request in enumerate(islice(requests, count)):
        if per_s:
            while (left := started_s + number / per_s - time.perf_counter()) > 0:
                await asyncio.sleep(left)
        connection = await idle.get()
        connection.transport.write(request)
    for _ in range(CONNECTIONS):
        await idle.get()
    return time.perf_counter() - started_s


if __name__ == "__main__":
    print(json.dumps({"elapsed_s": asyncio.run(send_all(**json.load(sys.stdin)))}), flush=True)

"""How long others wait: a health check and a sale in a world of its own, every few milliseconds.

Run as `python -m benchmarks.probing` it is the process that asks: it reads an order from its
standard input, prints `ready` after the first two requests, and its results when its input ends.
"""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from benchmarks.serving import BenchmarkError, Connection, Server, ask, pin, request, two_cores

WORLD: Final = "beside"
_EVERY_S: Final = 0.004


@dataclass(slots=True)
class Seen:
    """The longest wait for an answer, its request, and the number of requests."""

    longest_ms: float = 0.0
    what: str = ""
    count: int = 0
    failures: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Probe:
    """The waits during a block; complete after it ends."""

    seen: Seen = field(default_factory=Seen)


def make_world(server: Server) -> bytes:
    """Make the world in which the sales are; the request for one."""
    body = json.dumps({"id": WORLD}).encode()
    made = ask(server.port, request("POST", "/_sandbox/worlds", body=body)).json()
    key, terminal = made["keys"]["merchant"]["key"], made["terminals"]["merchant"]
    payment = json.dumps({"amount": 1000, "terminal_id": terminal}).encode()
    return request("POST", "/v3/payment", headers={"x-service-apikey": key}, body=payment)


@contextmanager
def probing(server: Server, sale: bytes) -> Iterator[Probe]:
    """Ask from another process while the block runs."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.probing"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin
    assert process.stdout
    pin(process.pid, two_cores()[1])
    probe = Probe()
    try:
        process.stdin.write(json.dumps({"port": server.port, "sale": sale.decode()}) + "\n")
        process.stdin.flush()
        if process.stdout.readline() != "ready\n":
            raise BenchmarkError("the probe could not ask the server")
        yield probe
        process.stdin.close()
        outcome: dict[str, Any] = json.loads(process.stdout.read())
        probe.seen = Seen(**outcome)
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


# --- in the process that asks ------------------------------------------------------------------


def main() -> None:
    """Ask until the standard input ends."""
    order = json.loads(sys.stdin.readline())
    over, seen = threading.Event(), Seen()
    threading.Thread(target=_wait_for_end, args=(over,), daemon=True).start()
    sent = {"health": request("GET", "/_sandbox/health"), "sale": order["sale"].encode()}
    connections = {what: Connection(order["port"], within_s=120) for what in sent}
    for what in sent:
        connections[what].ask(sent[what])
    print("ready", flush=True)
    while not over.is_set():
        for what in sent:
            started_s = time.perf_counter()
            try:
                status = connections[what].ask(sent[what]).status
                if status != 200:
                    seen.failures.append(f"{what} was answered {status}")
            except OSError as error:
                seen.failures.append(f"{what}: {error}")
                connections[what] = Connection(order["port"], within_s=120)
            took_ms = (time.perf_counter() - started_s) * 1000
            seen.count += 1
            if took_ms > seen.longest_ms:
                seen.longest_ms, seen.what = took_ms, what
        time.sleep(_EVERY_S)
    del seen.failures[5:]
    print(json.dumps(asdict(seen)))


def _wait_for_end(over: threading.Event) -> None:
    sys.stdin.read()
    over.set()


if __name__ == "__main__":
    main()

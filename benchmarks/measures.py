"""The measurements: each gives numbers by name."""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from statistics import median
from typing import Any

from benchmarks import suite
from benchmarks.client import send
from benchmarks.servers import HOST, Request, Server, ask, bare, free_port, sandbox

Numbers = dict[str, float]
PAYMENTS = 50_000


def _cast(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = server.control("GET")
    return found


def sale_of(server: Server) -> Request:
    """Return a sale by the demo world's merchant."""
    cast = _cast(server)
    body = {"amount": 1000, "terminal_id": cast["terminals"]["merchant"]}
    return Request("POST", "/v3/payment", cast["keys"]["merchant"]["key"], body)


def read_of(server: Server) -> Request:
    """Return a read of the merchant's terminal."""
    cast = _cast(server)
    path = f"/v2/terminals/{cast['terminals']['merchant']}"
    return Request("GET", path, cast["keys"]["merchant"]["key"])


def _ratio(make: Callable[[Server], Request], rounds: int) -> float:
    """Processor time of the bare application for the sandbox's, at an equal rate."""
    ratios = []
    with sandbox() as ours:
        request = make(ours)
        with bare(request, ours.ask(request)) as plain:
            for server in (ours, plain):
                send(server, [request], 3_000, None)
            for _ in range(rounds):
                own, other = (send(server, [request], 4_500).cpu_us for server in (ours, plain))
                ratios.append(other / own)
    return median(ratios)


def read(rounds: int) -> Numbers:
    """Compare a read with the same bytes from a bare Starlette application."""
    return {"read": _ratio(read_of, rounds)}


def sale(rounds: int) -> Numbers:
    """Compare a sale with the same bytes from a bare Starlette application."""
    return {"sale": _ratio(sale_of, rounds)}


def start(rounds: int) -> Numbers:
    """Time the start, from the command to the first answer, and the first payment after it."""
    starts, bares, firsts = [], [], []
    for _ in range(rounds):
        with sandbox() as server:
            starts.append(server.start_ms)
            firsts.append(server.ask(sale_of(server)).took_ms)
        with bare() as server:
            bares.append(server.start_ms)
    return {
        "start_ms": median(starts),
        "start_of_bare_ms": median(bares),
        "first_payment_ms": median(firsts),
    }


@contextmanager
def _receiving() -> Iterator[int]:
    port = free_port()
    process = subprocess.Popen([sys.executable, "-m", "benchmarks.receiver", str(port)])
    try:
        while True:
            try:
                ask(port, Request("GET", "/"))
            except OSError:
                time.sleep(0.01)
            else:
                break
        yield port
    finally:
        process.terminate()
        process.wait()


def deliveries(rounds: int) -> Numbers:
    """Webhooks to one receiver: a backlog that is recovered."""
    rates = []
    for _ in range(min(rounds, 3)):
        with _receiving() as port, sandbox() as server:
            made = server.control("POST", "/endpoints", {"url": f"http://{HOST}:{port}/"})
            path = f"/endpoints/{made['id']}"
            server.control("PATCH", path, {"disabled": True})
            since = _cast(server)["clock"]["now"]
            send(server, [sale_of(server)], 1_500, None)
            server.control("PATCH", path, {"disabled": False})
            started_s = time.perf_counter()
            server.control("POST", f"{path}/recover", {"since": since})
            while int(ask(port, Request("GET", "/")).body) < 3_000:
                time.sleep(0.02)
            rates.append(3_000 / (time.perf_counter() - started_s))
    return {"deliveries_per_s": median(rates)}


def payments(rounds: int) -> Numbers:
    """Measure a world with 50,000 payments: memory, a search page, and a sale.

    The sale is compared with one in an empty world.
    """
    with sandbox() as server:
        request = sale_of(server)
        send(server, [request], 1_000, None)
        empty_us = median(send(server, [request], 1_000).cpu_us for _ in range(rounds))
        send(server, [request], PAYMENTS - 1_000 * (rounds + 1), None)
        query = "min_amount=500&status=captured&sort_by=total_amount&limit=50"
        search = Request("GET", f"/v2/transactions?{query}", request.key)
        pages = [server.ask(search).took_ms for _ in range(10)]
        resident_mb = server.resident_mb()
        full_us = median(send(server, [request], 1_000).cpu_us for _ in range(rounds))
        return {
            "search_page_ms": median(pages),
            "sale_in_full_world": full_us / empty_us,
            "resident_mb": resident_mb,
        }


def tests(rounds: int) -> Numbers:
    """200 tests with the kit, against 200 with stubs of pytest-httpserver."""
    ours_s, stubs_s = suite.measure(rounds)
    return {"suite": ours_s / stubs_s, "suite_s": ours_s, "stubs_s": stubs_s}

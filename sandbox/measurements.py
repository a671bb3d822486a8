"""The metrics of a server, for Prometheus."""

import asyncio
from collections.abc import Callable
from functools import cache, partial
from time import monotonic
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

WRITES_S: Final = (0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.25, 1.0)
SIZES: Final = (1, 2, 4, 8, 16, 32, 64)
STALL_S: Final = 0.05
"""A round of the event loop that begins this late counts as a stall."""

_LOOKS_EVERY_S: Final = 0.1
_NAMESPACE: Final = "uat_sandbox"
_NO_ROUTE: Final = "none"
_CUT: Final = "cut"

# All counts begin when the server starts, which Prometheus notices by itself.
disable_created_metrics()  # type: ignore[no-untyped-call]


class Measured:
    """The metrics of one server since it started."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        counter = self._counter = partial(Counter, namespace=_NAMESPACE, registry=self._registry)
        gauge = self._gauge = partial(Gauge, namespace=_NAMESPACE, registry=self._registry)
        histogram = partial(Histogram, namespace=_NAMESPACE, registry=self._registry)
        self.requests = counter("requests", "Requests to the platform.", ("route", "status"))
        self.answers = histogram(
            "request_seconds",
            "Time to produce an answer, without the time to store and send it.",
            ("route",),
            buckets=(0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0),
        )
        # Cached, because looking up the labels takes longer than counting.
        self._count_of, self._time_of = cache(self.requests.labels), cache(self.answers.labels)
        self.control_requests = counter(
            "control_requests", "Requests to the control API.", ("row", "status")
        )
        self.attempts = counter("attempts", "Attempts at sending webhooks.", ("result",))
        self.lags = histogram(
            "delivery_lag_seconds",
            "Time from an event to the first attempt at sending it, in worlds whose clock runs.",
            buckets=(0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0),
        )
        self.deliveries_waiting = gauge(
            "deliveries_waiting", "Webhooks that are due and not sent yet."
        )
        self.writes = histogram("write_seconds", "Time of a write to the store.", buckets=WRITES_S)
        self.written_together = histogram(
            "worlds_written_together", "Worlds of one write.", buckets=SIZES
        )
        self.worlds = gauge("worlds", "Worlds on this server.")
        self.stalls = counter("stalls", "Times that the server answered no request for 50 ms.")
        self.longest_stall = gauge("longest_stall_seconds", "Duration of the longest stall.")

    def share(self, is_in_contact: Callable[[], bool]) -> None:
        """Add the metrics of a server that shares worlds."""
        about = "Whether this server is in contact with the others."
        self._gauge("in_contact", about).set_function(is_in_contact)
        self.carried = self._counter("carried", "Requests that another server answered.")
        self.taken_over = self._counter("worlds_taken_over", "Worlds taken over.")
        self.lost = self._counter("worlds_lost", "Worlds lost to another server.")

    def count_request(self, route: str | None, status: int, duration_s: float | None) -> None:
        """Count a request to the platform, and observe its duration if a world answered it.

        The status is 0 if the connection was closed without an answer.
        """
        self._count_of(route or _NO_ROUTE, status or _CUT).inc()
        if duration_s is not None:
            self._time_of(route or _NO_ROUTE).observe(duration_s)

    def count_requests(self) -> int:
        """Return the number of all requests to the platform."""
        return sum(int(one.value) for family in self.requests.collect() for one in family.samples)

    def write(self) -> bytes:
        """Return all metrics in Prometheus' text format."""
        return generate_latest(self._registry)

    async def watch_loop(self) -> None:
        """Count the stalls of the event loop, until canceled."""
        longest_s = 0.0
        while True:
            before_s = monotonic()
            await asyncio.sleep(_LOOKS_EVERY_S)
            late_s = monotonic() - before_s - _LOOKS_EVERY_S
            if late_s >= STALL_S:
                self.stalls.inc()
                longest_s = max(longest_s, late_s)
                self.longest_stall.set(longest_s)

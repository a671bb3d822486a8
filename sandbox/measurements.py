"""The metrics of a server, for Prometheus."""

import asyncio
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from itertools import accumulate
from time import monotonic
from typing import Final

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Metric,
    disable_created_metrics,
    generate_latest,
)
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily

ANSWERS_S: Final = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.05, 0.25, 1.0, 10.0)
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


class AnswerTimes:
    """How long answers took: the sum, and their number in each bucket of ANSWERS_S and above."""

    def __init__(self) -> None:
        self.sum_s, self.counts = 0.0, [0] * (len(ANSWERS_S) + 1)


class Measured:
    """The metrics of one server since it started.

    Requests are counted in plain numbers, by route, because each costs time.
    """

    def __init__(self) -> None:
        self._requests: dict[tuple[str, int], int] = defaultdict(int)
        self._answers: dict[str, AnswerTimes] = defaultdict(AnswerTimes)
        self._registry = CollectorRegistry()
        self._registry.register(self)
        counter = self._counter = partial(Counter, namespace=_NAMESPACE, registry=self._registry)
        gauge = self._gauge = partial(Gauge, namespace=_NAMESPACE, registry=self._registry)
        histogram = partial(Histogram, namespace=_NAMESPACE, registry=self._registry)
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
        route = route or _NO_ROUTE
        self._requests[route, status] += 1
        if duration_s is not None:
            times = self._answers[route]
            times.sum_s += duration_s
            times.counts[bisect_left(ANSWERS_S, duration_s)] += 1

    def count_requests(self) -> int:
        """Return the number of all requests to the platform."""
        return sum(self._requests.values())

    def collect(self) -> Iterator[Metric]:
        """Collect the counts and times of requests, for the registry."""
        requests = CounterMetricFamily(
            f"{_NAMESPACE}_requests", "Requests to the platform.", labels=("route", "status")
        )
        for (route, status), count in self._requests.items():
            requests.add_metric((route, str(status or _CUT)), count)
        answers = HistogramMetricFamily(
            f"{_NAMESPACE}_request_seconds",
            "Time to produce an answer, without the time to store and send it.",
            labels=("route",),
        )
        limits = (*map(str, ANSWERS_S), "+Inf")
        for route, times in self._answers.items():
            buckets = [*zip(limits, accumulate(times.counts), strict=True)]
            answers.add_metric((route,), buckets, times.sum_s)
        yield from (requests, answers)

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

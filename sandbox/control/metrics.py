"""The metrics of a server, in the format of Prometheus."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from sandbox.control.context import Services
from sandbox.measurements import Histogram, Measured

_PREFIX: Final = "uat_sandbox_"
_NO_ROUTE: Final = "none"
_CUT: Final = "cut"


def write_metrics(services: Services) -> bytes:
    """All metrics of the server."""
    registry = CollectorRegistry()
    registry.register(_Collector(services))
    return generate_latest(registry)


class _Collector:
    """Reads the counts of a server when it is asked. Fulfils the collectors of the library."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def collect(self) -> Iterator[Metric]:
        """All metrics of the server."""
        measured = self._services.worlds.measured
        yield from self._requests(measured)
        yield from self._webhooks(measured)
        yield _histogram("write_seconds", "Time of a write to the store.", measured.writes)
        together = measured.written_together
        yield _histogram("worlds_written_together", "Worlds of one write.", together)
        yield from self._server(measured)

    def _requests(self, measured: Measured) -> Iterator[Metric]:
        worlds, counts = self._services.worlds, Counter[tuple[str, str]]()
        for coverage in (worlds.coverage, *(world.coverage for world in worlds)):
            for (route, status, *_), count in coverage.answers.items():
                counts[route or _NO_ROUTE, str(status or _CUT)] += count
        yield _counter("requests", "Requests to the platform.", ("route", "status"), counts)
        yield _histograms(
            "request_seconds",
            "Time to work an answer out, without waiting for it to be written or sent.",
            "route",
            {route or _NO_ROUTE: one for route, one in measured.answers.items()},
        )
        control = {(row, str(status)): n for (row, status), n in measured.control_answers.items()}
        yield _counter(
            "control_requests", "Requests to the control API.", ("row", "status"), control
        )

    def _webhooks(self, measured: Measured) -> Iterator[Metric]:
        attempts = {(result,): count for result, count in measured.attempts.items()}
        yield _counter("attempts", "Attempts at sending webhooks.", ("result",), attempts)
        about = "From an event to the first attempt at sending it, in worlds whose clock runs."
        yield _histogram("delivery_lag_seconds", about, measured.lags)
        waiting = sum(world.outbox.waiting for world in self._services.worlds)
        yield _gauge("deliveries_waiting", "Webhooks that are due and not sent yet.", waiting)

    def _server(self, measured: Measured) -> Iterator[Metric]:
        worlds, elsewhere = self._services.worlds, self._services.elsewhere
        yield _gauge("worlds", "Worlds that this server has.", len(list(worlds)))
        yield _count("stalls", "Times that the server answered nobody for 50 ms.", measured.stalls)
        yield _gauge("longest_stall_seconds", "The longest of them.", measured.longest_stall_s)
        if elsewhere is not None:
            about = "Whether this server is in contact with the others."
            yield _gauge("in_contact", about, int(elsewhere.is_current))
            yield _count("carried", "Requests that another server answered.", measured.carried)
            yield _count("worlds_taken_over", "Worlds taken over.", measured.taken_over)
            yield _count("worlds_lost", "Worlds lost to another server.", measured.lost)


# --- families of metrics ----------------------------------------------------------------------


def _counter(name: str, about: str, labels: tuple[str, ...], counts: Mapping[Any, int]) -> Metric:
    family = CounterMetricFamily(_PREFIX + name, about, labels=labels)
    for values, count in sorted(counts.items()):
        family.add_metric(values, count)
    return family


def _count(name: str, about: str, count: int) -> Metric:
    return _counter(name, about, (), {(): count})


def _gauge(name: str, about: str, value: float) -> Metric:
    return GaugeMetricFamily(_PREFIX + name, about, value=value)


def _histogram(name: str, about: str, histogram: Histogram) -> Metric:
    return _histograms(name, about, None, {"": histogram})


def _histograms(
    name: str, about: str, label: str | None, histograms: Mapping[str, Histogram]
) -> Metric:
    labels = () if label is None else (label,)
    family = HistogramMetricFamily(_PREFIX + name, about, labels=labels)
    for value, one in sorted(histograms.items(), key=lambda each: each[0]):
        values = () if label is None else (value,)
        family.add_metric(values, list(_buckets(one)), one.total)
    return family


def _buckets(histogram: Histogram) -> Iterator[tuple[str, float]]:
    """The counts as the format has them: of all values up to each bound."""
    count = 0
    for bound, more in zip((*histogram.bounds, None), histogram.counts, strict=True):
        count += more
        yield ("+Inf" if bound is None else str(bound)), count

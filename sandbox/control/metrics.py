"""The control endpoint with the metrics of a server, in the format of Prometheus."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Final

from sandbox.control.rows import ControlRequest, Written
from sandbox.worlds.measured import Histogram, Measured

if TYPE_CHECKING:
    from prometheus_client.metrics_core import Metric

MEDIA_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"
_PREFIX: Final = "uat_sandbox_"
_NO_ROUTE: Final = "none"
_CUT: Final = "cut"


def show(request: ControlRequest) -> Written[str]:
    """All metrics as text."""
    # Only for somebody who watches the server.
    from prometheus_client import CollectorRegistry, generate_latest

    registry = CollectorRegistry()
    registry.register(_Collector(request))
    return Written(generate_latest(registry), MEDIA_TYPE)


class _Collector:
    """Reads the counts of a server when it is asked. Fulfils the collectors of the library."""

    def __init__(self, request: ControlRequest) -> None:
        self._services = request.services

    def collect(self) -> "Iterable[Metric]":
        """All metrics of the server."""
        measured = self._services.worlds.measured
        yield from self._requests(measured)
        yield from self._webhooks(measured)
        yield from _writes(measured)
        yield from self._server(measured)

    def _requests(self, measured: Measured) -> "Iterator[Metric]":
        worlds, counts = self._services.worlds, Counter[tuple[str, str]]()
        for coverage in (worlds.coverage, *(world.coverage for world in worlds)):
            for (route, status, *_), count in coverage.answers.items():
                counts[route or _NO_ROUTE, str(status or _CUT)] += count
        yield _counter("requests", "Requests to the platform.", ("route", "status"), counts.items())
        yield _histograms(
            "request_seconds",
            "Time to work an answer out, without waiting for it to be written or sent.",
            "route",
            ((route or _NO_ROUTE, one) for route, one in measured.answers.items()),
        )
        control = {(row, str(status)): n for (row, status), n in measured.control_answers.items()}
        yield _counter(
            "control_requests", "Requests to the control API.", ("row", "status"), control.items()
        )

    def _webhooks(self, measured: Measured) -> "Iterator[Metric]":
        attempts = {(result,): count for result, count in measured.attempts.items()}
        yield _counter("attempts", "Attempts at sending webhooks.", ("result",), attempts.items())
        yield _histogram(
            "delivery_lag_seconds",
            "From an event to the first attempt at sending it, in worlds whose clock runs.",
            measured.lags,
        )
        waiting = sum(world.outbox.waiting for world in self._services.worlds)
        yield _gauge("deliveries_waiting", "Webhooks that are due and not sent yet.", waiting)

    def _server(self, measured: Measured) -> "Iterator[Metric]":
        worlds = self._services.worlds
        yield _gauge("worlds", "Worlds that this server has.", len(list(worlds)))
        yield _count("stalls", "Times that the server answered nobody for 50 ms.", measured.stalls)
        yield _gauge("longest_stall_seconds", "The longest of them.", measured.longest_stall_s)
        elsewhere = self._services.elsewhere
        if elsewhere is not None:
            yield _gauge(
                "in_contact",
                "Whether this server is in contact with the others.",
                int(elsewhere.is_current),
            )
            yield _count("carried", "Requests that another server answered.", measured.carried)
            yield _count("worlds_taken_over", "Worlds taken over.", measured.taken_over)
            yield _count("worlds_lost", "Worlds lost to another server.", measured.lost)


def _writes(measured: Measured) -> "Iterator[Metric]":
    yield _histogram("write_seconds", "Time of a write to the store.", measured.writes)
    yield _histogram("worlds_written_together", "Worlds of one write.", measured.written_together)


# --- families of metrics ----------------------------------------------------------------------


def _counter(
    name: str,
    about: str,
    labels: tuple[str, ...],
    counts: Iterable[tuple[tuple[str, ...], int]],
) -> "Metric":
    from prometheus_client.metrics_core import CounterMetricFamily

    family = CounterMetricFamily(_PREFIX + name, about, labels=labels)
    for values, count in sorted(counts):
        family.add_metric(values, count)
    return family


def _count(name: str, about: str, count: int) -> "Metric":
    return _counter(name, about, (), [((), count)])


def _gauge(name: str, about: str, value: float) -> "Metric":
    from prometheus_client.metrics_core import GaugeMetricFamily

    return GaugeMetricFamily(_PREFIX + name, about, value=value)


def _histogram(name: str, about: str, histogram: Histogram) -> "Metric":
    return _histograms(name, about, None, [("", histogram)])


def _histograms(
    name: str, about: str, label: str | None, histograms: Iterable[tuple[str, Histogram]]
) -> "Metric":
    from prometheus_client.metrics_core import HistogramMetricFamily

    labels = () if label is None else (label,)
    family = HistogramMetricFamily(_PREFIX + name, about, labels=labels)
    for value, one in sorted(histograms, key=lambda each: each[0]):
        values = () if label is None else (value,)
        family.add_metric(values, list(_buckets(one)), one.total)
    return family


def _buckets(histogram: Histogram) -> Iterator[tuple[str, float]]:
    """The counts as the format has them: of all values up to each bound."""
    count = 0
    for bound, more in zip((*histogram.bounds, None), histogram.counts, strict=True):
        count += more
        yield ("+Inf" if bound is None else str(bound)), count

"""The figures of a load on the sandbox against the same load on a bare application."""

from collections.abc import Sequence

from benchmarks.load import CONNECTIONS, Sent
from benchmarks.report import Result, Target, compared


def results(
    name: str,
    ours: Sequence[Sent],
    yardstick: Sequence[Sent],
    *,
    rate: Target,
    p99: Target,
    rate_notes: tuple[str, ...] = (),
    p99_notes: tuple[str, ...] = (),
) -> list[Result]:
    """Requests per second, the wait of the slowest hundredth, and processor time of the server.

    `rate` is the target of the first and the last, which is missing where no system tells it.
    """
    found = [
        compared(
            name,
            "req/s",
            figures=[one.per_s for one in ours],
            baselines=[one.per_s for one in yardstick],
            target=rate,
            notes=rate_notes,
        ),
        compared(
            f"{name}, p99 at {CONNECTIONS} connections",
            "ms",
            figures=[one.p99_ms for one in ours],
            baselines=[one.p99_ms for one in yardstick],
            target=p99,
            notes=p99_notes,
        ),
    ]
    costs = [one.server_cpu_us for one in ours if one.server_cpu_us]
    bare_costs = [one.server_cpu_us for one in yardstick if one.server_cpu_us]
    if len(costs) == len(bare_costs) == len(ours):
        found.append(
            compared(
                f"{name}, server's CPU",
                "req/CPU s",
                figures=[1e6 / cost for cost in costs],
                baselines=[1e6 / cost for cost in bare_costs],
                target=rate,
            )
        )
    return found

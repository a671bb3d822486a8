"""What a test suite pays: loading and starting a sandbox in its process, and a sale of a test.

Each start is measured in a process of its own, as pytest has it before the first test: a program of
its own, `python -m benchmarks.kit`.
"""

import json
import subprocess
import sys
import time
from statistics import median
from typing import Any, Final

from benchmarks.report import Plan, Result, Target
from benchmarks.serving import BenchmarkError

_SALES: Final = 200
_PAUSE_S: Final = 0.004
"""So long a test does something else, while the two webhooks of a sale arrive."""
_WITHIN_S: Final = 60
_START_MS: Final = Target(bound=100, of="figure")
_SALE_MS: Final = Target(bound=1, of="figure")


def run(plan: Plan) -> list[Result]:
    """Medians of several processes; the first one only warms the caches of files."""
    rounds = [_measured() for _ in range(plan.rounds + 1)][1:]
    return [
        Result(
            name="start in a test's process, loading included",
            unit="ms",
            figure=median(one["start_ms"] for one in rounds),
            target=_START_MS,
            notes=(f"another one later {median(one['again_ms'] for one in rounds):.1f} ms",),
        ),
        Result(
            name="a sale in a test",
            unit="ms",
            figure=median(one["sale_ms"] for one in rounds),
            target=_SALE_MS,
            notes=(
                "sent by httpx2, with a receiver of webhooks in the same process",
                f"one right after the other, with their webhooks between them, "
                f"{median(one['crowded_ms'] for one in rounds):.2f} ms",
            ),
        ),
    ]


def _measured() -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.kit"],
        capture_output=True,
        text=True,
        timeout=_WITHIN_S,
        check=False,
    )
    if done.returncode:
        raise BenchmarkError(f"the process of a test failed: {done.stderr.strip()[-300:]}")
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    """Measure once, and print what was found."""
    # As in a test, which pytest has loaded already.
    import pytest  # noqa: F401

    from uat_sandbox.server import of_this_process

    started_s = time.perf_counter()
    with of_this_process(None) as server:
        start_ms = _since_ms(started_s)
        with server.world() as world:
            sale_ms, crowded_ms = _sale_ms(world, _PAUSE_S), _sale_ms(world, 0)
        started_s = time.perf_counter()
        with of_this_process(None):
            again_ms = _since_ms(started_s)
    found = {"start_ms": start_ms, "again_ms": again_ms}
    print(json.dumps({**found, "sale_ms": sale_ms, "crowded_ms": crowded_ms}))


def _sale_ms(world: Any, pause_s: float) -> float:
    """The usual time of a sale, from the call to the answer."""
    client, body = world.client(), {"amount": 1000, "terminal_id": world.terminal()}

    def sell() -> None:
        answer = client.post("/v3/payment", json=body)
        if answer.status_code != 200:
            raise BenchmarkError(f"a sale failed: {answer.text}")

    sell()
    taken_ms = []
    for _ in range(_SALES):
        time.sleep(pause_s)
        began_s = time.perf_counter()
        sell()
        taken_ms.append(_since_ms(began_s))
    return median(taken_ms)


def _since_ms(began_s: float) -> float:
    return (time.perf_counter() - began_s) * 1000


if __name__ == "__main__":
    main()

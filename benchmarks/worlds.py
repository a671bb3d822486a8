"""The cost of a world: creating one, alone and among 500 others, and resetting one.

Measured at the application itself, without a socket. Collections of garbage run as Python has them
by default, which is more often than in the server.
"""

from statistics import median
from time import perf_counter
from typing import Final

from benchmarks.report import Plan, Result, Target
from benchmarks.serving import BenchmarkError
from sandbox.app import build
from sandbox.settings import Settings
from sandbox.worlds.registry import Limits
from tests.driving import InProcess, Response

OTHERS: Final = 500
_CALLS_PER_ROUND: Final = 30
_CREATE_TARGET: Final = Target(bound=5.0, of="figure")
_RESET_TARGET: Final = Target(bound=2.0, of="figure")


def run(plan: Plan) -> list[Result]:
    """Alone first, then in the same sandbox among the others; medians of all calls."""
    calls = plan.rounds * _CALLS_PER_ROUND
    limits = Limits(worlds_max=OTHERS + 10)
    driver = InProcess(build(Settings(limits=limits)))
    create_ms, reset_ms = _create_ms(driver, calls), _reset_ms(driver, calls)
    for number in range(OTHERS):
        _must(driver.control("POST", "/worlds", {"id": f"other-{number}"}), 201)
    create_among_ms, reset_among_ms = _create_ms(driver, calls), _reset_ms(driver, calls)
    return [
        Result(name="create a world", unit="ms", figure=create_ms, target=_CREATE_TARGET),
        _among("create a world", create_among_ms, create_ms, _CREATE_TARGET),
        Result(name="reset a world", unit="ms", figure=reset_ms, target=_RESET_TARGET),
        _among("reset a world", reset_among_ms, reset_ms, _RESET_TARGET),
    ]


def _among(name: str, figure: float, alone: float, target: Target) -> Result:
    """The same call among the others; alone is its baseline."""
    return Result(
        name=f"{name}, {OTHERS} others",
        unit="ms",
        figure=figure,
        baseline=alone,
        ratio=figure / alone,
        target=target,
    )


def _create_ms(driver: InProcess, calls: int) -> float:
    """Each world is deleted again, untimed, so their number stays the same."""
    spent_ms = []
    for _ in range(calls):
        started_s = perf_counter()
        answer = driver.control("POST", "/worlds", {"id": "measured"})
        spent_ms.append((perf_counter() - started_s) * 1000)
        _must(answer, 201)
        _must(driver.control("DELETE", "/worlds/measured"), 204)
    return median(spent_ms)


def _reset_ms(driver: InProcess, calls: int) -> float:
    """Each reset finds a world in which something was changed since the last."""
    _must(driver.control("POST", "/worlds", {"id": "measured"}), 201)
    user = InProcess(driver.sandbox, world="measured")
    body = {"name": "A key", "permissions": ["payments:read"]}
    spent_ms = []
    for _ in range(calls):
        _must(user.ask("POST", "/v5/apikeys", key="merchant", json_body=body), 201)
        started_s = perf_counter()
        answer = driver.control("POST", "/worlds/measured/reset")
        spent_ms.append((perf_counter() - started_s) * 1000)
        _must(answer, 200)
    _must(driver.control("DELETE", "/worlds/measured"), 204)
    return median(spent_ms)


def _must(answer: Response, status: int) -> None:
    if answer.status != status:
        raise BenchmarkError(f"{status} was expected, not {answer.status}: {answer.body!r}")

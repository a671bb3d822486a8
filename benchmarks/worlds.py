"""What a world costs: making one, alone and among 500 others, and resetting one.

Measured at the application itself, without a socket. Collections of garbage run as Python has them
by default, which is more often than in the server.
"""

from math import inf
from statistics import median
from time import perf_counter
from typing import Final

from sandbox.in_process import Exchange

from benchmarks.in_process import answer_of, ask, question
from benchmarks.report import Plan, Result, Target
from sandbox.app import Sandbox, build
from sandbox.settings import Settings
from sandbox.worlds.limits import Limits

OTHERS: Final = 500
_CALLS_PER_ROUND: Final = 30
_WORLDS: Final = "/_sandbox/worlds"
_CREATE_TARGET: Final = Target(bound=5.0, of="figure")
_RESET_TARGET: Final = Target(bound=2.0, of="figure")


def run(plan: Plan) -> list[Result]:
    """Alone first, then in the same sandbox among the others; medians of all calls."""
    calls = plan.rounds * _CALLS_PER_ROUND
    limits = Limits(worlds_max=OTHERS + 10)
    sandbox = build(Settings(limits=limits))
    sandbox.worlds.slices.slice_s = inf
    create_ms, reset_ms = _create_ms(sandbox, calls), _reset_ms(sandbox, calls)
    for number in range(OTHERS):
        ask(sandbox, question("POST", _WORLDS, body={"id": f"other-{number}"}), 201)
    create_among_ms, reset_among_ms = _create_ms(sandbox, calls), _reset_ms(sandbox, calls)
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


def _create_ms(sandbox: Sandbox, calls: int) -> float:
    """Each world is deleted again, untimed, so that their number stays."""
    spent_ms = []
    for _ in range(calls):
        create = question("POST", _WORLDS, body={"id": "measured"})
        spent_ms.append(_timed_ms(sandbox, create))
        answer_of(create.response, 201)
        ask(sandbox, question("DELETE", f"{_WORLDS}/measured"), 204)
    return median(spent_ms)


def _reset_ms(sandbox: Sandbox, calls: int) -> float:
    """Each reset finds a world in which something was changed since the last."""
    made = ask(sandbox, question("POST", _WORLDS, body={"id": "measured"}), 201)
    key = made["keys"]["merchant"]["key"]
    body = {"name": "A key", "permissions": ["payments:read"]}
    spent_ms = []
    for _ in range(calls):
        ask(sandbox, question("POST", "/v5/apikeys", key=key, body=body), 201)
        reset = question("POST", f"{_WORLDS}/measured/reset")
        spent_ms.append(_timed_ms(sandbox, reset))
        answer_of(reset.response)
    ask(sandbox, question("DELETE", f"{_WORLDS}/measured"), 204)
    return median(spent_ms)


def _timed_ms(sandbox: Sandbox, one: Exchange) -> float:
    started_s = perf_counter()
    one.carry_out_now(sandbox.app)
    return (perf_counter() - started_s) * 1000

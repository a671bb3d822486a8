"""How long a user waits: from starting the command to its first 200.

Two figures: elapsed time, and processor time until then, which other work on the machine
disturbs less.
"""

from compileall import compile_dir
from pathlib import Path

import sandbox
from benchmarks import serving
from benchmarks.report import Plan, Result, Target, compared
from benchmarks.serving import Server

_TARGET = Target(bound=1.5)
_Waited = tuple[float, float]


def run(plan: Plan) -> list[Result]:
    """The sandbox with its demo world, against a bare application with one route."""
    ours: list[_Waited] = []
    yardstick: list[_Waited] = []
    # As `make setup` does: a module that was changed since would be compiled at each start.
    compile_dir(Path(sandbox.__file__).parent, quiet=1)
    # The first round only warms the caches of files.
    for number in range(plan.rounds + 3):
        first, second = (_sandbox, _bare) if number % 2 else (_bare, _sandbox)
        waited = {first: first(), second: second()}
        if number:
            ours.append(waited[_sandbox])
            yardstick.append(waited[_bare])
    results = [_compared("start to first 200", ours, yardstick, 0)]
    if all(one[1] for one in (*ours, *yardstick)):
        results.append(_compared("start to first 200, CPU", ours, yardstick, 1))
    return results


def _compared(name: str, ours: list[_Waited], yardstick: list[_Waited], column: int) -> Result:
    return compared(
        name,
        "ms",
        figures=[one[column] for one in ours],
        baselines=[one[column] for one in yardstick],
        target=_TARGET,
    )


def _sandbox() -> _Waited:
    """Wall and processor time, in milliseconds."""
    with serving.sandbox() as server:
        return server.start_s * 1000, _cpu_ms(server)


def _bare() -> _Waited:
    with serving.bare() as server:
        return server.start_s * 1000, _cpu_ms(server)


def _cpu_ms(server: Server) -> float:
    """Processor time of all threads; 0 if the system does not report it."""
    try:
        told = [
            one.read_text(encoding="utf-8").split()[0]
            for one in Path(f"/proc/{server.process.pid}/task").glob("*/schedstat")
        ]
    except OSError:
        told = []
    # Without it, what is left counts in steps of 10 ms.
    return sum(map(int, told)) / 1e6 or (server.cpu_s() or 0) * 1000

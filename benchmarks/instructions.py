"""Instructions of the processor per request, where the machine can count them.

Times on a busy machine differ by a fifth from run to run; instructions differ by less than a
hundredth. `perf stat` counts them at full speed where the kernel allows it, and `valgrind` counts
them anywhere, fifty times as slowly. Each side runs twice, with few requests and with many; the
difference is what the additional requests took.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from benchmarks.driving import WHATS, Side, What
from benchmarks.report import Plan, Result, Target
from benchmarks.serving import BenchmarkError

_ROOT: Final = Path(__file__).parent.parent
_FEW: Final = 50
_MANY: Final = 250
_WITHIN_S: Final = 600
_UNIT: Final = "instructions"
_NAMES: Final[dict[What, str]] = {
    "read": "read a key, instructions",
    "sale": "a sale, instructions",
}
_TARGETS: Final[dict[What, Target]] = {
    "read": Target(bound=1.2),
    "sale": Target(bound=2.7),
}

Count = Callable[[list[str]], int]
"""Runs a command, and returns how many instructions it took."""


def run(plan: Plan) -> list[Result]:
    """Reading and a sale, without sockets. Nothing where the machine cannot count."""
    counter = _counter()
    if counter is None:
        print("  neither perf nor valgrind counts instructions here", file=sys.stderr)
        return []
    name, count = counter
    return [_result(what, count, name) for what in WHATS]


def _result(what: What, count: Count, by: str) -> Result:
    figure, baseline = _each("ours", what, count), _each("bare", what, count)
    return Result(
        name=_NAMES[what],
        unit=_UNIT,
        figure=figure,
        baseline=baseline,
        ratio=figure / baseline,
        target=_TARGETS[what],
        notes=(f"counted by {by}, without sockets",),
        is_exact=True,
    )


def _each(side: Side, what: What, count: Count) -> float:
    def of(times: int) -> int:
        return count([sys.executable, "-m", "benchmarks.driving", side, what, str(times)])

    return (of(_MANY) - of(_FEW)) / (_MANY - _FEW)


def _counter() -> tuple[str, Count] | None:
    """What counts here, or None."""
    if shutil.which("perf") is not None and _by_perf([sys.executable, "-c", ""]):
        return "perf", _by_perf
    return ("valgrind", _by_valgrind) if shutil.which("valgrind") is not None else None


def _by_perf(command: list[str]) -> int:
    done = _run(["perf", "stat", "--event=instructions:u", "--field-separator=,", *command])
    found = re.search(r"^(\d+),.*instructions", done, re.MULTILINE)
    return int(found[1]) if found else 0


def _by_valgrind(command: list[str]) -> int:
    with tempfile.TemporaryDirectory() as folder:
        out = f"--callgrind-out-file={Path(folder) / 'counts'}"
        done = _run(["valgrind", "--tool=callgrind", out, *command])
    found = re.search(r"Collected : (\d+)", done)
    if found is None:
        raise BenchmarkError(f"valgrind counted nothing: {done[-500:]}")
    return int(found[1])


def _run(command: list[str]) -> str:
    """What the command writes on standard error."""
    # Sets of texts are laid out alike in every run.
    settings = os.environ | {"PYTHONHASHSEED": "0", "PYTHONPATH": str(_ROOT)}
    done = subprocess.run(
        command, env=settings, capture_output=True, text=True, timeout=_WITHIN_S, check=False
    )
    if done.returncode:
        raise BenchmarkError(f"{' '.join(command)}: {done.stderr[-500:]}")
    return done.stderr

"""The command `python -m benchmarks`: measure, and hold the numbers against goals and baseline."""

import argparse
import json
import os
import platform
import sys
from pathlib import Path

from benchmarks import measures
from benchmarks.measures import Numbers
from benchmarks.servers import BenchmarkError

BASELINE = Path(__file__).with_name("baseline.json")
MOVED = 0.1
"""A number that differs by more than this part of it has moved."""

MEASURES = {
    one.__name__: one
    for one in (
        measures.read,
        measures.sale,
        measures.start,
        measures.deliveries,
        measures.payments,
        measures.tests,
    )
}

GOALS = {
    "read": (">=", 0.45, "reads: processor time of a bare application / ours"),
    "sale": (">=", 0.35, "sales: processor time of a bare application / ours"),
    "start_ms": ("<=", 500.0, "from the command to the first answer, ms"),
    "start_of_bare_ms": ("", 0.0, "the same of a bare application, ms"),
    "first_payment_ms": ("<=", 20.0, "the first payment, ms"),
    "deliveries_per_s": (">=", 1_000.0, "webhooks to one receiver, per second"),
    "search_page_ms": ("<=", 25.0, "a search page among 50,000 payments, ms"),
    "sale_in_full_world": ("<=", 1.2, "a sale beside 50,000 payments / in an empty world"),
    "resident_mb": ("<=", 250.0, "memory with 50,000 payments, MB"),
    "suite": ("<=", 2.2, "200 tests with the kit / with stubs"),
    "suite_s": ("", 0.0, "200 tests with the kit, s"),
    "stubs_s": ("", 0.0, "200 tests with stubs, s"),
}
"""How each number compares with its goal, the goal, and what it is."""


def is_met(name: str, value: float) -> bool:
    """Whether the number meets its goal, if it has one."""
    sign, goal, _ = GOALS[name]
    return not sign or (value >= goal if sign == ">=" else value <= goal)


def show(numbers: Numbers, baseline: Numbers) -> None:
    """Print a line for each number."""
    for name, value in numbers.items():
        sign, goal, about = GOALS[name]
        known = baseline.get(name)
        moved = known is not None and abs(value - known) > MOVED * known
        wanted = f"{sign} {goal:g}" if sign else ""
        verdict = "" if not sign else "ok" if is_met(name, value) else "MISSED"
        change = f"moved from {known:.4g}" if moved and known is not None else ""
        print(f"{about:58} {value:10.4g} {wanted:9} {verdict:7} {change}")


def main() -> int:
    """Measure what is named, or everything; 1 with --strict if a goal is missed."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(MEASURES))
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--store", action="store_true", help="keep the numbers as the baseline")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a goal is missed")
    options = parser.parse_args()
    if unknown := [name for name in options.names if name not in MEASURES]:
        parser.error(f"no benchmark is called {unknown[0]}; there are {', '.join(MEASURES)}")
    print(f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}")
    baseline: Numbers = json.loads(BASELINE.read_text()) if BASELINE.exists() else {}
    found: Numbers = {}
    for name in options.names or MEASURES:
        try:
            numbers = MEASURES[name](options.rounds)
        except BenchmarkError as error:
            print(f"{name}: {error}", file=sys.stderr)
            return 2
        found |= numbers
        show(numbers, baseline)
    if options.store:
        BASELINE.write_text(json.dumps({**baseline, **found}, indent=1) + "\n")
    return int(options.strict and not all(is_met(*one) for one in found.items()))


if __name__ == "__main__":
    sys.exit(main())

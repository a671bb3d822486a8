"""The command `python -m benchmarks`: runs all benchmarks, or those that are named."""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from typing import Final

from benchmarks import (
    browser,
    console,
    instructions,
    kit,
    many_keys,
    memory,
    payments,
    peers,
    read,
    sale,
    servers,
    stalls,
    start,
    stored,
    stores,
    terminals,
    webhooks,
    worlds,
)
from benchmarks.load import generators
from benchmarks.report import ROUNDS, Plan, Result, machine, table
from benchmarks.serving import BenchmarkError

BENCHMARKS: Final[dict[str, Callable[[Plan], list[Result]]]] = {
    "start": start.run,
    "kit": kit.run,
    "read": read.run,
    "sale": sale.run,
    "instructions": instructions.run,
    "many_keys": many_keys.run,
    "terminals": terminals.run,
    "worlds": worlds.run,
    "webhooks": webhooks.run,
    "payments": payments.run,
    "memory": memory.run,
    "stores": stores.run,
    "servers": servers.run,
    "stalls": stalls.run,
    "console": console.run,
    "browser": browser.run,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print. The exit status is 0 unless something broke, or `--strict` missed."""
    options = _parser().parse_args(arguments)
    plan = Plan(rounds=options.rounds, generator=options.generator or generators()[0])
    facts, started_s = machine(), time.perf_counter()
    results: list[Result] = []
    for name in options.names or BENCHMARKS:
        print(f"measuring {name} ...", file=sys.stderr, flush=True)
        try:
            results += BENCHMARKS[name](plan)
        except (BenchmarkError, OSError) as error:
            print(f"benchmarks: {name}: {error}", file=sys.stderr)
            return 2
    facts["took_s"] = round(time.perf_counter() - started_s, 1)
    if options.json:
        print(json.dumps({"machine": facts, "results": [one.view() for one in results]}, indent=2))
    else:
        print(table(results))
        print(peers.beside(results))
        print(f"\n{_summary(facts)}")
        print("\n".join(stored.moved(results, facts)))
    if options.save:
        stored.save(results, facts)
    return 1 if options.strict and not all(one.is_met for one in results) else 0


def _summary(facts: dict[str, object]) -> str:
    return (
        f"Python {facts['python']} on {facts['system']}, {facts['cores']} cores, load average at "
        f"the start {facts['load_average']}; took {facts['took_s']} s.\n"
        "Figures and baselines are medians; a ratio is figure over baseline."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks",
        description="Measure speed, as ratios to a bare application in the same run.",
    )
    parser.add_argument(
        "names",
        nargs="*",
        type=_name,
        metavar="NAME",
        help=f"all, or any of: {', '.join(BENCHMARKS)}",
    )
    parser.add_argument("--rounds", type=_rounds, default=ROUNDS, help="of each comparison")
    parser.add_argument("--generator", choices=generators(), help="what sends requests")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--save", action="store_true", help="store the results as the baseline")
    parser.add_argument("--strict", action="store_true", help="exit with 1 if a target is missed")
    return parser


def _name(text: str) -> str:
    # Not `choices`: with it, argparse refuses to be given no name at all.
    if text not in BENCHMARKS:
        raise argparse.ArgumentTypeError(f"there is no {text!r}; there are {', '.join(BENCHMARKS)}")
    return text


def _rounds(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 100:
        raise argparse.ArgumentTypeError("must be between 1 and 100")
    return int(text)


if __name__ == "__main__":
    sys.exit(main())

"""Whether payments cost more where there are many: 200,000 transactions against 1,000.

BENCH_PAYMENTS=1000000 measures with a million.

Run as `python -m benchmarks.payments` it is the process that holds both worlds: it reads an order
from its standard input, and writes what it measured to its standard output. Both worlds are filled
through the API and asked in turn, without a socket; costs are processor time of the application.
That takes about two minutes, most of it for filling the large world. `memory` needs the same
process: together they start it once.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from random import Random
from statistics import median
from time import process_time
from typing import Any, Final

from sandbox.in_process import Exchange

from benchmarks.filling import DAYS, FIRST_DAY, Filled, filled
from benchmarks.in_process import answer_of, as_served, cost_us, resident_bytes
from benchmarks.report import Plan, Result, Target, compared
from benchmarks.serving import BenchmarkError

MANY: Final = int(os.environ.get("BENCH_PAYMENTS", "200000"))
FEW: Final = 1_000
_PER_ROUND: Final = 50
_PAGE: Final = 20
_TARGET: Final = Target(bound=1.2)
_WITHIN_S: Final = 900 + MANY // 500

_DAY_MS: Final = 86_400_000
_START_MS: Final = int(FIRST_DAY.timestamp() * 1000) + DAYS // 3 * _DAY_MS
_BRAND_AND_DATES: Final = (
    f"card_brand=MasterCard&start_date={_START_MS}&end_date={_START_MS + 10 * _DAY_MS}"
)

_SEARCHES: Final[dict[str, str]] = {
    "search": "",
    "search, second page": f"offset={_PAGE}",
    "search, last page": "offset={last}",
    "search by status": "status=declined",
    "search by terminal": "terminal_id={terminal}",
    "search by brand and dates": _BRAND_AND_DATES,
    "search by brand and dates, second page": f"{_BRAND_AND_DATES}&offset={_PAGE}",
    "search by amount, largest first": "min_amount=1000&sort_by=total_amount",
    "search for a text": "search_term=476173",
}
"""All of them find a full page in both worlds, and answer with the total."""

_AFTER_A_SALE: Final = "search by brand and dates"
"""A question whose answer is remembered is asked again, and something was sold meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that was measured in both worlds: cost of each round, and of the first question."""

    name: str
    many_us: list[float]
    few_us: list[float]
    first_many_us: float | None = None
    first_few_us: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What the process came to.

    Memory that it held with the small world alone, then with both, then with every question asked.
    """

    lines: list[Line]
    few_bytes: int
    filled_bytes: int
    queried_bytes: int
    fill_s: float


def run(plan: Plan) -> list[Result]:
    """Medians of all rounds.

    Each question was asked once before it is measured: an index is built when somebody first asks
    by it. What that first question cost stands in the notes.
    """
    return [_result(line) for line in measured(plan.rounds).lines]


@cache
def measured(rounds: int) -> Measured:
    """What a process of its own measures, started once for all who want to know."""
    command = [sys.executable, "-m", "benchmarks.payments"]
    try:
        done = subprocess.run(
            command, input=str(rounds), capture_output=True, text=True, timeout=_WITHIN_S
        )
    except subprocess.TimeoutExpired:
        raise BenchmarkError("the worlds with payments were not measured in time") from None
    if done.returncode:
        raise BenchmarkError(f"the worlds with payments failed: {done.stderr.strip()[-300:]}")
    outcome: dict[str, Any] = json.loads(done.stdout)
    return Measured(**outcome | {"lines": [Line(**line) for line in outcome["lines"]]})


def _result(line: Line) -> Result:
    notes: tuple[str, ...] = ()
    if line.first_many_us is not None and line.first_few_us is not None:
        many_ms, few_ms = line.first_many_us / 1000, line.first_few_us / 1000
        notes = (f"the very first time {many_ms:,.0f} ms, among few {few_ms:,.1f} ms",)
    return compared(
        f"{line.name}, {MANY:,} against {FEW:,}",
        "us/req",
        figures=line.many_us,
        baselines=line.few_us,
        target=_TARGET,
        notes=notes,
    )


# --- in the process that holds the worlds ------------------------------------------------------

ControlRequest = Callable[[Filled, int], list[Exchange]]
"""The questions of a round; a sale or a read is another one every time."""


def main() -> None:
    """Measure as many rounds as the standard input says."""
    rounds = int(sys.stdin.read())
    sandbox = as_served()
    # First, because it brings in what is loaded once, which no transaction is to blame for.
    few = filled(sandbox, "few", FEW)
    few_bytes, started_s = resident_bytes(), process_time()
    many = filled(sandbox, "many", MANY)
    fill_s, filled_bytes = process_time() - started_s, resident_bytes()
    lines = [_line("a sale, nothing searched yet", _sales, many, few, rounds)]
    lines.append(_line("read a transaction", _reads, many, few, rounds))
    lines += [_search_line(name, many, few, rounds) for name in _SEARCHES]
    queried_bytes = resident_bytes()
    lines.append(_line("a sale, all indexes in use", _sales, many, few, rounds))
    lines.append(_line_after_a_sale(many, few, rounds))
    outcome = Measured(
        lines=lines,
        few_bytes=few_bytes,
        filled_bytes=filled_bytes,
        queried_bytes=queried_bytes,
        fill_s=fill_s,
    )
    json.dump(asdict(outcome), sys.stdout)


def _sales(world: Filled, number: int) -> list[Exchange]:
    return [world.sale(number * _PER_ROUND + each) for each in range(_PER_ROUND)]


def _reads(world: Filled, number: int) -> list[Exchange]:
    ids = Random(number).choices(world.ids, k=_PER_ROUND)
    return [world.get(f"/v1/transactions/{id}") for id in ids]


def _search(name: str) -> ControlRequest:
    def ask(world: Filled, number: int) -> list[Exchange]:
        query = _SEARCHES[name].format(
            terminal=world.terminals[0], last=len(world.ids) // _PAGE * _PAGE - _PAGE
        )
        return [
            world.get("/v2/transactions", f"limit={_PAGE}&{query}".rstrip("&"))
            for _ in range(_PER_ROUND)
        ]

    return ask


def _line(name: str, ask: ControlRequest, many: Filled, few: Filled, rounds: int) -> Line:
    """Rounds in both worlds, in turn; who begins changes from round to round."""
    costs: dict[str, list[float]] = {many.key: [], few.key: []}
    for number in range(rounds + 1):
        for world in (many, few) if number % 2 else (few, many):
            cost = _cost_us(world, ask(world, number))
            if number:  # the first round only warms up
                costs[world.key].append(cost)
    return Line(name=name, many_us=costs[many.key], few_us=costs[few.key])


def _search_line(name: str, many: Filled, few: Filled, rounds: int) -> Line:
    ask = _search(name)
    first_many_us, first_few_us = (_cost_us(world, ask(world, 0)[:1]) for world in (many, few))
    line = _line(name, ask, many, few, rounds)
    return Line(
        name=name,
        many_us=line.many_us,
        few_us=line.few_us,
        first_many_us=first_many_us,
        first_few_us=first_few_us,
    )


def _line_after_a_sale(many: Filled, few: Filled, rounds: int) -> Line:
    """Only the searching is timed; a round is the median of its questions."""
    ask = _search(_AFTER_A_SALE)
    costs: dict[str, list[float]] = {many.key: [], few.key: []}
    for number in range(rounds):
        for world in (many, few) if number % 2 else (few, many):
            single = []
            for each, one in enumerate(ask(world, number)):
                _cost_us(world, [world.sale(each)])
                single.append(_cost_us(world, [one]))
            costs[world.key].append(median(single))
    name = f"{_AFTER_A_SALE}, after a sale"
    return Line(name=name, many_us=costs[many.key], few_us=costs[few.key])


def _cost_us(world: Filled, questions: list[Exchange]) -> float:
    """The cost of one of them, once all answers proved to be what was asked for."""
    cost = cost_us(world.sandbox, questions)
    for one in questions:
        body = answer_of(one.response)
        if "transactions" in body and len(body["transactions"]) != _PAGE:
            query = one.scope["query_string"].decode()
            raise BenchmarkError(f"not a full page of a search: {query}")
    return cost


if __name__ == "__main__":
    main()

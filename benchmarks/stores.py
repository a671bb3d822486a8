"""The cost of a state file: a sale with one against a sale in memory, and the size of the file.

A file is filled by a process of its own, `python -m benchmarks.stores FILE COUNT`: so many
transactions are taken in memory, and the whole world is written at once. Then the command serves
from the file as a user would.
"""

import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter
from typing import Final

from benchmarks import serving
from benchmarks.load import Sent, load
from benchmarks.report import Plan, Result, Target, compared
from benchmarks.sale import sale
from benchmarks.serving import Server, ask

JSON_DOCUMENTS: Final = (100, 1_000, 5_000)
DB_TRANSACTIONS: Final = (1_000, 200_000)
_DOCUMENTS_EACH: Final = 5
"""The file has each transaction with two messages and their records."""

_ROUND_S: Final = 1.0
_FILLED_WITHIN_S: Final = 900
_SALE_TARGET: Final = Target(bound=0.6, is_floor=True)
_START_TARGET: Final = Target(bound=5_000, of="figure")
_GROWTH_TARGET: Final = Target(bound=1.2, of="figure")
_MB: Final = 1e6


def run(plan: Plan) -> list[Result]:
    """Rounds of sales on a server with the file and on one without, in turn."""
    results: list[Result] = []
    with tempfile.TemporaryDirectory() as folder:
        for count in DB_TRANSACTIONS:
            volume = f"{count:,} transactions"
            results += _measured(Path(folder) / f"{count}.db", count, volume, plan)
        results.append(_growth(results[0], results[2]))
        for documents in JSON_DOCUMENTS:
            count = max(1, documents // _DOCUMENTS_EACH)
            file = Path(folder) / f"{documents}.json"
            results += _measured(file, count, f"{documents:,} documents", plan)
    return results


def _measured(file: Path, count: int, volume: str, plan: Plan) -> list[Result]:
    """A sale with this file, against one in memory; and, for a database, its start."""
    subprocess.run(
        [sys.executable, "-m", "benchmarks.stores", str(file), str(count)],
        check=True,
        timeout=_FILLED_WITHIN_S,
    )
    megabytes = sum(one.stat().st_size for one in file.parent.glob(f"{file.name}*")) / _MB
    is_db = file.suffix == ".db"
    core, _ = serving.two_cores()
    with (
        serving.sandbox(core=core) as memory,
        serving.sandbox("--store", str(file), core=core) as stored,
    ):
        pairs = [_round((stored, memory), n) for n in range(plan.rounds + 1)][1:]
        start_s = stored.start_s
    results = [
        compared(
            f"a sale, {file.suffix} of {volume}",
            "req/s",
            figures=[one.per_s for one, _ in pairs],
            baselines=[other.per_s for _, other in pairs],
            # A file for people is not for load, so it has no limit.
            target=_SALE_TARGET if is_db else Target(bound=0, is_floor=True),
            notes=(f"{megabytes:,.1f} MB on disk",),
        )
    ]
    if is_db:
        results.append(
            Result(
                name=f"start from a .db of {volume}",
                unit="ms",
                figure=start_s * 1000,
                target=_START_TARGET,
            )
        )
    return results


def _round(servers: tuple[Server, Server], number: int) -> tuple[Sent, Sent]:
    order = servers if number % 2 else servers[::-1]
    outcomes = []
    for server in order:
        sent = sale(server)
        ask(server.port, sent)
        bytes_on_wire = ask(server.port, sent).bytes_on_wire
        outcomes.append(load(server, [sent], answer_bytes=bytes_on_wire, duration_s=_ROUND_S))
    first, second = outcomes if number % 2 else outcomes[::-1]
    return first, second


def fill(file: Path, count: int) -> None:
    """Write a file in which the world `default` holds so many transactions."""
    from benchmarks.filling import filled
    from benchmarks.in_process import as_served
    from sandbox.store.files.opening import open_file
    from sandbox.worlds.saver import FileSaver

    sandbox = as_served()
    filled(sandbox, "many", count)
    started_s = perf_counter()
    saver = FileSaver(open_file(file))
    for world in sandbox.worlds:
        saver.follow(world, is_in_file=False)
    saver.save()
    saver.file.close()
    print(f"written in {perf_counter() - started_s:.1f} s", file=sys.stderr)


def _growth(small: Result, large: Result) -> Result:
    """How much slower a sale is in the large file; each is held against its own yardstick."""
    assert small.ratio
    assert large.ratio
    return Result(
        name="a sale, .db of many against few",
        unit="times as long",
        figure=small.ratio / large.ratio,
        target=_GROWTH_TARGET,
    )


if __name__ == "__main__":
    fill(Path(sys.argv[1]), int(sys.argv[2]))

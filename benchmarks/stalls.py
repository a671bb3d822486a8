"""How long others wait during a misuse of the server: a health check, and a sale in another world.

Each misuse has a server of its own, started as a user starts it. Another process sends both
requests every few milliseconds. The report has the longest wait, less the longest wait of an idle
server, which is the machine's own delay. The first line is that delay, measured once more.
"""

import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from benchmarks import serving
from benchmarks.misuses import MISUSES, Misuse, nothing
from benchmarks.probing import Seen, make_world, probing
from benchmarks.report import Plan, Result, Target
from benchmarks.serving import Server
from benchmarks.users import WITHIN_S, User

_BOUND_MS: Final = 50
_TARGET: Final = Target(bound=_BOUND_MS, of="figure")
_REST_S: Final = 0.3


def run(plan: Plan) -> list[Result]:
    """Every misuse once; rounds make no difference to a longest wait."""
    with tempfile.TemporaryDirectory() as folder:
        idle, results = _seen(Misuse("idle", nothing), Path(folder)), []
        for misuse in (Misuse("nothing else", nothing), *MISUSES):
            print(f"  {misuse.name} ...", file=sys.stderr, flush=True)
            results.append(_result(misuse, _seen(misuse, Path(folder)), idle))
    return results


def _seen(misuse: Misuse, folder: Path) -> Seen:
    with _server(misuse, folder) as server:
        sale, do = make_world(server), misuse.prepare(server)
        time.sleep(_REST_S)
        with probing(server, sale) as probe:
            time.sleep(_REST_S)
            do()
            time.sleep(_REST_S)
    return probe.seen


@contextmanager
def _server(misuse: Misuse, folder: Path) -> Iterator[Server]:
    core, _ = serving.two_cores()
    options = [str(_saved(folder)) if one == "saved" else one for one in misuse.options]
    if options:
        options = ["--fixture", *options]
    with serving.sandbox(*options, core=core) as server:
        yield server


def _saved(folder: Path) -> Path:
    """A saved world of 10,000 payments, as a fixture."""
    path = folder / "saved.json"
    if not path.exists():
        with serving.sandbox() as server:
            user = User(server)
            user.take(10_000)
            path.write_bytes(user.control("GET", "/_sandbox/worlds/busy/snapshot").body)
    return path


def _result(misuse: Misuse, seen: Seen, idle: Seen) -> Result:
    notes = [f"{seen.longest_ms:,.1f} ms for a {seen.what}, of {seen.count:,} answers"]
    if seen.longest_ms > WITHIN_S * 1000 / 2:
        notes.append("it did not end in time")
    return Result(
        name=misuse.name,
        unit="ms",
        figure=max(0.0, seen.longest_ms - idle.longest_ms),
        baseline=idle.longest_ms,
        target=_TARGET,
        notes=(*notes, *seen.failures),
    )

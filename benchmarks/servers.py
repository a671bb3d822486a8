"""Servers that share the worlds of one PostgreSQL database: what sharing costs, and what a loss.

One server on PostgreSQL is held against one in memory, two servers against one, a request that
another server answers against one that is answered where it came.
"""

import json
import statistics
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

from benchmarks import serving
from benchmarks.load import Sent, load
from benchmarks.report import Plan, Result, Target, compared
from benchmarks.sale import sale
from benchmarks.serving import Connection, Server, ask, request
from tests.servers.postgres import Postgres, serving_postgres

WORLDS: Final = 10_000
_ROUND_S: Final = 1.5
_ASKED: Final = 400
_KILLS: Final = 5
_IDLE_S: Final = 3.0
_SWEEPS_S: Final = 10.0
_JSON: Final = {"content-type": "application/json"}

_COPY: Final = """
WITH made AS (
    INSERT INTO uat_sandbox.worlds (id, wid, team, epoch, n, format, state, payments, requests)
    SELECT 'copy-' || number, nextval('uat_sandbox.wids'), '', 1, 1, w.format,
        replace(w.state, '"default"', '"copy-' || number || '"'), w.payments, w.requests
    FROM uat_sandbox.worlds w, generate_series(1, {count}) number WHERE w.id = 'default'
    RETURNING wid, id
) INSERT INTO uat_sandbox.documents
SELECT made.wid, d.place, d.tbl,
    CASE WHEN d.tbl = 'world' THEN made.id ELSE d.id END, d.number,
    CASE WHEN d.tbl = 'world' THEN replace(d.text, '"default"', '"' || made.id || '"')
        ELSE d.text END, d.claims
FROM made, uat_sandbox.documents d JOIN uat_sandbox.worlds w ON w.wid = d.wid
WHERE w.id = 'default'"""


def run(plan: Plan) -> list[Result]:
    """All measurements, on one PostgreSQL that runs beside the servers."""
    with serving_postgres() as postgres:
        results = _one_against_memory(postgres, plan)
        results += _two_against_one(postgres, plan)
        results.append(_carried(postgres))
        results.append(_taken_over(postgres))
        results += _many_worlds(postgres)
    return results


@contextmanager
def _sharing(url: str, name: str, core: int | None = None) -> Iterator[Server]:
    with serving.sandbox("--store", url, "--name", name, core=core) as server:
        yield server


def _loaded(server: Server, sent: bytes) -> Sent:
    ask(server.port, sent)
    length = ask(server.port, sent).bytes_on_wire
    return load(server, [sent], answer_bytes=length, duration_s=_ROUND_S)


def _one_against_memory(postgres: Postgres, plan: Plan) -> list[Result]:
    core, _ = serving.two_cores()
    with (
        serving.sandbox(core=core) as memory,
        _sharing(postgres.new_database(), "one", core) as shared,
    ):
        pairs = []
        for number in range(plan.rounds + 1):
            both = [shared, memory] if number % 2 else [memory, shared]
            sent = {server.port: _loaded(server, sale(server)) for server in both}
            pairs.append((sent[shared.port], sent[memory.port]))
    return [
        compared(
            "a sale, one server on PostgreSQL against memory",
            "req/s",
            figures=[one.per_s for one, _ in pairs[1:]],
            baselines=[other.per_s for _, other in pairs[1:]],
            target=Target(bound=0.5, is_floor=True),
        )
    ]


def _two_against_one(postgres: Postgres, plan: Plan) -> list[Result]:
    """CPU per sale of two servers together, each asked for a world of its own, against one."""
    alone, together = [], []
    with ExitStack() as stack:
        url = postgres.new_database()
        one = stack.enter_context(_sharing(url, "one"))
        first = sale(one)
        for _ in range(plan.rounds):
            alone.append(_cpu_us([one], _loaded_all([(one, first)])))
        other = stack.enter_context(_sharing(url, "two"))
        made = ask(other.port, request("POST", "/_sandbox/worlds", headers=_JSON, body=b"{}"))
        world = made.json()
        second = request(
            "POST",
            "/v3/payment",
            headers={"x-service-apikey": world["keys"]["merchant"]["key"]},
            body=json.dumps(
                {"amount": 4200, "terminal_id": world["terminals"]["merchant"]}
            ).encode(),
        )
        for _ in range(plan.rounds):
            together.append(_cpu_us([one, other], _loaded_all([(one, first), (other, second)])))
        blind = [_cpu_us([one, other], _loaded_all([(other, first)])) for _ in range(plan.rounds)]
    target = Target(bound=1.15)
    return [
        compared(
            "CPU of a sale, two servers against one",
            "us",
            figures=together,
            baselines=alone[-len(together) :],
            target=target,
        ),
        compared(
            "CPU of a sale that another server answers, both servers against one",
            "us",
            figures=blind,
            baselines=alone[-len(blind) :],
            target=Target(bound=2.0),
        ),
    ]


def _loaded_all(loads: list[tuple[Server, bytes]]) -> int:
    """One after the other, so that each has a core; how many sales there were."""
    count = 0.0
    for server, sent in loads:
        count += _loaded(server, sent).per_s * _ROUND_S
    return round(count)


_before: dict[int, float] = {}


def _cpu_us(servers: list[Server], count: int) -> float:
    """Microseconds of all servers for each of so many sales, since the last time."""
    used = 0.0
    for server in servers:
        now = server.cpu_s() or 0.0
        used += now - _before.get(server.port, 0.0)
        _before[server.port] = now
    return used / count * 1e6


def _carried(postgres: Postgres) -> Result:
    """How much longer a read takes that another server answers."""
    url = postgres.new_database()
    with _sharing(url, "one") as one, _sharing(url, "two") as other:
        sent = sale(one)
        waits = {}
        for server in (one, other):
            with Connection(server.port) as connection:
                connection.ask(sent)
                waits[server.port] = statistics.median(
                    _took_ms(connection, sent) for _ in range(_ASKED)
                )
    return Result(
        name="a sale that another server answers, over one that is answered at once",
        unit="ms",
        figure=waits[other.port] - waits[one.port],
        target=Target(bound=1.0, of="figure"),
        notes=(f"{waits[one.port]:.2f} and {waits[other.port]:.2f} ms, one at a time",),
    )


def _took_ms(connection: Connection, sent: bytes) -> float:
    began = time.perf_counter()
    connection.ask(sent)
    return (time.perf_counter() - began) * 1000


def _taken_over(postgres: Postgres) -> Result:
    """From kill -9 of the owner to the first sale of the same world at another server."""
    took = []
    url = postgres.new_database()
    with ExitStack() as stack:
        servers = [stack.enter_context(_sharing(url, "0"))]
        for number in range(_KILLS):
            owner = servers[-1]
            other = stack.enter_context(_sharing(url, str(number + 1)))
            servers.append(other)
            sent = sale(owner)
            ask(other.port, sent)
            owner.process.kill()
            began = time.perf_counter()
            while not _is_paid(other, sent):
                time.sleep(0.01)
            took.append((time.perf_counter() - began) * 1000)
    return Result(
        name="from kill -9 of a server to the first sale at another",
        unit="ms",
        figure=statistics.median(took),
        target=Target(bound=1_000, of="figure"),
        notes=(f"from {min(took):.0f} to {max(took):.0f} ms",),
    )


def _is_paid(server: Server, sent: bytes) -> bool:
    try:
        return ask(server.port, sent).status == 200
    except OSError:
        return False


def _many_worlds(postgres: Postgres) -> list[Result]:
    """How long the server answers nobody while it lists many worlds, and sweeps beside them."""
    url = postgres.new_database()
    results = []
    with _sharing(url, "one") as server:
        # The machine's own delay.
        idle_ms = max(_waits_for(server, _IDLE_S))
        postgres.asked(url, _COPY.format(count=WORLDS))
        for what, path in (
            ("rows of", "/_sandbox/worlds?shape=row"),
            ("views of", "/_sandbox/worlds"),
        ):
            stall_ms, took_s, count = _stalled(server, request("GET", path))
            results.append(
                Result(
                    name=f"longest stall while {what} {WORLDS:,} worlds are listed",
                    unit="ms",
                    figure=max(0.0, stall_ms - idle_ms),
                    target=Target(bound=50, of="figure"),
                    notes=(f"{count:,} worlds in {took_s:.1f} s",),
                )
            )
        postgres.asked(url, "UPDATE uat_sandbox.worlds SET next_due = now() WHERE owner IS NULL")
        waits = _waits_for(server, _SWEEPS_S)
        held = postgres.asked(url, "SELECT count(*) FROM uat_sandbox.worlds WHERE owner > 0")
        results.append(
            Result(
                name="longest stall while worlds with something due are taken over",
                unit="ms",
                figure=max(0.0, max(waits) - idle_ms),
                target=Target(bound=50, of="figure"),
                notes=(f"{held} worlds in {_SWEEPS_S} s",),
            )
        )
    return results


def _waits_for(server: Server, seconds: float) -> list[float]:
    """How long somebody else waits for each answer meanwhile, in milliseconds."""
    waits, end = [], time.monotonic() + seconds
    health = request("GET", "/_sandbox/health")
    with Connection(server.port) as connection:
        while time.monotonic() < end:
            waits.append(_took_ms(connection, health))
            time.sleep(0.001)
    return waits


def _stalled(server: Server, sent: bytes) -> tuple[float, float, int]:
    """The longest wait of somebody else, how long the request took, and how many worlds it has."""
    waits: list[float] = []
    over = threading.Event()

    def look() -> None:
        health = request("GET", "/_sandbox/health")
        with Connection(server.port) as connection:
            while not over.is_set():
                waits.append(_took_ms(connection, health))
                time.sleep(0.001)

    looking = threading.Thread(target=look)
    looking.start()
    began = time.perf_counter()
    with Connection(server.port, within_s=300) as connection:
        answer = connection.ask(sent)
    took_s = time.perf_counter() - began
    over.set()
    looking.join()
    return max(waits), took_s, len(answer.json()["worlds"])

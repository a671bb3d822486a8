"""The cost of webhooks: deliveries to one receiver while the API is under load, and their delay.

The receiver and whatever loads the API share the second core; the server has the first alone. And
what it takes to move a clock over a month, in which every delivery fails at each of its attempts.
"""

import json
import time
from statistics import median
from typing import Any, Final

from benchmarks import serving
from benchmarks.load import load
from benchmarks.report import Plan, Result, Target, compared
from benchmarks.sale import sale
from benchmarks.serving import Connection, Server, ask, request

_WORLD: Final = "/_sandbox/worlds/default"
_ROUND_S: Final = 1.5
_FILL_S: Final = 3.0
_SALES: Final = 200
_MONTH_WITHIN_S: Final = 60.0

_DELIVERIES: Final = Target(bound=2_000, of="figure", is_floor=True)
_KEPT: Final = Target(bound=0.7, is_floor=True)
_SOON_MS: Final = Target(bound=20, of="figure")
_MONTH_S: Final = Target(bound=2, of="figure")

_FAILING: Final = 1_100
_RETRIES: Final = 7 * _FAILING
"""The first of eight attempts is over before the clock moves (assumed 8.3-retry)."""


def run(plan: Plan) -> list[Result]:
    """Rounds of reading with and without webhooks on their way; then single sales."""
    core, other = serving.two_cores()
    with (
        serving.receiver(core=other) as receiver,
        serving.sandbox("--journal-entries-max", "1000", core=core) as ours,
    ):
        endpoint = _endpoint(ours, receiver)
        rounds = [_round(ours, receiver, endpoint) for _ in range(plan.rounds + 1)][1:]
        soon_ms = _how_soon(ours, receiver)
    months_s = [_month(core, other) for _ in range(3)]
    alone, beside, delivered = zip(*rounds, strict=True)
    return [
        Result(
            name="webhooks delivered while the API is read",
            unit="per s",
            figure=median(delivered),
            target=_DELIVERIES,
        ),
        compared(
            "reading, with webhooks on their way",
            "req/s",
            figures=beside,
            baselines=alone,
            target=_KEPT,
        ),
        Result(
            name="from the answer to the webhook, median",
            unit="ms",
            figure=median(soon_ms),
            target=_SOON_MS,
        ),
        Result(
            name=f"a month with {_RETRIES:,} failed attempts",
            unit="s",
            figure=median(months_s),
            target=_MONTH_S,
        ),
    ]


def _control(server: Server, method: str, path: str, body: Any = None) -> Any:
    sent = request(method, _WORLD + path, body=b"" if body is None else json.dumps(body).encode())
    return ask(server.port, sent).json()


def _endpoint(server: Server, receiver: Server) -> str:
    url = f"http://{serving.HOST}:{receiver.port}/"
    return str(_control(server, "POST", "/endpoints", {"url": url, "disabled": True})["id"])


def _round(server: Server, receiver: Server, endpoint: str) -> tuple[float, float, float]:
    """Reads per second alone, then while a backlog is delivered, and deliveries per second."""
    before = _control(server, "GET", "/clock")["now"]
    sold = sale(server)
    first = ask(server.port, sold)
    length = ask(server.port, sold).bytes_on_wire
    load(server, [sold], answer_bytes=length, duration_s=_FILL_S)
    world = ask(server.port, request("GET", _WORLD)).json()
    read = request(
        "GET",
        f"/v1/transactions/{first.json()['transaction_id']}",
        headers={"x-service-apikey": world["keys"]["merchant"]["key"]},
    )
    size = ask(server.port, read).bytes_on_wire
    alone = load(server, [read], answer_bytes=size, duration_s=_ROUND_S).per_s
    _control(server, "POST", f"/endpoints/{endpoint}/enable")
    _control(server, "POST", f"/endpoints/{endpoint}/recover", {"since": before})
    count, started_s = _count(receiver), time.perf_counter()
    beside = load(server, [read], answer_bytes=size, duration_s=_ROUND_S).per_s
    delivered, elapsed_s = _count(receiver) - count, time.perf_counter() - started_s
    waiting = _control(server, "GET", "/messages?limit=1")["messages"][0]["deliveries"]
    if waiting and waiting[0]["status"] != "pending":
        raise serving.BenchmarkError("all was delivered before the round ended: fill more")
    _control(server, "PATCH", f"/endpoints/{endpoint}", {"disabled": True})
    return alone, beside, delivered / elapsed_s


def _month(core: int | None, other: int | None) -> float:
    """Seconds to move a clock over a month in which all retries fail."""
    with (
        serving.receiver(500, core=other) as receiver,
        serving.sandbox("--clock", "2026-01-01T00:00:00Z", core=core) as ours,
    ):
        url = f"http://{serving.HOST}:{receiver.port}/"
        _control(ours, "POST", "/endpoints", {"url": url, "event_types": ["transaction.sale"]})
        sold = sale(ours)
        with Connection(ours.port, within_s=_MONTH_WITHIN_S) as connection:
            list(connection.ask_all([sold] * _FAILING))
            _await_attempts(receiver, _FAILING)
            advance = request("POST", f"{_WORLD}/clock/advance", body=b'{"by": "31d"}')
            started_s = time.perf_counter()
            answer = connection.ask(advance)
            elapsed_s = time.perf_counter() - started_s
        if answer.status != 200 or _attempts(receiver) != _FAILING + _RETRIES:
            raise serving.BenchmarkError(f"not every attempt was made: {answer.body[:200]!r}")
    return elapsed_s


def _attempts(receiver: Server) -> int:
    return int(ask(receiver.port, request("GET", "/")).json()["requests"])


def _await_attempts(receiver: Server, attempts: int) -> None:
    deadline_s = time.monotonic() + _MONTH_WITHIN_S
    while _attempts(receiver) < attempts:
        if time.monotonic() > deadline_s:
            raise serving.BenchmarkError("a first attempt was not made")
        time.sleep(0.05)


def _count(receiver: Server) -> int:
    return int(ask(receiver.port, request("GET", "/")).json()["count"])


def _how_soon(server: Server, receiver: Server) -> list[float]:
    """Milliseconds from having the answer of a sale to the receipt of its event."""
    _control(server, "POST", "/reset")
    for one in _control(server, "GET", "/endpoints")["endpoints"]:
        _control(server, "POST", f"/endpoints/{one['id']}/enable")
    sold, answered = sale(server), {}
    with Connection(server.port) as connection:
        for _ in range(_SALES):
            answer = connection.ask(sold)
            answered[answer.headers["x-sandbox-request-id"]] = time.monotonic()
            time.sleep(0.002)
    last = _control(server, "GET", "/messages?limit=1")["messages"][0]["id"]
    _control(server, "GET", "/wait?delivered=true&timeout_s=10&event_type=transaction.sale")
    messages = _control(server, "GET", "/messages?event_type=transaction.sale")["messages"]
    deadline_s = time.monotonic() + 10
    while last not in (came := ask(receiver.port, request("GET", "/")).json()["came"]):
        if time.monotonic() > deadline_s:
            raise serving.BenchmarkError("a webhook did not come")
        time.sleep(0.01)
    return [
        (came[message["id"]] - answered[message["request_id"]]) * 1000
        for message in messages
        if message["request_id"] in answered
    ]

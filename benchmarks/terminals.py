"""Whether listing and searching terminals costs more with many of them: 50,000 against 100."""

from typing import Final

from benchmarks import serving
from benchmarks.load import load
from benchmarks.report import Plan, Result, Target, compared
from benchmarks.serving import Server, ask, request

FEW: Final = "merchants=1,terminals_per_merchant=100"
MANY: Final = "merchants=500,terminals_per_merchant=100"
_ROUND_S: Final = 0.3

_QUESTIONS: Final = {
    "list terminals": "limit=10",
    "list terminals, deep": "limit=10&offset=80",
    "list active terminals": "limit=10&status=active",
    "search terminals for a few letters": "limit=10&search=reg",
    "search terminals for a name": "limit=10&search=Register%202",
    "search terminals for a TID": "limit=10&search=00000042",
    "search active terminals": "limit=10&search=counter&status=active",
}
"""All but the TID match more than a page in both worlds, so both answer ten terminals."""


def run(plan: Plan) -> list[Result]:
    """Both servers generate their terminals at the start; the requests use the PSP's key.

    Each query ran once before it is measured: the first time, a combination that no single index
    answers scans the rows (see the decision on text search).
    """
    core, _ = serving.two_cores()
    with (
        serving.sandbox("--invent", MANY, core=core) as many,
        serving.sandbox("--invent", FEW, core=core) as few,
    ):
        return [_compare(many, few, name, plan.rounds) for name in _QUESTIONS]


def _compare(many: Server, few: Server, name: str, rounds: int) -> Result:
    """The same query to both in turn, so a drift of the machine affects both."""
    query = _QUESTIONS[name]
    costs = [(_cost_us(many, query), _cost_us(few, query)) for _ in range(rounds)]
    return compared(
        f"{name}, 50,000 against 100",
        "us/req",
        figures=[cost for cost, _ in costs],
        baselines=[cost for _, cost in costs],
        target=Target(bound=2),
    )


def _cost_us(server: Server, query: str) -> float:
    """Processor time of the server for the query, or elapsed time if the system reports none."""
    world = ask(server.port, request("GET", "/_sandbox/worlds/default")).json()
    headers = {"x-service-apikey": world["keys"]["psp"]["key"]}
    question = request("GET", f"/v2/terminals?{query}", headers=headers)
    answer_bytes = ask(server.port, question).bytes_on_wire
    sent = load(server, [question], answer_bytes=answer_bytes, duration_s=_ROUND_S)
    return sent.server_cpu_us or 1e6 / sent.per_s

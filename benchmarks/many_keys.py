"""Whether reading a key costs more with many keys: 20,000 against 100."""

import json
from typing import Final

from benchmarks import serving
from benchmarks.load import load
from benchmarks.report import Plan, Result, Target, compared
from benchmarks.serving import Connection, Server, ask, request

FEW: Final = 100
MANY: Final = 20_000
_ROUND_S: Final = 0.7
_HEADER: Final = "x-service-apikey"


def run(plan: Plan) -> list[Result]:
    """Both servers are filled through the API; then all of their keys are read in turn.

    Always with the built-in generator: the requests differ.
    """
    core, _ = serving.two_cores()
    with serving.sandbox(core=core) as many, serving.sandbox(core=core) as few:
        pairs = [(many, _filled(many, MANY)), (few, _filled(few, FEW))]
        costs = [_round(pairs, number) for number in range(plan.rounds + 1)][1:]
    result = compared(
        f"read a key, {MANY:,} against {FEW}",
        "us/req",
        figures=[pair[0] for pair in costs],
        baselines=[pair[1] for pair in costs],
        target=Target(bound=1.5),
    )
    return [result]


def _filled(server: Server, count: int) -> list[bytes]:
    """Issue so many keys; the requests that read them."""
    world = ask(server.port, request("GET", "/_sandbox/worlds/default")).json()
    headers = {_HEADER: world["keys"]["merchant"]["key"]}
    creations = [
        request(
            "POST",
            "/v5/apikeys",
            headers=headers,
            body=json.dumps({"name": f"Key {n:08}", "permissions": ["payments:read"]}).encode(),
        )
        for n in range(count)
    ]
    with Connection(server.port) as connection:
        answers = list(connection.ask_all(creations))
    refused = next((answer for answer in answers if answer.status != 201), None)
    if refused is not None:
        raise serving.BenchmarkError(f"a key could not be created: {refused.body!r}")
    ids = [answer.json()["id"] for answer in answers]
    return [request("GET", f"/v5/apikeys/{id}", headers=headers) for id in ids]


def _round(pairs: list[tuple[Server, list[bytes]]], number: int) -> list[float]:
    """Cost of a request in both, in microseconds; who begins changes from round to round."""
    order = pairs if number % 2 else pairs[::-1]
    costs = [_cost_us(server, requests) for server, requests in order]
    return costs if number % 2 else costs[::-1]


def _cost_us(server: Server, requests: list[bytes]) -> float:
    """Processor time of the server for a request, or elapsed time if the system reports none."""
    answer_bytes = ask(server.port, requests[0]).bytes_on_wire
    sent = load(server, requests, answer_bytes=answer_bytes, duration_s=_ROUND_S)
    return sent.server_cpu_us or 1e6 / sent.per_s

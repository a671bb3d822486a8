"""The cost of a sale: a full POST /v3/payment against a bare POST that checks the same body.

Both answer the same number of bytes. The figures are those of reading.
"""

import json
from typing import Final

from benchmarks import against, serving
from benchmarks.load import Sent, load
from benchmarks.report import Plan, Result, Target
from benchmarks.serving import SAME_AS_SANDBOX, Server, ask, request

_PATH: Final = "/v3/payment"
_ROUND_S: Final = 1.0
_TARGET: Final = Target(bound=0.5, is_floor=True)
_TARGET_P99: Final = Target(bound=1.5 / _TARGET.bound)
"""1.5 times as long, where everybody waits as much longer as the rate is lower."""


def run(plan: Plan) -> list[Result]:
    """Rounds of load on both servers, in turn; always with the built-in generator."""
    core, _ = serving.two_cores()
    with serving.sandbox(core=core) as ours:
        sent = sale(ours)
        answer = ask(ours.port, sent)
        if answer.status != 200 or answer.json()["status"] != "captured":
            raise serving.BenchmarkError(f"the sale is not as expected: {answer.body!r}")
        # The first sale opened the batch; from the second on all answers have one length.
        answer = ask(ours.port, sent)
        with serving.bare(
            *SAME_AS_SANDBOX, path=_PATH, answer=answer, checks_payments=True, core=core
        ) as yardstick:
            pairs = [_round((ours, yardstick), sent, n) for n in range(plan.rounds + 1)][1:]
    return against.results(
        "a sale",
        [one for one, _ in pairs],
        [other for _, other in pairs],
        rate=_TARGET,
        p99=_TARGET_P99,
        p99_notes=("at half the rate, 32 connections wait twice as long for each answer",),
    )


def sale(server: Server, amount: int = 4200) -> bytes:
    """A sale of the demo merchant, as bytes to send."""
    world = ask(server.port, request("GET", "/_sandbox/worlds/default")).json()
    return request(
        "POST",
        _PATH,
        headers={"x-service-apikey": world["keys"]["merchant"]["key"]},
        body=json.dumps({"amount": amount, "terminal_id": world["terminals"]["merchant"]}).encode(),
    )


def _round(servers: tuple[Server, Server], sent: bytes, number: int) -> tuple[Sent, Sent]:
    """Both sides of one round; who begins changes from round to round."""
    order = servers if number % 2 else servers[::-1]
    outcomes = [
        load(
            server,
            [sent],
            answer_bytes=ask(server.port, sent).bytes_on_wire,
            duration_s=_ROUND_S,
        )
        for server in order
    ]
    first, second = outcomes if number % 2 else outcomes[::-1]
    return first, second

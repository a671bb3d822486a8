"""The cost of a request: an authenticated GET of one key, against the same bytes from a bare route.

Three figures: requests per second, the time that one in a hundred takes longer than, and processor
time of the server per request. The last does not depend on what sends the requests, nor much on
what else the machine does.
"""

from typing import Final

from benchmarks import against, serving
from benchmarks.load import Sent, load
from benchmarks.report import Plan, Result, Target
from benchmarks.serving import SAME_AS_SANDBOX, Answer, Server, ask, request

_ROUND_S: Final = 1.0
_SATURATED: Final = 0.9
_TARGET: Final = Target(bound=1.0, is_floor=True)
_TARGET_P99: Final = Target(bound=1.5)


def run(plan: Plan) -> list[Result]:
    """Rounds of load on both servers, in turn; neither works while the other is measured."""
    core, _ = serving.two_cores()
    with serving.sandbox(core=core) as ours:
        path, sent = _request_for_own_key(ours)
        answer = _settled_answer(ours, sent)
        with serving.bare(*SAME_AS_SANDBOX, path=path, answer=answer, core=core) as yardstick:
            pairs = [_round((ours, yardstick), sent, plan, n) for n in range(plan.rounds + 1)][1:]
    ones, others = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    return against.results(
        "read a key",
        ones,
        others,
        rate=_TARGET,
        p99=_TARGET_P99,
        rate_notes=(f"sent by {plan.generator}", *_doubts(ones, others)),
    )


def _request_for_own_key(server: Server) -> tuple[str, bytes]:
    """The path and the bytes of a request that reads the key it authenticates with."""
    world = ask(server.port, request("GET", "/_sandbox/worlds/default")).json()
    key = world["keys"]["merchant"]
    path = f"/v5/apikeys/{key['id']}"
    return path, request("GET", path, headers={"x-service-apikey": key["key"]})


def _settled_answer(server: Server, sent: bytes) -> Answer:
    answer = ask(server.port, sent)
    if answer.status != 200 or answer.json()["always_retrievable"]:
        raise serving.BenchmarkError(f"the key to read is not as expected: {answer.body!r}")
    return answer


def _round(servers: tuple[Server, Server], sent: bytes, plan: Plan, number: int) -> list[Sent]:
    """Both sides of one round; who begins changes from round to round."""
    order = servers if number % 2 else servers[::-1]
    outcomes = []
    for server in order:
        answer_bytes = ask(server.port, sent).bytes_on_wire
        outcomes.append(
            load(
                server,
                [sent],
                answer_bytes=answer_bytes,
                duration_s=_ROUND_S,
                generator=plan.generator,
            )
        )
    return outcomes if number % 2 else outcomes[::-1]


def _doubts(*sides: list[Sent]) -> tuple[str, ...]:
    """Signs that the generator or the machine, and not the server, set the pace."""
    shares = [one.server_share for side in sides for one in side if one.server_share is not None]
    generator = max(one.generator_share for side in sides for one in side)
    notes = [f"the generator used at most {generator:.0%} of its core"]
    if shares:
        verdict = "" if min(shares) >= _SATURATED else ": not saturated, trust the CPU line"
        notes.append(f"the servers used at least {min(shares):.0%} of theirs{verdict}")
    return tuple(notes)

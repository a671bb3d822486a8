"""What an open console costs: its first visit, a window of a long list, and the rate of sales.

The console is played by what it asks: the page with all its files, and, while sales run, a stream
that is read to the end of each event, and the short lists as often as the page reads them.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from benchmarks import serving
from benchmarks.load import Sent, load
from benchmarks.report import Plan, Result, Target, compared
from benchmarks.sale import sale
from benchmarks.serving import BenchmarkError, Connection, Server, ask, request
from benchmarks.users import User

_WORLD: Final = "/_sandbox/worlds/default"
_ROUND_S: Final = 1.0
_QUIET_S: Final = 1.5
_RATE: Final = Target(bound=0.9, is_floor=True)
_VISIT: Final = Target(bound=300, of="figure")
_WINDOW: Final = Target(bound=110, of="figure")
_PAYMENTS: Final = 10_000
_SHORT_LISTS: Final = ("taps", "agenda?limit=50", "endpoints", "scenario", "clock", "overview")


def run(plan: Plan) -> list[Result]:
    """The bytes once; the rate in rounds with and without a console, in turn."""
    core, _ = serving.two_cores()
    with serving.sandbox(core=core) as server:
        visit = _visit(server)
        rounds = [_round(server, number) for number in range(plan.rounds + 1)][1:]
    with serving.sandbox(core=core) as server:
        window = _window(server)
    rate = compared(
        "sales, a console open",
        "req/s",
        figures=[looked_at.per_s for looked_at, _ in rounds],
        baselines=[alone.per_s for _, alone in rounds],
        target=_RATE,
    )
    costs = [(one.server_cpu_us, other.server_cpu_us) for one, other in rounds]
    known = [(one, other) for one, other in costs if one and other]
    if len(known) < len(rounds):
        return [rate, visit, window]
    cpu = compared(
        "sales, a console open, server's CPU",
        "req/CPU s",
        figures=[1e6 / looked_at for looked_at, _ in known],
        baselines=[1e6 / alone for _, alone in known],
        target=_RATE,
    )
    return [rate, cpu, visit, window]


def _round(server: Server, number: int) -> tuple[Sent, Sent]:
    """Sales with a console, and without; which comes first changes from round to round."""
    found: dict[bool, Sent] = {}
    for is_open in (True, False) if number % 2 else (False, True):
        sent = sale(server)
        # The first sale opened the batch; from the second on all answers have one length.
        ask(server.port, sent)
        size = ask(server.port, sent).bytes_on_wire
        if is_open:
            with _console(server):
                done = load(server, [sent], answer_bytes=size, duration_s=_ROUND_S)
        else:
            done = load(server, [sent], answer_bytes=size, duration_s=_ROUND_S)
        found[is_open] = done
    return found[True], found[False]


@contextmanager
def _console(server: Server) -> Iterator[None]:
    """A console that is open until the block ends."""
    over = threading.Event()
    kinds = "request,message,attempt,clock"
    with Connection(server.port) as stream:
        stream.send(request("GET", f"{_WORLD}/stream?kinds={kinds}&shape=row"))
        read = threading.Thread(target=_drain, args=(stream, over))
        lists = threading.Thread(target=_reread, args=(server, over))
        read.start()
        lists.start()
        try:
            yield
        finally:
            over.set()
            # Something happens, so that the reader of the stream sees that it is over.
            ask(server.port, sale(server))
            read.join()
            lists.join()


def _drain(stream: Connection, over: threading.Event) -> None:
    while not over.is_set():
        if not stream.read_some():
            raise BenchmarkError("the stream ended")


def _reread(server: Server, over: threading.Event) -> None:
    while True:
        for one in _SHORT_LISTS:
            ask(server.port, request("GET", f"{_WORLD}/{one}"))
        if over.wait(_QUIET_S):
            return


def _visit(server: Server) -> Result:
    """The bytes of the page, and of the files that it loads by itself.

    The editor, which a room loads when it is needed, is no part of it.
    """
    page = ask(server.port, request("GET", "/_sandbox/"))
    named = re.findall(r'(?:href|src)="\./(assets/[^"]+)"', page.body.decode())
    bytes_of = [len(page.body)]
    for path in named:
        answer = ask(server.port, request("GET", f"/_sandbox/{path}"))
        if answer.status != 200:
            raise BenchmarkError(f"{path} answers {answer.status}")
        bytes_of.append(len(answer.body))
    return Result(
        name="a first visit of the console",
        unit="kB",
        figure=sum(bytes_of) / 1000,
        target=_VISIT,
        notes=(f"{len(bytes_of)} files",),
    )


def _window(server: Server) -> Result:
    """A window of 200 out of many payments."""
    user = User(server)
    user.take(_PAYMENTS)
    path = "/_sandbox/worlds/busy/payments?limit=200"
    ask(server.port, request("GET", path))
    began_s = time.perf_counter()
    answer = ask(server.port, request("GET", path))
    took_ms = (time.perf_counter() - began_s) * 1000
    page = json.loads(answer.body)
    if len(page["payments"]) != 200 or page["total"] != _PAYMENTS:
        raise BenchmarkError(f"the window has {len(page['payments'])} of {page['total']}")
    return Result(
        name="200 of 10,000 payments",
        unit="kB",
        figure=len(answer.body) / 1000,
        target=_WINDOW,
        notes=(f"{took_ms:.1f} ms",),
    )

"""Asking a sandbox in this process, without a socket: the application itself, and nothing else."""

import gc
import resource
import sys
from collections.abc import Sequence
from pathlib import Path
from time import process_time
from typing import Any, Final

from pydantic_core import from_json
from sandbox.in_process import Exchange, Response, json_request

from benchmarks.serving import BenchmarkError
from sandbox import server
from sandbox.app import Sandbox, build
from sandbox.settings import Settings

_MAC_COUNTS_BYTES: Final = sys.platform == "darwin"


def as_served() -> Sandbox:
    """A sandbox in a process that collects garbage as rarely as the server does."""
    sandbox = build(Settings())
    gc.freeze()
    gc.set_threshold(server._GC_AFTER, server._GC_MIDDLE, server._GC_NEVER)
    return sandbox


def resident_bytes() -> int:
    """Memory that this process holds; the most it ever held where only that is told."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if _MAC_COUNTS_BYTES else most * 1024
    return int(pages) * resource.getpagesize()


def question(
    method: str, path: str, *, key: str | None = None, body: Any = None, query: str = ""
) -> Exchange:
    """A request as a client of the platform sends it."""
    headers = {} if key is None else {"x-service-apikey": key}
    return json_request(method, path, body, headers=headers, query=query)


def ask(sandbox: Sandbox, one: Exchange, status: int = 200) -> Any:
    """Ask it; the body of the answer as JSON. Raises BenchmarkError for any other status."""
    return answer_of(one.run_now(sandbox.app), status)


def answer_of(response: Response, status: int = 200) -> Any:
    """The body as JSON, if it has one. Raises BenchmarkError for any other status."""
    if response.status != status:
        raise BenchmarkError(f"{status} was expected, not {response.status}: {response.body!r}")
    return from_json(response.body) if response.body else None


def cost_us(sandbox: Sandbox, questions: Sequence[Exchange]) -> float:
    """Processor time of one of them, in microseconds; each keeps its answer."""
    started_s = process_time()
    for one in questions:
        one.carry_out_now(sandbox.app)
    return (process_time() - started_s) / len(questions) * 1e6

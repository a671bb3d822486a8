"""Asking a sandbox in this process, without a socket: the application itself, and nothing else."""

import gc
import json
import resource
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import process_time
from typing import Any, Final

from pydantic_core import from_json

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
    """The memory of this process; its peak if the system reports only that."""
    try:
        pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    except OSError:
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return most if _MAC_COUNTS_BYTES else most * 1024
    return int(pages) * resource.getpagesize()


@dataclass(slots=True)
class PreparedRequest:
    """A request that is ready to send once, and its answer."""

    scope: dict[str, Any]
    payload: bytes
    answered: list[dict[str, Any]] = field(default_factory=list)

    async def receive(self) -> dict[str, Any]:
        """The body, as a server hands it over."""
        return {"type": "http.request", "body": self.payload, "more_body": False}

    async def send(self, message: Any) -> None:
        """Take a part of the answer."""
        self.answered.append(message)

    def answer(self, status: int = 200) -> Any:
        """The body as JSON. Raises BenchmarkError for any other status."""
        start, *parts = self.answered
        body = b"".join(part["body"] for part in parts)
        if start["status"] != status:
            raise BenchmarkError(f"{status} was expected, not {start['status']}: {body!r}")
        return from_json(body)


def request_of(
    method: str, path: str, *, key: str | None = None, body: Any = None, query: str = ""
) -> PreparedRequest:
    """A request as a client of the platform sends it."""
    headers = [(b"accept", b"application/json")]
    payload = b"" if body is None else json.dumps(body).encode()
    if body is not None:
        headers.append((b"content-type", b"application/json"))
    if key is not None:
        headers.append((b"x-service-apikey", key.encode()))
    scope = {
        "type": "http",
        "method": method,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": headers,
        "server": ("127.0.0.1", 8080),
        "client": ("127.0.0.1", 50000),
        "root_path": "",
    }
    return PreparedRequest(scope, payload)


def ask(sandbox: Sandbox, one: PreparedRequest, status: int = 200) -> Any:
    """Ask it; the body of the answer as JSON. Raises BenchmarkError for any other status."""
    _put_to(sandbox, one)
    return one.answer(status)


def cost_us(sandbox: Sandbox, requests: Sequence[PreparedRequest]) -> float:
    """Processor time of one of them, in microseconds; each keeps its answer."""
    started_s = process_time()
    for one in requests:
        _put_to(sandbox, one)
    return (process_time() - started_s) / len(requests) * 1e6


def _put_to(sandbox: Sandbox, one: PreparedRequest) -> None:
    coroutine: Any = sandbox.app(one.scope, one.receive, one.send)
    try:
        coroutine.send(None)
    except StopIteration:
        return
    raise BenchmarkError(f"the application waited for something at {one.scope['path']}")

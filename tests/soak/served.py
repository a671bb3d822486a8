"""Sandboxes in processes of their own, which may refuse to start, and what they log."""

import contextlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2

from tests.processes import Process
from tests.soak.report import Found

END_S = 20.0
"""So long a server may take to end, or to refuse to start."""

WORDS = ("partner", "merchant")


@dataclass
class Target:
    """A server that runs: what it said of itself when it began, and its log."""

    facts: dict[str, Any]
    log: Path
    pid: int | None

    @property
    def port(self) -> int:
        return int(str(self.facts["url"]).rpartition(":")[2])

    def check_log(self) -> None:
        """Raises Found for an error in the log, and for what is no line of it."""
        for line in self.log.read_text(encoding="utf-8", errors="replace").splitlines():
            try:
                said = json.loads(line)
            except ValueError:
                raise Found(f"the log holds what is no line of it: {line[:500]}") from None
            if said["level"] in ("error", "critical") or "traceback" in said:
                raise Found(f"the log holds an error: {said['message']} {said.get('traceback')}")

    def rss_mb(self) -> float | None:
        """How much memory the process has in use; None where that cannot be told."""
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/{self.pid}/status").read_text(encoding="ascii").splitlines():
                if line.startswith("VmRSS:"):
                    return int(line.split()[1]) / 1024
        return None


class Refused(Exception):
    """The server did not start; the message is what it said."""


@contextlib.contextmanager
def started(folder: Path, *options: str) -> Iterator[Target]:
    """A server on a free port until the block ends. Raises Refused, in words, or Found."""
    log = folder / "log"
    arguments = ["serve", "--port", "0", "--log-format", "json", *options]
    process = Process(arguments, stderr=log)
    try:
        line = process.stdout.readline()
        if not line:
            raise _why_not(process.wait(END_S), log)
        target = Target(json.loads(line), log, process.pid)
        yield target
        if process.poll() is not None:
            said = log.read_text(encoding="utf-8", errors="replace")
            raise Found(f"the server ended by itself with {process.poll()}: {said[-1000:]}")
        process.terminate()
        process.wait(END_S)
        target.check_log()
    finally:
        process.close()


def _why_not(code: int, log: Path) -> Exception:
    said = log.read_text(encoding="utf-8", errors="replace")
    if code != 2 or "Traceback" in said or not said.strip():
        last = said.strip().rpartition("\n")[2]
        return Found(f"the server did not start: status {code}, {last}\n{said[-2000:]}")
    return Refused(said)


def look_over_http(target: Target) -> Iterator[int]:
    """Read all that can be listed; the statuses. Raises Found for a 5xx."""
    keys = target.facts["keys"]
    with httpx2.Client(timeout=END_S) as http:
        control = f"{target.facts['control_url']}/worlds/default"
        paths = ("", "/messages", "/endpoints", "/switches", "/clock", "/snapshot", "/coverage")
        requests = [(control + path, {}) for path in paths]
        for name in WORDS:
            headers = {"x-service-apikey": keys.get(name, "none")}
            for path in PLATFORM:
                requests.append((target.facts["url"] + path, headers))
        for url, headers in requests:
            answer = http.get(url, headers=headers)
            if answer.status_code >= 500:
                raise Found(f"GET {url} answered {answer.status_code}: {answer.text[:300]}")
            yield answer.status_code


PLATFORM = (
    *("/v1/accounts", "/v2/terminals", "/v1/locations", "/v1/accounts/credentials"),
    *("/v2/transactions?limit=200", "/v2/transactions?search_term=a", "/v1/batches?limit=500"),
    "/v5/apikeys",
)

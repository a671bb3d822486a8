"""Running probes against a platform, slowly, and stopping when it seems to be in trouble."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

from sandbox.verify.probes import Get, Probe

REQUESTS_MAX: Final = 300
INTERVAL_S: Final = 0.5
RETRY_AFTER_S_MAX: Final = 120.0
"""A platform that asks for a longer wait ends the run."""

TOO_MANY_MAX: Final = 2
TROUBLE_MAX: Final = 3
"""So many answers 429 to one request, and so many failures in all, end the run."""

_TOO_MANY: Final = 429


class Stopped(Exception):
    """The run ended early; the message says why."""


@dataclass(frozen=True, slots=True)
class Raw:
    """An answer as it came: status, headers by lower-case name, body as text."""

    status: int
    headers: Mapping[str, str]
    text: str


class Sends(Protocol):
    """What sends requests. Raises OSError without an answer."""

    def __call__(self, request: Get, /) -> Raw: ...


@dataclass(slots=True)
class Pace:
    """Keeps requests apart. `now` gives seconds of a clock, `sleep` waits for seconds."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    sent: int = 0
    _next_s: float = float("-inf")

    def wait(self) -> None:
        """Wait until the next request may be sent. Raises Stopped after the last one."""
        if self.sent >= REQUESTS_MAX:
            raise Stopped(f"{REQUESTS_MAX} requests were sent, and no more are allowed")
        if (left := self._next_s - self.now()) > 0:
            self.sleep(left)
        self.sent += 1
        self._next_s = self.now() + INTERVAL_S

    def hold(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._next_s = max(self._next_s, self.now() + seconds)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a probe found: the value, or None if it cannot tell."""

    probe: Probe
    value: Any


@dataclass(slots=True)
class Run:
    """A run so far: its findings, its evidence, and why it stopped early, if it did."""

    findings: list[Finding] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    stopped: str | None = None


def run(probes: Sequence[Probe], send: Sends, pace: Pace) -> Run:
    """Run the probes in order. Ends early, with what was learnt, if the platform is in trouble."""
    done, runner = Run(), _Runner(send, pace)
    try:
        for probe in probes:
            answers = [runner.answer(probe, request, done) for request in probe.requests]
            done.findings.append(Finding(probe, probe.told(answers)))
    except Stopped as stopped:
        done.stopped = str(stopped)
        asked = len(done.findings)
        done.findings += [Finding(probe, None) for probe in probes[asked:]]
    return done


@dataclass(slots=True)
class _Runner:
    send: Sends
    pace: Pace
    trouble: int = 0

    def answer(self, probe: Probe, request: Get, done: Run) -> dict[str, Any]:
        """The answer to a request. Raises Stopped."""
        for _ in range(TOO_MANY_MAX):
            self.pace.wait()
            try:
                raw = self.send(request)
            except OSError as error:
                raw = Raw(0, {}, "")
                why = f"no answer: {error or type(error).__name__}"
            else:
                why = f"status {raw.status}"
            shown = _shown(raw)
            done.evidence.append(
                {"probe": probe.id, "path": request.path, "query": dict(request.query)}
                | {"status": raw.status, "body": shown["body"]}
            )
            if raw.status != _TOO_MANY:
                self._note(raw.status, why)
                return shown
            self.pace.hold(_retry_after(raw.headers.get("retry-after")))
        raise Stopped(f"the platform answered 429 {TOO_MANY_MAX} times to {request.path}")

    def _note(self, status: int, why: str) -> None:
        if status == 0 or status >= 500:
            self.trouble += 1
            if self.trouble >= TROUBLE_MAX:
                raise Stopped(f"the platform failed {TROUBLE_MAX} times, the last time with {why}")
        if status in (401, 403):
            raise Stopped(f"the platform does not let the key in ({why})")


def _retry_after(text: str | None) -> float:
    """The seconds to wait. Raises Stopped if they are too many."""
    try:
        seconds = float(text or 1)
    except ValueError:
        seconds = RETRY_AFTER_S_MAX
    if not 0 <= seconds <= RETRY_AFTER_S_MAX:
        raise Stopped(f"the platform asks to wait for {text} seconds")
    return max(seconds, INTERVAL_S)


def _shown(raw: Raw) -> dict[str, Any]:
    """The answer as conditions see it; a body that is no JSON is None."""
    try:
        body = json.loads(raw.text)
    except (ValueError, RecursionError):
        body = None
    return {"status": raw.status, "headers": dict(raw.headers), "body": body}

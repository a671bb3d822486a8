"""Running probes against a platform, slowly, and stopping when it seems to be in trouble."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from sandbox.conformance.clients import HttpAnswer
from sandbox.conformance.created_resources import Register
from sandbox.conformance.probes.steps import Missing, ProbeRequest, Step, fill
from sandbox.conformance.probes.table import Probe

REQUESTS_MAX: Final = 300
FOR_CLEANING: Final = 100
"""So many of them are kept for the deletion of what the run made."""

INTERVAL_S: Final = 0.5
RETRY_AFTER_S_MAX: Final = 120.0
"""A platform that asks for a longer wait ends the run."""

TOO_MANY_MAX: Final = 2
TROUBLE_MAX: Final = 3
"""So many answers 429 to one request, and so many failures in all, end the run."""

REFUSED_MAX: Final = 3
"""So many refusals end the run, if the key was never let in before."""

TOO_MANY: Final = 429
_REFUSED: Final = (401, 403)


class Stopped(Exception):
    """The run ended early; the message says why."""


Sends = Callable[[ProbeRequest], HttpAnswer]
"""Sends a request. Raises OSError without an answer."""


@dataclass(slots=True)
class Pace:
    """Keeps requests apart. `now` gives seconds of a clock, `sleep` waits for seconds."""

    now: Callable[[], float]
    sleep: Callable[[float], None]
    sent: int = 0
    _next_s: float = float("-inf")

    def wait(self, *, cleaning: bool = False) -> None:
        """Wait until the next request may be sent. Raises Stopped after the last one."""
        allowed = REQUESTS_MAX if cleaning else REQUESTS_MAX - FOR_CLEANING
        if self.sent >= allowed:
            raise Stopped(f"{allowed} requests were sent, and no more are allowed")
        if (left := self._next_s - self.now()) > 0:
            self.sleep(left)
        self.sent += 1
        self._next_s = self.now() + INTERVAL_S

    def hold(self, seconds: float) -> None:
        """Send nothing for so long."""
        self._next_s = max(self._next_s, self.now() + seconds)


@dataclass(frozen=True, slots=True)
class Finding:
    """What a probe found: the value, or None if it cannot tell; `why` then gives the reason."""

    probe: Probe
    value: Any
    why: str = ""


@dataclass(slots=True)
class Run:
    """A run so far: its findings, its evidence, and why it stopped early, if it did."""

    findings: list[Finding] = field(default_factory=list)
    evidence: list[dict[str, Any]] = field(default_factory=list)
    stopped: str | None = None


@dataclass(slots=True)
class Asker:
    """Asks one request at a time, and says when the platform is better left alone.

    `names` fill the holes of steps; `own` is the record of the key that asks.
    """

    send: Sends
    pace: Pace
    register: Register
    names: dict[str, Any] = field(default_factory=dict)
    own: Any = None
    run: Run = field(default_factory=Run)
    trouble: int = 0
    refused: int = 0
    is_let_in: bool = False

    def ask(self, probes: Sequence[Probe]) -> None:
        """Run the probes of a phase. Raises Stopped and OSError of the register."""
        for probe in probes:
            self.run.findings.append(self._find(probe))

    def _find(self, probe: Probe) -> Finding:
        answers: list[HttpAnswer] = []
        for step in probe.requests:
            if step.if_refused and not (answers and 400 <= answers[-1].status < 500):
                continue
            try:
                answers.append(self._take(step, probe.id))
            except Missing as missing:
                if step.method == "DELETE":
                    # It was not made.
                    continue
                return Finding(probe, None, f"{missing} is not there")
        value = probe.told([one.facts for one in answers], self.own)
        told = ", ".join(str(one.status or "none") for one in answers)
        return Finding(probe, value, "" if value is not None else f"answers: {told}")

    def _take(self, step: Step, probe: str) -> HttpAnswer:
        """Take a step. What it makes is noted before it is sent."""
        name = f"verify-{self.register.run}-{len(self.register.entries) + 1}"
        request = fill(step, {**self.names, "name": name})
        if step.makes is None:
            answer = self.answer(request, probe)
            if step.method == "DELETE" and answer.is_success and answer.is_json:
                entry = self.register.with_id(request.path.rpartition("/")[2])
                if entry is not None:
                    self.register.gone(entry)
            return answer
        account = (request.body or {}).get("account_id")
        entry = self.register.intend(step.makes, name, account, "partner" if step.key else "own")
        answer = self.answer(request, probe)
        made = answer.body if isinstance(answer.body, dict) else {}
        id = made.get(step.makes.id_field)
        if answer.is_success and isinstance(id, str | int):
            self.register.made(entry, str(id))
            self.names.setdefault("made", {})[step.name_of_made] = {**made, "id": str(id)}
        elif 400 <= answer.status < 500 and answer.is_json:
            self.register.gone(entry)
        return answer

    def answer(self, request: ProbeRequest, probe: str) -> HttpAnswer:
        """The answer to a request. Raises Stopped."""
        for _ in range(TOO_MANY_MAX):
            self.pace.wait()
            answer = ask_once(self.send, request)
            if isinstance(answer.body, dict) and isinstance(
                total := answer.body.get("total_amount"), int
            ):
                self.names["one_more"] = total + 1
            self.run.evidence.append(
                {"probe": probe, "method": request.method, "path": request.path}
                | {"query": dict(request.query), "status": answer.status, "body": answer.body}
            )
            if answer.status != TOO_MANY:
                self._note(answer, is_own=request.key is None)
                return answer
            self.pace.hold(retry_after(answer))
        raise Stopped(f"the platform answered 429 {TOO_MANY_MAX} times to {request.path}")

    def _note(self, answer: HttpAnswer, *, is_own: bool) -> None:
        status = answer.status
        why = f"status {status}" if status else answer.text
        if status == 0 or status >= 500:
            self.trouble += 1
            if self.trouble >= TROUBLE_MAX:
                raise Stopped(f"the platform failed {TROUBLE_MAX} times, the last time with {why}")
        if self.is_let_in or not is_own:
            return
        # One operation may be refused to a key that is good for others.
        self.is_let_in = 0 < status < 500 and status not in _REFUSED
        self.refused += status in _REFUSED
        if self.refused >= REFUSED_MAX:
            raise Stopped(f"the platform does not let the key in ({why})")


def ask_once(send: Sends, request: ProbeRequest) -> HttpAnswer:
    """The answer. If there is none, it has status 0, and its text says why."""
    try:
        return send(request)
    except OSError as error:
        return HttpAnswer(0, {}, f"no answer: {error or type(error).__name__}")


def retry_after(answer: HttpAnswer) -> float:
    """The seconds to wait. Raises Stopped if they are too many."""
    text = answer.headers.get("retry-after")
    try:
        seconds = float(text or 1)
    except ValueError:
        seconds = float("inf")
    if not 0 <= seconds <= RETRY_AFTER_S_MAX:
        raise Stopped(f"the platform asks to wait for {text} seconds")
    return max(seconds, INTERVAL_S)
